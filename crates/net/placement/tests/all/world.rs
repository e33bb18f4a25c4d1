//! Nodes whose actors send along the edges of a graph, round by round.

use actinium_placement::{Actor, End, Offer, Partitioner, Rules, Stats};
use std::collections::BTreeMap;

/// Who sends how much to whom in a round.
pub(crate) type Traffic = Vec<(u32, u32, u64)>;

pub(crate) struct World {
    pub(crate) nodes: Vec<Partitioner<u32>>,
    /// The node of each actor.
    pub(crate) at: Vec<u32>,
    pub(crate) moves: Vec<u32>,
}

impl World {
    pub(crate) fn new(nodes: u32, at: Vec<u32>, rules: &Rules) -> Self {
        let node = |n| Partitioner::new(n, rules.clone(), u64::from(n));
        let mut world =
            World { nodes: (0..nodes).map(node).collect(), moves: vec![0; at.len()], at };
        for (actor, &node) in (0..).zip(&world.at) {
            world.nodes[node as usize].appeared(actor, Actor::default());
        }
        world
    }

    pub(crate) fn send(&mut self, traffic: &Traffic) {
        for &(from, to, messages) in traffic {
            let (here, there) = (self.at[from as usize], self.at[to as usize]);
            self.nodes[here as usize].sent(from, End::Actor(to), there, messages);
        }
    }

    /// A round of each node. Returns the number of moves.
    pub(crate) fn round(&mut self) -> u32 {
        let mut moves = 0;
        for n in 0..self.nodes.len() as u32 {
            let mut next = self.nodes[n as usize].round();
            while next.is_some() {
                moves += self.exchange(n, next);
                next = self.nodes[n as usize].next_offer();
            }
        }
        moves
    }

    /// A round of each node, in which only the offers of one are heard.
    pub(crate) fn round_of(&mut self, n: u32) -> u32 {
        let mut own = None;
        for other in 0..self.nodes.len() as u32 {
            let node = &mut self.nodes[other as usize];
            let mut next = node.round();
            while other != n
                && let Some((peer, _)) = next
            {
                next = node.refused(peer);
            }
            own = own.or(next);
        }
        self.exchange(n, own)
    }

    fn exchange(&mut self, n: u32, mut next: Option<(u32, Offer<u32>)>) -> u32 {
        while let Some((peer, offer)) = next.take() {
            match self.nodes[peer as usize].offered(n, &offer) {
                Ok(answer) => {
                    let go = self.nodes[n as usize].answered(peer, &answer).unwrap();
                    assert_eq!(go, answer.take, "all of them still live here");
                    let moves = go.len() + answer.give.len();
                    go.into_iter().for_each(|actor| self.pass(actor, peer));
                    answer.give.into_iter().for_each(|(actor, _)| self.pass(actor, n));
                    return moves as u32;
                }
                Err(_) => next = self.nodes[n as usize].refused(peer),
            }
        }
        0
    }

    fn pass(&mut self, actor: u32, to: u32) {
        let from = std::mem::replace(&mut self.at[actor as usize], to);
        assert_ne!(from, to);
        self.moves[actor as usize] += 1;
        self.nodes[from as usize].moved(actor);
        let about = Actor { has_moved: true, ..Actor::default() };
        self.nodes[to as usize].appeared(actor, about);
    }

    pub(crate) fn crossing(&self, traffic: &Traffic) -> u64 {
        let crosses = |from: u32, to: u32| self.at[from as usize] != self.at[to as usize];
        traffic.iter().filter(|&&(from, to, _)| crosses(from, to)).map(|&(.., n)| n).sum()
    }

    pub(crate) fn loads(&self) -> Vec<u64> {
        let mut loads = vec![0; self.nodes.len()];
        self.at.iter().for_each(|&node| loads[node as usize] += 1);
        let known: Vec<u64> = self.nodes.iter().map(|node| node.stats().actors).collect();
        assert_eq!(known, loads);
        loads
    }

    pub(crate) fn sum(&self, of: impl Fn(&Stats) -> u64) -> u64 {
        self.nodes.iter().map(|node| of(&node.stats())).sum()
    }
}

/// Joins edges that are the same.
pub(crate) fn merged(edges: impl IntoIterator<Item = (u32, u32, u64)>) -> Traffic {
    let mut sums: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for (from, to, messages) in edges {
        if from != to {
            *sums.entry((from, to)).or_default() += messages;
        }
    }
    sums.into_iter().map(|((from, to), messages)| (from, to, messages)).collect()
}
