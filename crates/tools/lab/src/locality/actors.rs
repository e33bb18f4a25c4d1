//! The actors: each sends itself the next message when the previous one is done, so none ever talks
//! to another.

use super::states::{Random, State};
use actinium::prelude::*;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Instant;

/// Messages between two looks at the clock: reading it is then below 2 ns per message.
const LOOK_EVERY: u32 = 16;

/// The state that all actors of a run share.
#[derive(Debug)]
pub struct Arena<S> {
    /// Places that a message reads and writes.
    pub accesses: u32,
    /// Actors that have messages left.
    pub running: AtomicUsize,
    /// The time at which the first actor was done.
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

impl<S> Arena<S> {
    /// For so many accesses per message; the end is reported to `finished`.
    pub fn new(accesses: u32, finished: mpsc::Sender<Instant>) -> Self {
        Arena {
            accesses,
            running: AtomicUsize::new(0),
            first: Mutex::new(None),
            longest_ns: AtomicU64::new(0),
            handled: AtomicU64::new(0),
            finished,
            states: Mutex::new(Vec::new()),
        }
    }

    /// Before a round of so many actors, none of which is at work.
    pub fn reset(&self, actors: usize) {
        *lock(&self.first) = None;
        // Relaxed, all: sending the word to begin publishes them.
        self.running.store(actors, Ordering::Relaxed);
        self.longest_ns.store(0, Ordering::Relaxed);
        self.handled.store(0, Ordering::Relaxed);
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
}

/// An actor with a state.
#[derive(Debug)]
pub struct Toiler<S: State> {
    arena: Arc<Arena<S>>,
    index: usize,
    state: S,
    random: Random,
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
        let now = Instant::now();
        std::hint::black_box(self.sum);
        let arena = &self.arena;
        lock(&arena.first).get_or_insert(now);
        // Relaxed, both: the count below publishes them.
        arena.longest_ns.fetch_max(self.longest_ns, Ordering::Relaxed);
        arena.handled.fetch_add(u64::from(self.todo), Ordering::Relaxed);
        // AcqRel: the release half publishes what this actor noted; with the acquire half the last
        // one has all of it.
        if arena.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Nobody listens any more if the run was given up.
            let _ = arena.finished.send(now);
        }
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

/// Tells all actors to begin: from inside, so that it is done in some microseconds.
#[derive(Debug)]
pub struct Starter<S: State>(pub Vec<Address<Toiler<S>>>);

impl<S: State> Actor for Starter<S> {
    type Msg = u32;

    fn handle(&mut self, messages: u32, _ctx: &mut Context<'_, Self>) {
        self.0.iter().for_each(|toiler| toiler.tell(Msg::Start(messages)));
    }
}
