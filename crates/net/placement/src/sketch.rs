//! A bounded count of who sends to whom.

use std::collections::{BTreeMap, BTreeSet};

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
    /// The same edges by their counts.
    by_count: BTreeSet<(u64, Edge<K>)>,
    replaced: u64,
}

impl<K: Copy + Ord> Sketch<K> {
    /// One of so many edges at most, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Sketch { capacity, entries: BTreeMap::new(), by_count: BTreeSet::new(), replaced: 0 }
    }

    /// Counts messages of an edge, whose receiver is on that node now. O(log edges).
    pub fn add(&mut self, edge: Edge<K>, node: u32, messages: u64) {
        let parts = messages.saturating_mul(PARTS);
        let mut entry = match self.entries.get(&edge) {
            Some(&entry) => {
                self.by_count.remove(&(entry.count, edge));
                entry
            }
            None if self.entries.len() < self.capacity => Entry { count: 0, error: 0, node },
            None => self.replace_least(node),
        };
        entry.count = entry.count.saturating_add(parts);
        entry.node = node;
        self.by_count.insert((entry.count, edge));
        self.entries.insert(edge, entry);
    }

    /// Forgets the edge with the least count, and returns the entry of the one in its place.
    fn replace_least(&mut self, node: u32) -> Entry {
        self.replaced += 1;
        let (least, edge) = self.by_count.pop_first().expect("a full sketch has entries");
        self.entries.remove(&edge);
        Entry { count: least, error: least, node }
    }

    /// Lets all weights fade to so many percent, and forgets those below a message's 256th.
    /// O(edges).
    pub fn fade(&mut self, percent: u32) {
        let part = |parts: u64| (u128::from(parts) * u128::from(percent.min(100)) / 100) as u64;
        self.entries.retain(|_, entry| {
            (entry.count, entry.error) = (part(entry.count), part(entry.error));
            entry.count > 0
        });
        self.by_count = self.entries.iter().map(|(&edge, entry)| (entry.count, edge)).collect();
    }

    /// Forgets what an actor has sent.
    pub fn forget(&mut self, from: K) {
        let first = Edge { from, to: End::Fixed(0) };
        let of = self.entries.range(first..).take_while(|(edge, _)| edge.from == from);
        let of: Vec<_> = of.map(|(&edge, entry)| (entry.count, edge)).collect();
        for (count, edge) in of {
            self.by_count.remove(&(count, edge));
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
