//! The outcome of a run.

use actinium_events::RunSummary;
use actinium_observe::process::sampler::Samples;
use actinium_workload::Workload;
use actinium_workload::plan::flow::Flow;
use actinium_workload::plan::{Plan, ideal};
use serde::Serialize;

/// All that was measured.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The event processor's own summary of the run.
    pub summary: RunSummary,
    /// How many events were to be run.
    pub events_due: u64,
    /// Mixes all events' products: the same for every order, number of workers and of slots.
    pub checksum: u64,
    /// CPU time of the whole process meanwhile.
    pub cpu_s: f64,
    /// The most threads that the process had.
    pub threads_max: u64,
    /// The most memory that the process had in RAM.
    pub memory_max_bytes: u64,
    /// Samples of the process during the run.
    pub samples: Samples,
}

impl Outcome {
    /// How long it took.
    pub fn elapsed_s(&self) -> f64 {
        self.summary.elapsed_ns as f64 * 1e-9
    }

    /// Events that were run to their end or to their failure, by the time that it took.
    pub fn events_per_s(&self) -> f64 {
        self.finished() as f64 / self.elapsed_s()
    }

    /// Events that were run to their end or to their failure.
    pub fn finished(&self) -> u64 {
        self.summary.events + self.summary.failed
    }

    /// Returns the number of module runs.
    pub fn calls(&self) -> u64 {
        self.summary.modules.iter().map(|module| module.calls).sum()
    }
}

/// The ideal that a run is held against.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ideal {
    /// Elapsed time.
    pub elapsed_s: f64,
    /// Events per second.
    pub events_per_s: f64,
    /// `list scheduling`, or `bounds` where that would take too long to find out.
    pub by: &'static str,
}

impl Ideal {
    /// For so many events on so many workers with so many slots; `None` if no time passes at all.
    pub fn of(
        workload: &Workload,
        plan: &Plan,
        workers: usize,
        slots: usize,
        events: u64,
    ) -> Option<Self> {
        let flow = Flow::new(workload);
        let scheduled = ideal(&flow, &plan.durations_ns, Some(workers), slots, events);
        let (elapsed_s, by) = match scheduled {
            Some(scheduled) => (scheduled.elapsed_ns as f64 * 1e-9, "list scheduling"),
            None => (bound_s(plan, workers, slots, events), "bounds"),
        };
        let events_per_s = events as f64 / elapsed_s;
        (elapsed_s > 0.0).then_some(Ideal { elapsed_s, events_per_s, by })
    }
}

/// No schedule is faster: all work on all workers, all events in the slots, all that passes through
/// the narrowest place.
pub(super) fn bound_s(plan: &Plan, workers: usize, slots: usize, events: u64) -> f64 {
    let by_workers = plan.busy_ns.mean * 1e-9 / workers as f64;
    let by_slots = plan.critical_path.time_ns.mean * 1e-9 / slots as f64;
    let by_ceiling = plan.ceiling_per_s().map_or(0.0, |per_s| 1.0 / per_s);
    events as f64 * by_workers.max(by_slots).max(by_ceiling)
}
