//! Large payloads between nodes: bytes that a message belongs to and that do not travel in its
//! frame.
//!
//! The message is small and goes the usual way, with an *offer*: which bytes of which incarnation
//! of the sender's node belong to it. The sender's node keeps them (a count, no copy). The
//! receiver's node *fetches* them, and only then hands the message to the actor; what came behind
//! it from the same node waits meanwhile, so that order holds.
//!
//! **Whose bytes they are until when.** An offer lies with the frame that its message is in, and a
//! frame counts as handled when all that is in it was handed over, lost for a reason that was
//! reported, or the frame itself was lost. So offers end when their frame is acknowledged or their
//! session ends, whatever becomes of the message, and no word of its own is needed for that: what
//! is lost cannot leak. In a grid an envelope between two distant nodes takes the frame's place,
//! and the counts of their session that of its acknowledgement.
//!
//! **How bytes are fetched.** By four datagrams (`datagram`), beside the link and its credit. Who
//! fetches asks for ranges and repeats itself while no answer comes; who is asked keeps no state.
//! Bytes of an offer never change, so that doubled, late and overtaking answers do no harm. Where
//! the fabric has remote memory, the answer to the first request is where the bytes lie; they are
//! read from there, and then the sender's node is asked once more: only if it still had the offer
//! when they were there, they are what was sent.
//!
//! **Bounds.** `waiting_bytes_max` on what a sender's node keeps for another, `ahead_bytes_max` on
//! what is fetched and not handed over, `window_bytes` on what is asked for and not there, which
//! leaves room for other frames.
//!
//! `offers` is the sender's side and `wanted` the receiver's, both shared by workers and the node's
//! thread; `exchange` is what the node's thread does.

pub(crate) mod datagram;
mod offers;
mod wanted;

pub(crate) use datagram::is_datagram;
pub(crate) use offers::Offers;
pub(crate) use wanted::{Want, Wanted};

use actinium_memory::heap::Exhausted;
use std::fmt;

/// Bounds on payloads that go to other nodes or come from them, for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadConfig {
    /// Bytes that this node keeps for another one until it has them; beyond, senders are refused.
    /// One payload passes whatever its size.
    pub waiting_bytes_max: usize,
    /// Bytes that are fetched from another node and not yet handed to actors. One payload passes
    /// whatever its size.
    pub ahead_bytes_max: usize,
    /// Bytes under way, where the fabric has no remote memory.
    pub window_bytes: usize,
}

impl Default for PayloadConfig {
    fn default() -> Self {
        PayloadConfig {
            waiting_bytes_max: 64 << 20,
            ahead_bytes_max: 16 << 20,
            window_bytes: 1 << 20,
        }
    }
}

/// The reason for which a payload did not come, and its message is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadError {
    /// The arena here had no memory for it.
    Exhausted(Exhausted),
    /// This node has no memory for payloads: see
    /// [`NodeHandle::take_payloads_in`](crate::NodeHandle::take_payloads_in).
    NoArena,
    /// The actor takes messages without payloads only: see
    /// [`RemoteActor::with_payload`](crate::RemoteActor::with_payload) and
    /// [`Migrate::with_payload`](crate::Migrate::with_payload).
    NotTaken,
    /// The sender's node has it no more.
    Gone,
    /// The sender's node went down, or this one left.
    NodeDown,
    /// In a grid: the sender's node is no neighbour, and does not answer this one. Messages go
    /// through other nodes, but the bytes of payloads go straight.
    NoAnswer,
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PayloadError::Exhausted(exhausted) => {
                write!(f, "there was no room for it: {exhausted}")
            }
            PayloadError::NoArena => f.write_str(
                "the receiving node has no memory for payloads: give it some with take_payloads_in",
            ),
            PayloadError::NotTaken => f.write_str(
                "the receiving actor takes no payloads: its RemoteActor::with_payload says so",
            ),
            PayloadError::Gone => f.write_str("the sender's node has it no more"),
            PayloadError::NodeDown => f.write_str("the two nodes have lost each other"),
            PayloadError::NoAnswer => f.write_str(
                "the sender's node does not answer: payloads go straight between two nodes, also in a grid",
            ),
        }
    }
}

impl std::error::Error for PayloadError {}

/// The payloads that this node and another send each other.
pub(crate) struct Payloads {
    pub(crate) offers: Offers,
    pub(crate) wanted: Wanted,
}

impl Payloads {
    pub(crate) fn new(config: &PayloadConfig) -> Self {
        Payloads { offers: Offers::new(config.waiting_bytes_max), wanted: Wanted::default() }
    }
}
