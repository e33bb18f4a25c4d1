//! Settings of a simulated cluster.

use super::links::MeasuredLinks;
use crate::Failure;
use actinium_cluster::link::LinkConfig;
use actinium_cluster::route::Route;
use actinium_cluster::sim::{Links, SharedCpus};
use actinium_cluster::{AggregatorConfig, sim::AllToAll};
use actinium_observe::number::{count, nanoseconds};
use serde::{Serialize, Serializer};

/// Most messages of a run: more would take hours, and gigabytes.
pub(super) const ALL_MESSAGES_MAX: u64 = 50_000_000;

/// The settings of the simulation. They serialise as in the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// Numbers of nodes, rising.
    pub nodes: Vec<u32>,
    /// The routes to compare.
    #[serde(serialize_with = "names")]
    pub routes: Vec<Route>,
    /// The number of messages of each node.
    pub messages_per_node: u32,
    /// The rate at which each node sends; 0: all at once.
    pub rate_per_s: u64,
    /// The size of a message.
    pub message_bytes: u32,
    /// The size of a full frame.
    pub frame_bytes: usize,
    /// The longest that a frame is held.
    pub hold_ns: u64,
    /// The fabric whose links were measured; none: the costs below are assumed.
    pub links_measured: Option<String>,
    /// The latency: LogGP's L.
    pub latency_ns: u64,
    /// The overhead: LogGP's o.
    pub overhead_ns: u64,
    /// The gap between frames: LogGP's g.
    pub gap_ns: u64,
    /// The gap for each KiB: LogGP's G.
    pub gap_per_kib_ns: u64,
    /// The time that a worker spends on a frame beside the overhead, at either end.
    pub frame_ns: u64,
    /// The time that a worker spends on a message.
    pub message_ns: u64,
    /// The chance that a frame is lost.
    pub loss: f64,
    /// The frames that may be under way to a node.
    pub window_frames: u32,
    /// The CPUs that all workers share; 0: each has its own.
    pub cpus: u32,
    /// After so long one who has a CPU gives it to another who waits.
    pub slice_ns: u64,
    /// What that costs.
    pub switch_ns: u64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How often a node is heard, at least.
    pub heartbeat_ns: u64,
    /// A node that is not heard for so long is dead.
    pub down_after_ns: u64,
}

fn names<S: Serializer>(routes: &[Route], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(routes.iter().map(|route| route.name()))
}

impl Default for Settings {
    fn default() -> Self {
        let (link, links) = (LinkConfig::default(), Links::default());
        let cpus = SharedCpus::default();
        Settings {
            nodes: vec![10, 100, 1_000, 10_000],
            routes: Route::ALL.to_vec(),
            messages_per_node: 100,
            rate_per_s: 0,
            message_bytes: 64,
            frame_bytes: 16_384,
            hold_ns: 10_000,
            links_measured: None,
            latency_ns: links.latency_ns,
            overhead_ns: links.overhead_ns,
            gap_ns: links.gap_ns,
            gap_per_kib_ns: links.gap_per_kib_ns,
            frame_ns: links.frame_ns,
            message_ns: links.message_ns,
            loss: 0.0,
            window_frames: link.window_frames,
            cpus: cpus.count,
            slice_ns: cpus.slice_ns,
            switch_ns: cpus.switch_ns,
            seed: 42,
            heartbeat_ns: link.heartbeat_ns,
            down_after_ns: link.down_after_ns,
        }
    }
}

impl Settings {
    /// Brings nodes and routes into order, each once.
    ///
    /// # Errors
    /// If there would be too many messages.
    pub fn check(mut self) -> Result<Self, Failure> {
        self.nodes.sort_unstable();
        self.nodes.dedup();
        self.routes.sort_unstable_by_key(|one| Route::ALL.iter().position(|route| route == one));
        self.routes.dedup();
        let most = self.nodes.last().copied().unwrap_or_default();
        let all = u64::from(most) * u64::from(self.messages_per_node);
        if (1..=ALL_MESSAGES_MAX).contains(&all) {
            return Ok(self);
        }
        Err(Failure::Asked(format!(
            "--messages: {} of each of {most} nodes are {all}: at most {ALL_MESSAGES_MAX} are simulated",
            self.messages_per_node
        )))
    }

    /// Takes the costs of links that were measured.
    #[must_use]
    pub fn measured(self, links: MeasuredLinks) -> Self {
        Settings {
            latency_ns: links.latency_ns,
            overhead_ns: links.overhead_ns,
            gap_ns: links.gap_ns,
            gap_per_kib_ns: links.gap_per_kib_ns,
            links_measured: Some(links.fabric),
            ..self
        }
    }

    /// Returns the costs of links.
    pub fn links(&self) -> Links {
        Links {
            latency_ns: self.latency_ns,
            overhead_ns: self.overhead_ns,
            gap_ns: self.gap_ns,
            gap_per_kib_ns: self.gap_per_kib_ns,
            frame_ns: self.frame_ns,
            message_ns: self.message_ns,
        }
    }

    /// What reports say of the costs of links.
    pub(super) fn links_line(&self) -> String {
        let from = match &self.links_measured {
            Some(fabric) => format!("measured over the fabric '{fabric}'"),
            None => "assumed".to_owned(),
        };
        format!(
            "links      LogGP, {from}: L {}, o {}, g {}, G {} per KiB; of a worker, {} per frame at either end, {} per message and hop",
            nanoseconds(self.latency_ns as f64),
            nanoseconds(self.overhead_ns as f64),
            nanoseconds(self.gap_ns as f64),
            nanoseconds(self.gap_per_kib_ns as f64),
            nanoseconds(self.frame_ns as f64),
            nanoseconds(self.message_ns as f64)
        )
    }

    /// What reports say of CPUs.
    pub(super) fn cpus_text(&self) -> String {
        match self.cpus {
            0 => "a CPU for each node's worker".to_owned(),
            cpus => format!(
                "{} CPUs for the workers of all nodes, which change after {} at {}",
                count(cpus.into()),
                nanoseconds(self.slice_ns as f64),
                nanoseconds(self.switch_ns as f64)
            ),
        }
    }

    fn shared_cpus(&self) -> SharedCpus {
        let Settings { cpus: count, slice_ns, switch_ns, .. } = *self;
        SharedCpus { count, slice_ns, switch_ns }
    }

    /// Returns the settings of links.
    pub fn link(&self) -> LinkConfig {
        LinkConfig {
            window_frames: self.window_frames,
            heartbeat_ns: self.heartbeat_ns,
            down_after_ns: self.down_after_ns,
            ..LinkConfig::default()
        }
    }

    /// One run.
    pub fn all_to_all(&self, nodes: u32, route: Route) -> AllToAll {
        let (frame_bytes, hold_ns) = (self.frame_bytes, self.hold_ns);
        AllToAll {
            nodes,
            route,
            messages: self.messages_per_node,
            rate_per_s: self.rate_per_s,
            in_flight: 0,
            message_bytes: self.message_bytes,
            aggregator: AggregatorConfig { frame_bytes, hold_ns, ..AggregatorConfig::default() },
            links: self.links(),
            link: self.link(),
            loss: self.loss,
            cpus: self.shared_cpus(),
            seed: self.seed,
        }
    }
}
