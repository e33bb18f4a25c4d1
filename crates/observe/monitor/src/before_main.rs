//! A file about each system, if the environment asks for it: without a change of the program.

use crate::flame::FlameToFile;
use crate::flight::FlightOfSystem;
use crate::report::ReportOnEnd;
use crate::socket::ServeOnSocket;
use crate::suffix::with_suffix;
use crate::trace::TraceToFile;
use actinium_actor::{Observer, OnEnd, SystemHandle};
use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The environment variable that names a file for the page of each system.
pub const ENV_REPORT: &str = "ACTINIUM_REPORT";
/// The environment variable that names a file for the trace of each system.
pub const ENV_TRACE: &str = "ACTINIUM_TRACE";
/// The environment variable that opens a socket for `actinium top`, unless it is empty or 0.
pub const ENV_TOP: &str = "ACTINIUM_TOP";
/// The environment variable that names a file for the flame graph of each system.
pub const ENV_FLAME: &str = "ACTINIUM_FLAME";
/// The environment variable that names a file for the last seconds of each system.
pub const ENV_FLIGHT: &str = "ACTINIUM_FLIGHT";

ctor::declarative::ctor! {
    /// Runs before `main` in each program that is linked with this crate, so that the environment
    /// alone can ask for a report or a trace.
    // SAFETY: before `main`, most of the standard library may not be used. This takes a lock that
    // is made at compile time, and memory from the allocator, which both may.
    #[ctor(unsafe)]
    fn observe_as_environment_says() {
        actinium_actor::observe_all(AsEnvironmentSays::new(ENV_REPORT, |file| Box::new(ReportOnEnd::new(file))));
        actinium_actor::observe_all(AsEnvironmentSays::new(ENV_TRACE, |file| Box::new(TraceToFile::new(file))));
        actinium_actor::observe_all(AsEnvironmentSays::new(ENV_FLIGHT, |file| Box::new(FlightOfSystem::new(file))));
        actinium_actor::observe_all(AsEnvironmentSays::new(ENV_FLAME, |file| Box::new(FlameToFile::new(file))));
        actinium_actor::observe_all(IfTheEnvironmentWantsTop);
    }
}

/// Opens a socket for each system of the process, if the environment wants it.
struct IfTheEnvironmentWantsTop;

impl Observer for IfTheEnvironmentWantsTop {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        match std::env::var_os(ENV_TOP).filter(|value| !value.is_empty() && value != "0") {
            Some(_) => {
                let opened = ServeOnSocket::new().started(system);
                opened.map_err(|error| format!("{ENV_TOP}: {error}").into())
            }
            None => Ok(OnEnd::new(|_| ())),
        }
    }
}

/// Does so for each system of the process, if the environment wants it.
struct AsEnvironmentSays {
    variable: &'static str,
    observer: fn(PathBuf) -> Box<dyn Observer>,
    /// Systems so far.
    systems: AtomicUsize,
}

impl AsEnvironmentSays {
    fn new(variable: &'static str, observer: fn(PathBuf) -> Box<dyn Observer>) -> Self {
        AsEnvironmentSays { variable, observer, systems: AtomicUsize::new(0) }
    }
}

impl Observer for AsEnvironmentSays {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let Some(path) = std::env::var_os(self.variable).filter(|path| !path.is_empty()) else {
            return Ok(OnEnd::new(|_| ()));
        };
        // Relaxed: only its own value counts.
        let before = self.systems.fetch_add(1, Ordering::Relaxed);
        let path = match before {
            0 => PathBuf::from(path),
            _ => with_suffix(path.as_ref(), &format!("-{}", before + 1)),
        };
        let observer = (self.observer)(path);
        observer.started(system).map_err(|error| format!("{}: {error}", self.variable).into())
    }
}
