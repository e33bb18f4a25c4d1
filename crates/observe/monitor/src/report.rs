//! A file about a system that a builder asks for.

use crate::recorder::Recorder;
use actinium_actor::{Observer, OnEnd, SystemBuilder, SystemHandle};
use actinium_observe::file::writable;
use actinium_scheduler::log;
use std::error::Error;
use std::path::PathBuf;

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
        Ok(OnEnd::new(move |report| {
            let recording = recorder.finish().ended(report);
            if let Err(error) = recording.write(&path) {
                log!(Error, {}, "the report of the system is lost: {error}");
            }
        }))
    }
}
