//! The probe's actors.
//!
//! A [`Prober`] is source and target. Its [`Host`] starts it on the host's own worker, and passes
//! the word to begin on to it, so that neither the start-up nor the beginning of a round depends on
//! how fast one thread can reach all actors.

use super::payload::Payload;
use actinium::prelude::*;
use actinium_scheduler::mixing::SplitMix64;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// The state that all actors of a probe share.
#[derive(Debug)]
pub struct Arena<P: Payload> {
    /// Most requests of an actor that are outstanding.
    pub in_flight: u32,
    /// Bytes in each ping and each reply.
    pub payload_bytes: usize,
    /// Decides where the round robin starts, and which targets are drawn.
    pub seed: u64,
    /// How targets are drawn; none: round robin.
    pub draw: Option<Draw>,
    /// All probers, each at its index; known before the first round.
    pub targets: OnceLock<Box<[Address<Prober<P>>]>>,
    /// Probers that have not had all their replies in this round.
    pub running: AtomicUsize,
    /// Where the end of a round is reported.
    pub finished: mpsc::Sender<Instant>,
    /// A checksum of the targets at which the probers started, in this round.
    pub starts: AtomicU64,
    /// Most requests of any actor that were outstanding.
    pub outstanding_max: AtomicU64,
    /// Payloads that did not arrive as they were sent.
    pub corrupted: AtomicU64,
}

impl<P: Payload> Arena<P> {
    /// All probers.
    ///
    /// # Panics
    /// Before they are known.
    #[inline]
    fn targets(&self) -> &[Address<Prober<P>>] {
        self.targets.get().expect("a round begins when all probers are known")
    }
}

/// How targets are drawn at random: of all pings a part goes to probers that started at other
/// workers, evenly, and the rest to the others of the own worker.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Probers that start at each worker: those whose indices follow each other.
    pub per_worker: u32,
    /// Of 100 pings so many go to other workers, if there are any: all, if each starts one only.
    pub crossing: u32,
}

impl Draw {
    /// Draws a target for a prober, of so many in all: itself only if there is no other.
    #[inline]
    fn target(self, random: u64, own: u32, count: u32) -> u32 {
        let below = |n: u32, random: u32| ((u64::from(n) * u64::from(random)) >> 32) as u32;
        let (lot, random) = ((random >> 32) as u32, random as u32);
        let (group, first) = (self.per_worker, own - own % self.per_worker);
        if count > group && below(100, lot) < self.crossing {
            let other = below(count - group, random);
            if other < first { other } else { other + group }
        } else if group > 1 {
            let other = first + below(group - 1, random);
            if other < own { other } else { other + 1 }
        } else {
            own
        }
    }
}

/// One round: what each prober is to do.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Pings that it sends.
    pub pings: u32,
    /// Number of the round, so that each starts elsewhere.
    pub number: u32,
}

/// The messages of a prober.
#[derive(Debug)]
pub enum Msg<P> {
    /// Asks for a reply.
    Ping {
        /// The index of the prober that asks.
        from: u32,
        /// The payload of the ping; its bytes depend on `from`.
        payload: P,
    },
    /// The answer, with the payload of the ping.
    PingReply {
        /// The payload of the ping.
        payload: P,
    },
    /// Begins a round.
    Start(Round),
}

/// Source of pings, and target of those of others.
#[derive(Debug)]
pub struct Prober<P: Payload> {
    arena: Arc<Arena<P>>,
    index: u32,
    /// Index of the target of its next ping.
    next: u32,
    /// What targets are drawn from.
    random: SplitMix64,
    /// Pings that it has yet to send in this round.
    to_send: u32,
    /// Replies that it has yet to get in this round.
    to_get: u32,
}

impl<P: Payload> Prober<P> {
    /// The prober with this index.
    pub fn new(arena: Arc<Arena<P>>, index: u32) -> Self {
        Prober { arena, index, next: 0, random: SplitMix64::new(0), to_send: 0, to_get: 0 }
    }

    fn start(&mut self, round: Round) {
        let count = self.arena.targets().len() as u32;
        let random = start_of(self.index, self.arena.seed, round.number);
        self.random = SplitMix64::new(random);
        self.next = self.drawn(count).unwrap_or_else(|| first_target(self.index, count, random));
        (self.to_send, self.to_get) = (round.pings, round.pings);
        let start = mix(u64::from(self.index) << 32 | u64::from(self.next));
        // Relaxed, both: figures that are read when the round is over, which its channel orders.
        self.arena.starts.fetch_xor(start, Ordering::Relaxed);
        let outstanding = round.pings.min(self.arena.in_flight);
        self.arena.outstanding_max.fetch_max(u64::from(outstanding), Ordering::Relaxed);
        for _ in 0..outstanding {
            self.ping(P::new(self.arena.payload_bytes));
        }
    }

    #[inline]
    fn ping(&mut self, mut payload: P) {
        let targets = self.arena.targets();
        payload.write(self.arena.payload_bytes, self.index as u8);
        self.to_send -= 1;
        send(&targets[self.next as usize], Msg::Ping { from: self.index, payload });
        let count = targets.len() as u32;
        self.next = self.drawn(count).unwrap_or_else(|| following(self.next, self.index, count));
    }

    /// A target at random, if targets are drawn.
    #[inline]
    fn drawn(&mut self, count: u32) -> Option<u32> {
        let draw = self.arena.draw?;
        Some(draw.target(self.random.next_u64(), self.index, count))
    }

    #[inline]
    fn answer(&self, from: u32, payload: P) {
        self.check(&payload, from);
        send(&self.arena.targets()[from as usize], Msg::PingReply { payload });
    }

    #[inline]
    fn answered(&mut self, payload: P) {
        self.check(&payload, self.index);
        self.to_get -= 1;
        if self.to_send > 0 {
            self.ping(payload);
        } else if self.to_get == 0 {
            self.finish();
        }
    }

    #[inline]
    fn check(&self, payload: &P, from: u32) {
        if !payload.holds(self.arena.payload_bytes, from as u8) {
            // Relaxed: as in `start`.
            self.arena.corrupted.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[cold]
    fn finish(&self) {
        // Release: what this prober has counted goes before; acquire: the last one has seen what
        // the others counted.
        if self.arena.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Nobody listens any more if the run was given up.
            let _ = self.arena.finished.send(Instant::now());
        }
    }
}

impl<P: Payload> Actor for Prober<P> {
    type Msg = Msg<P>;
    const MESSAGE_NAMES: &'static [&'static str] = &["ping", "ping reply", "start"];

    #[inline]
    fn handle(&mut self, msg: Msg<P>, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Ping { from, payload } => self.answer(from, payload),
            Msg::PingReply { payload } => self.answered(payload),
            Msg::Start(round) => self.start(round),
        }
    }
}

/// A message that is refused is in the ledger as returned; the round then does not end, which the
/// run notices.
#[inline]
fn send<P: Payload>(to: &Address<Prober<P>>, msg: Msg<P>) {
    let _ = to.send(msg);
}

/// The target after `target`: the prober does not ping itself, unless there is no other.
#[inline]
fn following(target: u32, own: u32, count: u32) -> u32 {
    let next = if target + 1 == count { 0 } else { target + 1 };
    match next == own && count > 1 {
        true if next + 1 == count => 0,
        true => next + 1,
        false => next,
    }
}

/// Decides what a prober does in a round.
fn start_of(own: u32, seed: u64, round: u32) -> u64 {
    mix(mix(seed ^ mix(u64::from(round))) ^ u64::from(own))
}

/// The first target of a round: any but itself, unless there is no other.
fn first_target(own: u32, count: u32, random: u64) -> u32 {
    if count == 1 {
        return 0;
    }
    let other = (random % u64::from(count - 1)) as u32;
    if other < own { other } else { other + 1 }
}

/// SplitMix64's step: a number that tells nothing of the one that it is made of.
fn mix(value: u64) -> u64 {
    SplitMix64::new(value).next_u64()
}

/// Starts probers on its own worker, and tells its probers to begin.
#[derive(Debug)]
pub struct Host<P: Payload> {
    arena: Arc<Arena<P>>,
    probers: Range<u32>,
    /// Where the probers that it has started are reported: (first index, addresses). None if they
    /// are there already.
    started: Option<mpsc::Sender<Started<P>>>,
}

/// The probers that a host has started, and the index of the first.
pub type Started<P> = (u32, Vec<Address<Prober<P>>>);

impl<P: Payload> Host<P> {
    /// A host of the probers with these indices.
    pub fn new(
        arena: Arc<Arena<P>>,
        probers: Range<u32>,
        started: Option<mpsc::Sender<Started<P>>>,
    ) -> Self {
        Host { arena, probers, started }
    }
}

impl<P: Payload> Actor for Host<P> {
    type Msg = Round;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        if let Some(report) = self.started.take() {
            let start = |index| ctx.spawn_detached(Prober::new(self.arena.clone(), index));
            // Nobody listens any more if the run was given up.
            let _ = report.send((self.probers.start, self.probers.clone().map(start).collect()));
        }
    }

    fn handle(&mut self, round: Round, _ctx: &mut Context<'_, Self>) {
        for index in self.probers.clone() {
            send(&self.arena.targets()[index as usize], Msg::Start(round));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_robin_visits_every_other_prober_and_never_itself() {
        for own in 0..5 {
            let mut target = first_target(own, 5, start_of(own, 42, 0));
            let mut seen = Vec::new();
            for _ in 0..4 {
                seen.push(target);
                target = following(target, own, 5);
            }
            assert_eq!(target, seen[0], "it starts over");
            seen.sort_unstable();
            let expected: Vec<u32> = (0..5).filter(|&other| other != own).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn one_prober_alone_pings_itself_and_two_each_other() {
        assert_eq!((first_target(0, 1, 42), following(0, 0, 1)), (0, 0));
        assert_eq!((first_target(0, 2, 42), following(1, 0, 2)), (1, 1));
        assert_eq!((first_target(1, 2, 42), following(0, 1, 2)), (0, 0));
    }

    #[test]
    fn starts_depend_on_seed_round_and_prober() {
        let starts = |seed, round| -> Vec<u32> {
            (0..100).map(|own| first_target(own, 100, start_of(own, seed, round))).collect()
        };
        assert_eq!(starts(1, 0), starts(1, 0));
        assert_ne!(starts(1, 0), starts(2, 0));
        assert_ne!(starts(1, 0), starts(1, 1));
        let mut distinct = starts(1, 0);
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 40, "spread over the targets: {distinct:?}");
    }

    #[test]
    fn of_drawn_targets_a_part_is_elsewhere_and_each_is_as_likely() {
        let (per_worker, count) = (4, 12);
        for (own, crossing) in (0..count).flat_map(|own| [0, 25, 100].map(|it| (own, it))) {
            let draw = Draw { per_worker, crossing };
            let mut random = SplitMix64::new(7);
            let mut drawn = [0; 12];
            (0..30_000).for_each(|_| {
                drawn[draw.target(random.next_u64(), own, count) as usize] += 1;
            });
            for (target, &times) in (0..).zip(&drawn) {
                let expected = match target / per_worker == own / per_worker {
                    _ if target == own => 0,
                    true => (100 - crossing) * 300 / 3,
                    false => crossing * 300 / 8,
                };
                let range = expected - expected / 6..=expected + expected / 6;
                assert!(range.contains(&times), "{own} of {crossing} %: {drawn:?}");
            }
        }
    }

    #[test]
    fn one_worker_s_probers_draw_each_other_and_one_alone_itself() {
        let draw = |per_worker, own, count| {
            let targets = (0..1_000_u64)
                .map(move |n| Draw { per_worker, crossing: 100 }.target(mix(n), own, count));
            targets.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        assert_eq!(draw(3, 1, 3), [0, 2]);
        assert_eq!(draw(1, 0, 1), [0]);
        assert_eq!(draw(1, 1, 2), [0]);
    }
}
