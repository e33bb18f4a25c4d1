//! Workers, turns, queues, stealing, sleeping: the runtime's loop in simulated time.
//!
//! Each worker has at most one step ahead of it in the agenda: the end of its turn, the end of its
//! patience in looking for work, or the moment at which it notices that there is some. A step reads
//! and writes what all share at once, in the order of simulated time; what it costs moves the
//! worker's next step. The functions follow those of `actinium_scheduler::worker`, whose names they
//! have.

mod adrift;
mod agenda;
mod balance;
mod colocation;
mod owned;
mod queue;
mod queues;
mod rescaling;
mod sharing;
mod time;
mod turn;

use crate::cache::Caches;
use crate::figures::Figures;
use crate::machine::Machine;
use crate::workload::{Traffic, Workload};
use actinium_scheduler::Footprint;
use actinium_scheduler::mixing::SplitMix64;
use actinium_scheduler::policy::{Affinities, Elastic, Policy, Ready, UtilizationTracker, tuning};
use actinium_scheduler::scaling::Scaling;
use agenda::Agenda;
use queue::Queue;
use std::collections::VecDeque;
use std::fmt;
use time::{Ps, ns};

/// How a workload is run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Where work runs.
    pub policy: Policy,
    /// Most messages in a turn.
    pub batch: u32,
    /// Longest time that a turn goes on, in nanoseconds.
    pub batch_time_ns: u64,
    /// Decides everything that is random.
    pub seed: u64,
    /// The rules by which the number of workers that are given work changes, under `affine`;
    /// `None`: all work from the start to the end.
    pub elastic: Option<Elastic>,
}

impl Settings {
    /// A message per turn, as in the published experiments; the runtime's time limit; seed 42; all
    /// workers work.
    pub fn new(policy: Policy) -> Self {
        Settings { policy, batch: 1, batch_time_ns: 100_000, seed: 42, elastic: None }
    }

    /// Sets the number of messages per turn, at least 1.
    #[must_use]
    pub fn batch(mut self, batch: u32) -> Self {
        self.batch = batch.max(1);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Gives work to as many workers as the work needs, by these rules; other policies than
    /// `affine` do not heed them.
    #[must_use]
    pub fn elastic(mut self, rules: Elastic) -> Self {
        self.elastic = Some(rules);
        self
    }
}

/// A run that came to no end: a defect of a policy or of the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimError {
    /// Nothing is left to happen, and messages are left over.
    Stalled {
        /// Messages handled.
        handled: u64,
        /// Messages due.
        due: u64,
    },
    /// A condition that must always hold does not.
    Broken(String),
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimError::Stalled { handled, due } => {
                write!(f, "the run stands still: {handled} of {due} messages are handled")
            }
            SimError::Broken(what) => write!(f, "the run broke a rule: {what}"),
        }
    }
}

impl std::error::Error for SimError {}

/// Where a runnable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Idle,
    Private,
    Public,
    /// On its way to a worker that has been given it.
    Given,
    Running,
}

#[derive(Clone, Debug)]
struct Actor {
    owner: usize,
    home: usize,
    thief: usize,
    steals: u32,
    away: u32,
    /// Measured nanoseconds per message; 0: not known.
    cost_ns: u32,
    place: Place,
    /// Why it is, or was last, ready.
    ready: Ready,
    /// Messages in its mailbox.
    mail: u32,
    /// Messages that it has handled in this round.
    handled: u32,
    /// Since when it has been ready to run.
    ready_ps: Ps,
    footprint: Footprint,
    /// The workers to which its sampled sends went.
    affinities: Affinities,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// The worker is in a turn.
    Turn {
        actor: usize,
        messages: u32,
        began_ps: Ps,
        timed: bool,
    },
    /// Looks for work until its patience ends; or has seen some and is about to take it.
    Looking {
        noticed: bool,
    },
    Asleep {
        since_ps: Ps,
    },
    /// Between two of those.
    Awake,
}

#[derive(Debug)]
struct Worker {
    mode: Mode,
    /// Only the step with this number counts; others are outdated.
    step: u64,
    queue: VecDeque<usize>,
    steal_queue: Queue,
    /// Messages from others: when they arrive, and for whom.
    inbox: VecDeque<(Ps, usize)>,
    /// The actors that others have given it, each with the time at which it arrives.
    gifts: VecDeque<(Ps, usize)>,
    /// How long its queue takes to run once through, weighted: nanoseconds.
    load_ns: u64,
    /// The load that others see.
    shown_load_ns: u64,
    utilization: UtilizationTracker,
    /// The time at which it last looked at others' loads, or found something to do.
    balanced_ps: Ps,
    in_vain: u32,
    /// The load when it looked last.
    looked_ns: u64,
    /// The last look at others' loads found somebody with less.
    has_found: bool,
    /// How often in a row it had nothing worth sharing, and the rounds left until it looks again.
    vain_shares: (u32, u32),
    /// Where in the list of its neighbours it looks next.
    look_at: usize,
    round: u32,
    ticks: u64,
    round_ps: Ps,
    /// Turns by which the round was cut short.
    cut: u32,
    turn_ns: u64,
    /// The value of `turn_ns` that others see.
    shown_turn_ns: u64,
    spins: u32,
    /// Sends left until one is sampled.
    sends_left: u32,
    in_turns_ps: Ps,
    /// The times from which it looks again whether more workers are needed, and other numbers.
    grow_at_ns: u64,
    scale_at_ns: u64,
}

impl Worker {
    /// A worker that has never worked.
    fn asleep() -> Self {
        Worker {
            mode: Mode::Asleep { since_ps: 0 },
            step: 0,
            queue: VecDeque::new(),
            steal_queue: Queue::default(),
            inbox: VecDeque::new(),
            gifts: VecDeque::new(),
            load_ns: 0,
            shown_load_ns: 0,
            utilization: UtilizationTracker::new(0),
            balanced_ps: 0,
            in_vain: 0,
            looked_ns: 0,
            has_found: false,
            vain_shares: (0, 0),
            look_at: 0,
            round: tuning::ROUND,
            ticks: 0,
            round_ps: 0,
            cut: 0,
            turn_ns: 0,
            shown_turn_ns: 0,
            spins: tuning::SPINS,
            sends_left: tuning::SAMPLED,
            in_turns_ps: 0,
            grow_at_ns: 0,
            scale_at_ns: 0,
        }
    }
}

impl Actor {
    /// An actor at its first owner's, without messages.
    fn idle(owner: usize, nobody: usize, footprint: Footprint) -> Self {
        Actor {
            owner,
            home: owner,
            thief: nobody,
            steals: 0,
            away: 0,
            cost_ns: 0,
            place: Place::Idle,
            ready: Ready::ByOthers,
            mail: 0,
            handled: 0,
            ready_ps: 0,
            footprint,
            affinities: Affinities::default(),
        }
    }
}

struct Sim<'a> {
    machine: &'a Machine,
    workload: &'a Workload,
    settings: &'a Settings,
    policy: Policy,
    keeps_idle: bool,
    agenda: Agenda,
    workers: Vec<Worker>,
    actors: Vec<Actor>,
    /// The queue of the policy `pool`.
    global: Queue,
    caches: Caches,
    traffic: Traffic,
    random: SplitMix64,
    /// Workers that look for work or sleep.
    idle: usize,
    /// Likewise, one by one: those that look.
    looking: Vec<usize>,
    /// The number of workers that are given work, where it changes.
    scaling: Option<Scaling>,
    /// Time by workers that are given work, and the time up to which it is counted.
    working_ps: u128,
    working_since_ps: Ps,
    kind_cost_ns: u32,
    kind_footprint_kib: u32,
    /// Different lines that a turn of so many messages touches.
    touched: Vec<f64>,
    placed: usize,
    sends: Vec<u32>,
    due: u64,
    handled: u64,
    /// Messages under way or in mailboxes.
    open: u64,
    first_done_ps: Option<Ps>,
    misses: [f64; 3],
    figures: Figures,
    fingerprint: u64,
}

/// Runs a workload on a machine: the warm-up, then the measured round.
///
/// # Errors
/// If the run comes to no end, or a runnable is lost or run twice at a time: a defect.
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    settings: &Settings,
) -> Result<Figures, SimError> {
    let mut sim = Sim::new(machine, workload, settings);
    let start_ps = sim.round(workload.warm_up, 0)?;
    sim.figures = Figures::default();
    sim.misses = [0.0; 3];
    for worker in &mut sim.workers {
        worker.in_turns_ps = 0;
    }
    (sim.working_ps, sim.working_since_ps) = (0, start_ps);
    let end_ps = sim.round(workload.messages, start_ps)?;
    Ok(sim.finish(start_ps, end_ps))
}

impl<'a> Sim<'a> {
    fn new(machine: &'a Machine, workload: &'a Workload, settings: &'a Settings) -> Self {
        let n = machine.workers();
        let footprint = Footprint::declared(workload.declared_bytes());
        // No worker has the number n.
        let actor = |owner| Actor::idle(owner, n, footprint);
        let count = workload.actors as usize;
        let elastic = settings.elastic.filter(|_| matches!(settings.policy, Policy::Affine(_)));
        let scaling = elastic.map(|rules| Scaling::new(rules, n));
        let working = scaling.as_ref().map_or(n, Scaling::working);
        let lines = workload.lines();
        let accesses = u64::from(workload.accesses);
        let batches = 0..=u64::from(settings.batch);
        Sim {
            machine,
            workload,
            settings,
            policy: settings.policy,
            keeps_idle: settings.policy.keeps_idle(),
            agenda: Agenda::default(),
            workers: (0..n).map(|_| Worker::asleep()).collect(),
            actors: (0..count).map(|at| actor(settings.policy.place(at, working))).collect(),
            global: Queue::default(),
            caches: Caches::new(machine, count),
            traffic: Traffic::new(workload, settings.seed),
            random: SplitMix64::new(settings.seed),
            idle: n,
            looking: Vec::new(),
            scaling,
            working_ps: 0,
            working_since_ps: 0,
            kind_cost_ns: 0,
            kind_footprint_kib: 0,
            touched: batches.map(|n| crate::cache::distinct(lines, n * accesses)).collect(),
            placed: count,
            sends: Vec::new(),
            due: 0,
            handled: 0,
            open: 0,
            first_done_ps: None,
            misses: [0.0; 3],
            figures: Figures::default(),
            fingerprint: 0,
        }
    }

    /// A round of so many messages per actor; returns when it was over.
    fn round(&mut self, each: u32, start_ps: Ps) -> Result<Ps, SimError> {
        let (total, first) = self.traffic.begin(each);
        (self.due, self.handled, self.first_done_ps) = (total, 0, None);
        for actor in &mut self.actors {
            actor.handled = 0;
        }
        self.send_from_outside(&first, start_ps);
        let mut now_ps = start_ps;
        while self.handled < self.due {
            let Some((at_ps, worker, step)) = self.agenda.next() else {
                return Err(SimError::Stalled { handled: self.handled, due: self.due });
            };
            if self.workers[worker].step != step {
                continue;
            }
            now_ps = at_ps;
            self.step(worker, now_ps)?;
            if self.open == 0 && self.handled < self.due {
                let next = self.traffic.next_burst();
                self.send_from_outside(&next, now_ps);
            }
        }
        if self.open != 0 {
            return Err(SimError::Broken(format!("{} messages too many", self.open)));
        }
        Ok(now_ps)
    }

    fn finish(mut self, start_ps: Ps, end_ps: Ps) -> Figures {
        let elapsed_ps = (end_ps - start_ps).max(1);
        self.count_working(self.working(), end_ps);
        let in_turns: u128 = self.workers.iter().map(|worker| u128::from(worker.in_turns_ps)).sum();
        let figures = &mut self.figures;
        figures.elapsed_ns = ns(elapsed_ps);
        figures.handled = self.handled;
        figures.first_done = match self.traffic.quota {
            Some(_) => self.first_done_ps.map(|at| (at - start_ps) as f64 / elapsed_ps as f64),
            None => None,
        };
        [figures.l1_misses, figures.l2_misses, figures.l3_misses] =
            self.misses.map(|misses| misses as u64);
        figures.busy = in_turns as f64 / (elapsed_ps as f64 * self.workers.len() as f64);
        figures.working = self.working_ps as f64 / elapsed_ps as f64;
        figures.estimated_kib = self.kind_footprint_kib;
        figures.fingerprint = self.fingerprint;
        self.figures
    }

    /// A worker's next step: `Worker::run`.
    fn step(&mut self, worker: usize, now_ps: Ps) -> Result<(), SimError> {
        let mut at_ps = now_ps;
        match self.workers[worker].mode {
            Mode::Turn { actor, messages, began_ps, timed } => {
                at_ps = self.end_turn(worker, actor, messages, began_ps, timed, now_ps)?;
            }
            Mode::Looking { noticed: true } => self.stop_looking(worker),
            Mode::Looking { noticed: false } => {
                // Its patience has ended: one more look after the announcement, then it sleeps.
                if !self.may_find_work(worker) {
                    self.nap(worker, now_ps);
                    return Ok(());
                }
                self.stop_looking(worker);
            }
            // Whoever else wakes a sleeper plans its step.
            Mode::Asleep { .. } => self.wake_for_review(worker, now_ps),
            Mode::Awake => {}
        }
        if !matches!(self.workers[worker].mode, Mode::Turn { .. }) {
            self.workers[worker].balanced_ps = now_ps;
            self.end_idle(worker, now_ps);
        }
        self.workers[worker].mode = Mode::Awake;
        loop {
            if self.workers[worker].round == 0 {
                at_ps = self.tick(worker, at_ps);
            }
            if let Some(actor) = self.workers[worker].queue.pop_front() {
                return self.begin_turn(worker, actor, at_ps);
            }
            at_ps = self.tick(worker, at_ps);
            if !self.workers[worker].queue.is_empty() {
                continue;
            }
            let (found, after_ps) = self.find_work(worker, at_ps);
            at_ps = after_ps;
            if !found {
                self.look(worker, at_ps);
                return Ok(());
            }
        }
    }

    fn plan(&mut self, worker: usize, at_ps: Ps) {
        self.workers[worker].step += 1;
        self.agenda.add(at_ps, worker, self.workers[worker].step);
    }
}
