//! A bounded count of who sends to whom.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What an actor sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End<K> {
    /// Any of the actors of that node that never move.
    Fixed(u32),
    /// An actor that may move.
    Actor(K),
}

/// Who sends to whom. `from` lives on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge<K> {
    /// The sender.
    pub from: K,
    /// The receiver.
    pub to: End<K>,
}

/// An edge, and what the sketch knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighed<K> {
    /// The edge.
    pub edge: Edge<K>,
    /// The node where the receiver was when it was last sent to.
    pub node: u32,
    /// Messages, older ones counting less: a lower bound.
    pub weight: u64,
}

/// Weights are kept in such parts of a message, so that a single one does not vanish at once.
const PARTS: u64 = 256;

#[derive(Clone, Copy)]
struct Entry {
    /// In parts of a message, with `error`.
    count: u64,
    /// What `count` has taken over from the edge whose place this one has.
    error: u64,
    node: u32,
}

/// Counts the edges with most messages, in bounded memory: the Space-Saving algorithm of A.
/// Metwally, D. Agrawal and A. El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
/// Data Streams" (ICDT 2005). When it is full, a new edge takes the place, and the count, of the
/// one with the least. So a frequent edge is never missed. What [`Sketch::edges`] tells is the part
/// of a count that was certainly the edge's own.
///
/// ```
/// use actinium_placement::{Edge, End, Sketch};
///
/// let mut sketch = Sketch::new(2);
/// let edge = |to| Edge { from: 1, to: End::Actor(to) };
/// sketch.add(edge(2), 0, 100);
/// sketch.add(edge(3), 0, 5);
/// sketch.add(edge(4), 0, 1); // in the place of edge(3)
/// let weights: Vec<_> = sketch.edges().map(|it| (it.edge, it.weight)).collect();
/// assert_eq!(weights, [(edge(2), 100), (edge(4), 1)]);
/// ```
#[derive(Clone)]
pub struct Sketch<K> {
    capacity: usize,
    entries: BTreeMap<Edge<K>, Entry>,
    /// The same edges by counts that they have had, the least one first. Counts only rise between
    /// two fades, so that whoever is first with its count as it is has the least. Edges that were
    /// forgotten may still be here.
    by_count: BinaryHeap<Reverse<(u64, Edge<K>)>>,
    replaced: u64,
}

impl<K: Copy + Ord> Sketch<K> {
    /// One of so many edges at most, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Sketch { capacity, entries: BTreeMap::new(), by_count: BinaryHeap::new(), replaced: 0 }
    }

    /// Counts messages of an edge, whose receiver is on that node now. O(log edges), on average.
    pub fn add(&mut self, edge: Edge<K>, node: u32, messages: u64) {
        let parts = messages.saturating_mul(PARTS);
        if let Some(entry) = self.entries.get_mut(&edge) {
            entry.count = entry.count.saturating_add(parts);
            entry.node = node;
            return;
        }
        let is_full = self.entries.len() >= self.capacity;
        let least = if is_full { self.forget_least() } else { 0 };
        let count = least.saturating_add(parts);
        self.by_count.push(Reverse((count, edge)));
        self.entries.insert(edge, Entry { count, error: least, node });
    }

    /// Forgets the edge with the least count, which it returns.
    fn forget_least(&mut self) -> u64 {
        while let Some(Reverse((count, edge))) = self.by_count.pop() {
            match self.entries.get(&edge) {
                Some(entry) if entry.count == count => {
                    self.entries.remove(&edge);
                    self.replaced += 1;
                    return count;
                }
                Some(entry) => self.by_count.push(Reverse((entry.count, edge))),
                None => {}
            }
        }
        0
    }

    /// Lets all weights fade to so many percent, and forgets those below a message's 256th.
    /// O(edges).
    pub fn fade(&mut self, percent: u32) {
        let part = |parts: u64| (u128::from(parts) * u128::from(percent.min(100)) / 100) as u64;
        self.entries.retain(|_, entry| {
            (entry.count, entry.error) = (part(entry.count), part(entry.error));
            entry.count > 0
        });
        let entries = self.entries.iter();
        self.by_count = entries.map(|(&edge, entry)| Reverse((entry.count, edge))).collect();
    }

    /// Forgets what an actor has sent.
    pub fn forget(&mut self, from: K) {
        let first = Edge { from, to: End::Fixed(0) };
        let of = self.entries.range(first..).take_while(|(edge, _)| edge.from == from);
        let of: Vec<_> = of.map(|(&edge, _)| edge).collect();
        for edge in of {
            self.entries.remove(&edge);
        }
    }

    /// The edges with a weight, in order.
    pub fn edges(&self) -> impl Iterator<Item = Weighed<K>> {
        self.entries.iter().filter_map(|(&edge, entry)| {
            let weight = (entry.count - entry.error).div_ceil(PARTS);
            (weight > 0).then_some(Weighed { edge, node: entry.node, weight })
        })
    }

    /// The node where the receiver of an edge was when it was last sent to.
    #[must_use]
    pub fn node(&self, edge: &Edge<K>) -> Option<u32> {
        self.entries.get(edge).map(|entry| entry.node)
    }

    /// The number of edges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it knows no edge.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of edges that were forgotten because others took their places.
    #[must_use]
    pub fn replaced(&self) -> u64 {
        self.replaced
    }
}
