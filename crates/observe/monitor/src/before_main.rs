//! A file about each system, if the environment asks for it: without a change of the program.

use crate::flame::FlameToFile;
use crate::report::ReportOnEnd;
use crate::socket::ServeOnSocket;
use crate::trace::TraceToFile;
use actinium_actor::{Observer, OnEnd, SystemHandle};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The environment variable that names a file for the page of each system.
pub const ENV_REPORT: &str = "ACTINIUM_REPORT";
/// The environment variable that names a file for the trace of each system.
pub const ENV_TRACE: &str = "ACTINIUM_TRACE";
/// The environment variable that opens a socket for `actinium top`, unless it is empty or 0.
pub const ENV_TOP: &str = "ACTINIUM_TOP";
/// The environment variable that names a file for the flame graph of each system.
pub const ENV_FLAME: &str = "ACTINIUM_FLAME";

ctor::declarative::ctor! {
    /// Runs before `main` in each program that is linked with this crate, so that the environment
    /// alone can ask for a report or a trace.
    // SAFETY: before `main`, most of the standard library may not be used. This takes a lock that
    // is made at compile time, and memory from the allocator, which both may.
    #[ctor(unsafe)]
    fn observe_as_environment_says() {
        actinium_actor::observe_all(AsEnvironmentSays::new(ENV_REPORT, |file| Box::new(ReportOnEnd::new(file))));
        actinium_actor::observe_all(AsEnvironmentSays::new(ENV_TRACE, |file| Box::new(TraceToFile::new(file))));
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
        let observer = (self.observer)(numbered(Path::new(&path), before + 1));
        observer.started(system).map_err(|error| format!("{}: {error}", self.variable).into())
    }
}

/// The file of a process's n-th system.
fn numbered(path: &Path, n: usize) -> PathBuf {
    if n == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{n}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_systems_have_files_of_their_own() {
        for (path, n, expected) in [
            ("run.html", 1, "run.html"),
            ("run.html", 2, "run-2.html"),
            ("a.b/run.json", 12, "a.b/run-12.json"),
            ("a.b/run", 3, "a.b/run-3"),
        ] {
            assert_eq!(numbered(Path::new(path), n), Path::new(expected));
        }
    }
}
