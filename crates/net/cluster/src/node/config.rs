//! The settings of a node.

use super::limits::PeerLimits;
use crate::aggregator::AggregatorConfig;
use crate::link::{BadConfig, LinkConfig};
use crate::payload::PayloadConfig;
use crate::route::Route;
use crate::traffic::RepartitionConfig;
use actinium_wire::Encoding;
use std::time::Duration;

/// The settings of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// The settings of the node's links.
    pub link: LinkConfig,
    /// The settings by which the node aggregates messages into frames.
    pub aggregator: AggregatorConfig,
    /// The route of messages: the same on all nodes, which refuse each other otherwise. In a grid a
    /// node has links and aggregators for some others only, and hands on messages for the rest.
    pub route: Route,
    /// The number of nodes in the grid of such a route, counted from node 0: the same on all nodes.
    /// 0: as many as the fabric knows when the node starts.
    pub grid_nodes: u32,
    /// The encodings of messages that this node offers, the preferred one first. Two nodes agree on
    /// one per type of actor (see [`actinium_wire::hello::negotiate`]). The caller reads
    /// `ACTINIUM_ENCODING` itself, with [`actinium_wire::Options::from_env`].
    pub encodings: Vec<Encoding>,
    /// The longest time that [`Node::leave`](crate::Node::leave) waits for messages under way. In a
    /// grid it also waits for its neighbours to leave, because it hands on for them: while they
    /// stay, it takes all of this time.
    pub linger: Duration,
    /// Bounds on payloads: see
    /// [`RemoteAddress::send_with_payload`](crate::RemoteAddress::send_with_payload).
    pub payload: PayloadConfig,
    /// The most bytes of messages to another node that come back from one session with it, those
    /// sent first, if somebody asks for that
    /// ([`RemoteAddress::on_undelivered`](crate::RemoteAddress::on_undelivered)). The rest is
    /// counted ([`NodeEvent::Returned`](crate::NodeEvent::Returned)).
    pub undelivered_bytes: usize,
    /// The largest number of living actors that other nodes may have started here
    /// ([`NodeHandle::spawn_on`](crate::NodeHandle::spawn_on)). It bounds the share of this node
    /// that they take.
    pub spawned_max: usize,
    /// Bounds on the memory and work that each other node may cause here.
    pub limits: PeerLimits,
    /// Moves actors ([`Migrate`](crate::Migrate)) to the nodes that they talk with: how, and `None`
    /// for not at all. Nodes exchange actors with those that have a value here, too. By default
    /// `None`: where an actor runs may matter for more than its messages, which only its program
    /// knows.
    pub repartition: Option<RepartitionConfig>,
}

impl Default for NodeConfig {
    fn default() -> Self {
        NodeConfig {
            link: LinkConfig::default(),
            aggregator: AggregatorConfig::default(),
            route: Route::Direct,
            grid_nodes: 0,
            encodings: Encoding::available(),
            linger: Duration::from_secs(1),
            payload: PayloadConfig::default(),
            undelivered_bytes: 16 << 20,
            spawned_max: 1 << 20,
            limits: PeerLimits::default(),
            repartition: None,
        }
    }
}

impl NodeConfig {
    pub(super) fn check(&self, frame_bytes_max: usize) -> Result<(), BadConfig> {
        self.link.check()?;
        let bad = |setting, value: usize, allowed: String| {
            Err(BadConfig { setting, value: value as u64, allowed })
        };
        let frame_bytes = self.aggregator.frame_bytes;
        if !(256..=frame_bytes_max).contains(&frame_bytes) {
            return bad("frame_bytes", frame_bytes, format!("256 to {frame_bytes_max}"));
        }
        if self.aggregator.frames_waiting == 0 {
            return bad("frames_waiting", 0, "1 or more".to_owned());
        }
        let PayloadConfig { waiting_bytes_max, ahead_bytes_max, window_bytes } = self.payload;
        for (setting, bytes) in [
            ("waiting_bytes_max", waiting_bytes_max),
            ("ahead_bytes_max", ahead_bytes_max),
            ("window_bytes", window_bytes),
        ] {
            if bytes == 0 {
                return bad(setting, 0, "1 or more".to_owned());
            }
        }
        if let Some(setting) = self.limits.zero() {
            return bad(setting, 0, "1 or more".to_owned());
        }
        if let Some(repartition) = &self.repartition {
            repartition.check()?;
        }
        if self.encodings.is_empty() {
            return bad("encodings", 0, "1 or more".to_owned());
        }
        Ok(())
    }
}
