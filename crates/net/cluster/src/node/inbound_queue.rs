//! The frames of another node that have come and were not handed over, and the payloads for them:
//! what `receive` keeps between its turns.

use super::frame_receiver::FrameReceiverMsg;
use crate::payload::PayloadError;
use actinium_memory::heap::Payload;
use std::collections::{BTreeMap, VecDeque};

/// The reason for which a message with a payload is not handed over.
pub(super) enum Missing {
    /// There was no such actor, so that nothing was fetched.
    Actor,
    Payload(PayloadError),
}

/// Frames that have come and were not handed over yet.
#[derive(Default)]
pub(super) struct InboundQueue {
    /// Frames, and the messages that come behind them. The first is a frame that has been handed
    /// over up to `at`.
    pub(super) waiting: VecDeque<FrameReceiverMsg>,
    pub(super) at: usize,
    /// The number of messages of the present piece so far.
    pub(super) handed: usize,
    /// Whether the actor has told itself to go on.
    pub(super) goes_on: bool,
    /// Whether a payload was waited for since the queue was last empty: then all payloads that are
    /// offered in it are wanted.
    pub(super) wants: bool,
    /// The ticket of the next payload that is wanted, and that of the next whose turn it is.
    pub(super) last: u64,
    pub(super) turn: u64,
    pub(super) fetched: BTreeMap<u64, Result<Payload, Missing>>,
}
