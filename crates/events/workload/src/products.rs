//! The lives of products, on a page.

use actinium_events::RunSummary;
use actinium_events::drawing::Drawing;
use actinium_observe::number::count;
use actinium_report::html::{Bar, Bars, Chart, Column, Table, Unit};
use std::collections::HashMap;

/// How long products of one label lived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lives {
    count: u64,
    total_ns: u64,
    max_ns: u64,
}

/// The lives of the products of each module that has readers, by its label: from the begin of the
/// call that makes a product to the end of the last one that reads it.
fn lives<'a>(run: &RunSummary, graph: &'a Drawing) -> HashMap<&'a str, Lives> {
    let mut calls: HashMap<(u64, usize), (u64, u64)> = HashMap::new();
    for span in &run.spans {
        let call =
            calls.entry((span.event, span.module as usize)).or_insert((u64::MAX, span.end_ns));
        *call = (call.0.min(span.start_ns), call.1.max(span.end_ns));
    }
    let mut readers = vec![Vec::new(); graph.nodes.len()];
    for edge in graph.edges.iter().filter(|edge| !edge.is_order) {
        readers.get_mut(edge.from).into_iter().for_each(|it| it.push(edge.to));
    }
    let mut lives: HashMap<&str, Lives> = HashMap::new();
    for (&(event, module), &(begin_ns, _)) in &calls {
        let (Some(node), Some(readers)) = (graph.nodes.get(module), readers.get(module)) else {
            continue;
        };
        let ends = readers.iter().filter_map(|&reader| calls.get(&(event, reader)));
        let Some(end_ns) = ends.map(|&(_, end_ns)| end_ns).max() else { continue };
        let life_ns = end_ns.saturating_sub(begin_ns);
        let of = lives.entry(&node.label).or_default();
        of.count += 1;
        of.total_ns += life_ns;
        of.max_ns = of.max_ns.max(life_ns);
    }
    lives
}

/// Which products lived longest and in the largest numbers; nothing, if that was not noted.
pub(crate) fn charts(run: &RunSummary, graph: Option<&Drawing>) -> Vec<Chart> {
    if run.products.is_empty() {
        return Vec::new();
    }
    let mut products: Vec<_> = run.products.iter().collect();
    products.sort_by_key(|product| std::cmp::Reverse(product.alive_max));
    let slots = run.slots.max(1) as f64;
    let bars = products.iter().filter(|it| it.alive_max > 0).map(|product| {
        let per_slot = Unit::Count.show(product.alive_max as f64 / slots);
        Bar::new(&*product.label, product.alive_max as f64).detail(format!("· {per_slot} per slot"))
    });
    let bars = Bars::new("Products alive at a time", Unit::Count, bars.collect()).note(
        "The most at any moment. A product lives from the call that makes it until its last reader is done: what stands high here fills memory.",
    );
    let columns = vec![
        Column::text("product"),
        Column::number("alive at most", Unit::Count),
        Column::number("per slot", Unit::Count),
        Column::number("mean life", Unit::Seconds),
        Column::number("longest life", Unit::Seconds),
        Column::number("share of its event", Unit::Share),
    ];
    let event_ns = run.latency().mean_ns();
    let table = Table::new("Lives of products", columns).note(
        "Of the events whose spans were kept: from the begin of the call that makes a product to the end of the last call that reads it. The share is of the mean time of an event.",
    );
    let lives = graph.map(|graph| lives(run, graph)).unwrap_or_default();
    let table = products.iter().fold(table, |table, product| {
        let life = lives.get(product.label.as_str());
        let mean_ns = life.map(|it| it.total_ns as f64 / it.count as f64);
        table.row(vec![
            product.label.as_str().into(),
            product.alive_max.into(),
            (product.alive_max as f64 / slots).into(),
            mean_ns.map(|ns| ns * 1e-9).into(),
            life.map(|it| it.max_ns as f64 * 1e-9).into(),
            mean_ns.filter(|_| event_ns > 0.0).map(|ns| ns / event_ns).into(),
        ])
    });
    let by_life = products.iter().filter_map(|product| {
        let life = lives.get(product.label.as_str())?;
        let mean_s = life.total_ns as f64 / life.count as f64 * 1e-9;
        Some(Bar::new(&*product.label, mean_s).detail(format!("· {} looked at", count(life.count))))
    });
    let by_life: Vec<Bar> = by_life.collect();
    if by_life.is_empty() {
        return vec![bars.into(), table.into()];
    }
    let by_life = Bars::new("Longest living products", Unit::Seconds, by_life)
        .note("The mean life. A product that is made early and read late could be made later.");
    vec![bars.into(), by_life.into(), table.into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_events::drawing::{Edge, Node, Role};
    use actinium_events::{ProductFigures, Span};

    #[test]
    fn a_product_lives_until_its_last_reader_is_done() {
        let mut graph = Drawing::new("t");
        let nodes = [("a", Role::Producer), ("b", Role::Analyzer), ("c", Role::Analyzer)];
        for (label, role) in nodes {
            graph.node(Node::new(label, role));
        }
        graph.edge(Edge::new(0, 1));
        graph.edge(Edge::new(0, 2));
        graph.edge(Edge::order(1, 2));
        let span = |event, module, start_ns, end_ns| Span {
            event,
            module,
            worker: 0,
            slot: 0,
            start_ns,
            end_ns,
            waits: false,
        };
        let spans = vec![
            span(0, 0, 10, 20),
            span(0, 1, 20, 30),
            span(0, 2, 30, 50),
            span(1, 0, 60, 70),
            span(1, 1, 70, 75),
        ];
        let products = vec![ProductFigures { label: "a".into(), alive_max: 2 }];
        let run = RunSummary { spans, products, slots: 2, ..RunSummary::default() };
        assert_eq!(
            lives(&run, &graph),
            [("a", Lives { count: 2, total_ns: 55, max_ns: 40 })].into()
        );
        assert_eq!((charts(&run, Some(&graph)).len(), charts(&run, None).len()), (3, 2));
        assert!(charts(&RunSummary::default(), None).is_empty());
    }
}
