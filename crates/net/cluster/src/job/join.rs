//! The settings with which a process joins the others of its job over Zenoh: its node's number, and
//! the addresses at which it meets them.

use super::environment::{Environment, of_this_process};
use super::join_error::{JoinError, JoinFault};

/// The settings of a process that joins others over Zenoh, as flags or environment variables have
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinSettings {
    /// Which node this process is: 0 to `nodes` - 1.
    pub node: Option<u32>,
    /// How many nodes there are.
    pub nodes: Option<u32>,
    /// Where it is to be reached: `tcp/HOST:PORT`, or `quic/..` with certificates; several with
    /// commas.
    pub listen: Option<String>,
    /// Where it reaches others.
    pub connect: Option<String>,
    /// The cluster's name.
    pub cluster: Option<String>,
    /// The file of this node's certificate, as PEM; then its key and the CA are needed, too.
    pub tls_certificate: Option<String>,
    /// The file of its private key.
    pub tls_key: Option<String>,
    /// The file of the certificates that have signed those that are believed.
    pub tls_ca: Option<String>,
    /// The nodes that the holders of certificates may be, as `NAME=N` with commas between.
    pub tls_allow: Option<String>,
}

impl JoinSettings {
    /// Returns the environment variable of a setting: `ACTINIUM_TLS_CA` of `tls-ca`.
    pub(super) fn variable(setting: &str) -> String {
        format!("ACTINIUM_{}", setting.replace('-', "_").to_uppercase())
    }

    /// Reads the environment: `ACTINIUM_NODE`, `ACTINIUM_NODES`, `ACTINIUM_LISTEN`,
    /// `ACTINIUM_CONNECT`, `ACTINIUM_CLUSTER`, `ACTINIUM_TLS_CERTIFICATE`, `_KEY`, `_CA` and
    /// `_ALLOW`. `actinium launch` sets those that a process needs. An empty one says nothing.
    ///
    /// # Errors
    /// If a number is none.
    pub fn from_env() -> Result<Self, JoinError> {
        Self::read(&Environment::new(&of_this_process))
    }

    pub(super) fn read(environment: &Environment<'_>) -> Result<Self, JoinError> {
        let text = |setting| environment.text(&Self::variable(setting));
        Ok(JoinSettings {
            node: environment.number(&Self::variable("node"))?,
            nodes: environment.number(&Self::variable("nodes"))?,
            listen: text("listen"),
            connect: text("connect"),
            cluster: text("cluster"),
            tls_certificate: text("tls-certificate"),
            tls_key: text("tls-key"),
            tls_ca: text("tls-ca"),
            tls_allow: text("tls-allow"),
        })
    }

    /// Returns which node this is, and how many there are.
    ///
    /// # Errors
    /// If one is missing.
    pub(super) fn numbers(&self) -> Result<(u32, u32), JoinFault> {
        let missing = |setting, what| JoinFault::Missing { setting, what };
        let nodes = self.nodes.ok_or(missing("nodes", "how many nodes there are"))?;
        Ok((self.node.ok_or(missing("node", "which node this is"))?, nodes))
    }

    /// Returns the transport of the addresses, where none are given.
    pub(super) fn protocol(&self) -> &'static str {
        match self.tls_certificate {
            Some(_) => "quic",
            None => "tcp",
        }
    }
}

#[cfg(feature = "zenoh")]
mod config;
