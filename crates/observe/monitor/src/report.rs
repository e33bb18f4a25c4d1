//! A file about a system that a builder asks for.

use crate::flame::FlameToFile;
use crate::flight::{FlightOfSystem, FlightSettings};
use crate::recorder::Recorder;
#[cfg(doc)]
use crate::socket::Folder;
use crate::socket::ServeOnSocket;
use crate::trace::TraceToFile;
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

    /// Writes what each worker does and when: turns, sleeps, steals, moves, wake-ups; and over time
    /// the messages that wait, living actors, the load of each CPU, and the CPU time and the queue
    /// of each worker. Perfetto (<https://ui.perfetto.dev>) opens the file, which appears when the
    /// system has ended.
    ///
    /// If the name ends in `.pftrace`, the file has Perfetto's own format, else it is JSON. A turn
    /// takes about a tenth of a microsecond longer, and about 100 bytes of the file; 200 in JSON.
    /// If workers do more than can be written, records are missing: the file says where and how
    /// many, and the log says so, too.
    ///
    /// ```
    /// use actinium_actor::{Shutdown, System};
    /// use actinium_monitor::Monitored;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let run_json = folder.path().join("run.trace.json");
    /// let system = System::builder().workers(2).trace(&run_json).build()?;
    /// // .. actors work ..
    /// system.shutdown(Shutdown::Drain);
    /// assert!(std::fs::read_to_string(run_json)?.contains("worker 1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A file that can not be created is an error of [`SystemBuilder::build`]. One that can not be
    /// written, as the disk is full, is logged; the system goes on. There is one recording in a
    /// system, which traces and flame graphs share: do not take its records meanwhile
    /// ([`SystemHandle::take_records`](actinium_actor::SystemHandle::take_records)).
    #[must_use]
    fn trace(self, path: impl Into<PathBuf>) -> Self;

    /// Lets other programs of the same user look at the system while it runs: `actinium top`
    /// finds it by itself. It opens a socket in the folder of [`Folder::of_user`], and answers
    /// there on a thread of its own. Nothing can be changed there, and workers do nothing for it
    /// until somebody looks.
    ///
    /// ```
    /// use actinium_actor::System;
    /// use actinium_monitor::Monitored;
    ///
    /// let system = System::builder().workers(2).observable().build()?;
    /// // .. `actinium top` shows it ..
    /// # Ok::<(), actinium_actor::BuildError>(())
    /// ```
    ///
    /// A socket that can not be opened is an error of [`SystemBuilder::build`].
    #[must_use]
    fn observable(self) -> Self;

    /// Draws which actors took the time of which worker, when the system has ended: an SVG, or
    /// folded lines for other tools if the name ends in `.folded`. See [`FlameGraph`].
    ///
    /// ```
    /// use actinium_actor::{Shutdown, System};
    /// use actinium_monitor::Monitored;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let run_svg = folder.path().join("run.svg");
    /// let system = System::builder().workers(2).flame_graph(&run_svg).build()?;
    /// // .. actors work ..
    /// system.shutdown(Shutdown::Drain);
    /// assert!(std::fs::read_to_string(run_svg)?.starts_with("<svg"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Errors are those of a [`report`](Monitored::report), and the cost is that of a
    /// [`trace`](Monitored::trace) without its file.
    ///
    /// [`FlameGraph`]: crate::FlameGraph
    #[must_use]
    fn flame_graph(self, path: impl Into<PathBuf>) -> Self;

    /// Keeps the last seconds of the system, and writes them to this file when something goes
    /// wrong: see [`FlightRecorder`](crate::FlightRecorder). The argument is the file's name, or
    /// [`FlightSettings`].
    ///
    /// A file that can not be created is an error of [`SystemBuilder::build`]. One that can not be
    /// written later, as the disk is full, is logged; the system goes on.
    #[must_use]
    fn flight_recorder(self, settings: impl Into<FlightSettings>) -> Self;
}

impl Monitored for SystemBuilder {
    fn report(self, path: impl Into<PathBuf>) -> Self {
        self.observer(ReportOnEnd::new(path))
    }

    fn trace(self, path: impl Into<PathBuf>) -> Self {
        self.observer(TraceToFile::new(path))
    }

    fn observable(self) -> Self {
        self.observer(ServeOnSocket::new())
    }

    fn flame_graph(self, path: impl Into<PathBuf>) -> Self {
        self.observer(FlameToFile::new(path))
    }

    fn flight_recorder(self, settings: impl Into<FlightSettings>) -> Self {
        self.observer(FlightOfSystem::new(settings))
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
