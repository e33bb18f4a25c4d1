//! Predictions about a workload before it is run: its shape, the times of its events, what limits
//! them, and how fast it can go.
//!
//! | module | what it does |
//! |---|---|
//! | [`flow`] | the graph: who needs whom, levels, limits |
//! | [`simulate`](mod@simulate) | runs it in imagination, without overhead |
//! | [`predict`] | events per second at best |

pub mod flow;
pub mod predict;
pub mod simulate;

use serde::Serialize;

use super::model::{Role, Work, Workload};
use flow::Flow;
pub use predict::{EVENTS_PER_SLOT, Prediction, ideal};

/// Most events that are looked at one by one. Times repeat; filters that let only some events
/// through need not.
const EVENTS_MAX: usize = 1_000;
/// Most module runs for that.
const RUNS_MAX: usize = 5_000_000;

/// A mean with what lies around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range {
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Range {
    /// Returns the range of these values; all zero if there are none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let (mut count, mut sum, mut min, mut max) = (0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            (count, sum) = (count + 1.0, sum + value);
            (min, max) = (value.min(min), value.max(max));
        }
        if count == 0.0 { Self::default() } else { Self { mean: sum / count, min, max } }
    }
}

/// A module, and how many others it needs or is needed by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fan {
    /// The module.
    pub label: String,
    /// The number of others.
    pub modules: usize,
}

/// A module on the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriticalPath {
    /// The length, over all events.
    pub time_ns: Range,
    /// The event whose path is nearest to the mean.
    pub event: u64,
    /// The modules on that event's critical path, in order.
    pub modules: Vec<Critical>,
}

/// How many events per second something allows through that only so many may be in at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// The module, or the resource.
    pub name: String,
    /// The kind of thing that limits: `module`, `resource` or `source`.
    pub kind: &'static str,
    /// How many tasks may be in it.
    pub tasks_max: u32,
    /// Mean time that an event spends in it.
    pub time_ns: f64,
    /// Events per second.
    pub events_per_s: f64,
}

/// The whole plan of a workload: its shape, its times, its limits and predictions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The workload's name.
    pub name: String,
    /// Modules in the file.
    pub modules_in_file: usize,
    /// Modules that run.
    pub modules: usize,
    /// The producers among these.
    pub producers: usize,
    /// Those among these that wait instead of computing.
    pub waiting_modules: usize,
    /// Pairs of a module that runs and one that it needs.
    pub edges: usize,
    /// Modules in the longest chain.
    pub levels: usize,
    /// The number of paths.
    pub paths: usize,
    /// The module that needs the largest number of others.
    pub fan_in_max: Fan,
    /// The module that the largest number of others need.
    pub fan_out_max: Fan,
    /// How many events the figures below are of: the times repeat after that.
    pub events: usize,
    /// Time of all modules of an event together.
    pub total_ns: Range,
    /// The part of `total_ns` in which modules compute.
    pub busy_ns: Range,
    /// The critical path.
    pub critical_path: CriticalPath,
    /// Total time by critical path, of each event: how many workers one event can use.
    pub parallelism: Range,
    /// The limits of the rate that no number of workers and slots lifts, the tightest first.
    pub ceilings: Vec<Ceiling>,
    /// Events per second at best, for workers and slots.
    pub predictions: Vec<Prediction>,
    /// How long each event takes alone with workers for all of it.
    #[serde(skip)]
    pub durations_ns: Vec<u64>,
}

impl Plan {
    /// Makes the plan of a workload, without predictions.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        Self::of(&Flow::new(workload))
    }

    /// Makes the plan of a workload whose flow is known, without predictions.
    #[must_use]
    pub fn of(flow: &Flow<'_>) -> Self {
        let workload = flow.workload;
        let events = Events::look_at(flow);
        let widest = |counts: &[Vec<usize>]| {
            // The first of the widest, so that the answer does not depend on anything else.
            let widest =
                flow.modules().max_by_key(|&index| (counts[index].len(), usize::MAX - index));
            widest.map_or_else(Fan::default, |index| Fan {
                label: workload.modules[index].label.clone(),
                modules: counts[index].len(),
            })
        };
        let count = |of: fn(&super::model::Module) -> bool| {
            flow.modules().filter(|&index| of(&workload.modules[index])).count()
        };
        Self {
            name: workload.name.clone(),
            modules_in_file: workload.modules.len(),
            modules: count(|_| true),
            producers: count(|module| module.role == Role::Producer),
            waiting_modules: count(|module| module.work == Work::Wait),
            edges: flow.edges(),
            levels: flow.levels.iter().copied().max().unwrap_or(0),
            paths: workload.paths.len(),
            fan_in_max: widest(&flow.producers),
            fan_out_max: widest(&flow.consumers),
            events: events.durations_ns.len(),
            total_ns: Range::of(events.work_ns.iter().map(|&ns| ns as f64)),
            busy_ns: Range::of(events.busy_ns.iter().map(|&ns| ns as f64)),
            parallelism: events.parallelism(),
            ceilings: events.ceilings(flow),
            critical_path: events.critical_path(flow),
            predictions: Vec::new(),
            durations_ns: events.durations_ns,
        }
    }

    /// The tightest limit, if there is any: events per second.
    #[must_use]
    pub fn ceiling_per_s(&self) -> Option<f64> {
        self.ceilings.first().map(|ceiling| ceiling.events_per_s)
    }

    /// Returns a time that no schedule is faster than: all work on all workers, all events in the
    /// slots, all that passes through the narrowest place.
    #[must_use]
    pub fn bound_s(&self, workers: usize, slots: usize, events: u64) -> f64 {
        let by_workers = self.busy_ns.mean * 1e-9 / workers as f64;
        let by_slots = self.critical_path.time_ns.mean * 1e-9 / slots as f64;
        let by_ceiling = self.ceiling_per_s().map_or(0.0, |per_s| 1.0 / per_s);
        events as f64 * by_workers.max(by_slots).max(by_ceiling)
    }

    /// Adds the ideal for each pair of workers and slots that can be found out in bounded time.
    /// Without a number of events it is of so many that every slot has some and all times come in.
    pub fn predict(
        &mut self,
        flow: &Flow<'_>,
        pairs: impl IntoIterator<Item = (Option<usize>, usize)>,
        events: Option<u64>,
    ) {
        for (workers, slots) in pairs {
            let of_slots = (slots as u64).saturating_mul(EVENTS_PER_SLOT);
            let events = events.unwrap_or(of_slots.max(self.events as u64));
            let prediction = ideal(flow, &self.durations_ns, workers, slots, events);
            let known = |p: &Prediction| self.predictions.iter().any(|known| known == p);
            self.predictions.extend(prediction.filter(|p| !known(p)));
        }
    }
}

/// Each event alone, with workers for all of it.
struct Events {
    work_ns: Vec<u64>,
    busy_ns: Vec<u64>,
    durations_ns: Vec<u64>,
    /// The critical path of each, in order.
    paths: Vec<Vec<usize>>,
    /// Time in each limit, of all events together.
    limited_ns: Vec<u64>,
}

impl Events {
    fn look_at(flow: &Flow<'_>) -> Self {
        let count = how_many(flow);
        let mut events = Self {
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

    fn parallelism(&self) -> Range {
        let pairs = self.work_ns.iter().zip(&self.durations_ns);
        Range::of(pairs.filter(|&(_, &ns)| ns > 0).map(|(&work, &ns)| work as f64 / ns as f64))
    }

    fn critical_path(&self, flow: &Flow<'_>) -> CriticalPath {
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

    fn ceilings(&self, flow: &Flow<'_>) -> Vec<Ceiling> {
        let count = self.durations_ns.len() as f64;
        let source = flow.workload.source.times.mean();
        let source = (source > 0.0).then(|| Ceiling {
            name: "source".to_owned(),
            kind: "source",
            tasks_max: 1,
            time_ns: source,
            events_per_s: 1e9 / source,
        });
        let limits = flow.limits.iter().zip(&self.limited_ns).filter(|&(_, &ns)| ns > 0);
        let limits = limits.map(|(limit, &ns)| {
            let time_ns = ns as f64 / count;
            Ceiling {
                name: limit.name.clone(),
                kind: if limit.shared { "resource" } else { "module" },
                tasks_max: limit.tasks_max,
                time_ns,
                events_per_s: f64::from(limit.tasks_max) * 1e9 / time_ns,
            }
        });
        let mut ceilings: Vec<Ceiling> = limits.chain(source).collect();
        ceilings.sort_by(|a, b| a.events_per_s.total_cmp(&b.events_per_s));
        ceilings
    }
}

/// After how many events the times repeat, within bounds.
fn how_many(flow: &Flow<'_>) -> usize {
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
    wanted.min(RUNS_MAX / flow.reached.len().max(1)).max(1)
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
    #[must_use]
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
            None => (plan.bound_s(workers, slots, events), "bounds"),
        };
        let events_per_s = events as f64 / elapsed_s;
        (elapsed_s > 0.0).then_some(Ideal { elapsed_s, events_per_s, by })
    }
}
