//! A graph in parts, for several nodes: what each node runs, and what the first one runs for all.
//!
//! [`Builder::split`](crate::Builder::split) takes a graph apart. The crate
//! `actinium-events-cluster` carries events and products between the parts; a program needs no more
//! than [`Builder::crosses`](crate::Builder::crosses) and
//! [`Builder::condition`](crate::Builder::condition).
//!
//! | file | what is in it |
//! |---|---|
//! | `split` | takes a graph apart |
//! | `codec` | products as bytes |
//! | `given` | the source of a node: events that it is given, or pieces that it reads itself |
//! | `crossing` | what the outputs of an event need, from the node that ran it |
//! | `carried` | the source of the outputs: events that other nodes ran |
//! | `condition` | values that hold for a run |
//! | `shared` | the source of all nodes, read by the first |

mod carried;
pub(crate) mod codec;
pub(crate) mod condition;
mod crossing;
mod given;
mod shared;
mod split;

pub use carried::Carried;
pub use condition::{Condition, Conditions};
pub use crossing::Crossing;
pub use given::{Given, Inbox};
pub use shared::SharedSource;
pub use split::{OutputsAt, Split};
