//! Figures for Prometheus of a program that is more than actors: a graph, and two nodes.

use actinium::cluster::fabric::{NodeId, in_process::Network};
use actinium::cluster::{Node, NodeConfig, RepartitionConfig};
use actinium::events::{Builder, Cause, Event, Next, Processor, Settings, Source, Threads};
use actinium::metrics::Metrics;
use actinium::prelude::*;
use std::collections::BTreeSet;

/// What the names of metrics of parts have behind `actinium_`.
const PARTS: [&str; 4] = ["graph", "link", "node", "placement"];

struct Endless;

impl Source for Endless {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(Next::Event(number))
    }
}

fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?.parse().ok()
}

#[test]
fn graphs_and_nodes_are_among_the_figures_and_in_the_docs() -> Result<(), Box<dyn std::error::Error>>
{
    let system = System::builder().workers(2).build()?;
    let mut builder = Builder::new("numbers", Endless);
    builder.analyzer("see", Threads::Concurrent, |_| |_: &Event<'_>| Ok(()));
    let running =
        Processor::new(builder.build()?, Settings::default().events_max(5)).start(&system)?;
    let monitor = running.monitor();
    running.wait()?;

    let network = Network::new();
    let start = |id| {
        let fabric = network.node(NodeId(id));
        let repartition = Some(RepartitionConfig::default());
        let config = NodeConfig { repartition, ..NodeConfig::default() };
        Node::start(system.handle(), config, move || Ok(fabric))
            .map_err(Box::<dyn std::error::Error>::from)
    };
    let (first, second) = (start(1)?, start(2)?);
    while first.stats().peers.iter().all(|peer| !peer.is_up) {
        std::thread::yield_now();
    }
    let metrics = Metrics::new(&system).graph("numbers", &monitor).node(&first);
    let text = metrics.text();
    assert_eq!(value(&text, "actinium_graph_events_total{graph=\"numbers\"}"), Some(5.0));
    assert_eq!(value(&text, "actinium_graph_events_in_flight{graph=\"numbers\"}"), Some(0.0));
    let (node, peer) = (first.id(), second.id());
    let up = format!("actinium_link_up{{node=\"{node}\",peer=\"{peer}\"}}");
    assert_eq!(value(&text, &up), Some(1.0), "{text}");
    let malformed = format!("actinium_node_messages_malformed_total{{node=\"{node}\"}}");
    assert_eq!(value(&text, &malformed), Some(0.0));
    let offers = format!("actinium_placement_offers_total{{node=\"{node}\"}}");
    assert_eq!(value(&text, &offers), Some(0.0));

    // The second table of the docs has these metrics, and no other.
    let served: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .filter(|(name, _)| name.split('_').nth(1).is_some_and(|it| PARTS.contains(&it)))
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total counter"),
            _ => format!("{name} {kind}"),
        })
        .collect();
    let docs = include_str!("../../../../docs/metrics.md");
    let (_, table) = docs.split_once("| metric of a part | type | what |").expect("a table");
    let told = table.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some(format!("{name} {}", rest.split_once(" | ")?.0))
    });
    assert_eq!(told.collect::<BTreeSet<_>>(), served);
    drop((first, second));
    Ok(())
}
