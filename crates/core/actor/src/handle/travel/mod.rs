//! Handles in messages between nodes.
//!
//! A handle is data only while a node encodes or decodes a message: the node's [`Border`] then
//! turns a handle into a [`Ticket`](super::at::Ticket) and back. Actors know nothing of nodes. What
//! depends on the type of messages is here, and what moves bytes is the cluster's.
//!
//! | file | what it is |
//! |---|---|
//! | `border.rs` | what a node does for handles, and which node's message this thread encodes |
//! | `kind.rs` | the name and the fingerprint of what a handle takes |
//! | `given.rs` | a handle of this process that was given away: what its node does with what comes |
//! | `far.rs` | a handle of an actor elsewhere |
//! | `made.rs` | handles of actors that the cluster knows by other means |
//! | `roaming.rs` | handles of actors that have no fixed place |
//! | `data.rs` | handles as data, and their description |

pub(crate) mod border;
mod data;
mod far;
mod given;
mod kind;
pub(crate) mod made;
pub(crate) mod roaming;
