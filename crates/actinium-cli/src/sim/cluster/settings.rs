//! What may be asked of a simulated cluster.

use crate::Failure;
use crate::parse::{from_to, route, within};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::route::Route;
use actinium_cluster::sim::Links;
use actinium_cluster::{GatherConfig, sim::Flood};
use serde::{Serialize, Serializer};

/// Most nodes: what is kept per node is small, but each dead node's survivors have a real link.
const NODES_MAX: u64 = 100_000;
/// Most messages of a run: more would take hours, and gigabytes.
const ALL_MESSAGES_MAX: u64 = 50_000_000;
const NS_MAX: u64 = 1_000_000_000;

/// The flags.
#[derive(Clone, Debug, clap::Args)]
pub struct ClusterArgs {
    /// How many nodes; several, with commas between them, are compared
    #[arg(long, value_name = "N,..", default_value = "10,100,1000,10000", value_delimiter = ',', value_parser = from_to::<2, NODES_MAX>)]
    nodes: Vec<u64>,

    /// How messages go: direct, 2d or 3d; several are compared
    #[arg(long, value_name = "ROUTE,..", default_value = "direct,2d,3d", value_delimiter = ',', value_parser = route)]
    route: Vec<Route>,

    /// Messages that each node sends, each to another that the seed draws
    #[arg(long, value_name = "N", default_value = "100", value_parser = from_to::<1, 10_000_000>)]
    messages: u64,

    /// How many each sends in a second; 0: all at once
    #[arg(long, value_name = "N", default_value = "0", value_parser = from_to::<0, 1_000_000_000>)]
    rate: u64,

    /// A message's own bytes
    #[arg(long, value_name = "N", default_value = "64", value_parser = from_to::<0, 65_536>)]
    bytes: u64,

    /// A frame of so many bytes is full
    #[arg(long, value_name = "N", default_value = "16384", value_parser = from_to::<256, { 1 << 20 }>)]
    frame_bytes: u64,

    /// The longest that a frame is held while messages come fast, in nanoseconds
    #[arg(long, value_name = "NS", default_value = "10000", value_parser = from_to::<0, NS_MAX>)]
    hold: u64,

    /// L of LogGP: how long a frame is under way, in nanoseconds
    #[arg(long, value_name = "NS", default_value = "1500", value_parser = from_to::<0, NS_MAX>)]
    latency: u64,

    /// o of LogGP: what a frame costs a node's thread, at either end, in nanoseconds
    #[arg(long, value_name = "NS", default_value = "1000", value_parser = from_to::<0, NS_MAX>)]
    overhead: u64,

    /// g of LogGP: the least time between two frames of a node, in nanoseconds
    #[arg(long, value_name = "NS", default_value = "500", value_parser = from_to::<0, NS_MAX>)]
    gap: u64,

    /// G of LogGP: time per 1,024 bytes of a frame, in nanoseconds (82: 100 Gbit/s)
    #[arg(long, value_name = "NS", default_value = "82", value_parser = from_to::<0, NS_MAX>)]
    gap_per_kib: u64,

    /// What sending, handing on or handling a message costs a worker, in nanoseconds
    #[arg(long, value_name = "NS", default_value = "80", value_parser = from_to::<0, NS_MAX>)]
    message: u64,

    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value = "42", value_parser = from_to::<0, { u64::MAX }>)]
    seed: u64,
}

/// What is simulated. It serialises as in the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// Numbers of nodes, rising.
    pub nodes: Vec<u32>,
    /// Ways.
    #[serde(serialize_with = "names")]
    pub routes: Vec<Route>,
    /// Of each node.
    pub messages_per_node: u32,
    /// Of each node; 0: all at once.
    pub rate_per_s: u64,
    /// Of a message.
    pub message_bytes: u32,
    /// Of a full frame.
    pub frame_bytes: usize,
    /// The longest that a frame is held.
    pub hold_ns: u64,
    /// L.
    pub latency_ns: u64,
    /// o.
    pub overhead_ns: u64,
    /// g.
    pub gap_ns: u64,
    /// G.
    pub gap_per_kib_ns: u64,
    /// Of a worker.
    pub message_ns: u64,
    /// Of all chance.
    pub seed: u64,
    /// How often a node is heard, at least.
    pub heartbeat_ns: u64,
    /// A node that is not heard for so long is dead.
    pub down_after_ns: u64,
}

fn names<S: Serializer>(routes: &[Route], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(routes.iter().map(|route| route.name()))
}

impl Settings {
    /// The settings of this call.
    ///
    /// # Errors
    /// If it would be too much.
    pub fn settle(args: &ClusterArgs) -> Result<Self, Failure> {
        let mut nodes: Vec<u32> = args.nodes.iter().map(|&nodes| nodes as u32).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut routes = args.route.clone();
        routes.sort_unstable_by_key(|one| Route::ALL.iter().position(|route| route == one));
        routes.dedup();
        let most = nodes.last().copied().unwrap_or_default();
        let all = u64::from(most) * args.messages;
        within(&all.to_string(), 1, ALL_MESSAGES_MAX).map_err(|_| {
            Failure::Asked(format!(
                "--messages: {} of each of {most} nodes are {all}: at most {ALL_MESSAGES_MAX} are simulated",
                args.messages
            ))
        })?;
        let link = LinkConfig::default();
        Ok(Settings {
            nodes,
            routes,
            messages_per_node: args.messages as u32,
            rate_per_s: args.rate,
            message_bytes: args.bytes as u32,
            frame_bytes: args.frame_bytes as usize,
            hold_ns: args.hold,
            latency_ns: args.latency,
            overhead_ns: args.overhead,
            gap_ns: args.gap,
            gap_per_kib_ns: args.gap_per_kib,
            message_ns: args.message,
            seed: args.seed,
            heartbeat_ns: link.heartbeat_ns,
            down_after_ns: link.down_after_ns,
        })
    }

    /// What things cost.
    pub fn links(&self) -> Links {
        Links {
            latency_ns: self.latency_ns,
            overhead_ns: self.overhead_ns,
            gap_ns: self.gap_ns,
            gap_per_kib_ns: self.gap_per_kib_ns,
            message_ns: self.message_ns,
        }
    }

    /// One run.
    pub fn flood(&self, nodes: u32, route: Route) -> Flood {
        let (frame_bytes, hold_ns) = (self.frame_bytes, self.hold_ns);
        Flood {
            nodes,
            route,
            messages: self.messages_per_node,
            rate_per_s: self.rate_per_s,
            message_bytes: self.message_bytes,
            gather: GatherConfig { frame_bytes, hold_ns, ..GatherConfig::default() },
            links: self.links(),
            seed: self.seed,
        }
    }
}
