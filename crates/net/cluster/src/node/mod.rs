//! A node: a system of actors, joined to a fabric.
//!
//! | file | what it is |
//! |---|---|
//! | `config.rs`, `limits.rs`, `grants.rs`, `event.rs` | settings, and what a node tells |
//! | `state.rs` | what the parts of a node share; `peer.rs`: what it knows of another node; `exports.rs`, `types.rs`, `requests.rs`, `watches.rs`, `inbound.rs`: its tables; `counters.rs`: what it counts |
//! | `send.rs` | from a message's bytes to the next hop's aggregator; `ask.rs`: requests, answers, refusals |
//! | `driver.rs`, `end.rs` | moving frames between links and the fabric; `exchange.rs`: payloads; `distant.rs`: those of nodes that are no neighbours in a grid; `windows.rs`: regions that the fabric reads and writes |
//! | `receive.rs`, `inbound_queue.rs`, `parcel.rs`, `kept_frame.rs` | from a frame to the mailboxes of actors |
//! | `show.rs`, `taps.rs` | showing messages to who looks |
//! | `returns.rs`, `undelivered.rs` | messages that come back to whoever wants them |
//! | `lookup.rs`, `spawn.rs` | finding and starting actors |
//! | `handles.rs`, `border.rs`, `line.rs`, `replier.rs` | handles in messages: the table of those given away, how they become bytes and handles again, the way to their actors, and back to askers |
//! | `multihop.rs`, `session.rs`, `reachability.rs`, `neighbours.rs` | a grid: what goes through other nodes, and who is reached through whom |
//! | `start.rs`, `manual.rs`, `handle.rs` | a node with a thread, a node that is driven by hand, and what a program does with either |
//! | `progress.rs`, `idle.rs`, `unparker.rs`, `ending.rs` | who drives, how the thread sleeps and is woken, how a node ends |

mod ask;
mod border;
mod call;
mod config;
mod counters;
mod distant;
mod driver;
mod end;
mod ending;
mod event;
mod exchange;
mod exports;
mod frame_receiver;
mod grants;
mod handle;
mod handles;
mod idle;
mod inbound;
mod inbound_queue;
mod kept_frame;
mod leaving;
mod limits;
mod line;
mod lookup;
mod manual;
mod multihop;
mod neighbours;
mod parcel;
pub(crate) mod peer;
mod progress;
mod reachability;
mod receive;
mod replier;
mod requests;
mod returns;
pub(crate) mod send;
mod session;
mod show;
mod spawn;
mod start;
pub(crate) mod state;
mod taps;
mod types;
mod undelivered;
mod unparker;
mod watches;
mod windows;

pub use config::NodeConfig;
pub use event::{NodeEvent, NodeStats, PeerStats};
pub use exports::ExportError;
pub use grants::Grants;
pub use handle::NodeHandle;
pub use limits::PeerLimits;
pub use manual::ManualNode;
pub use spawn::{RegisterError, SpawnArgs};
pub use start::{Node, StartError};
pub use undelivered::Undelivered;
