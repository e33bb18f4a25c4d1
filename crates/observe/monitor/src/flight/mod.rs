//! A flight recorder: the last seconds of a system, written when something goes wrong.
//!
//! | module | what it is |
//! |---|---|
//! | `document` | the data, with its version |
//! | `settings` | what a recorder is told |
//! | `look`, `convert` | one look at a system |
//! | `window` | what is kept of the last seconds |
//! | `files` | the newest document and those before it |
//! | `alarms` | panics, a signal, and the runtime's own defects |
//! | `pilot` | the thread that looks, keeps and writes |
//! | `recorder` | what a program has of it |
//! | `fetch` | the document of a program that runs, over HTTP |
//!
//! Workers do nothing for it, but for records in glimpses of 10 ms twice a second.

mod alarms;
mod convert;
pub(crate) mod document;
mod fetch;
mod files;
mod look;
mod pilot;
mod recorder;
mod settings;
mod window;

pub use document::{
    At, Cause, CpuLook, Did, FLIGHT_VERSION, Flight, GraphFigures, GraphModule, GraphResource,
    LaneTraffic, Look, MailboxNow, MutedNow, NodeFigures, PeerFigures, Reason, RecordNow, Records,
    Seen, Walk, WorkerLook, WorkerPlace, WorkerThread,
};
pub use fetch::FLIGHT_PATH;
pub use recorder::{FlightError, FlightOfSystem, FlightRecorder};
pub use settings::{FlightSettings, KeepRecords};
