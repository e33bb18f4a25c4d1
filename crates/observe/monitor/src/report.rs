//! A file about each system: asked for by a builder, or by the environment.

use crate::recorder::Recorder;
use actinium_actor::{Observer, OnEnd, SystemBuilder, SystemHandle};
use actinium_observe::file::writable;
use actinium_scheduler::log;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The environment variable that names a file for the page of each system.
pub const ENV_REPORT: &str = "ACTINIUM_REPORT";

/// What can be seen of a system that a builder describes.
pub trait Monitored: Sized {
    /// Records the system, and writes a page when it has ended; the [`Recording`] itself, if the
    /// file's name ends in `.json`. May be called for several files.
    ///
    /// A file that can not be created is an error of [`SystemBuilder::build`]. One that can not be
    /// written at the end, as the disk is full, is logged: the file is then as it was before.
    ///
    /// [`Recording`]: crate::Recording
    #[must_use]
    fn report(self, path: impl Into<PathBuf>) -> Self;
}

impl Monitored for SystemBuilder {
    fn report(self, path: impl Into<PathBuf>) -> Self {
        self.observer(ReportOnEnd::new(path))
    }
}

/// An [`Observer`] that records a system and writes a file about it: see [`Monitored::report`].
#[derive(Debug)]
pub struct ReportOnEnd {
    path: PathBuf,
}

impl ReportOnEnd {
    /// The observer that writes this file. If it observes several systems, the last one's file is
    /// what remains.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        ReportOnEnd { path: path.into() }
    }
}

impl Observer for ReportOnEnd {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        writable(&self.path)?;
        let (recorder, path) = (Recorder::start(system)?, self.path.clone());
        Ok(Box::new(move |report| {
            let recording = recorder.finish().ended(report);
            if let Err(error) = recording.write(&path) {
                log!(Error, {}, "the report of the system is lost: {error}");
            }
        }))
    }
}

/// Does so for each system of the process, if the environment wants it.
struct AsEnvironmentSays {
    /// Systems so far.
    systems: AtomicUsize,
}

impl Observer for AsEnvironmentSays {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let Some(path) = std::env::var_os(ENV_REPORT).filter(|path| !path.is_empty()) else {
            return Ok(Box::new(|_| ()));
        };
        // Relaxed: only its own value counts.
        let before = self.systems.fetch_add(1, Ordering::Relaxed);
        let report = ReportOnEnd::new(numbered(Path::new(&path), before + 1));
        report.started(system).map_err(|error| format!("{ENV_REPORT}: {error}").into())
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

ctor::declarative::ctor! {
    /// Runs before `main` in each program that is linked with this crate, so that the environment
    /// alone can ask for a report. It only notes the observer.
    #[ctor(unsafe)]
    fn observe_as_environment_says() {
        actinium_actor::observe_all(AsEnvironmentSays { systems: AtomicUsize::new(0) });
    }
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
