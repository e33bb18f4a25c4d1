//! The idle poller: moves messages between this scheduler's runnables and elsewhere (other nodes of
//! a cluster, say) on the workers.
//!
//! A message that a worker itself fetches or sends waits for no other thread. Workers therefore
//! poll between rounds, when they run out of work, and repeatedly while they look for some. One of
//! several does at a time: which, is for the poller to say.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// See the module. Workers call every method between two turns, so each must be brief.
pub trait IdlePoller: Send + Sync {
    /// A worker has run out of work: moves what is there to move, and what waits for a moment like
    /// this. True if there was something.
    fn out_of_work(&self, worker: usize) -> bool;

    /// Moves what is there to move, unless another worker does that; true if there was something.
    /// `is_idle`: this worker has nothing else to do.
    fn poll(&self, worker: usize, is_idle: bool) -> bool;

    /// Whether [`IdlePoller::poll`] finds things only by looking, so that an idle worker has to
    /// poll all the time.
    fn wants_looks(&self) -> bool;

    /// Somebody has asked for a poll, and woken a worker if need be
    /// ([`Shared::request_poll`](crate::Shared::request_poll)). No worker falls asleep before one
    /// has polled.
    fn is_called(&self) -> bool;

    /// A worker does not poll for a while: its turn may take long, or it sleeps.
    fn away(&self, worker: usize);

    /// All workers sleep: nobody polls until one wakes.
    fn all_asleep(&self);
}

/// The idle poller of a scheduler, if it has one.
#[derive(Default)]
pub(crate) struct PollerCell(OnceLock<Arc<dyn IdlePoller>>);

impl PollerCell {
    /// False if there was one before.
    pub(crate) fn set(&self, poller: Arc<dyn IdlePoller>) -> bool {
        self.0.set(poller).is_ok()
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&dyn IdlePoller> {
        self.0.get().map(|poller| &**poller)
    }
}

impl fmt::Debug for PollerCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "PollerCell(set)" } else { "PollerCell(empty)" })
    }
}
