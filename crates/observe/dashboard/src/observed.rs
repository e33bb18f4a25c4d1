//! The live page of a system that a builder describes, or of each system of the process.

use crate::dashboard::{Dashboard, Serving};
use crate::error::DashboardError;
use actinium_actor::{Observer, OnEnd, SystemBuilder, SystemHandle};
use actinium_scheduler::log;
use std::collections::BTreeSet;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

/// The environment variable that names the token which live pages ask for.
pub const ENV_TOKEN: &str = "ACTINIUM_DASHBOARD_TOKEN";

/// What can be seen of a system that a builder describes, while it runs.
pub trait Watched: Sized {
    /// Serves a live page at this address until the system has ended. If `ACTINIUM_DASHBOARD_TOKEN`
    /// is set, it asks for that token.
    ///
    /// An address that can not be listened at is an error of [`SystemBuilder::build`], and so is
    /// one that other machines reach if there is no token.
    #[must_use]
    fn dashboard(self, address: impl Into<String>) -> Self;
}

impl Watched for SystemBuilder {
    fn dashboard(self, address: impl Into<String>) -> Self {
        self.observer(Served { address: address.into() })
    }
}

/// Serves a live page of each system that this process builds from now on, until that has ended: at
/// this address; of one that lives beside another at a further port. Node N of a job whose
/// processes are told so (by `ACTINIUM_NODE`, as `actinium launch` does) begins N ports later.
pub fn serve_each(address: impl Into<String>) {
    actinium_actor::observe_all(Each::new(address.into()));
}

/// The token that the environment names.
fn token_of_environment() -> Option<String> {
    std::env::var(ENV_TOKEN).ok().filter(|token| !token.is_empty())
}

struct Served {
    address: String,
}

impl Observer for Served {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let serving = serve(system, &self.address)?;
        Ok(OnEnd::new(move |_| serving.stop()))
    }
}

fn serve(system: &SystemHandle, address: &str) -> Result<Serving, DashboardError> {
    let dashboard = Dashboard::new(system);
    let dashboard = match token_of_environment() {
        Some(token) => dashboard.token(token),
        None => dashboard,
    };
    let serving = dashboard.serve(address)?;
    log!(Info, {}, "the live page is at http://{}/", serving.address());
    Ok(serving)
}

/// Ports that are tried for a system that lives beside another.
const TRIED: u16 = 100;

/// Serves a page of each system, each at a port of its own.
pub(crate) struct Each {
    address: String,
    /// Which of the ports behind the first one are in use.
    used: Arc<Mutex<BTreeSet<u16>>>,
}

impl Each {
    pub(crate) fn new(address: String) -> Self {
        let node = std::env::var("ACTINIUM_NODE").ok().and_then(|it| it.trim().parse().ok());
        Each { address: behind(&address, node.unwrap_or(0)), used: Arc::default() }
    }

    /// Serves it at the first free port that no other system of this process has.
    fn serve(
        &self,
        system: &SystemHandle,
        used: &BTreeSet<u16>,
    ) -> Result<(Serving, u16), DashboardError> {
        let mut free = (0..TRIED).filter(|it| !used.contains(it));
        loop {
            let further = free.next().unwrap_or(TRIED);
            match serve(system, &behind(&self.address, further)) {
                // Another process may have that port. The first one was asked for.
                Err(DashboardError::Gateway(_)) if further != 0 && further < TRIED => {}
                served => return served.map(|serving| (serving, further)),
            }
        }
    }
}

impl Observer for Each {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let (serving, port) = self.serve(system, &used)?;
        used.insert(port);
        drop(used);
        let used = self.used.clone();
        Ok(OnEnd::new(move |_| {
            serving.stop();
            used.lock().unwrap_or_else(PoisonError::into_inner).remove(&port);
        }))
    }
}

/// The address with a port so far behind. Port 0 is any.
fn behind(address: &str, further: u16) -> String {
    let next = || {
        let (host, port) = address.rsplit_once(':')?;
        let port: u16 = port.parse().ok().filter(|&port| port != 0 && further != 0)?;
        Some(format!("{host}:{}", port.checked_add(further)?))
    };
    next().unwrap_or_else(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_systems_have_further_ports() {
        for (address, further, expected) in [
            ("127.0.0.1:7070", 0, "127.0.0.1:7070"),
            ("127.0.0.1:7070", 2, "127.0.0.1:7072"),
            ("[::1]:7070", 1, "[::1]:7071"),
            ("127.0.0.1:0", 3, "127.0.0.1:0"),
            ("localhost:65535", 1, "localhost:65535"),
            ("garbage", 1, "garbage"),
        ] {
            assert_eq!(behind(address, further), expected);
        }
    }
}
