//! The figures of one node; they travel to the first.

use actinium_events::{ModuleFigures, PathFigures, ResourceFigures, RunSummary};
use actinium_observe::process::ProcessFigures;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// The figures of one node.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeFigures {
    /// The node's number.
    pub node: u32,
    /// The number of its workers.
    pub workers: usize,
    /// The number of its slots.
    pub slots: usize,
    /// Attempts at events beyond the first.
    pub retries: u64,
    /// Most events in flight at a time.
    pub in_flight_max: u64,
    /// Times from an event's begin to its end there, without its outputs: nanoseconds, and how
    /// many.
    pub latency: Vec<(u64, u64)>,
    /// Figures of modules, without outputs; on the first node these, too.
    pub modules: Vec<ModuleFigures>,
    /// Figures of paths; outputs do not count.
    pub paths: Vec<PathFigures>,
    /// Figures of resources.
    pub resources: Vec<ResourceFigures>,
    /// Figures of its process. None: another node is in the same, and has them.
    pub process: Option<ProcessFigures>,
}

impl NodeFigures {
    /// Figures of a node's run; modules with these labels only.
    pub fn new(
        node: u32,
        summary: RunSummary,
        is_own: impl Fn(&str) -> bool,
        latency: Vec<(u64, u64)>,
        process: Option<ProcessFigures>,
    ) -> Self {
        let modules = summary.modules.into_iter().filter(|module| is_own(&module.label));
        NodeFigures {
            node,
            workers: summary.workers,
            slots: summary.slots,
            retries: summary.retries,
            in_flight_max: summary.in_flight_max,
            latency,
            modules: modules.collect(),
            paths: summary.paths,
            resources: summary.resources,
            process,
        }
    }

    /// Adds those of the outputs, which run on this node.
    pub fn add_outputs(&mut self, summary: RunSummary) {
        self.retries += summary.retries;
        self.modules.extend(summary.modules);
        // A filter of the processor's own has none.
        self.resources.extend(summary.resources);
    }

    /// Nanoseconds that its workers spent in modules.
    pub fn busy_ns(&self) -> u64 {
        self.modules.iter().map(|module| module.busy_ns).sum()
    }
}

/// How many CPUs the workers of all nodes could use at a time. Nodes of one machine share its CPUs.
/// `None` if a process does not say which it might use.
pub fn cpu_count(nodes: &[NodeFigures]) -> Option<usize> {
    // A node that shares a process is in that of the first.
    let first = nodes.iter().find_map(|node| node.process.as_ref())?;
    let mut machines: HashMap<&str, (usize, BTreeSet<u32>)> = HashMap::new();
    for node in nodes {
        let process = node.process.as_ref().unwrap_or(first);
        if process.cpus_allowed.is_empty() || process.machine.is_empty() {
            return None;
        }
        let (workers, cpus) = machines.entry(&process.machine).or_default();
        *workers += node.workers;
        cpus.extend(&process.cpus_allowed);
    }
    Some(machines.values().map(|(workers, cpus)| cpus.len().min(*workers)).sum())
}

/// Merges the entries of all nodes that have the same name. The order is that in which names come
/// first.
fn merged<'a, T: Clone + 'a>(
    all: impl Iterator<Item = &'a T>,
    name: fn(&T) -> &str,
    add: fn(&mut T, &T),
) -> Vec<T> {
    let mut sums: Vec<T> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for one in all {
        match places.get(name(one)) {
            Some(&place) => add(&mut sums[place], one),
            None => {
                places.insert(name(one).to_owned(), sums.len());
                sums.push(one.clone());
            }
        }
    }
    sums
}

/// All nodes' modules.
pub fn modules(nodes: &[NodeFigures]) -> Vec<ModuleFigures> {
    merged(
        nodes.iter().flat_map(|node| &node.modules),
        |module| &module.label,
        |sum, one| {
            sum.calls += one.calls;
            sum.busy_ns += one.busy_ns;
            sum.wait_start_ns += one.wait_start_ns;
            sum.wait_resource_ns += one.wait_resource_ns;
            sum.failures += one.failures;
            sum.at_home = sum.at_home.zip(one.at_home).map(|(a, b)| a + b);
        },
    )
}

/// All nodes' paths.
pub fn paths(nodes: &[NodeFigures]) -> Vec<PathFigures> {
    merged(
        nodes.iter().flat_map(|node| &node.paths),
        |path| &path.name,
        |sum, one| {
            sum.events += one.events;
            sum.passed += one.passed;
            sum.total_ns += one.total_ns;
            sum.max_ns = sum.max_ns.max(one.max_ns);
        },
    )
}

/// All nodes' resources.
pub fn resources(nodes: &[NodeFigures]) -> Vec<ResourceFigures> {
    merged(
        nodes.iter().flat_map(|node| &node.resources),
        |resource| &resource.name,
        |sum, one| sum.waited_ns += one.waited_ns,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(workers: usize, machine: Option<&str>, cpus: std::ops::Range<u32>) -> NodeFigures {
        let process = machine.map(|machine| ProcessFigures {
            machine: machine.to_owned(),
            cpus_allowed: cpus.collect(),
            ..ProcessFigures::default()
        });
        NodeFigures { workers, process, ..NodeFigures::default() }
    }

    #[test]
    fn nodes_of_one_machine_share_its_cpus() {
        assert_eq!(cpu_count(&[]), None);
        assert_eq!(cpu_count(&[node(2, Some("a"), 0..4)]), Some(2));
        let four = [(); 4].map(|()| node(2, Some("a"), 0..2));
        assert_eq!(cpu_count(&four), Some(2));
        let two = [node(2, Some("a"), 0..2), node(2, Some("b"), 0..1)];
        assert_eq!(cpu_count(&two), Some(3));
        let apart = [node(2, Some("a"), 0..1), node(2, Some("a"), 1..2)];
        assert_eq!(cpu_count(&apart), Some(2));
        let in_process = [node(2, Some("a"), 0..8), node(2, None, 0..0)];
        assert_eq!(cpu_count(&in_process), Some(4));
        assert_eq!(cpu_count(&[node(2, Some("a"), 0..0)]), None, "it does not say");
    }
}
