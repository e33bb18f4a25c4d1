//! Figures of the nodes of a cluster and their links.

use crate::rows::{Row, encode};
use actinium_cluster::{NodeHandle, NodeStats, PeerStats};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType::{self, Counter, Gauge};
use prometheus_client::registry::Unit;
use std::fmt;

/// The nodes of this process.
#[derive(Clone, Default)]
pub(crate) struct Nodes(pub(crate) Vec<NodeHandle>);

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(NodeHandle::id)).finish()
    }
}

const fn row<T>(
    name: &'static str,
    kind: MetricType,
    of: fn(&T) -> u64,
    help: &'static str,
) -> Row<T> {
    Row { name, help, unit: None, kind, of }
}

const NODES: [Row<NodeStats>; 4] = [
    row(
        "actinium_node_messages_forwarded",
        Counter,
        |it| it.handed_on,
        "Messages of other nodes that a node has handed on",
    ),
    row(
        "actinium_node_messages_unroutable",
        Counter,
        |it| it.unroutable,
        "Messages of other nodes for which there was no way",
    ),
    row(
        "actinium_node_messages_misaddressed",
        Counter,
        |it| it.misaddressed,
        "Messages for actors that a node does not have",
    ),
    row(
        "actinium_node_messages_malformed",
        Counter,
        |it| it.not_understood,
        "Messages and frames that a node could not read",
    ),
];

const LINKS: [Row<PeerStats>; 8] = [
    row("actinium_link_up", Gauge, |it| it.is_up.into(), "1 if the two nodes know each other now"),
    row(
        "actinium_link_messages",
        Counter,
        |it| it.aggregator.messages,
        "Messages that left for the other node",
    ),
    row(
        "actinium_link_messages_refused",
        Counter,
        |it| it.aggregator.refused,
        "Messages that were refused, because too much waits",
    ),
    row(
        "actinium_link_frames",
        Counter,
        |it| it.link.sent,
        "Frames with messages sent, those sent again included",
    ),
    row(
        "actinium_link_frames_resent",
        Counter,
        |it| it.link.resent,
        "Frames with messages sent again",
    ),
    row(
        "actinium_link_frames_delivered",
        Counter,
        |it| it.link.delivered,
        "Frames with messages that arrived",
    ),
    row(
        "actinium_link_frames_damaged",
        Counter,
        |it| it.link.garbage,
        "Frames that were damaged or none of ours",
    ),
    Row {
        name: "actinium_link_waiting",
        help: "Bytes of messages for the other node that wait to leave",
        unit: Some(Unit::Bytes),
        kind: Gauge,
        of: |it| it.bytes_waiting as u64,
    },
];

impl Collector for Nodes {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let nodes: Vec<_> = self.0.iter().map(|it| (it.id().to_string(), it.stats())).collect();
        let links: Vec<_> = nodes
            .iter()
            .flat_map(|(node, stats)| {
                let of = move |peer: &PeerStats| {
                    ([("node", node.clone()), ("peer", peer.node.to_string())], *peer)
                };
                stats.peers.iter().map(of)
            })
            .collect();
        let nodes: Vec<_> = nodes.into_iter().map(|(node, it)| ([("node", node)], it)).collect();
        encode(&mut encoder, &NODES, &nodes)?;
        encode(&mut encoder, &LINKS, &links)
    }
}
