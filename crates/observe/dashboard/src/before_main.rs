//! A live page of each system, if the environment asks for it: without a change of the program.

use crate::observed::Each;
use actinium_actor::{Observer, OnEnd, SystemHandle};
use std::error::Error;
use std::sync::OnceLock;

/// The environment variable that names an address for the live page of each system.
pub const ENV_DASHBOARD: &str = "ACTINIUM_DASHBOARD";

ctor::declarative::ctor! {
    /// Runs before `main` in each program that is linked with this crate, so that the environment
    /// alone can ask for a live page.
    // SAFETY: before `main`, most of the standard library may not be used. This takes a lock that
    // is made at compile time, and memory from the allocator, which both may.
    #[ctor(unsafe)]
    fn serve_as_environment_says() {
        actinium_actor::observe_all(AsEnvironmentSays(OnceLock::new()));
    }
}

/// Serves each system of the process, if the environment wants it.
struct AsEnvironmentSays(OnceLock<Each>);

impl Observer for AsEnvironmentSays {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let address = std::env::var(ENV_DASHBOARD).unwrap_or_default();
        if address.is_empty() {
            return Ok(OnEnd::new(|_| ()));
        }
        let each = self.0.get_or_init(|| Each::new(address));
        each.started(system).map_err(|error| format!("{ENV_DASHBOARD}: {error}").into())
    }
}
