//! What a probe over several nodes says: merged figures, and those of each node.

use super::figures::NodeFigures;
use crate::Failure;
use crate::probe::settings::Settings;
use actinium_observe::number::{count, decimal, duration};
use actinium_observe::{Column, Latency, Quantiles, Shape, Table, Throughput};
use serde::Serialize;
use std::time::Duration;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 1;

const ROUND_TRIP: &str =
    "times from a ping to its reply at the actor that pinged, of one in 16 pings of each actor";

/// All figures. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterReport {
    schema_version: u32,
    actinium_version: &'static str,
    settings: Settings,
    fabric: &'static str,
    node_count: u64,
    worker_count: u64,
    actor_count: u64,
    message_count: u64,
    /// The longest of the nodes' times.
    elapsed_time_ns: u64,
    throughput: Throughput,
    round_trip_is: &'static str,
    round_trip: Option<Quantiles>,
    /// How often a message between nodes left a node, on average: 1 where all go straight.
    hops_per_message: Option<f64>,
    /// Nodes that one node gathers messages for, at most.
    destination_count_max: u64,
    /// From the last reply of all until it was known that all nodes were done: the shortest of the nodes' times.
    termination_ns: u64,
    nodes: Vec<NodeReport>,
    /// What is to be said of how it was started.
    remark: Option<&'static str>,
    #[serde(skip)]
    message_count_due: u64,
}

#[derive(Clone, Debug, Serialize)]
struct NodeReport {
    node: u32,
    elapsed_time_ns: u64,
    message_count: u64,
    throughput_per_s: f64,
    round_trip: Option<Quantiles>,
    /// Start-up and warm-up included, as are the frames; and those that were handed on.
    remote_message_count: u64,
    /// Of these, the ones of other nodes.
    handed_on_count: u64,
    /// Nodes that it has gathered messages for.
    destination_count: u64,
    frame_count: u64,
    messages_per_frame: Option<f64>,
    left_full: u64,
    left_free: u64,
    left_idle: u64,
    left_due: u64,
    left_urgent: u64,
    waited_per_frame_ns: Option<f64>,
    refused_count: u64,
    corrupted_count: u64,
    ledger_balanced: bool,
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

fn quantiles(latency: &Latency) -> Option<Quantiles> {
    (latency.count() > 0).then(|| latency.quantiles())
}

impl NodeReport {
    fn new(figures: &NodeFigures) -> Self {
        let seconds = figures.elapsed_ns as f64 / 1e9;
        NodeReport {
            node: figures.node,
            elapsed_time_ns: figures.elapsed_ns,
            message_count: figures.messages,
            throughput_per_s: figures.messages as f64 / seconds,
            round_trip: quantiles(&Latency::from_buckets(figures.round_trips.iter().copied())),
            remote_message_count: figures.remote_messages,
            handed_on_count: figures.handed_on,
            destination_count: figures.destinations,
            frame_count: figures.frames,
            messages_per_frame: ratio(figures.remote_messages, figures.frames),
            left_full: figures.full,
            left_free: figures.free,
            left_idle: figures.idle,
            left_due: figures.due,
            left_urgent: figures.urgent,
            waited_per_frame_ns: ratio(figures.waited_ns, figures.frames),
            refused_count: figures.refused,
            corrupted_count: figures.corrupted,
            ledger_balanced: figures.balanced,
        }
    }
}

impl ClusterReport {
    /// Of these figures, in the order of nodes.
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
        let elapsed_time_ns = all.iter().map(|one| one.elapsed_ns).max().unwrap_or_default();
        let message_count = all.iter().map(|one| one.messages).sum();
        let trips = all.iter().flat_map(|one| one.round_trips.iter().copied());
        ClusterReport {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            fabric,
            node_count: shape.nodes,
            worker_count: shape.workers(),
            actor_count: shape.actors(),
            message_count,
            elapsed_time_ns,
            throughput: Throughput::new(
                shape,
                message_count,
                Duration::from_nanos(elapsed_time_ns),
            ),
            round_trip_is: ROUND_TRIP,
            round_trip: quantiles(&Latency::from_buckets(trips)),
            hops_per_message: {
                let left: u64 = all.iter().map(|one| one.remote_messages).sum();
                let handed_on: u64 = all.iter().map(|one| one.handed_on).sum();
                ratio(left, left.saturating_sub(handed_on))
            },
            destination_count_max: all.iter().map(|one| one.destinations).max().unwrap_or_default(),
            termination_ns: all.iter().map(|one| one.termination_ns).min().unwrap_or_default(),
            nodes: all.iter().map(NodeReport::new).collect(),
            remark,
            message_count_due: settings.message_count() * shape.nodes,
            settings,
        }
    }

    /// What is to be said of how it was started.
    pub fn remark(&self) -> Option<&'static str> {
        self.remark
    }

    /// For people: tables, and remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = format!("{}\n", self.throughput.table());
        if let Some(round_trip) = &self.round_trip {
            text += &format!("{}\n", round_trip.table());
        }
        text += &self.table().to_string();
        if !quiet {
            text += &format!(
                "\nfabric      {}, {} nodes with {} workers and {} actors in all\n\
                 messages    pings and replies: both are delivered messages\n\
                 elapsed     the longest of the nodes' times, from the barrier before to the last reply\n\
                 round trip  {ROUND_TRIP}\n\
                 frames      with all that left for other nodes, start-up and warm-up included; why they left: full, free (the sender was), \
                 idle (a worker), due, urgent (a message)\n\
                 route       {}: {} hops per message, and at most {} nodes that a node gathers for\n\
                 the end     was known to all {} after the last reply\n",
                self.fabric,
                count(self.node_count),
                count(self.worker_count),
                count(self.actor_count),
                self.settings.route.value,
                decimal(self.hops_per_message.unwrap_or(f64::NAN), 2),
                count(self.destination_count_max),
                duration(Duration::from_nanos(self.termination_ns)),
            );
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::right("node"),
            Column::right("elapsed s"),
            Column::right("messages"),
            Column::right("messages/s"),
            Column::right("round trip 50 % ns"),
            Column::right("99 % ns"),
            Column::right("to others"),
            Column::right("handed on"),
            Column::right("frames"),
            Column::right("per frame"),
            Column::right("full/free/idle/due/urgent"),
        ]);
        for node in &self.nodes {
            let trip = |of: fn(&Quantiles) -> u64| {
                node.round_trip.as_ref().map_or("-".to_owned(), |all| count(of(all)))
            };
            let why =
                [node.left_full, node.left_free, node.left_idle, node.left_due, node.left_urgent];
            table.row([
                u64::from(node.node).into(),
                decimal(node.elapsed_time_ns as f64 / 1e9, 6).into(),
                node.message_count.into(),
                decimal(node.throughput_per_s, 0).into(),
                trip(|all| all.quantiles_ns.p50).into(),
                trip(|all| all.quantiles_ns.p99).into(),
                node.remote_message_count.into(),
                node.handed_on_count.into(),
                node.frame_count.into(),
                decimal(node.messages_per_frame.unwrap_or(f64::NAN), 1).into(),
                why.map(count).join("/").into(),
            ]);
        }
        table
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
        if self.message_count != self.message_count_due {
            return Err(Failure::Failed(format!(
                "{} pings and replies were handled, and {} were due",
                self.message_count, self.message_count_due
            )));
        }
        Ok(())
    }
}
