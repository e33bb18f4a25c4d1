//! What a node counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of a node, from zero.
#[derive(Default)]
pub(super) struct Counters {
    /// The messages of others that this node has handed on, and that it could not.
    pub(super) handed_on: Count,
    pub(super) unroutable: Count,
    pub(super) misaddressed: Count,
    pub(super) not_understood: Count,
    /// The messages that this node has sent to others and has received from them: see
    /// [`super::state::Inner::sent_and_received`].
    pub(super) sent: Count,
    pub(super) received: Count,
    /// The number of times that the worker has moved frames.
    pub(super) driven: Count,
    /// The number of times that the thread has slept where other nodes ring, and that one did.
    pub(super) rested: Count,
    pub(super) rung: Count,
}

/// A count that any thread adds to.
#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, n: u64) {
        // Relaxed: a count. Who needs it exactly has waited until this system is idle.
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        // Relaxed: a count.
        self.0.load(Ordering::Relaxed)
    }
}
