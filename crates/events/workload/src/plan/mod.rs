//! Predictions about a workload before it is run: its shape, the times of its events, what limits
//! them, and how fast it can go.
//!
//! | module | what it does |
//! |---|---|
//! | [`flow`] | the graph: who needs whom, levels, limits |
//! | [`simulate`](mod@simulate) | runs it in imagination, without overhead |
//! | [`critical_path`] | each event alone: the longest chain of modules that wait for each other |
//! | [`predict`] | events per second at best |

mod computing;
pub mod critical_path;
pub mod flow;
pub mod predict;
mod range;
pub mod simulate;

use serde::{Deserialize, Deserializer, Serialize};

use super::model::{Role, Work, Workload};
pub use computing::Computing;
use critical_path::Events;
pub use critical_path::{Critical, CriticalPath};
use flow::Flow;
pub use predict::{EVENTS_PER_SLOT, Prediction, ideal};
pub use range::Range;

/// Numbers of workers for which the ideal is usually shown.
const WORKERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// For each, so many slots per worker.
const SLOTS_PER_WORKER: [usize; 3] = [1, 2, 4];
/// Numbers of slots for which the ideal is usually shown where all modules wait.
const SLOTS: [usize; 7] = [1, 4, 16, 64, 256, 1_024, 4_096];

/// A module, and how many others it needs or is needed by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fan {
    /// The module.
    pub label: String,
    /// The number of others.
    pub modules: usize,
}

/// A path: what runs on it, one after the other, until a filter rejects the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSteps {
    /// The path.
    pub name: String,
    /// The labels of its modules.
    pub modules: Vec<String>,
    /// How many of them are filters.
    pub filters: usize,
}

/// How many events per second something allows through that only so many may be in at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The module, or the resource.
    pub name: String,
    /// The kind of thing that limits: `module`, `resource` or `source`.
    #[serde(deserialize_with = "ceiling_kind")]
    pub kind: CeilingKind,
    /// How many tasks may be in it.
    pub tasks_max: u32,
    /// Mean time that an event spends in it.
    pub time_ns: f64,
    /// Events per second.
    pub events_per_s: f64,
}

/// One of few texts. By this name, for serde would borrow what it sees to be a reference.
type CeilingKind = &'static str;

/// One of the kinds of ceilings.
fn ceiling_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CeilingKind, D::Error> {
    let kind = String::deserialize(deserializer)?;
    let known = ["module", "resource", "source"].into_iter().find(|known| *known == kind);
    known.ok_or_else(|| serde::de::Error::custom(format!("'{kind}' is no kind of ceiling")))
}

/// The whole plan of a workload: its shape, its times, its limits and predictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Modules in the longest chain of products. A filter hands none on to what it lets run, so the
    /// critical path of an event can have more.
    pub levels: usize,
    /// The number of paths.
    pub paths: usize,
    /// The filters among the modules that run.
    pub filters: usize,
    /// Each path.
    pub path_steps: Vec<PathSteps>,
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
    /// How long the modules of each event compute.
    #[serde(skip)]
    pub computing_ns: Computing,
}

fn path_steps(workload: &Workload) -> Vec<PathSteps> {
    let steps = |path: &super::model::Path| {
        let modules = || path.modules.iter().map(|&index| &workload.modules[index]);
        PathSteps {
            name: path.name.clone(),
            modules: modules().map(|module| module.label.clone()).collect(),
            filters: modules().filter(|module| module.role == Role::Filter).count(),
        }
    };
    workload.paths.iter().map(steps).collect()
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
            filters: count(|module| module.role == Role::Filter),
            path_steps: path_steps(workload),
            fan_in_max: widest(&flow.producers),
            fan_out_max: widest(&flow.consumers),
            events: events.durations_ns.len(),
            total_ns: Range::of(events.work_ns.iter().map(|&ns| ns as f64)),
            busy_ns: Range::of(events.busy_ns.iter().map(|&ns| ns as f64)),
            parallelism: events.parallelism(),
            ceilings: ceilings(flow, &events),
            critical_path: events.critical_path(flow),
            predictions: Vec::new(),
            durations_ns: events.durations_ns,
            computing_ns: Computing { events_ns: events.busy_ns, all_repeat: events.all_repeat },
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

    /// Adds the ideal for the usual numbers of workers and slots; where all modules wait, for the
    /// usual numbers of slots.
    pub fn predict_usual(&mut self, flow: &Flow<'_>) {
        if flow.only_waits() {
            return self.predict(flow, SLOTS.map(|slots| (None, slots)), None);
        }
        let pairs = WORKERS.into_iter().flat_map(|workers| {
            SLOTS_PER_WORKER.map(|per_worker| (Some(workers), workers * per_worker))
        });
        self.predict(flow, pairs, None);
    }

    /// Returns the share of its workers' time that a prediction uses, if it is of some number.
    #[must_use]
    pub fn share_of_workers(&self, of: &Prediction) -> Option<f64> {
        let busy_s = of.events_per_s * self.busy_ns.mean * 1e-9;
        of.workers.map(|workers| busy_s / workers as f64)
    }

    /// Returns the share of the tightest limit that a prediction reaches, if there is any.
    #[must_use]
    pub fn share_of_ceiling(&self, of: &Prediction) -> Option<f64> {
        self.ceiling_per_s().map(|ceiling| of.events_per_s / ceiling)
    }
}

/// What limits the rate, the tightest first.
fn ceilings(flow: &Flow<'_>, events: &Events) -> Vec<Ceiling> {
    let count = events.durations_ns.len() as f64;
    let source = flow.workload.source.times.mean();
    let source = (source > 0.0).then(|| Ceiling {
        name: "source".to_owned(),
        kind: "source",
        tasks_max: 1,
        time_ns: source,
        events_per_s: 1e9 / source,
    });
    let limits = flow.limits.iter().zip(&events.limited_ns).filter(|&(_, &ns)| ns > 0);
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

    /// Returns the part of the ideal rate that this rate is.
    #[must_use]
    pub fn share(&self, events_per_s: f64) -> f64 {
        events_per_s / self.events_per_s
    }

    /// Returns an elapsed time by the ideal's: 1 is perfect.
    #[must_use]
    pub fn wall_by_ideal(&self, elapsed_s: f64) -> f64 {
        elapsed_s / self.elapsed_s
    }
}
