//! The actors: each sends itself the next message when the previous one is done; or messages travel
//! from actor to actor, and each goes on for so many steps.

use super::states::{Random, State};
use actinium::prelude::*;
use actinium_scheduler::mixing::SplitMix64;
use actinium_sim::Receivers;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Instant;

/// Messages between two looks at the clock: reading it is then below 2 ns per message.
const LOOK_EVERY: u32 = 16;

/// The state that all actors of a run share.
#[derive(Debug)]
pub struct Arena<S: State> {
    /// Places that a message reads and writes.
    pub accesses: u32,
    /// Where messages travel to, if they do.
    pub travel: Option<Travel<S>>,
    /// Actors that have messages left, or messages that have steps left.
    pub running: AtomicUsize,
    /// The time at which the first of these was done.
    pub first: Mutex<Option<Instant>>,
    /// The longest time that any of them needed for `LOOK_EVERY` messages, in nanoseconds.
    pub longest_ns: AtomicU64,
    /// Messages that the actors have handled, as they themselves count them.
    pub handled: AtomicU64,
    /// Where the end is reported.
    pub finished: mpsc::Sender<Instant>,
    /// Where actors leave their states when they end, for the next run.
    pub states: Mutex<Vec<(usize, S)>>,
}

/// Who gets messages that travel.
#[derive(Debug)]
pub struct Travel<S: State> {
    /// Chooses the actor.
    pub receivers: Receivers,
    /// All actors, each at its index; known before the first round.
    pub targets: OnceLock<Vec<Address<Toiler<S>>>>,
    /// The actors that handle each message in this round, one after the other.
    pub steps: AtomicU32,
}

impl<S: State> Travel<S> {
    /// Sends a message, which so many actors have handled, to the next.
    fn send(&self, random: &mut SplitMix64, handled: u32) {
        let targets = self.targets.get().expect("a round begins when all actors are known");
        // It cannot have ended: no actor ends before the system does.
        let _ = targets[self.receivers.next(random) as usize].send(Msg::Travel(handled));
    }
}

impl<S: State> Arena<S> {
    /// For so many accesses per message; the end is reported to `finished`.
    pub fn new(accesses: u32, travel: Option<Travel<S>>, finished: mpsc::Sender<Instant>) -> Self {
        Arena {
            accesses,
            travel,
            running: AtomicUsize::new(0),
            first: Mutex::new(None),
            longest_ns: AtomicU64::new(0),
            handled: AtomicU64::new(0),
            finished,
            states: Mutex::new(Vec::new()),
        }
    }

    /// Before a round of so many actors, or messages that travel; none is at work.
    pub fn reset(&self, running: usize) {
        *lock(&self.first) = None;
        // Relaxed, all: sending the word to begin publishes them.
        self.running.store(running, Ordering::Relaxed);
        self.longest_ns.store(0, Ordering::Relaxed);
        self.handled.store(0, Ordering::Relaxed);
    }

    /// One of those that run is done, and has handled so many messages.
    fn done(&self, handled: u64) {
        let now = Instant::now();
        lock(&self.first).get_or_insert(now);
        // Relaxed: the count below publishes it.
        self.handled.fetch_add(handled, Ordering::Relaxed);
        // AcqRel: the release half publishes what was noted; with the acquire half the last one has
        // all of it.
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Nobody listens any more if the run was given up.
            let _ = self.finished.send(now);
        }
    }
}

/// Locks a mutex, even a poisoned one: the data behind these locks is consistent at every moment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The messages of an actor.
#[derive(Clone, Copy, Debug)]
pub enum Msg {
    /// Starts the actor, with so many messages to handle after this one.
    Start(u32),
    /// One of these messages.
    Go,
    /// A message that travels, and that so many actors have handled.
    Travel(u32),
}

/// An actor with a state.
#[derive(Debug)]
pub struct Toiler<S: State> {
    arena: Arc<Arena<S>>,
    index: usize,
    state: S,
    random: Random,
    /// Chooses receivers.
    chance: SplitMix64,
    left: u32,
    todo: u32,
    look_in: u32,
    looked: Option<Instant>,
    longest_ns: u64,
    /// The own address: known once it has started.
    own: Option<Address<Self>>,
    /// A combination of all values read, so that the reads are not optimised away.
    sum: u64,
}

impl<S: State> Toiler<S> {
    /// The actor with this index.
    pub fn new(arena: Arc<Arena<S>>, index: usize, state: S, seed: u64) -> Self {
        let random = Random::new(seed ^ (index as u64) << 32);
        Toiler {
            arena,
            index,
            state,
            random,
            chance: SplitMix64::new(seed ^ !(index as u64)),
            left: 0,
            todo: 0,
            look_in: LOOK_EVERY,
            looked: None,
            longest_ns: 0,
            own: None,
            sum: 0,
        }
    }

    #[inline]
    fn go(&mut self) {
        self.sum ^= self.state.touch(self.arena.accesses, &mut self.random);
        self.left -= 1;
        self.look_in -= 1;
        if self.look_in == 0 {
            self.look();
        }
        if self.left == 0 {
            return self.done();
        }
        self.next();
    }

    #[inline]
    fn next(&self) {
        if let Some(own) = &self.own {
            // It cannot have ended: it runs.
            let _ = own.send(Msg::Go);
        }
    }

    fn look(&mut self) {
        let now = Instant::now();
        if let Some(looked) = self.looked.replace(now) {
            let gap_ns = now.duration_since(looked).as_nanos() as u64;
            self.longest_ns = self.longest_ns.max(gap_ns);
        }
        self.look_in = LOOK_EVERY;
    }

    #[cold]
    fn done(&mut self) {
        std::hint::black_box(self.sum);
        // Relaxed: what follows publishes it.
        self.arena.longest_ns.fetch_max(self.longest_ns, Ordering::Relaxed);
        self.arena.done(u64::from(self.todo));
    }

    fn travel(&mut self, handled: u32) {
        self.sum ^= self.state.touch(self.arena.accesses, &mut self.random);
        let Some(travel) = &self.arena.travel else { return };
        // Relaxed: it changes only between rounds.
        if handled + 1 < travel.steps.load(Ordering::Relaxed) {
            return travel.send(&mut self.chance, handled + 1);
        }
        std::hint::black_box(self.sum);
        self.arena.done(u64::from(handled) + 1);
    }
}

impl<S: State> Actor for Toiler<S> {
    type Msg = Msg;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        self.own = Some(ctx.address());
    }

    #[inline]
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Go => self.go(),
            Msg::Travel(steps) => self.travel(steps),
            Msg::Start(messages) => {
                (self.left, self.todo) = (messages, messages);
                (self.look_in, self.looked, self.longest_ns) = (LOOK_EVERY, None, 0);
                self.next();
            }
        }
    }
}

/// The state goes back, so that all policies work on the same memory.
impl<S: State> Drop for Toiler<S> {
    fn drop(&mut self) {
        let state = std::mem::take(&mut self.state);
        lock(&self.arena.states).push((self.index, state));
    }
}

/// Begins a round: from inside, so that it is done in some microseconds.
#[derive(Debug)]
pub struct Starter<S: State> {
    /// Where messages begin to travel, if they do.
    pub arena: Arc<Arena<S>>,
    /// The actors that each begin, if not.
    pub toilers: Vec<Address<Toiler<S>>>,
    /// Chooses the first receivers.
    pub chance: SplitMix64,
}

/// A round.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// Messages of each actor, or actors that handle each message.
    pub each: u32,
    /// Actors, or messages that travel.
    pub running: usize,
}

impl<S: State> Actor for Starter<S> {
    type Msg = Begin;

    fn handle(&mut self, Begin { each, running }: Begin, _ctx: &mut Context<'_, Self>) {
        match &self.arena.travel {
            Some(travel) => {
                // Relaxed: sending the messages publishes it.
                travel.steps.store(each, Ordering::Relaxed);
                (0..running).for_each(|_| travel.send(&mut self.chance, 0));
            }
            None => self.toilers.iter().for_each(|toiler| toiler.tell(Msg::Start(each))),
        }
    }
}
