//! Handles by which other threads stop a run, feed it, and look at it.

use crate::histogram::latency;
use crate::status::Status;
use actinium_observe::Latency;
use actinium_scheduler::clock::Until;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Asks a run to stop, from any thread: the first time it takes no more events and finishes those
/// in flight, the second time it ends as soon as the modules that run return.
/// [`Stopper::stop_within`] does not wait for modules that never do.
#[derive(Clone, Debug)]
pub struct Stopper(pub(crate) Arc<Status>);

impl Stopper {
    /// Asks, once more.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Stops like the first call of [`Stopper::stop`], and after `limit` like the second. Workers
    /// that are still in a module a second after that are not waited for any more:
    /// [`RunSummary::stuck`](crate::RunSummary::stuck) names them. If the run has a system of its
    /// own, their threads are left to themselves, and the memory that they may reach is leaked on
    /// purpose. On a system with others, the worker is the system's matter.
    pub fn stop_within(&self, limit: Duration) {
        if let Some(at) = Until::after(limit) {
            self.0.end_by(at);
        }
        self.0.stop_once();
    }

    /// How often it was asked.
    pub fn asked(&self) -> u8 {
        self.0.asked()
    }
}

/// Has a source that had nothing ([`Next::Later`](crate::Next::Later)) asked again, from any
/// thread. Before the run and after it, it does nothing.
#[derive(Clone, Debug)]
pub struct Feeder(pub(crate) Arc<Status>);

impl Feeder {
    /// Tells the processor that the source has something again.
    pub fn wake(&self) {
        self.0.wake_feeder();
    }
}

/// Looks at a run from another thread.
#[derive(Clone, Debug)]
pub struct Monitor(pub(crate) Arc<Status>);

impl Monitor {
    /// Events that have ended, failed ones included.
    pub fn events(&self) -> u64 {
        let counts = &self.0.counts;
        // Relaxed: statistics.
        counts.done.load(Ordering::Relaxed) + counts.failed.load(Ordering::Relaxed)
    }

    /// How long events have taken so far: see
    /// [`RunSummary::latency_buckets`](crate::RunSummary::latency_buckets).
    pub fn latency(&self) -> Latency {
        latency(self.0.latencies())
    }

    /// Events in flight.
    pub fn in_flight(&self) -> u64 {
        // Relaxed: a statistic.
        self.0.counts.in_flight.load(Ordering::Relaxed)
    }
}
