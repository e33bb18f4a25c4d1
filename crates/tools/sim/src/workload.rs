//! The workloads: who sends what to whom, and the cost of handling it.

use crate::machine::LINE_BYTES;
use crate::placement::{Graph, GraphKind, Random};
use crate::receivers::{Receivers, Skew};
use actinium_scheduler::mixing::SplitMix64;
use serde::Serialize;

/// How messages beget messages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Shape {
    /// Each actor sends itself the next message when it has handled one.
    ClosedLoop,
    /// Pairs that answer each other.
    PingPong,
    /// Groups of so many actors, one made after the other: whoever has handled a message sends one
    /// to a random other of its group.
    Groups {
        /// How many are a group; the last may have fewer.
        actors: u32,
    },
    /// Whoever has handled a message sends one to a random one of those that it talks with; who
    /// talks with nobody sends to anybody. A graph that changes does so after each quarter of a
    /// round.
    Graph {
        /// Who talks with whom.
        graph: GraphKind,
    },
    /// Each actor gets a message from outside, all at once; when all are handled, the next.
    Burst,
    /// An actor that has handled a message sends one to a random actor; some are chosen more often
    /// than others.
    #[serde(untagged)]
    Skewed(Skew),
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Workload {
    /// How messages beget messages.
    pub shape: Shape,
    /// Number of actors.
    pub actors: u32,
    /// SplitMix64 accesses to the actor's state per message.
    pub accesses: u32,
    /// Size of each actor's state, in bytes.
    pub state_bytes: u64,
    /// Messages that each actor handles: exactly, or on average where targets are random.
    pub messages: u32,
    /// Messages of each actor before the measurement, handled to the last before it begins.
    pub warm_up: u32,
    /// Messages under way at a time, where they travel.
    pub in_flight: u32,
    /// The cost of a message beside its accesses, in nanoseconds.
    pub work_ns: f64,
    /// Blocks that are allocated, and older ones freed, per message.
    pub allocations: u32,
    /// Whether each actor declares the size of its state, as `Actor::footprint_bytes` does.
    pub declared: bool,
}

impl Workload {
    /// Actors that each send themselves the next message.
    pub fn closed_loop(actors: u32, accesses: u32, state_bytes: u64, messages: u32) -> Self {
        Workload {
            shape: Shape::ClosedLoop,
            actors,
            accesses,
            state_bytes,
            messages,
            warm_up: messages / 2,
            in_flight: 0,
            work_ns: 0.0,
            allocations: 0,
            declared: false,
        }
    }

    /// The same, with actors that declare the size of their states.
    #[must_use]
    pub fn declared(self) -> Self {
        Workload { declared: true, ..self }
    }

    /// The bytes that each actor declares.
    pub(crate) fn declared_bytes(&self) -> usize {
        if self.declared { usize::try_from(self.state_bytes).unwrap_or(usize::MAX) } else { 0 }
    }

    /// The closed loop on a hash map of so many entries: an entry takes a slot and a block of two
    /// lines; a message looks at four places and replaces an entry.
    pub fn hash_map(actors: u32, entries: u64, messages: u32) -> Self {
        Workload {
            work_ns: 60.0,
            allocations: 2,
            ..Workload::closed_loop(actors, 8, entries * 2 * LINE_BYTES, messages)
        }
    }

    /// Messages that travel between actors of which some get more than others.
    pub fn skewed(skew: Skew, actors: u32, in_flight: u32, state_bytes: u64, each: u32) -> Self {
        let shape = Shape::Skewed(skew);
        Workload { shape, in_flight, ..Workload::closed_loop(actors, 100, state_bytes, each) }
    }

    /// Pairs of actors, so many of them, each with one message.
    pub fn ping_pong(pairs: u32, messages: u32) -> Self {
        Workload {
            shape: Shape::PingPong,
            in_flight: pairs,
            ..Workload::closed_loop(2 * pairs, 4, 256, messages)
        }
    }

    /// Groups of `actors` actors each, so many of them, with a message for every two actors.
    pub fn groups(groups: u32, actors: u32, messages: u32) -> Self {
        Workload {
            shape: Shape::Groups { actors },
            in_flight: (groups * actors).div_ceil(2),
            ..Workload::closed_loop(groups * actors, 4, 256, messages)
        }
    }

    /// Actors that talk with those that a graph says, with a message for every two of them.
    pub fn graph(graph: GraphKind, actors: u32, messages: u32) -> Self {
        Workload {
            shape: Shape::Graph { graph },
            in_flight: actors.div_ceil(2),
            ..Workload::closed_loop(actors, 4, 256, messages)
        }
    }

    /// Bursts of a message for each actor, each so much work.
    pub fn burst(actors: u32, work_ns: f64, bursts: u32) -> Self {
        Workload {
            shape: Shape::Burst,
            work_ns,
            ..Workload::closed_loop(actors, 20, 2_000, bursts)
        }
    }

    /// Cache lines of each actor's state.
    pub fn lines(&self) -> f64 {
        self.state_bytes.div_ceil(LINE_BYTES).max(1) as f64
    }
}

/// A workload that is running: what is still to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    shape: Shape,
    actors: u32,
    in_flight: u32,
    /// Messages that each actor has yet to send itself.
    own_left: Vec<u32>,
    /// Messages that are yet to be sent by anybody.
    left: u64,
    /// The messages of the round that each actor is to handle, where that is fixed.
    pub(crate) quota: Option<u32>,
    random: SplitMix64,
    receivers: Receivers,
    graph: Option<Graph>,
    /// What draws the graph.
    drawing: Random,
    /// A graph that changes is drawn anew when so many messages are yet to be sent, and after as
    /// many again.
    redraw_at: u64,
    redraw_every: u64,
}

impl Traffic {
    pub(crate) fn new(workload: &Workload, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed ^ 0x7261_6666_6963);
        let skew = match workload.shape {
            Shape::Skewed(skew) => Some(skew),
            _ => None,
        };
        let receivers = Receivers::new(skew, workload.actors, &mut random);
        let mut drawing = Random(seed);
        let graph = match workload.shape {
            // Nobody moves for an adversary here: there are no nodes.
            Shape::Graph { graph } => Some(Graph::new(graph, &[], workload.actors, &mut drawing)),
            _ => None,
        };
        Traffic {
            shape: workload.shape,
            actors: workload.actors,
            in_flight: workload.in_flight.max(1),
            own_left: vec![0; workload.actors as usize],
            left: 0,
            quota: None,
            random,
            receivers,
            graph,
            drawing,
            redraw_at: 0,
            redraw_every: 0,
        }
    }

    /// Begins a round of so many messages per actor: how many there will be, and to whom the first
    /// go.
    pub(crate) fn begin(&mut self, each: u32) -> (u64, Vec<u32>) {
        let total = u64::from(each) * u64::from(self.actors);
        if total == 0 {
            return (0, Vec::new());
        }
        let all = || (0..self.actors).collect();
        self.quota = None;
        let first: Vec<u32> = match self.shape {
            Shape::ClosedLoop | Shape::Burst => {
                self.quota = Some(each);
                self.own_left.fill(each - 1);
                return (total, all());
            }
            Shape::PingPong => (0..self.in_flight.min(self.actors / 2)).map(|n| 2 * n).collect(),
            // One that is alone has a message, too: for itself.
            Shape::Groups { .. } | Shape::Graph { .. } => {
                (0..self.in_flight.min(self.actors.div_ceil(2))).map(|n| 2 * n).collect()
            }
            Shape::Skewed(_) => {
                let first = u64::from(self.in_flight).min(total);
                (0..first).map(|_| self.receivers.next(&mut self.random)).collect()
            }
        };
        self.left = total - (first.len() as u64).min(total);
        self.redraw_every = (total / 4).max(1);
        self.redraw_at = total - self.redraw_every;
        (total, first)
    }

    /// Whether the actor goes on by itself after a message: it sends itself the next.
    pub(crate) fn own_left(&self, actor: u32) -> u32 {
        match self.shape {
            Shape::ClosedLoop => self.own_left[actor as usize],
            _ => 0,
        }
    }

    /// The actor has handled so many messages: whom does it send to?
    pub(crate) fn handled(&mut self, actor: u32, messages: u32, sends: &mut Vec<u32>) {
        match self.shape {
            Shape::ClosedLoop => {
                let own_left = &mut self.own_left[actor as usize];
                let sent = messages.min(*own_left);
                *own_left -= sent;
                sends.extend((0..sent).map(|_| actor));
            }
            Shape::Burst => {}
            Shape::Graph { .. } => self.talk(actor, messages, sends),
            Shape::PingPong => {
                let sent = self.left.min(messages.into());
                self.left -= sent;
                sends.extend((0..sent).map(|_| actor ^ 1));
            }
            Shape::Skewed(_) => {
                let sent = self.left.min(messages.into());
                self.left -= sent;
                sends.extend((0..sent).map(|_| self.receivers.next(&mut self.random)));
            }
            Shape::Groups { actors } => {
                let actors = actors.max(1);
                let sent = self.left.min(messages.into());
                self.left -= sent;
                let first = actor - actor % actors;
                let others = u64::from(actors.min(self.actors - first)) - 1;
                for _ in 0..sent {
                    // One that has no others talks to itself.
                    let step = if others == 0 { 0 } else { 1 + self.random.below(others) as u32 };
                    let size = others as u32 + 1;
                    sends.push(first + (actor - first + step) % size);
                }
            }
        }
    }

    /// The actor has handled so many messages, and sends as many to those that it talks with.
    fn talk(&mut self, actor: u32, messages: u32, sends: &mut Vec<u32>) {
        let sent = self.left.min(messages.into());
        self.left -= sent;
        let Some(graph) = &mut self.graph else { return };
        let changes = self.shape == Shape::Graph { graph: GraphKind::Changing };
        if changes && self.left < self.redraw_at {
            self.redraw_at = self.redraw_at.saturating_sub(self.redraw_every);
            graph.draw(&[], self.actors, &mut self.drawing);
        }
        let others = &graph.others[actor as usize];
        for _ in 0..sent {
            sends.push(match others.len() as u64 {
                0 => self.random.below(self.actors.into()) as u32,
                n => others[self.random.below(n) as usize],
            });
        }
    }

    /// Everything that was sent is handled: the next burst, if there is one.
    pub(crate) fn next_burst(&mut self) -> Vec<u32> {
        if self.shape != Shape::Burst || self.own_left.first().is_none_or(|&left| left == 0) {
            return Vec::new();
        }
        self.own_left.iter_mut().for_each(|left| *left -= 1);
        (0..self.actors).collect()
    }
}
