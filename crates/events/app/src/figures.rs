//! The figures of a run, which serialise as JSON.

use crate::run::Outcome;
use actinium_events::drawing::Drawing;
use actinium_events::{
    Failure as EventFailure, ModuleFigures, PathFigures, ProductFigures, Quantiles,
    ResourceFigures, Sample, Span,
};
use actinium_observe::process::Load;
use actinium_topology::PuId;
use serde::Serialize;

/// All figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunFigures<'a> {
    /// Events that went through.
    pub events: u64,
    /// Number of events to be run, if that was known.
    pub events_due: Option<u64>,
    /// Events that failed, after all attempts.
    pub failed: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Events given up in the middle of their way.
    pub abandoned: u64,
    /// Whether it was told to stop.
    pub interrupted: bool,
    /// The time that it took.
    pub elapsed_s: f64,
    /// Events that were run to their end or to their failure, by the elapsed time.
    pub events_per_s: f64,
    /// CPU time of the whole process.
    pub cpu_s: f64,
    /// CPU time that was used, by the elapsed time.
    pub cpus_used: f64,
    /// How long events took, from the begin of an event to its end; `None` if none has ended.
    pub latency: Option<Quantiles>,
    /// The distribution behind that: nanoseconds, and how many events took about as long.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub latency_buckets: &'a [(u64, u64)],
    /// Worker threads.
    pub workers: usize,
    /// Those that were given work at the end: all, unless they are elastic.
    pub workers_working: usize,
    /// Events that may be in flight.
    pub slots: usize,
    /// Whether it ended because something failed.
    pub ended_by_failure: bool,
    /// Calls of all modules together.
    pub module_calls: u64,
    /// The PU that each worker was bound to, if to any.
    pub worker_pus: &'a [Option<PuId>],
    /// The most threads that the process had.
    pub threads_max: u64,
    /// The most memory that the process had in RAM.
    pub memory_max_bytes: u64,
    /// Most events in flight at a time.
    pub in_flight_max: u64,
    /// Figures of each module.
    pub modules: &'a [ModuleFigures],
    /// How many of each product lived at a time; only if the run was looked at closely.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub products: &'a [ProductFigures],
    /// Figures of each path.
    pub paths: &'a [PathFigures],
    /// Figures of each resource.
    pub resources: &'a [ResourceFigures],
    /// The first failures.
    pub failures: &'a [EventFailure],
    /// CPU time on each CPU over time.
    pub load: Load,
    /// The graph: modules, and what they need.
    pub graph: &'a Drawing,
    /// How things stood again and again; only if the run was looked at closely.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub samples: &'a [Sample],
    /// The last calls of modules; only if the run was looked at closely.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub spans: &'a [Span],
    /// Spans before those, which were forgotten.
    pub spans_forgotten: u64,
}

impl<'a> RunFigures<'a> {
    /// Returns the figures of this run.
    pub fn new(outcome: &'a Outcome) -> Self {
        let summary = &outcome.summary;
        let elapsed_s = outcome.elapsed_s();
        RunFigures {
            events: summary.events,
            events_due: outcome.events_due,
            failed: summary.failed,
            retries: summary.retries,
            abandoned: summary.abandoned,
            interrupted: summary.stopped,
            elapsed_s,
            events_per_s: outcome.events_per_s(),
            cpu_s: outcome.cpu_s,
            cpus_used: outcome.cpu_s / elapsed_s,
            latency: Some(summary.latency().quantiles()).filter(|latency| latency.count > 0),
            latency_buckets: &summary.latency_buckets,
            workers: summary.workers,
            workers_working: summary.working,
            slots: summary.slots,
            ended_by_failure: summary.ended_by_failure,
            module_calls: summary.modules.iter().map(|module| module.calls).sum(),
            worker_pus: &summary.pus,
            threads_max: outcome.threads_max,
            memory_max_bytes: outcome.memory_max_bytes,
            in_flight_max: summary.in_flight_max,
            modules: &summary.modules,
            products: &summary.products,
            paths: &summary.paths,
            resources: &summary.resources,
            failures: &summary.failures,
            load: Load::of(&outcome.samples),
            graph: &outcome.graph,
            samples: &summary.samples,
            spans: &summary.spans,
            spans_forgotten: summary.spans_forgotten,
        }
    }
}
