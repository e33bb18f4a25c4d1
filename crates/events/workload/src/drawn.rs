//! The graph of a run, on a page: with the critical path, planned or measured.

use crate::plan::Plan;
use actinium_events::RunSummary;
use actinium_events::drawing::Drawing;
use actinium_observe::number::nanoseconds;
use actinium_report::html::{Diagram, Section};

/// A picture of the graph; nothing, if it has no modules.
pub(crate) fn section(run: &RunSummary, graph: &Drawing, plan: Option<&Plan>) -> Option<Section> {
    if graph.nodes.len() < 2 {
        return None;
    }
    let mut drawing = graph.clone();
    let planned = plan.filter(|plan| plan.critical_path.length_ns() > 0);
    let text = match planned {
        Some(plan) => {
            let path = &plan.critical_path;
            drawing.mark(&path.modules.iter().map(|it| &it.label).collect::<Vec<_>>());
            format!(
                "The critical path of event {}, {}, is marked: the plan's.",
                path.event,
                nanoseconds(path.length_ns() as f64)
            )
        }
        None => match longest(graph, &mean_ns(run, graph)) {
            (_, 0.0) => String::new(),
            (way, length_ns) => {
                drawing.mark(&way.iter().map(|&it| &graph.nodes[it].label).collect::<Vec<_>>());
                format!(
                    "The critical path is marked: the longest chain of modules by the mean times of their calls, {}.",
                    nanoseconds(length_ns)
                )
            }
        },
    };
    let note = "An arrow leads from a module to one that needs its product. Under the pointer stands all of a name.";
    let diagram = Diagram::new("Modules and what they need", drawing).note(note);
    Some(Section::new("Graph").text(text).chart(diagram))
}

/// The mean time of each module's calls, of what is known of waits too.
fn mean_ns(run: &RunSummary, graph: &Drawing) -> Vec<f64> {
    let mut waits = vec![(0_u64, 0_u64); graph.nodes.len()];
    for span in run.spans.iter().filter(|span| span.waits) {
        if let Some((sum, count)) = waits.get_mut(span.module as usize) {
            *sum += span.end_ns.saturating_sub(span.start_ns);
            *count += 1;
        }
    }
    let mean = |(sum, count): (u64, u64)| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
    let busy = run.modules.iter().map(|module| mean((module.busy_ns, module.calls)));
    // A wait lasts from the begin of its call.
    let busy = busy.chain(std::iter::repeat(0.0));
    waits.into_iter().map(mean).zip(busy).map(|(waits, busy)| waits.max(busy)).collect()
}

/// The longest chain of nodes that come after each other, and its length. Nodes in a circle are on
/// none.
fn longest(graph: &Drawing, time: &[f64]) -> (Vec<usize>, f64) {
    let count = graph.nodes.len();
    let (mut after, mut missing) = (vec![Vec::new(); count], vec![0; count]);
    for edge in graph.edges.iter().filter(|edge| edge.from < count && edge.to < count) {
        after[edge.from].push(edge.to);
        missing[edge.to] += 1;
    }
    let mut best: Vec<(f64, Option<usize>)> = vec![(0.0, None); count];
    let mut next: Vec<usize> = (0..count).filter(|&node| missing[node] == 0).collect();
    let mut end: Option<(usize, f64)> = None;
    while let Some(node) = next.pop() {
        let until = best[node].0 + time[node];
        if end.is_none_or(|(_, longest)| until > longest) {
            end = Some((node, until));
        }
        for &to in &after[node] {
            if best[to].1.is_none() || until > best[to].0 {
                best[to] = (until, Some(node));
            }
            missing[to] -= 1;
            if missing[to] == 0 {
                next.push(to);
            }
        }
    }
    let Some((last, length)) = end else { return (Vec::new(), 0.0) };
    let mut way: Vec<usize> = std::iter::successors(Some(last), |&node| best[node].1).collect();
    way.reverse();
    (way, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_events::drawing::{Edge, Node, Role};
    use actinium_events::{ModuleFigures, Span};

    fn graph() -> Drawing {
        let mut graph = Drawing::new("t");
        for label in ["a", "b", "c", "source"] {
            graph.node(Node::new(label, Role::Producer));
        }
        for (from, to) in [(3, 0), (3, 1), (0, 2), (1, 2)] {
            graph.edge(Edge::new(from, to));
        }
        graph
    }

    #[test]
    fn the_longest_chain_is_by_calls_and_by_waits() {
        let module = |busy_ns| ModuleFigures { calls: 2, busy_ns, ..Default::default() };
        let modules = vec![module(20), module(10), module(6)];
        let mut run = RunSummary { modules, ..RunSummary::default() };
        let way = |run: &RunSummary| longest(&graph(), &mean_ns(run, &graph()));
        assert_eq!(way(&run), (vec![3, 0, 2], 13.0));
        let wait =
            Span { event: 0, module: 1, worker: 0, slot: 0, start_ns: 5, end_ns: 105, waits: true };
        run.spans.push(wait);
        assert_eq!(way(&run), (vec![3, 1, 2], 103.0));
        let section = section(&run, &graph(), None).expect("it has modules");
        assert!(section.text.contains("103 ns"), "{}", section.text);
    }

    #[test]
    fn a_circle_of_paths_harms_nobody() {
        let mut graph = graph();
        graph.edge(Edge::order(2, 1));
        let (way, _) = longest(&graph, &[1.0; 4]);
        assert_eq!(way, [3, 0]);
    }
}
