//! What carries messages between this scheduler's runnables and elsewhere, and has workers help: other nodes of a cluster, say.
//!
//! A message that a worker itself fetches, or takes away, waits for no other thread. So a porter is asked between rounds, and again and
//! again while a worker looks for work; what it says is part of whether a worker may sleep.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// See the module. All is called on a worker between two turns, and must be brief.
pub trait Porter: Send + Sync {
    /// A worker has run out of work, and begins to look for more.
    fn out_of_work(&self);

    /// Fetches and takes away what there is; true if there was something. `is_idle`: the worker has nothing else to do.
    fn carry(&self, is_idle: bool) -> bool;

    /// Whether [`Porter::carry`] finds things only by looking, so that a worker that looks for work had better look there all the time.
    fn wants_looks(&self) -> bool;

    /// Somebody has called for it, and woken a worker ([`Shared::call`](crate::Shared::call)): that one does not sleep before it has
    /// looked.
    fn is_called(&self) -> bool;

    /// A worker goes to sleep: nobody carries until it wakes.
    fn asleep(&self);
}

/// The porter of a scheduler, if it has one.
#[derive(Default)]
pub(crate) struct Lodge(OnceLock<Arc<dyn Porter>>);

impl Lodge {
    /// False if there was one before.
    pub(crate) fn set(&self, porter: Arc<dyn Porter>) -> bool {
        self.0.set(porter).is_ok()
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&dyn Porter> {
        self.0.get().map(|porter| &**porter)
    }
}

impl fmt::Debug for Lodge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "Lodge(a porter)" } else { "Lodge(empty)" })
    }
}
