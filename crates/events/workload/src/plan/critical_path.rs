//! Critical paths: each event is run alone in imagination, with workers for all of it. The trace
//! says for what each module waited last; followed back from the module that ends last, it is the
//! event's critical path.

use serde::{Deserialize, Serialize};

use super::flow::Flow;
use super::range::Range;
use super::simulate;

/// Most events that are looked at one by one. Times repeat; filters that let only some events
/// through need not.
const EVENTS_MAX: usize = 1_000;
/// Most module runs for that.
const RUNS_MAX: usize = 5_000_000;

/// A module on the critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Critical {
    /// The module.
    pub label: String,
    /// The time in the event whose path is shown.
    pub time_ns: u64,
    /// The share of all events on whose critical paths it is.
    pub share_of_events: f64,
}

/// The longest chain of modules that wait for each other: no event is done sooner, however many
/// workers there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// The length, over all events.
    pub time_ns: Range,
    /// The event whose path is nearest to the mean.
    pub event: u64,
    /// The modules on that event's critical path, in order.
    pub modules: Vec<Critical>,
}

impl CriticalPath {
    /// Returns the length of that event's critical path.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.modules.iter().map(|module| module.time_ns).sum()
    }

    /// Returns the part of that length that is this module's.
    #[must_use]
    pub fn share(&self, module: &Critical) -> f64 {
        module.time_ns as f64 / self.length_ns() as f64
    }
}

/// Each event alone, with workers for all of it.
pub(super) struct Events {
    pub(super) work_ns: Vec<u64>,
    pub(super) busy_ns: Vec<u64>,
    pub(super) durations_ns: Vec<u64>,
    /// Whether all events after these are as these, in the same order.
    pub(super) all_repeat: bool,
    /// The critical path of each, in order.
    paths: Vec<Vec<usize>>,
    /// Time in each limit, of all events together.
    pub(super) limited_ns: Vec<u64>,
}

impl Events {
    pub(super) fn look_at(flow: &Flow<'_>) -> Self {
        let (count, all_repeat) = how_many(flow);
        let mut events = Self {
            all_repeat,
            work_ns: Vec::with_capacity(count),
            busy_ns: Vec::with_capacity(count),
            durations_ns: Vec::with_capacity(count),
            paths: Vec::with_capacity(count),
            limited_ns: vec![0; flow.limits.len()],
        };
        for event in 0..count as u64 {
            let (outcome, trace) = simulate::trace(flow, event);
            let source_ns = flow.workload.source.times.of(event);
            events.work_ns.push(outcome.work_ns);
            events.busy_ns.push(outcome.busy_ns);
            events.durations_ns.push(outcome.elapsed_ns - source_ns);
            let mut path: Vec<usize> =
                std::iter::successors(trace.last, |&module| trace.after[module]).collect();
            path.reverse();
            events.paths.push(path);
            for module in flow.modules().filter(|&module| trace.ran[module]) {
                if let Some(limit) = flow.limit_of[module] {
                    let times = &flow.workload.modules[module].times;
                    events.limited_ns[limit] += times.of(event);
                }
            }
        }
        events
    }

    pub(super) fn parallelism(&self) -> Range {
        let pairs = self.work_ns.iter().zip(&self.durations_ns);
        Range::of(pairs.filter(|&(_, &ns)| ns > 0).map(|(&work, &ns)| work as f64 / ns as f64))
    }

    pub(super) fn critical_path(&self, flow: &Flow<'_>) -> CriticalPath {
        let time_ns = Range::of(self.durations_ns.iter().map(|&ns| ns as f64));
        let distance = |event: &usize| (self.durations_ns[*event] as f64 - time_ns.mean).abs();
        let typical = (0..self.durations_ns.len())
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .unwrap_or(0);
        let mut on = vec![0u64; flow.reached.len()];
        self.paths.iter().flatten().for_each(|&module| on[module] += 1);
        let path = self.paths.get(typical).map(Vec::as_slice).unwrap_or_default();
        let modules = path.iter().map(|&index| {
            let module = &flow.workload.modules[index];
            Critical {
                label: module.label.clone(),
                time_ns: module.times.of(typical as u64),
                share_of_events: on[index] as f64 / self.paths.len() as f64,
            }
        });
        CriticalPath { time_ns, event: typical as u64, modules: modules.collect() }
    }
}

/// After how many events the times repeat, within bounds; and whether all repeats then.
fn how_many(flow: &Flow<'_>) -> (usize, bool) {
    let modules = flow.modules().map(|index| &flow.workload.modules[index]);
    let mut cycle = flow.workload.source.times.cycle().len();
    let mut some_rejected = false;
    for module in modules {
        let (mut a, mut b) = (cycle, module.times.cycle().len());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        cycle = (cycle / a).saturating_mul(module.times.cycle().len());
        some_rejected |= module.accepts_fraction > 0.0 && module.accepts_fraction < 1.0;
    }
    let wanted = if some_rejected { EVENTS_MAX } else { cycle.min(EVENTS_MAX) };
    let count = wanted.min(RUNS_MAX / flow.reached.len().max(1)).max(1);
    (count, count == cycle && !some_rejected)
}
