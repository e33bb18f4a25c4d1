//! The edges that a node knows, sorted by where they lead.

use crate::sketch::{End, Weighed};
use std::collections::BTreeMap;

/// The actors of a node as a graph: numbered, with their edges within the node and to others.
/// Directions do not count: the edges of two actors of this node are one.
pub struct Graph<K> {
    /// The actors, in order.
    actors: Vec<K>,
    /// The edges of each actor with others of this node, each at both its ends.
    pub(crate) local: Vec<Vec<(usize, u64)>>,
    /// The weight of the edges of each actor within this node, those to fixed actors included.
    pub(crate) home: Vec<u64>,
    /// The edges to each other node.
    pub(crate) remote: BTreeMap<u32, Vec<Remote<K>>>,
    /// The number of actors that are on their way here.
    expected: usize,
}

/// An edge of an actor of this node, by its number, to another node.
#[derive(Clone, Copy)]
pub(crate) struct Remote<K> {
    pub(crate) from: usize,
    pub(crate) to: End<K>,
    pub(crate) weight: u64,
}

impl<K: Copy + Ord> Graph<K> {
    /// The graph of the actors of node `me`, which are given in order, and of edges. An edge to an
    /// actor that is not on this node, though it was when it was last sent to, is left out: nobody
    /// here knows where that one is. O((actors + edges) log actors).
    pub fn new(
        me: u32,
        actors: impl IntoIterator<Item = K>,
        edges: impl IntoIterator<Item = Weighed<K>>,
    ) -> Self {
        let actors: Vec<K> = actors.into_iter().collect();
        let mut graph = Graph {
            local: vec![Vec::new(); actors.len()],
            home: vec![0; actors.len()],
            remote: BTreeMap::new(),
            expected: 0,
            actors,
        };
        for Weighed { edge, node, weight } in edges {
            let Some(from) = graph.number(edge.from) else { continue };
            let here = if let End::Actor(to) = edge.to { graph.number(to) } else { None };
            match here {
                Some(to) if to == from => {}
                Some(to) => graph.join(from, to, weight),
                None if node != me => {
                    let of = graph.remote.entry(node).or_default();
                    of.push(Remote { from, to: edge.to, weight });
                }
                None if edge.to == End::Fixed(me) => graph.home[from] += weight,
                None => {}
            }
        }
        graph
    }

    /// So many actors more are on their way to this node.
    #[must_use]
    pub(crate) fn expecting(self, expected: usize) -> Self {
        Graph { expected, ..self }
    }

    /// The number of actors of this node when all have arrived that are on their way.
    pub(crate) fn load(&self) -> u64 {
        (self.actors.len() + self.expected) as u64
    }

    fn join(&mut self, a: usize, b: usize, weight: u64) {
        for (from, to) in [(a, b), (b, a)] {
            self.local[from].push((to, weight));
            self.home[from] += weight;
        }
    }

    /// An actor's number.
    pub(crate) fn number(&self, actor: K) -> Option<usize> {
        self.actors.binary_search(&actor).ok()
    }

    pub(crate) fn actor(&self, number: usize) -> K {
        self.actors[number]
    }

    pub(crate) fn len(&self) -> usize {
        self.actors.len()
    }

    /// The weight of the edges within the node, and of those to others.
    #[must_use]
    pub fn weights(&self) -> (u64, u64) {
        let between: u64 = self.local.iter().flatten().map(|(_, weight)| weight).sum();
        let home: u64 = self.home.iter().sum();
        let remote = self.remote.values().flatten().map(|edge| edge.weight).sum();
        // Each edge between two actors is in both their sums.
        (home - between / 2, remote)
    }
}
