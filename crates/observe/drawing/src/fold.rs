//! Large graphs, made small enough to be read: alike nodes become one box.

use crate::drawing::{Drawing, Edge, Node, Role};
use crate::layers::layers;
use std::collections::{BTreeMap, BTreeSet};

/// Nodes are folded if they are at least so many.
const FOLDED_MIN: usize = 2;

/// The graph with at most about so many nodes and edges; `None` if it has no more than that.
pub(crate) fn folded(drawing: &Drawing, most: (usize, usize)) -> Option<(Drawing, String)> {
    let fits = |it: &Drawing| it.nodes.len() <= most.0 && it.edges.len() <= most.1;
    if fits(drawing) {
        return None;
    }
    let (layers, mut folded) = (layers(drawing), drawing.clone());
    let alike = alike(drawing);
    // First those that nobody can tell apart, then all of a level, then of several levels.
    let deepest = layers.iter().copied().max().unwrap_or(0);
    let together =
        std::iter::successors(Some(1), |&it| Some(it * 2)).take_while(|it| it / 2 <= deepest);
    for together in [0].into_iter().chain(together) {
        let key = |node: usize| match together {
            0 => (layers[node], alike[node]),
            _ => (layers[node] / together, 0),
        };
        folded = fold(drawing, key);
        if fits(&folded) {
            break;
        }
    }
    let boxes: Vec<&Node> = folded.nodes.iter().filter(|it| !it.members.is_empty()).collect();
    let members: usize = boxes.iter().map(|it| it.members.len()).sum();
    let note = format!(
        "Folded to be readable: {members} of {} modules stand in {} box{}, by role and level.",
        drawing.nodes.len(),
        boxes.len(),
        if boxes.len() == 1 { "" } else { "es" }
    );
    (members > 0).then_some((folded, note))
}

/// For each node a number, the same for those that need the same and are needed by the same.
fn alike(drawing: &Drawing) -> Vec<usize> {
    let mut around = vec![(BTreeSet::new(), BTreeSet::new()); drawing.nodes.len()];
    for edge in drawing.drawn() {
        around[edge.from].1.insert((edge.to, edge.is_order));
        around[edge.to].0.insert((edge.from, edge.is_order));
    }
    let mut numbers = BTreeMap::new();
    around
        .into_iter()
        .map(|it| {
            let next = numbers.len();
            *numbers.entry(it).or_insert(next)
        })
        .collect()
}

/// Puts together the nodes of one role that have the same key, but for those that are marked.
fn fold<K: Ord>(drawing: &Drawing, key: impl Fn(usize) -> K) -> Drawing {
    let mut groups: BTreeMap<(K, Role), Vec<usize>> = BTreeMap::new();
    for (number, node) in drawing.nodes.iter().enumerate().filter(|(_, node)| !node.marked) {
        groups.entry((key(number), node.role)).or_default().push(number);
    }
    let mut small = Drawing::new(drawing.title.as_str());
    let mut place: Vec<usize> = vec![usize::MAX; drawing.nodes.len()];
    for ((_, role), group) in groups.into_iter().filter(|(_, it)| it.len() >= FOLDED_MIN) {
        let members: Vec<String> =
            group.iter().map(|&it| drawing.nodes[it].label.clone()).collect();
        let node = Node { members, ..Node::new(format!("{} {}s", group.len(), role.name()), role) };
        let number = small.node(node);
        group.into_iter().for_each(|it| place[it] = number);
    }
    for (number, node) in drawing.nodes.iter().enumerate() {
        if place[number] == usize::MAX {
            place[number] = small.node(node.clone());
        }
    }
    let mut known: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
    for edge in drawing.drawn() {
        let ends = (place[edge.from], place[edge.to]);
        if ends.0 != ends.1 {
            let edge = Edge { from: ends.0, to: ends.1, ..edge };
            let both = known.entry(ends).or_insert(edge);
            both.is_order &= edge.is_order;
            both.marked |= edge.marked;
        }
    }
    small.edges = known.into_values().collect();
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source, so many producers that all need it, and an output that needs all of these.
    fn wide(count: usize) -> Drawing {
        let mut drawing = Drawing::new("wide");
        let source = drawing.node(Node::new("source", Role::Source));
        let output = drawing.node(Node::new("out", Role::Output));
        for n in 0..count {
            let producer = drawing.node(Node::new(format!("p{n}"), Role::Producer));
            drawing.edge(Edge::new(source, producer));
            drawing.edge(Edge::new(producer, output));
        }
        drawing
    }

    #[test]
    fn what_fits_stays_and_what_does_not_is_counted() {
        assert_eq!(wide(8).folded(10), None);
        let mut drawing = wide(100);
        drawing.mark(&["source", "p7", "out"]);
        let (folded, note) = drawing.folded(10).expect("it is too large");
        let labels: Vec<&str> = folded.nodes.iter().map(|it| it.label.as_str()).collect();
        assert_eq!(labels, ["99 producers", "source", "out", "p7"]);
        assert_eq!((folded.edges.len(), folded.nodes[0].members.len()), (4, 99));
        assert_eq!(folded.edges.iter().filter(|it| it.marked).count(), 2);
        assert!(note.contains("99 of 102 modules stand in 1 box,"), "{note}");
    }

    #[test]
    fn a_long_chain_is_folded_over_levels() {
        let mut drawing = Drawing::new("chain");
        for n in 0..1_000 {
            drawing.node(Node::new(n.to_string(), Role::Producer));
            if n > 0 {
                drawing.edge(Edge::new(n - 1, n));
            }
        }
        let (folded, _) = drawing.folded(20).expect("it is too large");
        assert!((10..=20).contains(&folded.nodes.len()), "{}", folded.nodes.len());
        assert_eq!(folded.nodes.iter().map(|it| it.members.len()).sum::<usize>(), 1_000);
    }
}
