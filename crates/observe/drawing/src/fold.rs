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
    let (layers, alike) = (layers(drawing), alike(drawing));
    // A way of many marked nodes is folded, too; a short one stays as it is.
    let marked = drawing.nodes.iter().filter(|it| it.marked).count();
    let keeps_marked = marked <= most.0 / 2;
    // First those that nobody can tell apart, then all of a level, then of several levels.
    let deepest = layers.iter().copied().max().unwrap_or(0);
    let doubled = |it: &usize| Some(it * 2).filter(|_| *it <= deepest);
    let mut folded = fold(drawing, |node| (layers[node], alike[node]), true);
    folded.levels(drawing, |node| layers[node]);
    for together in std::iter::successors(Some(1), doubled) {
        if fits(&folded.small) {
            break;
        }
        // The source comes before all others.
        let level = |node: usize| match drawing.nodes[node].role {
            Role::Source => 0,
            _ => layers[node] / together + 1,
        };
        folded = fold(drawing, |node| (level(node), 0), keeps_marked);
        folded.levels(drawing, level);
        folded.reduce();
    }
    let note = folded.note(drawing.nodes.len());
    note.map(|note| (folded.small, note))
}

/// A graph whose nodes stand for those of another.
struct Folded {
    small: Drawing,
    /// The number of the node that stands for each of the other graph's.
    place: Vec<usize>,
    /// How many edges were left out, because others lead the same way.
    left_out: usize,
}

impl Folded {
    /// What is to be said about it, if anything was folded, of a graph of so many nodes.
    fn note(&self, nodes: usize) -> Option<String> {
        let boxes = self.small.nodes.iter().filter(|it| !it.members.is_empty());
        let (count, members) =
            boxes.fold((0, 0), |(count, sum), it| (count + 1, sum + it.members.len()));
        let plural = if count == 1 { "" } else { "es" };
        let arrows = match self.left_out {
            0 => String::new(),
            some => format!("; {some} arrows that follow from others are left out"),
        };
        (count > 0).then(|| {
            format!(
                "Folded to be readable: {members} of {nodes} modules stand in {count} box{plural}, by role and level{arrows}."
            )
        })
    }

    /// Each node stands at the level of those that it stands for.
    fn levels(&mut self, drawing: &Drawing, level: impl Fn(usize) -> usize) {
        for node in 0..drawing.nodes.len() {
            self.small.nodes[self.place[node]].level = Some(level(node));
        }
    }

    /// Leaves out edges where other edges lead the same way, but for those that are marked.
    fn reduce(&mut self) {
        let level = |node: usize| self.small.nodes[node].level.unwrap_or(0);
        let count = self.small.nodes.len();
        let mut after = vec![Vec::new(); count];
        for edge in self.small.edges.iter().filter(|it| level(it.from) < level(it.to)) {
            after[edge.from].push(edge.to);
        }
        // Those that can be reached from each node, the last levels first.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&node| std::cmp::Reverse(level(node)));
        let mut reached: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
        for node in order {
            let ends: BTreeSet<usize> = after[node]
                .iter()
                .flat_map(|&to| reached[to].iter().copied().chain([to]))
                .collect();
            reached[node] = ends;
        }
        let follows = |edge: &Edge| {
            level(edge.from) < level(edge.to)
                && after[edge.from].iter().any(|&via| reached[via].contains(&edge.to))
        };
        let all = std::mem::take(&mut self.small.edges);
        let before = all.len();
        let kept: Vec<Edge> = all.into_iter().filter(|it| it.marked || !follows(it)).collect();
        self.left_out = before - kept.len();
        self.small.edges = kept;
    }
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

/// Puts together the nodes of one role that have the same key. Those that are marked stay, or else
/// are put together among themselves.
fn fold<K: Ord>(drawing: &Drawing, key: impl Fn(usize) -> K, keeps_marked: bool) -> Folded {
    let mut groups: BTreeMap<(K, Role, bool), Vec<usize>> = BTreeMap::new();
    let nodes = drawing.nodes.iter().enumerate();
    for (number, node) in nodes.filter(|(_, node)| !(node.marked && keeps_marked)) {
        groups.entry((key(number), node.role, node.marked)).or_default().push(number);
    }
    let mut small = Drawing::new(drawing.title.as_str());
    let mut place: Vec<usize> = vec![usize::MAX; drawing.nodes.len()];
    for ((_, role, marked), group) in groups.into_iter().filter(|(_, it)| it.len() >= FOLDED_MIN) {
        let members: Vec<String> =
            group.iter().map(|&it| drawing.nodes[it].label.clone()).collect();
        let label = format!("{} {}s", group.len(), role.name());
        let number = small.node(Node { members, marked, ..Node::new(label, role) });
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
    Folded { small, place, left_out: 0 }
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
        let (folded, note) = drawing.folded(20).expect("it is too large");
        assert!(!note.contains("arrows"), "{note}");
        assert!((10..=20).contains(&folded.nodes.len()), "{}", folded.nodes.len());
        assert_eq!(folded.nodes.iter().map(|it| it.members.len()).sum::<usize>(), 1_000);
    }

    #[test]
    fn a_long_way_is_folded_beside_the_others_and_stays_marked() {
        let mut drawing = Drawing::new("t");
        let all: Vec<usize> =
            (0..200).map(|n| drawing.node(Node::new(n.to_string(), Role::Producer))).collect();
        // The first hundred are a chain, and each of the others needs two of them.
        for n in 1..100 {
            drawing.edge(Edge::new(all[n - 1], all[n]));
            drawing.edge(Edge::new(all[n - 1], all[n + 100]));
            drawing.edge(Edge::new(all[0], all[n + 100]));
        }
        let way: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        drawing.mark(&way);
        let (folded, note) = drawing.folded(20).expect("it is too large");
        assert!(folded.nodes.len() <= 20 && note.contains("arrows that follow"), "{note}");
        let marked = |is: bool| folded.nodes.iter().filter(move |it| it.marked == is);
        assert_eq!(marked(true).map(|it| it.members.len().max(1)).sum::<usize>(), 100);
        assert_eq!(marked(false).map(|it| it.members.len().max(1)).sum::<usize>(), 100);
        let steps = folded.edges.iter().filter(|it| it.marked).count();
        assert_eq!(steps, marked(true).count() - 1);
    }
}
