//! Why there is no live page.

use actinium_gateway::GatewayError;
use std::fmt;
use std::net::SocketAddr;

/// Why a live page is not served.
#[derive(Debug)]
#[non_exhaustive]
pub enum DashboardError {
    /// Others than this machine reach the address, and no token is asked for.
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The text is no address.
    Address {
        /// The text.
        text: String,
        /// Why.
        cause: std::io::Error,
    },
    /// A setting makes no sense.
    Config(String),
    /// The address can not be listened at: it is in use, for instance.
    Gateway(GatewayError),
    /// There can be no more threads.
    Thread(std::io::Error),
}

impl fmt::Display for DashboardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DashboardError::Open { address } => write!(
                f,
                "dashboard: {address} is reached from other machines, and no token is asked for: \
                 set ACTINIUM_DASHBOARD_TOKEN, call Dashboard::token, or listen at 127.0.0.1"
            ),
            DashboardError::Address { text, cause } => write!(
                f,
                "dashboard: '{text}' is no address: expected HOST:PORT, as 127.0.0.1:7070 ({cause})"
            ),
            DashboardError::Config(problem) => write!(f, "dashboard: {problem}"),
            DashboardError::Gateway(error) => write!(f, "dashboard: {error}"),
            DashboardError::Thread(error) => {
                write!(f, "dashboard: can not start a thread: {error}")
            }
        }
    }
}

impl std::error::Error for DashboardError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DashboardError::Gateway(error) => Some(error),
            DashboardError::Address { cause, .. } | DashboardError::Thread(cause) => Some(cause),
            _ => None,
        }
    }
}
