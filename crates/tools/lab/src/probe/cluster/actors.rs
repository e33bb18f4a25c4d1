//! The actors of a probe over several nodes.

use actinium::prelude::*;
use actinium_cluster::{RemoteActor, RemoteAddress, RemoteSendError};
use actinium_observe::Latency;
use actinium_scheduler::nanoseconds;
use actinium_wire::{Blob, Message};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Instant;

/// One in so many pings of an actor is timed.
const TIMED: u32 = 16;

/// The state that all probers of a node share.
#[derive(Debug)]
pub struct Arena {
    /// Most requests of an actor that are outstanding.
    pub in_flight: u32,
    /// Bytes in each ping and each reply.
    pub payload_bytes: usize,
    /// Decides where the round robin starts.
    pub seed: u64,
    /// Whether round trips are timed.
    pub timed: bool,
    /// The time at which the arena was made; stamps count from it.
    pub made: Instant,
    /// All probers of all nodes, in order; known before the first round.
    pub targets: OnceLock<Box<[Target]>>,
    /// Probers of this node that have not had all their replies in this round.
    pub running: AtomicUsize,
    /// Where the end of this node's round is reported, or why it does not end.
    pub finished: mpsc::Sender<Result<Instant, String>>,
    /// Payloads that did not arrive as they were sent.
    pub corrupted: AtomicU64,
    /// The times from a ping to its reply.
    pub round_trips: Mutex<Latency>,
}

/// Whom a prober pings.
#[derive(Clone, Debug)]
pub enum Target {
    /// A prober of this node.
    Here(Address<Prober>),
    /// A prober of another node.
    There(RemoteAddress<Prober>),
}

/// The messages between probers.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(name = "actinium.probe.word")]
pub enum Word {
    /// Asks for a reply.
    Ping {
        /// The index of the prober that asks.
        from: u32,
        /// The time at which the ping was sent, by the sender's clock, from 1; 0 if the ping is not
        /// timed.
        stamp_ns: u64,
        /// The payload of the ping.
        payload: Blob,
    },
    /// The answer, with stamp and payload of the ping.
    Reply {
        /// The stamp of the ping.
        stamp_ns: u64,
        /// The payload of the ping.
        payload: Blob,
    },
}

/// The messages of a prober.
#[derive(Debug)]
pub enum Msg {
    /// A message from another prober.
    Word(Word),
    /// Begin a round of so many pings, with this number.
    Start(u32, u32),
    /// There is capacity again for the messages that were refused.
    Room,
    /// How many pings and replies it has handled so far.
    Handled(Reply<u64>),
}

/// Source of pings, and target of those of others.
#[derive(Debug)]
pub struct Prober {
    arena: Arc<Arena>,
    index: u32,
    next: u32,
    to_send: u32,
    to_get: u32,
    handled: u64,
    /// Messages that were refused for lack of capacity, with the indices of their targets.
    backlog: VecDeque<(u32, Word)>,
}

impl Prober {
    /// The prober with this index among those of all nodes.
    pub fn new(arena: Arc<Arena>, index: u32) -> Self {
        let backlog = VecDeque::new();
        Prober { arena, index, next: 0, to_send: 0, to_get: 0, handled: 0, backlog }
    }

    /// All probers.
    ///
    /// # Panics
    /// Before they are known.
    fn targets(arena: &Arena) -> &[Target] {
        arena.targets.get().expect("a round begins when all probers are known")
    }

    fn start(&mut self, pings: u32, round: u32, ctx: &Context<'_, Self>) {
        let count = Self::targets(&self.arena).len() as u32;
        let start = self.arena.seed.wrapping_add(u64::from(round).wrapping_mul(0x9e37_79b9));
        self.next =
            ((u64::from(self.index) + 1 + start % u64::from(count)) % u64::from(count)) as u32;
        self.skip_own(count);
        (self.to_send, self.to_get) = (pings, pings);
        for _ in 0..pings.min(self.arena.in_flight) {
            let payload = vec![self.index as u8; self.arena.payload_bytes].into();
            self.ping(payload, ctx);
        }
    }

    /// Skips the prober's own index among the targets, unless there is no other.
    fn skip_own(&mut self, count: u32) {
        if self.next == self.index && count > 1 {
            self.next = (self.next + 1) % count;
        }
    }

    fn ping(&mut self, payload: Blob, ctx: &Context<'_, Self>) {
        let count = Self::targets(&self.arena).len() as u32;
        self.to_send -= 1;
        let is_timed = self.arena.timed && self.to_send.is_multiple_of(TIMED);
        let stamp_ns = if is_timed { self.now_ns() } else { 0 };
        let target = self.next;
        self.next = (self.next + 1) % count;
        self.skip_own(count);
        self.send(target, Word::Ping { from: self.index, stamp_ns, payload }, ctx);
    }

    fn now_ns(&self) -> u64 {
        nanoseconds(self.arena.made.elapsed()).max(1)
    }

    fn answered(&mut self, stamp_ns: u64, payload: Blob, ctx: &Context<'_, Self>) {
        self.check(&payload, self.index);
        if stamp_ns > 0 {
            let took_ns = self.now_ns().saturating_sub(stamp_ns);
            let trips = self.arena.round_trips.lock();
            trips.unwrap_or_else(PoisonError::into_inner).record(took_ns);
        }
        self.to_get -= 1;
        if self.to_send > 0 {
            self.ping(payload, ctx);
        } else if self.to_get == 0 {
            // Release: what this prober has recorded goes before; acquire: the last one has seen
            // what the others recorded.
            if self.arena.running.fetch_sub(1, Ordering::AcqRel) == 1 {
                // Nobody listens any more if the run was given up.
                let _ = self.arena.finished.send(Ok(Instant::now()));
            }
        }
    }

    fn check(&self, payload: &Blob, from: u32) {
        let wrong = payload.iter().fold(0, |wrong, byte| wrong | (byte ^ from as u8));
        if wrong != 0 || payload.len() != self.arena.payload_bytes {
            // Relaxed: a figure that is read when the round is over.
            self.arena.corrupted.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn send(&mut self, target: u32, word: Word, ctx: &Context<'_, Self>) {
        self.backlog.push_back((target, word));
        if self.backlog.len() == 1 {
            self.send_backlog(ctx);
        }
    }

    fn send_backlog(&mut self, ctx: &Context<'_, Self>) {
        while let Some((target, word)) = self.backlog.pop_front() {
            match &Self::targets(&self.arena)[target as usize] {
                // A message that is refused is in the ledger.
                Target::Here(address) => drop(address.send(Msg::Word(word))),
                Target::There(address) => match address.send(word) {
                    Ok(()) => {}
                    Err(RemoteSendError::Full(word)) => {
                        self.backlog.push_front((target, word));
                        return ctx.pipe(address.ready(), |()| Msg::Room);
                    }
                    Err(error) => {
                        let _ = self.arena.finished.send(Err(error.to_string()));
                    }
                },
            }
        }
    }
}

impl Actor for Prober {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Word(Word::Ping { from, stamp_ns, payload }) => {
                self.handled += 1;
                self.check(&payload, from);
                if (from as usize) < Self::targets(&self.arena).len() {
                    self.send(from, Word::Reply { stamp_ns, payload }, ctx);
                }
            }
            Msg::Word(Word::Reply { stamp_ns, payload }) => {
                self.handled += 1;
                self.answered(stamp_ns, payload, ctx);
            }
            Msg::Start(pings, round) => self.start(pings, round, ctx),
            Msg::Room => self.send_backlog(ctx),
            Msg::Handled(reply) => drop(reply.send(self.handled)),
        }
    }
}

impl RemoteActor for Prober {
    const KIND: &'static str = "actinium.probe";
    type Message = Word;
    type Request = ();
    type Answer = u64;

    fn message(word: Word) -> Msg {
        Msg::Word(word)
    }

    fn request((): (), reply: Reply<u64>) -> Msg {
        Msg::Handled(reply)
    }
}
