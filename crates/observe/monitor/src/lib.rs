//! Records what the actors and workers of a system do, and makes a page of it.
//!
//! The page has throughput, the load of workers and CPUs over time, the types of actors, mailboxes,
//! latencies, dead letters, and how the system ended. It is written when the system has ended:
//!
//! ```
//! use actinium_actor::{Shutdown, System};
//! use actinium_monitor::Monitored;
//!
//! # let folder = tempfile::tempdir()?;
//! # let run_html = folder.path().join("run.html");
//! let system = System::builder().workers(2).report(&run_html).build()?;
//! // .. actors work ..
//! system.shutdown(Shutdown::Drain);
//! assert!(std::fs::read_to_string(run_html)?.contains("<h1>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The environment variable `ACTINIUM_REPORT=run.html` does the same for each system of a program
//! that is linked with this crate, without a change of its code. The page of a second system is
//! called `run-2.html`.
//!
//! A file whose name ends in `.json` gets the [`Recording`] itself, from which the page can be made
//! at any time.
//!
//! [`Monitored::trace`] and `ACTINIUM_TRACE` write what each worker did and when, for Perfetto;
//! [`Trace`] does so for a part of a run, and [`merge_traces`] puts the traces of several nodes
//! together. [`Monitored::flame_graph`] and `ACTINIUM_FLAME` draw which actors took the time.
//!
//! [`live`] shows a system while it runs.
//!
//! [`Monitored::observable`] and `ACTINIUM_TOP=1` open a socket, at which `actinium top` looks at
//! the system while it runs.
//!
//! [`Monitored::flight_recorder`] and `ACTINIUM_FLIGHT` keep the last seconds of a system in
//! memory, and write them when something goes wrong: see [`FlightRecorder`]. [`diagnose`] says in
//! words what they show.
//!
//! A thread of the monitor looks at the system twenty times a second at first. It takes at most one
//! part in fifty of a CPU's time: where there is much to look at, it looks less often. For a page
//! workers measure a sample of their turns; for a trace they keep records.

mod before_main;
mod diagnosis;
mod feed;
mod flame;
mod flight;
mod flows;
pub mod live;
mod page;
mod page_structure;
mod page_turns;
mod recorder;
mod recording;
mod report;
#[cfg(feature = "router")]
mod router;
pub mod socket;
mod structure;
mod suffix;
mod trace;
mod types;

pub use actinium_report::ReadError;
pub use before_main::{ENV_FLAME, ENV_FLIGHT, ENV_REPORT, ENV_TOP, ENV_TRACE};
pub use diagnosis::{Diagnosis, Finding, Severity, diagnose, diagnose_run};
pub use flame::{FlameGraph, FlameRecorder, FlameToFile};
pub use flight::{
    At, Cause, CpuLook, Did, FLIGHT_PATH, FLIGHT_VERSION, Flight, FlightError, FlightOfSystem,
    FlightRecorder, FlightSettings, GraphFigures, GraphModule, GraphResource, KeepRecords,
    LaneTraffic, Look, MailboxNow, MutedNow, NodeFigures, PeerFigures, Reason, RecordNow, Records,
    Seen, Walk, WorkerLook, WorkerPlace, WorkerThread,
};
pub use recorder::Recorder;
pub use recording::{
    MailboxFigures, MessageTurns, Recording, SCHEMA_VERSION, Sample, TypeFigures, TypeTurns,
    WorkerFigures,
};
pub use report::{Monitored, ReportOnEnd};
#[cfg(feature = "router")]
pub use router::flight_router;
pub use structure::{Member, Structure, Tree};
pub use trace::{
    ClockOffset, Ping, Trace, TraceOptions, TraceSession, TraceSummary, TraceToFile, merge_traces,
};
pub use types::{TypeName, TypeNow};
