//! The figures of a whole run, and those of each node in it, which serialise as JSON.

use crate::figures::{self, NodeFigures};
use crate::outcome::{ClusterOutcome, Failed, Gone, RunOutcome};
use actinium_events::{Failure, ModuleFigures, PathFigures, ResourceFigures, RunSummary};
use actinium_observe::process::Load;
use actinium_observe::{Latency, Quantiles};
use serde::Serialize;

/// Events per second on four levels.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Levels {
    /// The rate of all nodes together.
    pub computation_per_s: f64,
    /// The rate of one node, on average.
    pub node_per_s: f64,
    /// The rate of one worker, on average.
    pub worker_per_s: f64,
    /// The rate of one slot, on average.
    pub slot_per_s: f64,
}

/// The figures of a whole run.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterFigures<'a> {
    /// The number of nodes that took part to the end.
    pub node_count: usize,
    /// The number of their workers.
    pub worker_count: usize,
    /// The number of their slots.
    pub slot_count: usize,
    /// Events that went through.
    pub events: u64,
    /// Events that failed.
    pub failed: u64,
    /// Attempts at events beyond the first.
    pub retries: u64,
    /// Events that were given to a node and given up.
    pub abandoned: u64,
    /// Events of nodes that went down, which others ran.
    pub given_again: u64,
    /// Whether somebody wanted it to stop.
    pub interrupted: bool,
    /// What ended it before all events were over, if something did.
    pub error: Option<&'a str>,
    /// The time from the first event that a node was given to the end of the last one's outputs.
    pub elapsed_s: f64,
    /// Events that went through or failed, by the elapsed time.
    pub events_per_s: f64,
    /// The same by node, worker and slot.
    pub throughput: Levels,
    /// Latency of the events of all nodes: from an event's begin at its node to its end there,
    /// without its outputs.
    pub latency: Option<Quantiles>,
    /// CPU time of all processes.
    pub cpu_s: f64,
    /// CPU time that was used, by the elapsed time.
    pub cpus_used: f64,
    /// How many CPUs its workers could use at a time: of each machine as many as they are, or as
    /// it lets them use. `None` if a process does not say.
    pub cpu_count: Option<usize>,
    /// Calls of all modules together.
    pub module_calls: u64,
    /// Mixes all events' products.
    pub checksum: String,
    /// Figures of each module, of all nodes together.
    pub modules: Vec<ModuleFigures>,
    /// Figures of each path.
    pub paths: Vec<PathFigures>,
    /// Figures of each resource.
    pub resources: Vec<ResourceFigures>,
    /// The first failures.
    pub failures: &'a [Failed],
    /// Figures of each node.
    pub nodes: Vec<NodeTotals<'a>>,
    /// Nodes that went down on the way.
    pub nodes_down: &'a [Gone],
}

/// One node's figures, summed up.
#[derive(Clone, Debug, Serialize)]
pub struct NodeTotals<'a> {
    /// The node's number.
    pub node: u32,
    /// The number of its workers.
    pub workers: usize,
    /// The number of its slots.
    pub slots: usize,
    /// Events that it ran.
    pub events: u64,
    /// Attempts at events beyond the first.
    pub retries: u64,
    /// Its events, by the elapsed time of the whole run.
    pub events_per_s: f64,
    /// The rate of one of its workers, on average.
    pub worker_per_s: f64,
    /// The rate of one of its slots, on average.
    pub slot_per_s: f64,
    /// Latency of its events.
    pub latency: Option<Quantiles>,
    /// Most events in flight at a time.
    pub in_flight_max: u64,
    /// Workers in modules on average.
    pub workers_busy: f64,
    /// The CPU time of its process; none where that is another node's, too.
    pub cpu_s: Option<f64>,
    /// The most threads of its process.
    pub threads_max: Option<u64>,
    /// The most memory of its process in RAM.
    pub memory_max_bytes: Option<u64>,
    /// Threads, and CPU time on each CPU, over time.
    pub load: Option<&'a Load>,
}

impl NodeTotals<'_> {
    /// Returns the share of its workers' time that they spent in modules.
    pub fn share_busy(&self) -> f64 {
        self.workers_busy / self.workers.max(1) as f64
    }
}

fn quantiles(buckets: impl Iterator<Item = (u64, u64)>) -> Option<Quantiles> {
    let latency = Latency::from_buckets(buckets);
    (latency.count() > 0).then(|| latency.quantiles())
}

impl<'a> ClusterFigures<'a> {
    /// Sums up the figures of a run.
    pub fn new(outcome: &'a ClusterOutcome) -> Self {
        let (over, all) = (&outcome.run, &outcome.nodes);
        // A clock that has not moved knows no more than that it was less than a nanosecond.
        let elapsed_s = over.elapsed.as_secs_f64().max(1e-9);
        let sum = |of: fn(&NodeFigures) -> usize| all.iter().map(of).sum::<usize>();
        let (workers, slots) = (sum(|node| node.workers), sum(|node| node.slots));
        let events_per_s = (over.done + over.failed) as f64 / elapsed_s;
        let processes = all.iter().filter_map(|node| node.process.as_ref());
        let cpu_s = processes.map(|process| process.cpu_s).sum();
        let modules = figures::modules(all);
        ClusterFigures {
            node_count: all.len(),
            worker_count: workers,
            slot_count: slots,
            events: over.done,
            failed: over.failed,
            retries: all.iter().map(|node| node.retries).sum(),
            abandoned: over.abandoned,
            given_again: outcome.gone.iter().map(|gone| gone.given_again).sum(),
            interrupted: over.interrupted,
            error: over.error.as_deref(),
            elapsed_s,
            events_per_s,
            throughput: Levels {
                computation_per_s: events_per_s,
                node_per_s: events_per_s / all.len().max(1) as f64,
                worker_per_s: events_per_s / workers.max(1) as f64,
                slot_per_s: events_per_s / slots.max(1) as f64,
            },
            latency: quantiles(all.iter().flat_map(|node| node.latency.iter().copied())),
            cpu_s,
            cpus_used: cpu_s / elapsed_s,
            cpu_count: figures::cpu_count(all),
            module_calls: modules.iter().map(|module| module.calls).sum(),
            checksum: format!("{:016x}", over.checksum),
            modules,
            paths: figures::paths(all),
            resources: figures::resources(all),
            failures: &over.failures,
            nodes: all.iter().map(|node| of_node(node, over, elapsed_s)).collect(),
            nodes_down: &outcome.gone,
        }
    }

    /// Returns a summary of all nodes as if they were one.
    pub fn summary(&self) -> RunSummary {
        let failure = |failed: &Failed| Failure {
            module: format!("{} (node {})", failed.module, failed.node),
            event: Some(failed.event),
            cause: failed.cause.clone(),
        };
        let ended_by = self.error.map(|cause| Failure {
            module: "the run".to_owned(),
            event: None,
            cause: cause.to_owned(),
        });
        RunSummary {
            events: self.events,
            failed: self.failed,
            retries: self.retries,
            stopped: self.interrupted,
            abandoned: self.abandoned,
            ended_by_failure: self.error.is_some(),
            failures: self.failures.iter().map(failure).chain(ended_by).collect(),
            elapsed_ns: (self.elapsed_s * 1e9).round() as u64,
            workers: self.worker_count,
            slots: self.slot_count,
            in_flight_max: self.nodes.iter().map(|node| node.in_flight_max).sum(),
            modules: self.modules.clone(),
            paths: self.paths.clone(),
            resources: self.resources.clone(),
            ..RunSummary::default()
        }
    }
}

fn of_node<'a>(node: &'a NodeFigures, over: &RunOutcome, elapsed_s: f64) -> NodeTotals<'a> {
    let events = over.ran.get(&node.node).copied().unwrap_or(0);
    let events_per_s = events as f64 / elapsed_s;
    let process = node.process.as_ref();
    NodeTotals {
        node: node.node,
        workers: node.workers,
        slots: node.slots,
        events,
        retries: node.retries,
        events_per_s,
        worker_per_s: events_per_s / node.workers.max(1) as f64,
        slot_per_s: events_per_s / node.slots.max(1) as f64,
        latency: quantiles(node.latency.iter().copied()),
        in_flight_max: node.in_flight_max,
        workers_busy: node.busy_ns() as f64 * 1e-9 / elapsed_s,
        cpu_s: process.map(|process| process.cpu_s),
        threads_max: process.map(|process| process.threads_max),
        memory_max_bytes: process.map(|process| process.memory_max_bytes),
        load: process.map(|process| &process.load),
    }
}
