//! Figures of the nodes of a cluster and their links.

use crate::rows::{Ratio, Row, encode, encode_ratios};
use actinium_cluster::{NodeHandle, NodeStats, PeerStats, RepartitionStats};
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

/// Of nodes that exchange actors with others.
const PLACEMENT: [Row<RepartitionStats>; 12] = [
    row(
        "actinium_placement_rounds",
        Counter,
        |it| it.rounds,
        "Rounds in which a node looked for actors to exchange",
    ),
    row(
        "actinium_placement_messages_sampled",
        Counter,
        |it| it.samples,
        "Messages that a node looked at, to see who talks with whom",
    ),
    row("actinium_placement_actors", Gauge, |it| it.actors, "Actors of a node that can move"),
    row(
        "actinium_placement_edges",
        Gauge,
        |it| it.edges,
        "Pairs of an actor and whom it talks with that a node remembers",
    ),
    row(
        "actinium_placement_edges_replaced",
        Counter,
        |it| it.edges_replaced,
        "Pairs that were forgotten to make room for others",
    ),
    row("actinium_placement_offers", Counter, |it| it.offers, "Offers of a node to others"),
    row(
        "actinium_placement_offers_refused",
        Counter,
        |it| it.refused_there,
        "Offers of a node that others refused or did not answer",
    ),
    row(
        "actinium_placement_busy_refusals",
        Counter,
        |it| it.refused_here,
        "Offers of others that a node refused because it was busy",
    ),
    row(
        "actinium_placement_malformed",
        Counter,
        |it| it.malformed,
        "Offers and answers of others that break the rules",
    ),
    row(
        "actinium_placement_exchanges",
        Counter,
        |it| it.exchanges,
        "Exchanges in which actors were to move, offered by either side",
    ),
    row(
        "actinium_placement_moves",
        Counter,
        |it| it.moved,
        "Actors that a node has moved to others",
    ),
    row(
        "actinium_placement_moves_failed",
        Counter,
        |it| it.not_moved,
        "Actors that were to move to another node and did not",
    ),
];

const PLACEMENT_RATIOS: [Ratio<RepartitionStats>; 2] = [
    Ratio {
        name: "actinium_placement_remote_first_ratio",
        help: "The part of sampled messages that went to other nodes when the first round began",
        // Of no edges at all, nothing is known.
        of: |it| it.remote_share_ppm().map(|_| f64::from(it.remote_share_first_ppm) * 1e-6),
    },
    Ratio {
        name: "actinium_placement_remote_ratio",
        help: "The part of sampled messages that went to other nodes when the last round began",
        of: |it| it.remote_share_ppm().map(|ppm| f64::from(ppm) * 1e-6),
    },
];

/// Writes the figures of the nodes that exchange actors.
fn encode_placement(
    encoder: &mut DescriptorEncoder<'_>,
    nodes: &[([(&'static str, String); 1], NodeStats)],
) -> fmt::Result {
    let taking_part = nodes
        .iter()
        .filter_map(|(node, stats)| Some((node.clone(), stats.repartition?)))
        .collect::<Vec<_>>();
    encode(encoder, &PLACEMENT, &taking_part)?;
    encode_ratios(encoder, &PLACEMENT_RATIOS, &taking_part)
}

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
        encode_placement(&mut encoder, &nodes)?;
        encode(&mut encoder, &LINKS, &links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode as text;
    use prometheus_client::registry::Registry;

    /// As [`Nodes`], of a node with these figures.
    #[derive(Debug)]
    struct Placed(RepartitionStats);

    impl Collector for Placed {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let mut with = NodeStats::default();
            with.repartition = Some(self.0);
            let node = |id: &str| [("node", id.to_owned())];
            encode_placement(&mut encoder, &[(node("1"), NodeStats::default()), (node("2"), with)])
        }
    }

    fn served(stats: RepartitionStats) -> Vec<String> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Placed(stats)));
        let mut served = String::new();
        text(&mut served, &registry).expect("a String takes all");
        let lines = served.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.strip_prefix("actinium_placement_").unwrap_or(line).into()).collect()
    }

    #[test]
    fn each_figure_of_placement_is_served_for_the_nodes_that_take_part() {
        let mut stats = RepartitionStats::default();
        (stats.rounds, stats.samples, stats.actors, stats.edges) = (1, 2, 3, 4);
        (stats.edges_replaced, stats.offers, stats.refused_there) = (5, 6, 7);
        (stats.refused_here, stats.malformed, stats.exchanges) = (8, 9, 10);
        (stats.moved, stats.not_moved) = (11, 12);
        (stats.weight_remote, stats.weight_local) = (1, 3);
        stats.remote_share_first_ppm = 500_000;
        assert_eq!(
            served(stats),
            [
                "rounds_total{node=\"2\"} 1",
                "messages_sampled_total{node=\"2\"} 2",
                "actors{node=\"2\"} 3",
                "edges{node=\"2\"} 4",
                "edges_replaced_total{node=\"2\"} 5",
                "offers_total{node=\"2\"} 6",
                "offers_refused_total{node=\"2\"} 7",
                "busy_refusals_total{node=\"2\"} 8",
                "malformed_total{node=\"2\"} 9",
                "exchanges_total{node=\"2\"} 10",
                "moves_total{node=\"2\"} 11",
                "moves_failed_total{node=\"2\"} 12",
                "remote_first_ratio{node=\"2\"} 0.5",
                "remote_ratio{node=\"2\"} 0.25",
            ]
        );
    }

    #[test]
    fn before_anything_was_sampled_there_is_no_share() {
        let served = served(RepartitionStats::default());
        assert_eq!(served.len(), PLACEMENT.len(), "{served:?}");
    }
}
