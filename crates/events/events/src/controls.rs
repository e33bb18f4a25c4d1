//! Handles by which other threads stop a run, feed it, and look at it.

use crate::histogram::latency;
use crate::record::{ModuleFigures, RunProgress};
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

    /// How the run stands: slots, queues and counts at this moment.
    ///
    /// ```
    /// use actinium_events::{Builder, Cause, Next, Processor, Settings, Source};
    ///
    /// struct Numbers;
    ///
    /// impl Source for Numbers {
    ///     type Product = u64;
    ///     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
    ///         Ok(if number < 10 { Next::Event(number) } else { Next::End })
    ///     }
    /// }
    ///
    /// let graph = Builder::new("numbers", Numbers).build()?;
    /// let processor = Processor::new(graph, Settings::default().workers(1));
    /// let monitor = processor.monitor();
    /// assert!(monitor.modules().is_none(), "it has not begun");
    /// processor.run()?;
    /// assert_eq!((monitor.progress().ended, monitor.progress().in_flight), (10, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(&self) -> RunProgress {
        let counts = &self.0.counts;
        let mut progress = RunProgress {
            name: self.0.name.clone(),
            in_flight: self.in_flight(),
            ended: self.events(),
            // Relaxed, all: statistics.
            begun: counts.begun.load(Ordering::Relaxed),
            failed: counts.failed.load(Ordering::Relaxed),
            retries: counts.retries.load(Ordering::Relaxed),
            ..RunProgress::default()
        };
        self.0.run().into_iter().for_each(|run| run.progress(&self.0, &mut progress));
        progress
    }

    /// What the modules have done so far, in the order of registration. It adds up what each worker
    /// has noted of each module, so it takes longer than [`Monitor::progress`]. `None`: the run has
    /// not begun, or is over (see [`RunSummary`](crate::RunSummary) then).
    pub fn modules(&self) -> Option<Vec<ModuleFigures>> {
        self.0.run().map(|run| run.modules())
    }
}
