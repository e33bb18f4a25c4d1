//! Which actors two nodes exchange.

use crate::candidates::May;
use crate::exchange::{Answer, Offer};
use crate::graph::Graph;
use crate::rules::Rules;
use crate::sketch::End;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What a node decides about an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<K> {
    /// What it answers.
    pub answer: Answer<K>,
    /// By how much that makes the weight between the two nodes smaller, as far as both know their
    /// edges. (Edges to third nodes are as remote as before.)
    pub saved: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// On the node that offers.
    There,
    /// On the node that decides.
    Here,
    Moved,
}

/// An actor of either node.
struct Vertex {
    side: Side,
    /// What its move saves now, costs subtracted.
    gain: i64,
    cost: i64,
    /// Its edges with other vertices.
    edges: Vec<(usize, i64)>,
    may_move: bool,
}

/// The actors of both nodes while it is decided which of them move.
struct Exchange {
    vertices: Vec<Vertex>,
    /// Numbers and gains, of either side. Entries may be old.
    heaps: [BinaryHeap<(i64, Reverse<usize>)>; 2],
    /// The actors of both nodes if it ended now, and the bound on their difference.
    loads: [u64; 2],
    imbalance_max: u64,
    /// How many more may leave either side.
    left: [usize; 2],
    moved: Vec<usize>,
    /// What all moves save, with and without costs subtracted.
    gain: i64,
    saved: i64,
    /// The same after so many moves, when it was most.
    best_gain: i64,
    best_saved: i64,
    best_moves: usize,
}

const THERE: usize = 0;
const HERE: usize = 1;

/// The largest sum of weights that counts.
fn signed(weight: u64) -> i64 {
    weight.min(1 << 44) as i64
}

/// Decides which of the offered actors come to this node, and which of its own go to node `from`
/// for them.
///
/// Always the one whose move saves most, or costs least, is chosen next, with those before it
/// moved, as long as the numbers of actors of the two nodes do not become too different. Then all
/// are dropped that were chosen after the sum of savings was largest (Kernighan and Lin). So half a
/// group follows the other half, though the first of them saves nothing.
///
/// `may` says which actors of this node, by their numbers in `graph`, may move, each with its cost
/// and its streak. The offer has been checked. O(e log e) for e edges.
pub fn decide<K: Copy + Ord>(
    graph: &Graph<K>,
    from: u32,
    offer: &Offer<K>,
    rules: &Rules,
    may: impl Fn(usize) -> Option<(u64, u8)>,
) -> Decision<K> {
    let own = graph.len();
    let mut exchange = Exchange::new(graph, from, offer, rules, &may);
    while exchange.step() {}
    let mut answer = Answer { take: Vec::new(), give: Vec::new() };
    for &vertex in &exchange.moved[..exchange.best_moves] {
        if vertex < own {
            let streak = may(vertex).map_or(0, |(_, streak)| streak);
            answer.give.push((graph.actor(vertex), streak));
        } else {
            answer.take.push(offer.candidates[vertex - own].actor);
        }
    }
    Decision { answer, saved: exchange.best_saved }
}

impl Exchange {
    /// The actors of `graph` are the first vertices, the candidates those after them.
    fn new<K: Copy + Ord>(
        graph: &Graph<K>,
        from: u32,
        offer: &Offer<K>,
        rules: &Rules,
        may: &impl Fn(usize) -> May,
    ) -> Self {
        let own = (0..graph.len()).map(|actor| {
            let cost = may(actor);
            let edges = graph.local[actor].iter().map(|&(to, weight)| (to, signed(weight)));
            Vertex {
                side: Side::Here,
                gain: -signed(graph.home[actor]),
                cost: signed(cost.map_or(0, |(cost, _)| cost)),
                edges: edges.collect(),
                may_move: cost.is_some(),
            }
        });
        let offered = offer.candidates.iter().map(|candidate| Vertex {
            side: Side::There,
            gain: signed(candidate.there) - signed(candidate.home),
            cost: signed(candidate.cost),
            edges: Vec::new(),
            // If it is here, too, somebody is wrong.
            may_move: graph.number(candidate.actor).is_none(),
        });
        let loads = [offer.load, graph.load()];
        let mut exchange = Exchange {
            vertices: own.chain(offered).collect(),
            heaps: Default::default(),
            loads,
            imbalance_max: rules.imbalance_max(loads[0], loads[1]),
            left: [rules.moves_max; 2],
            moved: Vec::new(),
            gain: 0,
            saved: 0,
            best_gain: 0,
            best_saved: 0,
            best_moves: 0,
        };
        exchange.join_all(graph, from, offer);
        for vertex in 0..exchange.vertices.len() {
            let cost = exchange.vertices[vertex].cost;
            exchange.vertices[vertex].gain -= cost;
            exchange.push(vertex);
        }
        exchange
    }

    /// The edges between the two nodes, and those among the candidates.
    fn join_all<K: Copy + Ord>(&mut self, graph: &Graph<K>, from: u32, offer: &Offer<K>) {
        let own = graph.len();
        let places = offer.candidates.iter().zip(own..);
        let places: BTreeMap<K, usize> = places.map(|(it, place)| (it.actor, place)).collect();
        for (candidate, place) in offer.candidates.iter().zip(own..) {
            for &(other, weight) in &candidate.among {
                let weight = signed(weight);
                self.join(place, own + other as usize, weight);
                self.vertices[place].gain -= weight;
                self.vertices[own + other as usize].gain -= weight;
            }
            for &(to, weight) in &candidate.edges {
                // Where it is otherwise, the other node does not know that yet.
                if let Some(to) = graph.number(to) {
                    self.join_across(place, to, weight);
                }
            }
        }
        for &(to, weight) in &offer.pulls {
            if let Some(to) = graph.number(to) {
                self.vertices[to].gain += signed(weight);
            }
        }
        let known_there = |node: &u32| *node == from;
        for (node, edges) in &graph.remote {
            for edge in edges {
                let to = if let End::Actor(to) = edge.to { places.get(&to) } else { None };
                match to {
                    Some(&to) => self.join_across(edge.from, to, edge.weight),
                    None if known_there(node) => {
                        self.vertices[edge.from].gain += signed(edge.weight)
                    }
                    None => {}
                }
            }
        }
    }

    fn join(&mut self, a: usize, b: usize, weight: i64) {
        self.vertices[a].edges.push((b, weight));
        self.vertices[b].edges.push((a, weight));
    }

    fn join_across(&mut self, a: usize, b: usize, weight: u64) {
        let weight = signed(weight);
        self.join(a, b, weight);
        self.vertices[a].gain += weight;
        self.vertices[b].gain += weight;
    }

    /// Notes an actor that may move, with its gain.
    fn push(&mut self, vertex: usize) {
        let Vertex { side, gain, may_move, .. } = self.vertices[vertex];
        let side = match side {
            Side::There => THERE,
            Side::Here => HERE,
            Side::Moved => return,
        };
        if may_move {
            self.heaps[side].push((gain, Reverse(vertex)));
        }
    }

    /// The actor of a side whose move saves most, or costs least.
    fn best(&mut self, side: usize) -> Option<usize> {
        while let Some(&(gain, Reverse(vertex))) = self.heaps[side].peek() {
            let is_now = self.vertices[vertex].gain == gain;
            if is_now && self.vertices[vertex].side != Side::Moved {
                return (self.left[side] > 0).then_some(vertex);
            }
            self.heaps[side].pop();
        }
        None
    }

    /// Whether one may leave a side alone.
    fn is_allowed(&self, side: usize) -> bool {
        let before = self.loads[0].abs_diff(self.loads[1]);
        let (from, to) = (self.loads[side], self.loads[1 - side]);
        let after = from.saturating_sub(1).abs_diff(to + 1);
        from > 0 && after <= self.imbalance_max.max(before.saturating_sub(1))
    }

    /// Moves the one whose move saves most, of those that may; of equal ones, one that is offered.
    /// Returns whether there was one.
    fn step(&mut self) -> bool {
        let best = [HERE, THERE].map(|side| self.best(side).map(|vertex| (side, vertex)));
        let allowed = best.into_iter().flatten().filter(|&(side, _)| self.is_allowed(side));
        let best = allowed.max_by_key(|&(_, vertex)| self.vertices[vertex].gain);
        if let Some((side, vertex)) = best {
            self.pass(side, vertex);
        }
        best.is_some()
    }

    fn pass(&mut self, side: usize, vertex: usize) {
        let it = &mut self.vertices[vertex];
        let stays = it.side;
        it.side = Side::Moved;
        self.gain += it.gain;
        self.saved += it.gain + it.cost;
        let edges = std::mem::take(&mut it.edges);
        for &(other, weight) in &edges {
            match self.vertices[other].side {
                Side::Moved => {}
                it if it == stays => self.vertices[other].gain += 2 * weight,
                _ => self.vertices[other].gain -= 2 * weight,
            }
            self.push(other);
        }
        self.loads[side] -= 1;
        self.loads[1 - side] += 1;
        self.left[side] -= 1;
        self.moved.push(vertex);
        if self.gain > self.best_gain {
            (self.best_gain, self.best_saved) = (self.gain, self.saved);
            self.best_moves = self.moved.len();
        }
    }
}
