//! The report of a probe over several nodes: merged figures, and those of each node.

use super::figures::{Frames, NodeFigures};
use crate::Failure;
use crate::probe::settings::Settings;
use actinium_observe::process::{Load, ProcessFigures};
use actinium_observe::{Latency, Quantiles, Shape, Throughput};
use serde::Serialize;
use std::time::Duration;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 1;

pub(super) const ROUND_TRIP: &str =
    "times from a ping to its reply at the actor that pinged, of one in 16 pings of each actor";

/// All figures. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterReport {
    schema_version: u32,
    actinium_version: &'static str,
    pub(super) settings: Settings,
    pub(super) fabric: &'static str,
    pub(super) node_count: u64,
    pub(super) worker_count: u64,
    pub(super) actor_count: u64,
    round_trip_is: &'static str,
    /// Figures of all nodes; the elapsed time is the longest of theirs. Of several machines the
    /// load has threads only.
    #[serde(flatten)]
    pub(super) all: Figures,
    /// How often a message between nodes left a node, on average: 1 where all go straight.
    pub(super) hops_per_message: Option<f64>,
    /// Nodes that one node aggregates messages for, at most.
    pub(super) destination_count_max: u64,
    /// The time from the last reply of all until it was known that all nodes were done: the
    /// shortest of the nodes' times.
    pub(super) termination_ns: u64,
    pub(super) nodes: Vec<NodeReport>,
    /// Where they ran, in the order of their first nodes.
    pub(super) machines: Vec<Machine>,
    /// A remark on how the nodes were started, if there is one.
    remark: Option<&'static str>,
    #[serde(skip)]
    message_count_due: u64,
}

/// The figures that are reported of all nodes together, and of each.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figures {
    pub(super) elapsed_time_ns: u64,
    pub(super) message_count: u64,
    pub(super) throughput: Throughput,
    pub(super) round_trip: Option<Quantiles>,
    /// Start-up and warm-up included, as are the frames; and those that were handed on.
    remote_message_count: u64,
    /// The number of those messages that were handed on for other nodes.
    handed_on_count: u64,
    frame_count: u64,
    pub(super) messages_per_frame: Option<f64>,
    left_full: u64,
    left_free: u64,
    left_idle: u64,
    left_due: u64,
    left_urgent: u64,
    pub(super) waited_per_frame_ns: Option<f64>,
    refused_count: u64,
    /// The CPU time of the processes, as are all figures below; none where that is another node's,
    /// too.
    pub(super) cpu_s: Option<f64>,
    /// CPU time by the time that it was looked at.
    pub(super) cpus_used: Option<f64>,
    /// The most at a time; of all nodes the sum of these.
    pub(super) threads_max: Option<u64>,
    /// Likewise.
    pub(super) memory_max_bytes: Option<u64>,
    /// Threads, and CPU time on each CPU, over time.
    pub(super) load: Option<Load>,
    #[serde(skip)]
    pub(super) frames: Frames,
}

/// One node's figures.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeReport {
    pub(super) node: u32,
    throughput_per_s: f64,
    #[serde(flatten)]
    pub(super) figures: Figures,
    /// Nodes that it has aggregated messages for.
    destination_count: u64,
    corrupted_count: u64,
    ledger_balanced: bool,
}

/// A machine, and what the nodes there have done with its CPUs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Machine {
    pub(super) host: String,
    pub(super) nodes: Vec<u32>,
    /// The load of its nodes together.
    pub(super) load: Load,
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

impl Figures {
    /// Reports on some nodes, whose processes used all this.
    fn new(
        shape: Shape,
        nodes: &[NodeFigures],
        load: impl FnOnce(&[&ProcessFigures]) -> Load,
    ) -> Self {
        let elapsed_time_ns = nodes.iter().map(|one| one.elapsed_ns).max().unwrap_or_default();
        let message_count = nodes.iter().map(|one| one.messages).sum();
        let trips = nodes.iter().flat_map(|one| one.round_trips.iter().copied());
        let trips = Latency::from_buckets(trips);
        let frames: Frames = nodes.iter().map(|one| one.frames).sum();
        let processes: Vec<_> = nodes.iter().filter_map(|one| one.process.as_ref()).collect();
        let is_known = !processes.is_empty();
        let sum = |of: fn(&ProcessFigures) -> u64| {
            is_known.then(|| processes.iter().map(|process| of(process)).sum())
        };
        let cpu_s = processes.iter().map(|process| process.cpu_s).sum::<f64>();
        let cpus = processes.iter().map(|process| process.cpu_s / process.elapsed_s).sum();
        Figures {
            elapsed_time_ns,
            message_count,
            throughput: Throughput::new(
                shape,
                message_count,
                Duration::from_nanos(elapsed_time_ns),
            ),
            round_trip: (!trips.is_empty()).then(|| trips.quantiles()),
            remote_message_count: frames.messages,
            handed_on_count: frames.handed_on,
            frame_count: frames.frames,
            messages_per_frame: ratio(frames.messages, frames.frames),
            left_full: frames.full,
            left_free: frames.free,
            left_idle: frames.idle,
            left_due: frames.due,
            left_urgent: frames.urgent,
            waited_per_frame_ns: ratio(frames.waited_ns, frames.frames),
            refused_count: frames.refused,
            cpu_s: is_known.then_some(cpu_s),
            cpus_used: is_known.then_some(cpus),
            threads_max: sum(|process| process.threads_max),
            memory_max_bytes: sum(|process| process.memory_max_bytes),
            load: is_known.then(|| load(&processes)),
            frames,
        }
    }
}

impl NodeReport {
    fn new(shape: Shape, node: &NodeFigures) -> Self {
        let own = Shape { nodes: 1, ..shape };
        let figures = Figures::new(own, std::slice::from_ref(node), merged);
        NodeReport {
            node: node.node,
            throughput_per_s: figures.throughput.computation_per_s,
            figures,
            destination_count: node.destinations,
            corrupted_count: node.corrupted,
            ledger_balanced: node.balanced,
        }
    }
}

fn merged(processes: &[&ProcessFigures]) -> Load {
    let loads: Vec<&Load> = processes.iter().map(|process| &process.load).collect();
    Load::merged(&loads)
}

/// The machines of these nodes. Nodes in one process are where that is.
fn machines(all: &[NodeFigures]) -> Vec<Machine> {
    let mut machines: Vec<(&str, Vec<&ProcessFigures>, Vec<u32>)> = Vec::new();
    let mut at = None;
    for node in all {
        if let Some(process) = &node.process {
            let known = machines.iter().position(|(machine, ..)| *machine == process.machine);
            at = known.or(Some(machines.len()));
            match known {
                Some(place) => machines[place].1.push(process),
                None => machines.push((&process.machine, vec![process], Vec::new())),
            }
        }
        at.into_iter().for_each(|place| machines[place].2.push(node.node));
    }
    let machine = |(_, processes, nodes): (_, Vec<&ProcessFigures>, _)| Machine {
        host: processes[0].host.clone(),
        nodes,
        load: merged(&processes),
    };
    machines.into_iter().map(machine).collect()
}

impl ClusterReport {
    /// Creates the report of these figures, in the order of nodes.
    pub fn new(
        settings: Settings,
        fabric: &'static str,
        all: Vec<NodeFigures>,
        remark: Option<&'static str>,
    ) -> Self {
        let shape = Shape {
            nodes: all.len() as u64,
            workers_per_node: settings.workers.value as u64,
            actors_per_worker: u64::from(settings.actors.value),
        };
        let figures = Figures::new(shape, &all, |processes| merged(processes).without_cpus());
        let Frames { messages, handed_on, .. } = figures.frames;
        ClusterReport {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            fabric,
            node_count: shape.nodes,
            worker_count: shape.workers(),
            actor_count: shape.actors(),
            round_trip_is: ROUND_TRIP,
            all: figures,
            hops_per_message: ratio(messages, messages.saturating_sub(handed_on)),
            destination_count_max: all.iter().map(|one| one.destinations).max().unwrap_or_default(),
            termination_ns: all.iter().map(|one| one.termination_ns).min().unwrap_or_default(),
            nodes: all.iter().map(|node| NodeReport::new(shape, node)).collect(),
            machines: machines(&all),
            remark,
            message_count_due: settings.message_count() * shape.nodes,
            settings,
        }
    }

    /// Returns a remark on how the nodes were started, if there is one.
    pub fn remark(&self) -> Option<&'static str> {
        self.remark
    }

    /// Returns the names and figures of all nodes together, then of each node.
    pub(super) fn parts(&self) -> impl Iterator<Item = (String, &Figures)> {
        let nodes = self.nodes.iter().map(|node| (format!("node {}", node.node), &node.figures));
        std::iter::once(("all nodes".to_owned(), &self.all)).chain(nodes)
    }

    /// Whether several nodes are in one process: then only figures of all are known of that.
    pub(super) fn is_one_process(&self) -> bool {
        let processes = self.nodes.iter().filter(|node| node.figures.load.is_some());
        self.nodes.len() > 1 && processes.count() == 1
    }

    /// The loads of processes: each node's, or, where these are all in one, that of all.
    pub(super) fn loads(&self) -> Vec<(String, &Load)> {
        let parts = self.parts().skip(1).filter_map(|(name, it)| Some((name, it.load.as_ref()?)));
        let whose = |name| if self.is_one_process() { "all nodes".to_owned() } else { name };
        parts.map(|(name, load)| (whose(name), load)).collect()
    }

    /// The loads of machines.
    pub(super) fn machine_loads(&self) -> Vec<(String, &Load)> {
        if let [one] = &self.machines[..] {
            return vec![("all nodes".to_owned(), &one.load)];
        }
        let name = |machine: &Machine| {
            let nodes: Vec<String> = machine.nodes.iter().map(u32::to_string).collect();
            format!("{} (node {})", machine.host, nodes.join(", "))
        };
        self.machines.iter().map(|machine| (name(machine), &machine.load)).collect()
    }

    /// Whether the figures may be believed.
    ///
    /// # Errors
    /// If a message was lost or counted twice, or a payload did not arrive as it was sent.
    pub fn verdict(&self) -> Result<(), Failure> {
        if let Some(node) = self.nodes.iter().find(|node| !node.ledger_balanced) {
            return Err(Failure::Failed(format!(
                "the ledger of node {} is not balanced",
                node.node
            )));
        }
        let corrupted: u64 = self.nodes.iter().map(|node| node.corrupted_count).sum();
        if corrupted > 0 {
            return Err(Failure::Failed(format!(
                "{corrupted} payloads did not arrive as they were sent"
            )));
        }
        if self.all.message_count != self.message_count_due {
            return Err(Failure::Failed(format!(
                "{} pings and replies were handled, and {} were due",
                self.all.message_count, self.message_count_due
            )));
        }
        Ok(())
    }
}
