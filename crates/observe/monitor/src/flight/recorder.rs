//! A flight recorder: what a program has of it.

use super::alarms::{self, Alarmed};
use super::document::{Cause, Flight, GraphFigures, NodeFigures, Reason};
use super::pilot::{Pilot, Request, Section};
use super::settings::FlightSettings;
use actinium_actor::{Observer, OnEnd, ShutdownReport, SystemHandle};
use actinium_observe::file::{WriteError, writable};
use actinium_scheduler::guard::Guarded;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Keeps the last seconds of a system, and writes them when something goes wrong.
///
/// A program gets one by [`Monitored::flight_recorder`](crate::Monitored::flight_recorder), by the
/// environment variable `ACTINIUM_FLIGHT`, or starts it itself. It writes a file
///
/// - when it is told to ([`write`](Self::write)), or gets the signal `SIGUSR1`,
/// - when a thread panics that is no worker and runs nothing for an actor: the program's main
///   thread, say. An actor's panic is for its supervision. If that lets the failure reach the top,
///   a file is written, too,
/// - when no turn has ended for a while although messages wait,
/// - when the runtime finds itself broken, and ends the process.
///
/// ```
/// use actinium_actor::System;
/// use actinium_monitor::{FlightRecorder, Monitored};
///
/// # let folder = tempfile::tempdir()?;
/// # let flight_json = folder.path().join("flight.json");
/// let system = System::builder().workers(1).flight_recorder(&flight_json).build()?;
/// let recorder = FlightRecorder::of(&system).expect("the builder was asked for one");
/// recorder.write("somebody wants to know")?;
/// assert!(flight_json.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Clones are the same recorder. One that a builder or the environment has asked for ends with its
/// system; one that was started ends with its last clone.
#[derive(Clone)]
pub struct FlightRecorder(Arc<Owner>);

/// Why a flight recorder can not do what it is asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum FlightError {
    /// The file can not be written.
    File(WriteError),
    /// There can be no more threads, or the process may not listen to signals.
    Start(io::Error),
    /// It has ended, with its system.
    Ended,
    /// It keeps the last seconds in memory only: no file was named.
    NoFile,
}

impl fmt::Display for FlightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlightError::File(error) => write!(f, "the flight recorder {error}"),
            FlightError::Start(error) => write!(f, "can not start a flight recorder: {error}"),
            FlightError::Ended => f.write_str("the flight recorder has ended, with its system"),
            FlightError::NoFile => {
                f.write_str("the flight recorder has no file to write to: name one in its settings")
            }
        }
    }
}

impl Error for FlightError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            FlightError::File(error) => Some(error),
            FlightError::Start(error) => Some(error),
            FlightError::Ended | FlightError::NoFile => None,
        }
    }
}

/// What clones share.
struct Owner {
    line: Arc<Line>,
    path: Option<PathBuf>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The way to the recorder's thread.
struct Line(Sender<Request>);

/// Where a system keeps its recorder, without keeping it alive.
#[derive(Default)]
struct Place(Mutex<Weak<Owner>>);

impl FlightRecorder {
    /// Begins to record this system. If it has a recorder already, there are two, and
    /// [`of`](Self::of) names this one.
    ///
    /// # Errors
    /// If the file can not be created, there can be no more threads, or the process may not listen
    /// to signals.
    pub fn start(
        system: &SystemHandle,
        settings: impl Into<FlightSettings>,
    ) -> Result<Self, FlightError> {
        let settings = settings.into();
        if let Some(path) = &settings.path {
            writable(path).map_err(FlightError::File)?;
        }
        let path = settings.path.clone();
        let (requests, line) = channel();
        let pilot = Pilot::new(system.clone(), settings);
        let thread = std::thread::Builder::new().name("actinium-flight".to_owned());
        let thread = thread.spawn(move || pilot.run(&line)).map_err(FlightError::Start)?;
        let line = Arc::new(Line(requests));
        let thread = Mutex::new(Some(thread));
        let owner = Arc::new(Owner { line: line.clone(), path, thread });
        if owner.path.is_some() {
            let alarmed: Arc<dyn Alarmed> = line;
            alarms::tell(Arc::downgrade(&alarmed)).map_err(FlightError::Start)?;
        }
        let place = system.extension(Place::default);
        *place.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&owner);
        Ok(FlightRecorder(owner))
    }

    /// The recorder of this system, if there is one.
    #[must_use]
    pub fn of(system: &SystemHandle) -> Option<Self> {
        let place = system.extension(Place::default);
        let owner = place.0.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        owner.map(FlightRecorder)
    }

    /// The recorder of this system, or else one that keeps the last seconds in memory only: for
    /// whoever shows them over the network.
    ///
    /// ```
    /// use actinium_actor::System;
    /// use actinium_monitor::{FlightRecorder, diagnose};
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let recorder = FlightRecorder::of_or_in_memory(&system)?;
    /// for finding in diagnose(&recorder.flight("a look")?) {
    ///     println!("{finding}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn of_or_in_memory(system: &SystemHandle) -> Result<Self, FlightError> {
        FlightRecorder::of(system)
            .map_or_else(|| FlightRecorder::start(system, FlightSettings::in_memory()), Ok)
    }

    /// Writes the last seconds to the file. It waits for that: a tenth of a second, mostly.
    ///
    /// # Errors
    /// If the file can not be written (it is as it was then), there is none, or the recorder has
    /// ended.
    pub fn write(&self, why: impl Into<String>) -> Result<(), FlightError> {
        if self.0.path.is_none() {
            return Err(FlightError::NoFile);
        }
        let reason = Reason { cause: Cause::Asked, text: why.into() };
        let (reply, written) = channel();
        self.0.line.send(Request::Write { reason, is_broken: false, reply });
        written.recv().map_err(|_| FlightError::Ended)?.map_err(FlightError::File)
    }

    /// Has the last seconds written to the file, and waits for nothing: for callers that must not
    /// block, such as a listener to the events of a cluster. The log says what came of it.
    pub fn write_soon(&self, cause: Cause, why: impl Into<String>) {
        let reason = Reason { cause, text: why.into() };
        self.0.line.send(Request::Write { reason, is_broken: false, reply: channel().0 });
    }

    /// The last seconds, as they are now.
    ///
    /// # Errors
    /// If the recorder has ended.
    pub fn flight(&self, why: impl Into<String>) -> Result<Flight, FlightError> {
        let reason = Reason { cause: Cause::Asked, text: why.into() };
        let (reply, made) = channel();
        self.0.line.send(Request::Make { reason, reply });
        made.recv().map(|it| *it).map_err(|_| FlightError::Ended)
    }

    /// Adds figures of an event graph. They are asked for once a second on the recorder's thread,
    /// until there are none any more; a panic is logged, and ends it.
    pub fn graph(&self, figures: impl FnMut() -> Option<GraphFigures> + Send + 'static) {
        self.0.line.send(Request::Add(Section::Graph(Guarded::new(Box::new(figures)))));
    }

    /// Adds figures of a node of a cluster, in the same way.
    pub fn node(&self, figures: impl FnMut() -> Option<NodeFigures> + Send + 'static) {
        self.0.line.send(Request::Add(Section::Node(Guarded::new(Box::new(figures)))));
    }

    /// Adds a value of the program's own under this name in [`Flight::sections`]. It is asked for
    /// whenever a document is made, until there is none any more; a panic is logged, and ends it.
    pub fn section(
        &self,
        name: impl Into<String>,
        value: impl FnMut() -> Option<serde_json::Value> + Send + 'static,
    ) {
        let value = Guarded::new(Box::new(value) as Box<_>);
        self.0.line.send(Request::Add(Section::Other(name.into(), value)));
    }

    /// The system has ended so.
    fn end(&self, report: &ShutdownReport) {
        if let Some(failure) = &report.escalated {
            let text = format!("a failure has reached the top: {failure}");
            let reason = Reason { cause: Cause::Escalated, text };
            let (reply, written) = channel();
            self.0.line.send(Request::Write { reason, is_broken: true, reply });
            // The log says what came of it.
            let _ = written.recv();
        }
        self.0.end();
    }
}

impl fmt::Debug for FlightRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FlightRecorder({:?})", self.0.path)
    }
}

impl Line {
    /// Whoever waits for an answer hears of it if the thread has ended.
    fn send(&self, request: Request) {
        let _ = self.0.send(request);
    }
}

impl Alarmed for Line {
    fn alarm(&self, reason: Reason, is_broken: bool, patience: Duration) {
        let (reply, written) = channel();
        self.send(Request::Write { reason, is_broken, reply });
        // The log says what came of it.
        let _ = written.recv_timeout(patience);
    }
}

impl Owner {
    fn end(&self) {
        self.line.send(Request::End);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let this = std::thread::current().id();
        // A section may hold the last clone, which is then dropped on the recorder's own thread.
        if let Some(thread) = thread.filter(|it| it.thread().id() != this) {
            let _ = thread.join();
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.end();
    }
}

/// An [`Observer`] that keeps the last seconds of a system: see [`FlightRecorder`].
#[derive(Debug)]
pub struct FlightOfSystem {
    settings: FlightSettings,
}

impl FlightOfSystem {
    /// The observer of these settings.
    pub fn new(settings: impl Into<FlightSettings>) -> Self {
        FlightOfSystem { settings: settings.into() }
    }
}

impl Observer for FlightOfSystem {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let recorder = FlightRecorder::start(system, self.settings.clone())?;
        Ok(OnEnd::new(move |report| recorder.end(report)))
    }
}
