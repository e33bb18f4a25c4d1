//! The record of a run: figures per module, path and resource; spans; samples over time.

use actinium_observe::Latency;
use actinium_topology::PuId;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// How much is noted during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figures {
    /// Calls only; one in 64 is timed, for the processor's own decisions.
    Counts,
    /// Calls and times per module.
    #[default]
    Times,
    /// Calls, times, and a span for each call: the last ones of each worker.
    Spans,
}

/// One call of one module, or the wait that a call started.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Span {
    /// The event's number.
    pub event: u64,
    /// Index into [`RunSummary::modules`].
    pub module: u32,
    /// The worker that ran it.
    pub worker: u32,
    /// The event's slot.
    pub slot: u32,
    /// The begin of the span, in nanoseconds since the run began.
    pub start_ns: u64,
    /// The end of the span, in nanoseconds since the run began.
    pub end_ns: u64,
    /// Whether the span is a wait, which held no worker. A wait lasts from the begin of the call
    /// that started it, on `worker`, to its completion.
    pub waits: bool,
}

/// How things stood at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// Nanoseconds since the run began.
    pub at_ns: u64,
    /// Workers that ran a module.
    pub running: usize,
    /// For each worker, which fraction of the time since the last sample it ran modules (0 to 1).
    pub busy: Vec<f32>,
    /// Events in flight.
    pub in_flight: u64,
    /// Modules that waited, for each of [`RunSummary::resources`].
    pub waiting: Vec<u32>,
}

/// Figures of one module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ModuleFigures {
    /// The module's label.
    pub label: String,
    /// The number of calls.
    pub calls: u64,
    /// Nanoseconds on a worker.
    pub busy_ns: u64,
    /// Nanoseconds from the begin of the event until all its inputs were there and it began (its
    /// wait for a resource included).
    pub wait_start_ns: u64,
    /// The part of `wait_start_ns` from the moment when all its inputs were there but its resource
    /// was taken, until it began.
    pub wait_resource_ns: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Calls at the worker where its state was at home; `None`: more than one event at a time may
    /// use it, so it has no home.
    pub at_home: Option<u64>,
}

/// Figures of the products of one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductFigures {
    /// The label of the producer or, if that makes several, of this product.
    pub label: String,
    /// The largest number of such products that lived at a time. A product lives from the call that
    /// makes it until its last reader is done.
    pub alive_max: u64,
}

/// Figures of one path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PathFigures {
    /// The name.
    pub name: String,
    /// Events that came to an end of it.
    pub events: u64,
    /// Events for which it went on to its last step.
    pub passed: u64,
    /// Nanoseconds from the begin of the event to its end, summed.
    pub total_ns: u64,
    /// The longest of these.
    pub max_ns: u64,
}

/// Figures of one resource.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ResourceFigures {
    /// The name: a serial or limited module's label, or the name that exclusive modules share.
    pub name: String,
    /// Nanoseconds that modules waited for it.
    pub waited_ns: u64,
}

/// What waits for a resource at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceQueue {
    /// The name: see [`ResourceFigures`].
    pub name: String,
    /// Modules of events that wait for it.
    pub waiting: u64,
    /// Nanoseconds that modules have waited for it so far.
    pub waited_ns: u64,
}

/// A run at a moment: see [`Monitor::progress`](crate::Monitor::progress). The figures were read
/// one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunProgress {
    /// The name of the graph.
    pub name: String,
    /// Slots: so many events may be in flight; 0 while the run does not last.
    pub slots: u64,
    /// Workers; 0 while the run does not last.
    pub workers: u64,
    /// The time since the run began; 0 while it does not last.
    pub elapsed_ns: u64,
    /// Events in flight.
    pub in_flight: u64,
    /// Events that the source has made.
    pub begun: u64,
    /// Events that have ended, failed ones included.
    pub ended: u64,
    /// Events that have failed.
    pub failed: u64,
    /// Events that were run again after a failure.
    pub retries: u64,
    /// What waits for each resource; nothing while the run does not last.
    pub queues: Vec<ResourceQueue>,
}

/// A failure: of an event, or of the source or a transition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The module's label, or the source's.
    pub module: String,
    /// The event's number; `None`: it was a transition, or the end of the job.
    pub event: Option<u64>,
    /// The module's error message, followed by those of its sources.
    pub cause: String,
}

/// An event that has ended: see [`Processor::on_end`](crate::Processor::on_end).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EventEnd<'a> {
    /// The number.
    pub number: u64,
    /// The slot that it was in, which is free as soon as its end is told.
    pub slot: usize,
    /// Nanoseconds from its begin, all attempts included.
    pub took_ns: u64,
    /// If it failed: the module's label, and what it said.
    pub failure: Option<(&'a str, &'a str)>,
}

/// The results and figures of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunSummary {
    /// Events that went through.
    pub events: u64,
    /// Events that failed, after all attempts.
    pub failed: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Whether the run was told to stop.
    pub stopped: bool,
    /// Events given up in the middle of their way by a stop at once.
    pub abandoned: u64,
    /// Whether it ended because something failed and the policy is to stop then, or the source
    /// failed.
    pub ended_by_failure: bool,
    /// The first failures: at most 100.
    pub failures: Vec<Failure>,
    /// Workers whose modules did not return in the time of
    /// [`Stopper::stop_within`](crate::Stopper::stop_within).
    pub stuck: Vec<Stuck>,
    /// The time from the first event to the end of the last.
    pub elapsed_ns: u64,
    /// The number of workers.
    pub workers: usize,
    /// Workers that were given work at the end: all, unless they are elastic.
    #[serde(default)]
    pub working: usize,
    /// The PU that each worker was bound to, if to any.
    pub pus: Vec<Option<PuId>>,
    /// The number of slots.
    pub slots: usize,
    /// Most events in flight at a time.
    pub in_flight_max: u64,
    /// How long events took, from the begin of an event, when the source has made it, to its end,
    /// all attempts and outputs included: nanoseconds, rising, and how many events took about as
    /// long. A time is that of the slowest event of a step, and steps are 6 % wide. Empty with
    /// [`Figures::Counts`].
    pub latency_buckets: Vec<(u64, u64)>,
    /// In the order of registration.
    pub modules: Vec<ModuleFigures>,
    /// In the order of registration, with [`Figures::Spans`].
    pub products: Vec<ProductFigures>,
    /// In the order of registration.
    pub paths: Vec<PathFigures>,
    /// All resources.
    pub resources: Vec<ResourceFigures>,
    /// In order of their starts, with [`Figures::Spans`]: the latest of each worker.
    pub spans: Vec<Span>,
    /// Spans before those, which were forgotten: see [`Settings::spans_max`].
    ///
    /// [`Settings::spans_max`]: crate::Settings::spans_max
    #[serde(default)]
    pub spans_forgotten: u64,
    /// The samples, if there is a sampling interval.
    pub samples: Vec<Sample>,
}

impl RunSummary {
    /// How long events took: the quantiles of [`RunSummary::latency_buckets`].
    ///
    /// ```
    /// use actinium_events::RunSummary;
    ///
    /// let latency_buckets = vec![(1_000, 99), (50_000, 1)];
    /// let summary = RunSummary { latency_buckets, ..RunSummary::default() };
    /// assert_eq!(summary.latency().quantile_ns(0.99), 1_000);
    /// ```
    #[must_use]
    pub fn latency(&self) -> Latency {
        Latency::from_buckets(self.latency_buckets.iter().copied())
    }
}

/// A worker that was given up: its thread is left to itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// The number.
    pub worker: usize,
    /// The label of the module or source that it was in, or whose product it was dropping; `None`:
    /// in other code of the program, such as a listener.
    pub module: Option<String>,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let module = self.module.as_deref().unwrap_or("no module");
        write!(f, "worker {} has not returned from {module}", self.worker)
    }
}

/// A number that one worker writes and others may read.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        // Relaxed: a statistic, with a single writer.
        self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    pub(crate) fn max(&self, n: u64) {
        // Relaxed: a statistic, with a single writer.
        self.0.store(self.0.load(Ordering::Relaxed).max(n), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        // Relaxed: a statistic.
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, n: u64) {
        // Relaxed: a statistic.
        self.0.store(n, Ordering::Relaxed);
    }
}

/// One worker's counts for one module.
#[derive(Debug, Default)]
pub(crate) struct ModuleCounts {
    pub(crate) calls: Count,
    pub(crate) busy_ns: Count,
    pub(crate) wait_start_ns: Count,
    pub(crate) wait_resource_ns: Count,
    pub(crate) failures: Count,
    pub(crate) at_home: Count,
}

#[derive(Debug, Default)]
pub(crate) struct PathCounts {
    pub(crate) events: Count,
    pub(crate) passed: Count,
    pub(crate) total_ns: Count,
    pub(crate) max_ns: Count,
}

/// A ring of spans.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    pub(crate) ring: Vec<Span>,
    next: usize,
    /// Spans that others have replaced.
    pub(crate) forgotten: u64,
}

impl Spans {
    pub(crate) fn push(&mut self, span: Span, most: usize) {
        if self.ring.len() < most {
            self.ring.push(span);
        } else if let Some(oldest) = self.ring.get_mut(self.next) {
            *oldest = span;
            self.forgotten += 1;
            self.next = (self.next + 1) % most;
        }
    }
}

/// The notes of one worker.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct WorkerNotes {
    pub(crate) modules: Box<[ModuleCounts]>,
    pub(crate) paths: Box<[PathCounts]>,
    /// Nanoseconds in modules.
    pub(crate) busy_ns: Count,
    /// The time at which the module that runs began; 0: none runs.
    pub(crate) since_ns: Count,
    /// The module that runs, from 1; 0: none.
    pub(crate) module: Count,
    pub(crate) spans: std::sync::Mutex<Spans>,
}

impl WorkerNotes {
    pub(crate) fn new(modules: usize, paths: usize) -> Self {
        WorkerNotes {
            modules: (0..modules).map(|_| ModuleCounts::default()).collect(),
            paths: (0..paths).map(|_| PathCounts::default()).collect(),
            busy_ns: Count::default(),
            since_ns: Count::default(),
            module: Count::default(),
            spans: std::sync::Mutex::default(),
        }
    }
}
