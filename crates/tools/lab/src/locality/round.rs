//! One measurement: a system with one policy, its actors, a warm-up, and the run.

use super::actors::{Arena, Begin, Starter, Toiler, Travel, lock};
use super::counts::{self, Misses};
use super::states::State;
use crate::Failure;
use crate::failure::REST;
use actinium::prelude::*;
use actinium::topology::Seats;
use actinium_scheduler::mixing::SplitMix64;
use actinium_sim::{Receivers, Skew};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long nothing may happen before a run is given up.
const STANDSTILL: Duration = Duration::from_secs(30);

/// The setup of one run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Worker threads.
    pub workers: usize,
    /// The PUs to which workers are bound.
    pub seats: Seats,
    /// The policy.
    pub policy: Policy,
    /// Most messages in a turn.
    pub batch: u32,
    /// Places that a message reads and writes.
    pub accesses: u32,
    /// Messages that travel, and who gets them; none: each actor has messages of its own.
    pub travel: Option<(u64, Skew)>,
    /// Messages of each actor that are measured, or actors that handle each message that travels.
    pub messages: u32,
    /// Likewise before.
    pub warm_up: u32,
    /// Decides which places are touched.
    pub seed: u64,
}

/// The measurements of one run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The time from the start signal until the last actor was done.
    pub elapsed: Duration,
    /// The time at which the first actor was done.
    pub first_done: Duration,
    /// The longest time that any actor needed for 16 messages: what it waited at most, and somewhat
    /// more. Where messages travel, nobody knows how long an actor had any.
    pub longest_wait: Option<Duration>,
    /// Messages that the actors counted.
    pub handled: u64,
    /// The number of turns that were run.
    pub turns: u64,
    /// Actors whose home moved to a worker that had taken them.
    pub rehomed: u64,
    /// Actors whose home moved to a worker that they were pushed to.
    pub pushed: u64,
    /// Actors taken from other workers.
    pub stolen: u64,
    /// The workers' context switches.
    pub switches: Option<u64>,
    /// Cache misses.
    pub misses: Option<u64>,
}

/// Runs once, on these states, one for each actor; gives them back in their order.
///
/// # Errors
/// If the system does not start, nothing happens any more, or messages were lost.
pub fn run<S: State>(setup: &Setup, states: Vec<S>) -> Result<(Run, Vec<S>), Failure> {
    // Before the workers start, so that they inherit it.
    let mut misses = Misses::new().ok();
    let stage = Stage::set_up(setup, states)?;
    if setup.warm_up > 0 {
        stage.round(setup.warm_up)?;
    }
    let before = stage.system.stats().total();
    let (switches, missed) = (counts::switches(), misses.as_mut().and_then(Misses::count));
    let (begin, end) = stage.round(setup.messages)?;
    let after = stage.system.stats().total();
    let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
    let arena = stage.arena.clone();
    let first = lock(&arena.first).unwrap_or(end);
    let run = Run {
        elapsed: end.duration_since(begin),
        first_done: first.saturating_duration_since(begin),
        // Relaxed, both: the round's channel orders them.
        longest_wait: match setup.travel {
            None => Some(Duration::from_nanos(arena.longest_ns.load(Ordering::Relaxed))),
            Some(_) => None,
        },
        handled: arena.handled.load(Ordering::Relaxed),
        turns: after.turns.wrapping_sub(before.turns),
        rehomed: after.rehomed.wrapping_sub(before.rehomed),
        pushed: after.pushed.wrapping_sub(before.pushed),
        stolen: after.stolen.wrapping_sub(before.stolen),
        switches: since(counts::switches(), switches),
        misses: since(misses.as_mut().and_then(Misses::count), missed),
    };
    stage.end()?;
    let mut states = std::mem::take(&mut *lock(&arena.states));
    states.sort_unstable_by_key(|&(index, _)| index);
    Ok((run, states.into_iter().map(|(_, state)| state).collect()))
}

/// A system with its actors.
struct Stage<S: State> {
    system: System,
    arena: Arc<Arena<S>>,
    starter: Address<Starter<S>>,
    /// Actors, or messages that travel.
    running: usize,
    finished: Receiver<Instant>,
}

impl<S: State> Stage<S> {
    fn set_up(setup: &Setup, states: Vec<S>) -> Result<Self, Failure> {
        let system = System::builder()
            .workers(setup.workers)
            .seats(setup.seats.clone())
            .policy(setup.policy)
            .batch(setup.batch)
            .counters(false)
            .build()?;
        let (sender, finished) = mpsc::channel();
        let mut chance = SplitMix64::new(setup.seed);
        let actors = states.len();
        let travel = setup.travel.map(|(_, skew)| Travel {
            receivers: Receivers::new(Some(skew), actors as u32, &mut chance),
            targets: OnceLock::new(),
            steps: AtomicU32::new(0),
        });
        let arena = Arc::new(Arena::new(setup.accesses, travel, sender));
        let toilers = states.into_iter().enumerate().map(|(index, state)| {
            system.spawn(Toiler::new(arena.clone(), index, state, setup.seed))
        });
        let toilers: Vec<_> = toilers.collect();
        if let Some(travel) = &arena.travel {
            assert!(travel.targets.set(toilers.clone()).is_ok(), "the actors are started once");
        }
        let starter = system.spawn(Starter { arena: arena.clone(), toilers, chance });
        system.wait_idle(REST)?;
        let running = setup.travel.map_or(actors, |(in_flight, _)| in_flight as usize);
        Ok(Stage { system, arena, starter, running, finished })
    }

    /// Each actor handles so many messages, or each message goes to so many actors; returns when
    /// that began and ended, when nothing is under way any more.
    fn round(&self, each: u32) -> Result<(Instant, Instant), Failure> {
        let running = self.running;
        self.arena.reset(running);
        let begin = Instant::now();
        self.starter
            .send(Begin { each, running })
            .map_err(|error| Failure::Failed(format!("the starter: {error}")))?;
        let (mut end, mut last) = (None, u64::MAX);
        while end.is_none() {
            end = match self.finished.recv_timeout(STANDSTILL) {
                Ok(end) => Some(end),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => unreachable!("the arena holds a sender"),
            };
            let handled = self.system.stats().total().handled;
            if end.is_none() && handled == last {
                let counters = self.system.stats().total();
                return Err(Failure::Failed(format!(
                    "the experiment stands still: a defect of the runtime; counters: {counters:?}"
                )));
            }
            last = handled;
        }
        self.system.wait_idle(REST)?;
        Ok((begin, end.unwrap_or(begin)))
    }

    fn end(self) -> Result<(), Failure> {
        let audit = self.system.audit(REST)?;
        self.system.shutdown(Shutdown::Drop);
        match audit.is_balanced() {
            true => Ok(()),
            false => Err(Failure::Failed(format!("the ledger is not balanced: {audit:?}"))),
        }
    }
}
