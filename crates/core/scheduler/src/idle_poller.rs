//! The idle poller: moves messages between this scheduler's runnables and elsewhere (other nodes of
//! a cluster, say) on the workers.
//!
//! A message that a worker itself fetches or sends waits for no other thread. Workers therefore
//! poll between rounds, and repeatedly while they look for work. A worker sleeps only after a poll
//! that found nothing.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// See the module. Workers call every method between two turns, so each must be brief.
pub trait IdlePoller: Send + Sync {
    /// A worker has run out of work, and begins to look for more.
    fn out_of_work(&self);

    /// Moves what is there to move; true if there was something. `is_idle`: the worker has nothing
    /// else to do.
    fn poll(&self, is_idle: bool) -> bool;

    /// Whether [`IdlePoller::poll`] finds things only by looking, so that an idle worker has to
    /// poll all the time.
    fn wants_looks(&self) -> bool;

    /// Another thread has asked for a poll and woken a worker
    /// ([`Shared::request_poll`](crate::Shared::request_poll)). That worker does not sleep before
    /// it has polled.
    fn is_called(&self) -> bool;

    /// A worker goes to sleep: nobody polls until it wakes.
    fn asleep(&self);
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
