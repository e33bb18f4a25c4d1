//! What a node does about the places of its actors: rounds, exchanges and rests.
//!
//! ```text
//!        round: an exchange pays            the answer says what moves
//! Idle ----------------------------> Asking --------------------------> Moving
//!  ^ ^                                 |                                  |
//!  | +---------refused, no answer------+                                  |
//!  |                                      an offer is accepted            |
//!  | Idle ------------------------------------------------------------> Moving
//!  +-- at once, or cooldown_rounds later <---------all have moved, or not--+
//! ```
//!
//! A node has up to `exchanges_max` exchanges in a round, one after the other, and rests only after
//! as many.

use crate::candidates::{self, Look, May};
use crate::decide::decide;
use crate::exchange::{Answer, Offer, Refusal};
use crate::graph::Graph;
use crate::rules::Rules;
use crate::sketch::{Edge, End, Sketch, Weighed};
use crate::stats::Stats;
use std::collections::{BTreeMap, BTreeSet};

/// What a partitioner is told about an actor of its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actor {
    /// What a move of this actor costs besides [`Rules::move_cost`], as a weight.
    pub cost: u64,
    /// It stays where it is. It still attracts others.
    pub is_pinned: bool,
    /// It has come from another node.
    pub has_moved: bool,
}

/// An actor of the node.
#[derive(Clone, Copy)]
struct Here {
    cost: u64,
    is_pinned: bool,
    /// The first round in which it may move.
    rests_until: u64,
    /// The last round in which a further move is one soon after the last.
    streak_until: u64,
    streak: u8,
}

/// An actor rests twice as long after each move of a streak, and at most 2^6 times.
const STREAK_MAX: u8 = 6;
/// For each exchange that a node may have in a round, the other nodes that it asks: if one is busy,
/// the next.
const ASKED_PER_EXCHANGE: usize = 3;
/// The number of rounds for which an actor that another node has promised is waited for.
const EXPECTED_ROUNDS: u64 = 4;
/// Other nodes for which a round looks beyond moves that save nothing.
const LOOKED_AT_MAX: usize = 8;

enum Phase<K> {
    Idle,
    Asking { peer: u32, offered: BTreeSet<K> },
    Moving { left: BTreeSet<K> },
    Resting { until: u64 },
}

/// A node's part in the placement of actors: see the crate. `K` names an actor in the whole
/// cluster.
pub struct Partitioner<K> {
    me: u32,
    rules: Rules,
    /// SplitMix64's state: chooses among nodes that are as good.
    random: u64,
    sketch: Sketch<K>,
    /// The edges as they were when the last round began. Both sides of an exchange weigh by these:
    /// between rounds weights grow, and then they fade, so that others could not be compared.
    edges: Vec<Weighed<K>>,
    /// Whether the sketch may know better than `edges` where receivers are.
    has_news: bool,
    /// The graph of `actors` and `edges`, as long as neither changes: to build it costs more than
    /// all else of an exchange.
    built: Option<Graph<K>>,
    actors: BTreeMap<K, Here>,
    phase: Phase<K>,
    /// The nodes that are to be asked in this round, the last one first.
    queue: Vec<u32>,
    /// The exchanges of this round, offered by either side.
    exchanges: u32,
    /// Actors that other nodes are about to send here, with their streaks, and the rounds in which
    /// they are no longer waited for.
    expected: BTreeMap<K, (u8, u64)>,
    /// Nodes that wanted none of what was offered, and the rounds in which they may be asked again.
    declined: BTreeMap<u32, u64>,
    stats: Stats,
}

impl<K: Copy + Ord> Partitioner<K> {
    /// Node `me`'s. The seed decides between nodes that are equally good.
    #[must_use]
    pub fn new(me: u32, rules: Rules, seed: u64) -> Self {
        let sketch = Sketch::new(rules.edges_max);
        Partitioner {
            me,
            rules,
            random: seed,
            sketch,
            edges: Vec::new(),
            has_news: false,
            built: None,
            actors: BTreeMap::new(),
            phase: Phase::Idle,
            queue: Vec::new(),
            exchanges: 0,
            expected: BTreeMap::new(),
            declined: BTreeMap::new(),
            stats: Stats::default(),
        }
    }

    /// The settings.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// An actor lives on this node now, or what was said about it has changed.
    pub fn appeared(&mut self, actor: K, about: Actor) {
        let Actor { cost, is_pinned, has_moved } = about;
        if let Some(here) = self.actors.get_mut(&actor) {
            (here.cost, here.is_pinned) = (cost, is_pinned);
            return;
        }
        let rests = Here { cost, is_pinned, rests_until: 0, streak_until: 0, streak: 0 };
        let mut here = rests;
        if has_moved {
            self.rest(&mut here, self.expected.get(&actor).map_or(1, |&(streak, _)| streak));
        }
        self.expected.remove(&actor);
        self.actors.insert(actor, here);
        self.built = None;
    }

    fn rest(&self, here: &mut Here, streak: u8) {
        here.streak = streak.clamp(1, STREAK_MAX + 1);
        let rest = u64::from(self.rules.rest_rounds) << (here.streak - 1);
        here.rests_until = self.stats.rounds + rest;
        here.streak_until = here.rests_until + 2 * rest;
    }

    /// An actor has left this node, or has ended.
    pub fn vanished(&mut self, actor: K) {
        if self.actors.remove(&actor).is_some() {
            self.built = None;
        }
        self.sketch.forget(actor);
        self.settle(actor);
    }

    /// Whether an actor is known to live on this node.
    #[must_use]
    pub fn knows(&self, actor: K) -> bool {
        self.actors.contains_key(&actor)
    }

    /// An actor of this node has sent so many messages to what is on that node. O(log edges).
    pub fn sent(&mut self, from: K, to: End<K>, node: u32, messages: u64) {
        if self.actors.contains_key(&from) {
            self.stats.samples += 1;
            self.sketch.add(Edge { from, to }, node, messages);
            self.has_news = true;
        }
    }

    /// Takes the graph as it is now, or builds it. Who has changed neither actors nor edges puts it
    /// back.
    fn graph(&mut self) -> Graph<K> {
        if std::mem::take(&mut self.has_news) {
            self.built = None;
            for known in &mut self.edges {
                known.node = self.sketch.node(&known.edge).unwrap_or(known.node);
            }
        }
        let built = self.built.take();
        let build = || Graph::new(self.me, self.actors.keys().copied(), self.edges.iter().copied());
        built.unwrap_or_else(build).expecting(self.expected.len())
    }

    /// Says of each actor, by number, whether and at what cost it may move now.
    fn may(&self) -> Vec<May> {
        let may = |here: &Here| {
            if here.is_pinned || here.rests_until > self.stats.rounds {
                return None;
            }
            let is_soon = here.streak > 0 && here.streak_until >= self.stats.rounds;
            let streak = if is_soon { here.streak.saturating_add(1) } else { 1 };
            Some((self.rules.move_cost.saturating_add(here.cost).min(1 << 40), streak))
        };
        self.actors.values().map(may).collect()
    }

    /// Begins a round. Returns the node with which an exchange pays most, and what to offer to it,
    /// if there is one and this node has no exchange and rests from none. The answer goes to
    /// [`Partitioner::answered`], or else to [`Partitioner::refused`].
    ///
    /// O(e log e) for the e edges that are known.
    pub fn round(&mut self) -> Option<(u32, Offer<K>)> {
        self.stats.rounds += 1;
        self.exchanges = 0;
        let now = self.stats.rounds;
        self.expected.retain(|_, (_, until)| *until > now);
        self.edges = self.sketch.edges().collect();
        self.sketch.fade(self.rules.retained_percent);
        (self.has_news, self.built) = (false, None);
        let graph = self.graph();
        (self.stats.weight_local, self.stats.weight_remote) = graph.weights();
        if self.stats.remote_share_first_ppm == 0 {
            self.stats.remote_share_first_ppm = self.stats.remote_share_ppm().unwrap_or(0);
        }
        if matches!(self.phase, Phase::Resting { until } if until <= self.stats.rounds) {
            self.phase = Phase::Idle;
        }
        self.queue.clear();
        if !matches!(self.phase, Phase::Idle) {
            return None;
        }
        self.rank(&graph);
        self.ask(graph)
    }

    /// Returns the next offer of this round, if this node is free and may have another exchange.
    /// To be called when an exchange is over.
    pub fn next_offer(&mut self) -> Option<(u32, Offer<K>)> {
        if !matches!(self.phase, Phase::Idle) || self.queue.is_empty() {
            return None;
        }
        let graph = self.graph();
        self.ask(graph)
    }

    /// Queues the nodes with which an exchange pays: that with which it pays most is asked first.
    fn rank(&mut self, graph: &Graph<K>) {
        self.declined.retain(|_, until| *until > self.stats.rounds);
        let mut peers: Vec<(u64, u32)> = Vec::new();
        for (&peer, edges) in &graph.remote {
            if !self.declined.contains_key(&peer) {
                peers.push((edges.iter().map(|edge| edge.weight).sum(), peer));
            }
        }
        // Those with which this node talks most are looked at closely.
        peers.sort_unstable_by(|a, b| b.cmp(a));
        let (may, mut gains) = (self.may(), Vec::new());
        for (place, &(_, peer)) in peers.iter().enumerate() {
            let look = if place < LOOKED_AT_MAX { Look::Far } else { Look::Near };
            let gain = candidates::choose(graph, peer, &self.rules, look, |it| may[it]).gain;
            if gain > 0 {
                gains.push((gain, self.draw(), peer));
            }
        }
        gains.sort_unstable();
        let asked = ASKED_PER_EXCHANGE * self.rules.exchanges_max as usize;
        let first = gains.len().saturating_sub(asked);
        self.queue = gains[first..].iter().map(|&(.., peer)| peer).collect();
    }

    /// Offers what `graph` has to the next node in the queue, and keeps the graph.
    fn ask(&mut self, graph: Graph<K>) -> Option<(u32, Offer<K>)> {
        self.phase = Phase::Idle;
        let made = self.offer_next(&graph);
        self.built = Some(graph);
        made
    }

    fn offer_next(&mut self, graph: &Graph<K>) -> Option<(u32, Offer<K>)> {
        let may = self.may();
        let may = |actor: usize| may[actor];
        while let Some(peer) = self.queue.pop() {
            let chosen = candidates::choose(graph, peer, &self.rules, Look::Far, may);
            // Exchanges since it was queued have moved them, or what they talk with.
            if chosen.actors.is_empty() {
                continue;
            }
            let offer = candidates::offer(graph, peer, &chosen.actors, &self.rules, may);
            let offered = offer.candidates.iter().map(|it| it.actor).collect();
            self.phase = Phase::Asking { peer, offered };
            self.stats.offers += 1;
            return Some((peer, offer));
        }
        None
    }

    /// SplitMix64 (G. Steele, D. Lea and C. Flood, 2014).
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Decides about another node's offer. The actors in [`Answer::give`] are to move to that node
    /// now.
    ///
    /// If two nodes ask each other, the one with the higher number gives way.
    ///
    /// # Errors
    /// If this node is busy, or the offer breaks the rules. Nothing has changed then.
    pub fn offered(&mut self, from: u32, offer: &Offer<K>) -> Result<Answer<K>, Refusal> {
        if let Err(why) = offer.check() {
            self.stats.malformed += 1;
            return Err(why);
        }
        let is_free = match &self.phase {
            Phase::Idle => true,
            Phase::Asking { peer, .. } => *peer == from && from < self.me,
            Phase::Resting { until } => *until <= self.stats.rounds,
            Phase::Moving { .. } => false,
        };
        if !is_free {
            self.stats.refused_here += 1;
            return Err(Refusal::Busy);
        }
        let (graph, may) = (self.graph(), self.may());
        let answer = decide(&graph, from, offer, &self.rules, |actor| may[actor]).answer;
        self.built = Some(graph);
        let takes: BTreeSet<K> = answer.take.iter().copied().collect();
        let taken = offer.candidates.iter().filter(|it| takes.contains(&it.actor));
        let until = self.stats.rounds + EXPECTED_ROUNDS;
        self.expected.extend(taken.map(|it| (it.actor, (it.streak, until))));
        self.phase = Phase::Idle;
        if !answer.take.is_empty() || !answer.give.is_empty() {
            self.begin(answer.give.iter().map(|&(actor, _)| actor).collect());
        }
        Ok(answer)
    }

    /// Another node has answered an offer. Returns the actors that are to move to it now.
    ///
    /// # Errors
    /// If the answer breaks the rules. Nothing moves then.
    pub fn answered(&mut self, from: u32, answer: &Answer<K>) -> Result<Vec<K>, Refusal> {
        let offered = match &mut self.phase {
            Phase::Asking { peer, offered, .. } if *peer == from => std::mem::take(offered),
            // It was given up.
            _ => return Ok(Vec::new()),
        };
        self.phase = Phase::Idle;
        let takes: BTreeSet<K> = answer.take.iter().copied().collect();
        let comes: BTreeSet<K> = answer.give.iter().map(|&(actor, _)| actor).collect();
        let broken = if !takes.is_subset(&offered) || takes.len() < answer.take.len() {
            Some("the answer takes what was not offered")
        } else if answer.give.len() > self.rules.moves_max || comes.len() < answer.give.len() {
            Some("the answer gives more than this node takes")
        } else {
            None
        };
        if let Some(why) = broken {
            self.stats.malformed += 1;
            return Err(Refusal::Malformed(why));
        }
        if takes.is_empty() && comes.is_empty() {
            let until = self.stats.rounds + 1 + u64::from(self.rules.rest_rounds);
            self.declined.insert(from, until);
            return Ok(Vec::new());
        }
        let until = self.stats.rounds + EXPECTED_ROUNDS;
        for &(actor, streak) in &answer.give {
            // It may have been faster than the answer.
            match self.actors.get(&actor).copied() {
                Some(mut here) => {
                    self.rest(&mut here, streak);
                    self.actors.insert(actor, here);
                }
                None => drop(self.expected.insert(actor, (streak, until))),
            }
        }
        let go = answer.take.iter().copied().filter(|&actor| self.knows(actor)).collect();
        Ok(self.begin(go))
    }

    /// Another node has refused an offer, or does not answer. Returns the offer to make next in
    /// this round, if there is one.
    pub fn refused(&mut self, from: u32) -> Option<(u32, Offer<K>)> {
        if !matches!(self.phase, Phase::Asking { peer, .. } if peer == from) {
            return None;
        }
        self.stats.refused_there += 1;
        let graph = self.graph();
        self.ask(graph)
    }

    fn begin(&mut self, go: Vec<K>) -> Vec<K> {
        self.stats.exchanges += 1;
        self.exchanges += 1;
        if go.is_empty() {
            self.cool_down();
        } else {
            self.phase = Phase::Moving { left: go.iter().copied().collect() };
        }
        go
    }

    /// An exchange is over: the next may follow, or the node rests if this was the last that it may
    /// have in a round.
    fn cool_down(&mut self) {
        if self.exchanges < self.rules.exchanges_max {
            self.phase = Phase::Idle;
            return;
        }
        let until = self.stats.rounds + 1 + u64::from(self.rules.cooldown_rounds);
        self.phase = Phase::Resting { until };
    }

    /// An actor has moved to another node, for an exchange.
    pub fn moved(&mut self, actor: K) {
        self.stats.moved += 1;
        self.vanished(actor);
    }

    /// An actor that was to move has not: it lives on here, or has ended. It rests before it is
    /// offered again.
    pub fn not_moved(&mut self, actor: K) {
        self.stats.not_moved += 1;
        if let Some(mut here) = self.actors.get(&actor).copied() {
            let streak = here.streak.saturating_add(1);
            self.rest(&mut here, streak);
            self.actors.insert(actor, here);
        }
        self.settle(actor);
    }

    fn settle(&mut self, actor: K) {
        if let Phase::Moving { left } = &mut self.phase {
            left.remove(&actor);
            if left.is_empty() {
                self.cool_down();
            }
        }
    }

    /// Whether it waits for the answer to an offer or for actors to move.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Asking { .. } | Phase::Moving { .. })
    }

    /// What it has done.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            actors: self.actors.len() as u64,
            edges: self.sketch.len() as u64,
            edges_replaced: self.sketch.replaced(),
            ..self.stats
        }
    }
}
