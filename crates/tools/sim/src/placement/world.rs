//! The nodes and actors of a simulated cluster.

use super::graph::{Graph, Random};
use super::settings::Settings;
use actinium_placement::{Actor, End, Offer, Partitioner, Stats};

pub(super) struct World {
    pub(super) graph: Graph,
    /// The node of each actor.
    pub(super) at: Vec<u32>,
    pub(super) moves: Vec<u32>,
    pub(super) exchanges: u64,
    pub(super) last_move: u32,
    nodes: Vec<Partitioner<u32>>,
    /// The order in which the nodes have their turns.
    turns: Vec<u32>,
    random: Random,
    messages: u32,
    sample_every: u32,
}

impl World {
    /// The actors lie on random nodes, on each as many.
    pub(super) fn new(settings: &Settings) -> Self {
        let nodes = settings.nodes.max(1);
        let mut random = Random(settings.seed);
        let mut at: Vec<u32> =
            (0..nodes).flat_map(|node| (0..settings.actors_per_node).map(move |_| node)).collect();
        random.shuffle(&mut at);
        let node = |node| Partitioner::new(node, settings.rules.clone(), settings.seed);
        let mut all: Vec<Partitioner<u32>> = (0..nodes).map(node).collect();
        for (actor, &node) in (0..).zip(&at) {
            all[node as usize].appeared(actor, Actor::default());
        }
        let actors = at.len() as u32;
        let graph = Graph::new(settings.graph, &by_node(&at, nodes), actors, &mut random);
        World {
            graph,
            moves: vec![0; at.len()],
            at,
            exchanges: 0,
            last_move: 0,
            nodes: all,
            turns: (0..nodes).collect(),
            random,
            messages: settings.messages,
            sample_every: settings.sample_every.max(1),
        }
    }

    pub(super) fn change(&mut self) {
        let at = by_node(&self.at, self.nodes.len() as u32);
        self.graph.draw(&at, self.at.len() as u32, &mut self.random);
    }

    /// All actors send, and all nodes have their turns.
    pub(super) fn round(&mut self, round: u32) {
        self.send();
        let mut turns = std::mem::take(&mut self.turns);
        self.random.shuffle(&mut turns);
        for &node in &turns {
            let mut made = self.nodes[node as usize].round();
            while made.is_some() {
                if self.exchange(node, made) {
                    self.exchanges += 1;
                    self.last_move = round;
                }
                made = self.nodes[node as usize].next_offer();
            }
        }
        self.turns = turns;
    }

    /// Of all messages, those that are looked at.
    fn send(&mut self) {
        for from in 0..self.at.len() {
            let others = &self.graph.others[from];
            if others.is_empty() {
                continue;
            }
            // As many as it is on average.
            let more = self.random.below(self.sample_every) < self.messages % self.sample_every;
            for _ in 0..self.messages / self.sample_every + u32::from(more) {
                let to = others[self.random.below(others.len() as u32) as usize];
                let (here, there) = (self.at[from], self.at[to as usize]);
                let weight = u64::from(self.sample_every);
                self.nodes[here as usize].sent(from as u32, End::Actor(to), there, weight);
            }
        }
    }

    /// Whether something has moved.
    fn exchange(&mut self, node: u32, mut made: Option<(u32, Offer<u32>)>) -> bool {
        while let Some((peer, offer)) = made.take() {
            let Ok(answer) = self.nodes[peer as usize].offered(node, &offer) else {
                made = self.nodes[node as usize].refused(peer);
                continue;
            };
            let go = self.nodes[node as usize].answered(peer, &answer).unwrap_or_default();
            let moves = go.len() + answer.give.len();
            go.into_iter().for_each(|actor| self.pass(actor, peer));
            answer.give.into_iter().for_each(|(actor, _)| self.pass(actor, node));
            return moves > 0;
        }
        false
    }

    fn pass(&mut self, actor: u32, to: u32) {
        let from = std::mem::replace(&mut self.at[actor as usize], to);
        self.moves[actor as usize] += 1;
        self.nodes[from as usize].moved(actor);
        let about = Actor { has_moved: true, ..Actor::default() };
        self.nodes[to as usize].appeared(actor, about);
    }

    /// The share of messages that cross between nodes.
    pub(super) fn crossings(&self) -> f64 {
        let (mut share, mut senders) = (0.0, 0);
        for (from, others) in self.graph.others.iter().enumerate() {
            if !others.is_empty() {
                let crosses = |&&other: &&u32| self.at[other as usize] != self.at[from];
                share += others.iter().filter(crosses).count() as f64 / others.len() as f64;
                senders += 1;
            }
        }
        share / f64::from(senders.max(1))
    }

    /// The number of actors of each node.
    pub(super) fn loads(&self) -> Vec<u64> {
        self.nodes.iter().map(|node| node.stats().actors).collect()
    }

    pub(super) fn sum(&self, of: impl Fn(&Stats) -> u64) -> u64 {
        self.nodes.iter().map(|node| of(&node.stats())).sum()
    }
}

/// The actors of each node.
fn by_node(at: &[u32], nodes: u32) -> Vec<Vec<u32>> {
    let mut actors = vec![Vec::new(); nodes as usize];
    (0..).zip(at).for_each(|(actor, &node)| actors[node as usize].push(actor));
    actors
}
