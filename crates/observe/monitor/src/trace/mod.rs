//! A trace of a system: what each worker did and when, in a file that Perfetto opens.
//!
//! | file | what it is |
//! |---|---|
//! | `model.rs` | what is shown, whatever the format |
//! | `json.rs` | Chrome's trace event format |
//! | `perfetto.rs`, `protobuf.rs` | Perfetto's own format |
//! | `counters.rs` | values over time: messages, actors, CPUs |
//! | `writer.rs` | writes what a system does while it runs |
//! | `clock.rs` | clocks of several nodes |
//! | `merge.rs` | several traces as one |
//! | `session.rs` | one trace of all systems of a process |

mod clock;
mod counters;
mod json;
mod merge;
pub(crate) mod model;
mod perfetto;
mod protobuf;
mod session;
mod spans;
mod writer;

pub use clock::{ClockOffset, Ping};
pub use merge::merge_traces;
pub use session::TraceSession;
pub use writer::{Trace, TraceOptions, TraceSummary, TraceToFile};
