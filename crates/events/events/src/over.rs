//! The end of a run: when the last of its tasks is gone, there is a summary.

use crate::engine::Engine;
use crate::exclusives::Claim;
use crate::status::Status;
use crate::summary::summary;
use actinium_actor::{Attached, EventLedger, SystemHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The run's tasks, and what holds its modules, share one of these; the last to go drops it. Then
/// no module runs any more, and all of them have been dropped.
pub(crate) struct Over {
    pub(crate) work: Arc<Work>,
    pub(crate) system: SystemHandle,
    /// The number by which the run is attached to the system.
    pub(crate) attached: u64,
    pub(crate) claim: Option<Claim>,
}

impl Drop for Over {
    fn drop(&mut self) {
        drop(self.claim.take());
        let Work { engine, status } = &*self.work;
        let summary = summary(engine, status);
        // Relaxed: no task of the run is left.
        let counts = &status.counts;
        counts.cancelled.store(counts.in_flight.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        self.system.detach(self.attached);
        status.over(summary);
    }
}

/// A run, as its system knows it.
pub(crate) struct Work {
    pub(crate) engine: Arc<Engine>,
    pub(crate) status: Arc<Status>,
}

impl Attached for Work {
    fn stop(&self) {
        self.status.stop_once();
    }

    fn given_up(&self, workers: &[usize]) {
        self.status.over(self.engine.stuck_summary(&self.status, workers.iter().copied()));
    }

    fn ledger(&self) -> EventLedger {
        // Relaxed: all workers stand between two turns, or the run is over.
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &self.status.counts;
        EventLedger {
            begun: count(&counts.begun),
            ended: count(&counts.done) + count(&counts.failed),
            in_flight: count(&counts.in_flight),
            cancelled: count(&counts.cancelled),
        }
    }

    fn describe(&self) -> String {
        // Relaxed: a statistic.
        let in_flight = self.status.counts.in_flight.load(Ordering::Relaxed);
        format!("the graph '{}' has {in_flight} events in flight", self.status.name)
    }
}
