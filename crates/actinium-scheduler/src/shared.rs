//! What the workers of one scheduler share: queues, sleepers, settings. No worker's private state.

use crate::clock::Clock;
use crate::control::Control;
use crate::counters::{CounterValues, Counters};
use crate::deadlines::{DeadlineKey, Deadlines};
use crate::inbox::Inbox;
use crate::lanes::Lanes;
use crate::policy::{Elastic, Policy, ScaleEvent, WakeTo};
use crate::porter::{Lodge, Porter};
use crate::public::PublicQueue;
use crate::runnable::{DEAD, IN_TRANSIT, Runnable, SCHEDULED};
use crate::scaling::Scaling;
use crate::sleep::Sleep;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};
use crate::worker::Worker;
use actinium_topology::{Distance, PuId, Topology};
use hdrhistogram::Histogram;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::task::Waker;
use std::time::Duration;

/// How the workers behave: decided when the scheduler is built.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of workers, at least 1.
    pub workers: usize,
    /// Where work runs.
    pub policy: Policy,
    /// Most items that one runnable handles in a turn.
    pub batch: u32,
    /// Longest time that a turn goes on, checked between items (every eighth while they are short).
    pub batch_time: Duration,
    /// Whether latency is sampled and turns are timed for the figures. Plain counts are always kept: they are the ledger
    /// that proves that nothing was lost.
    pub figures: bool,
    /// Whether only as many workers work as there is work for, and when that changes; `None`: all of them work.
    pub elastic: Option<Elastic>,
    /// PU of each worker, where they are bound.
    pub pus: Option<Vec<PuId>>,
}

/// Significant digits of a latency. Capacities shrink under the model checkers.
const DIGITS: u8 = if cfg!(any(loom, shuttle)) { 0 } else { 3 };

/// Latencies from 1 ns to 60 s.
pub(crate) type Latencies = Histogram<u64>;

/// The shared part of a scheduler.
#[derive(Debug)]
pub struct Shared {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    lodge: Lodge,
    /// Worker `i` has the id `first_id + i`; ids are unique in the process.
    first_id: u32,
    pub(crate) inboxes: Box<[Inbox]>,
    /// From each worker to each other, where runnables have owners.
    pub(crate) lanes: Lanes,
    pub(crate) publics: Box<[PublicQueue]>,
    /// New runnables, and idle ones that come home: only the worker itself takes them.
    pub(crate) homecomings: Box<[PublicQueue]>,
    /// The one queue of the policy `pool`.
    pub(crate) global: PublicQueue,
    pub(crate) sleep: Sleep,
    pub(crate) control: Control,
    /// For each worker: the others by rising distance, with the distance's rank.
    pub(crate) neighbours: Box<[Vec<(usize, u32)>]>,
    counters: Box<[Counters]>,
    latencies: Box<[Mutex<Latencies>]>,
    /// The measured time per turn of each worker, for thieves.
    pub(crate) turn_ns: Box<[AtomicUsize]>,
    /// How long each worker's queue takes to run once through, for those who have more to do: nanoseconds.
    pub(crate) load_ns: Box<[AtomicUsize]>,
    /// How many workers work, where that changes.
    pub(crate) scaling: Option<Scaling>,
    placed: AtomicUsize,
    pub(crate) deadlines: Deadlines,
}

/// Next free worker id. The standard library's atomic, not the model checkers': ids mean nothing to them.
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

impl Shared {
    /// From now on workers help this porter. There is one; false if there was one before.
    pub fn set_porter(&self, porter: Arc<dyn Porter>) -> bool {
        self.lodge.set(porter)
    }

    #[inline]
    pub(crate) fn porter(&self) -> Option<&dyn Porter> {
        self.lodge.get()
    }

    /// The porter has something to carry, and says so when asked ([`Porter::is_called`]): the first worker is woken if it sleeps. True if
    /// it did.
    pub fn call(&self) -> bool {
        self.sleep.wake(0)
    }

    /// The shared part of a scheduler on this machine.
    ///
    /// # Panics
    /// If `settings.workers` or `settings.batch` is 0: whoever offers these to users checks them first.
    pub fn new(settings: Settings, topology: Option<&Topology>, clock: Clock) -> Self {
        let n = settings.workers;
        assert!(
            n > 0 && settings.batch > 0,
            "Settings: workers and batch must be at least 1, not {n} and {}",
            settings.batch
        );
        // Relaxed: only uniqueness matters.
        let first_id = NEXT_ID.fetch_add(n as u32, std::sync::atomic::Ordering::Relaxed);
        assert!(
            first_id.checked_add(n as u32).is_some_and(|last| last < IN_TRANSIT),
            "worker ids are used up"
        );
        let latencies = || {
            Latencies::new_with_bounds(1, 60_000_000_000, DIGITS).expect("these bounds are valid")
        };
        Shared {
            clock,
            first_id,
            inboxes: (0..n).map(|_| Inbox::new()).collect(),
            lanes: Lanes::new(n, settings.policy.keeps_idle()),
            publics: (0..n).map(|_| PublicQueue::new()).collect(),
            homecomings: (0..n).map(|_| PublicQueue::new()).collect(),
            global: PublicQueue::new(),
            sleep: Sleep::new(n),
            control: Control::new(n),
            neighbours: (0..n).map(|worker| neighbours(worker, &settings, topology)).collect(),
            counters: (0..n).map(|_| Counters::default()).collect(),
            latencies: (0..n).map(|_| Mutex::new(latencies())).collect(),
            turn_ns: (0..n).map(|_| AtomicUsize::new(0)).collect(),
            load_ns: (0..n).map(|_| AtomicUsize::new(0)).collect(),
            scaling: settings.elastic.map(|rules| Scaling::new(rules, n)),
            placed: AtomicUsize::new(0),
            deadlines: Deadlines::default(),
            lodge: Lodge::default(),
            settings,
        }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.settings.workers
    }

    /// Workers that are given work: those with the lowest indices. Where workers are not elastic, all.
    #[inline]
    pub fn working(&self) -> usize {
        self.scaling.as_ref().map_or(self.settings.workers, Scaling::working)
    }

    /// The latest changes of the number of working workers, oldest first.
    pub fn scale_events(&self) -> Vec<ScaleEvent> {
        self.scaling.as_ref().map_or_else(Vec::new, Scaling::events)
    }

    /// Workers that look for work, or sleep until there is some. A hint.
    #[inline]
    pub(crate) fn idle(&self) -> usize {
        // Those that do not work sleep.
        self.sleep.idle().saturating_sub(self.workers() - self.working())
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Starting, pausing and ending the workers.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Who sleeps.
    pub fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    /// The id of worker `index`.
    pub fn id_of(&self, index: usize) -> u32 {
        self.first_id + index as u32
    }

    /// The worker of this scheduler with this id.
    pub(crate) fn index_of(&self, id: u32) -> usize {
        let index = (id & !IN_TRANSIT).wrapping_sub(self.first_id) as usize;
        assert!(
            index < self.workers(),
            "worker id {id} is not one of this scheduler's {}",
            self.workers()
        );
        index
    }

    /// The counters of worker `index`; only its thread may add to them.
    pub fn counters(&self, index: usize) -> &Counters {
        &self.counters[index]
    }

    /// The values of all workers' counters.
    pub fn counter_values(&self) -> Vec<CounterValues> {
        self.counters.iter().map(Counters::values).collect()
    }

    /// Sampled latencies of all workers: (nanoseconds, how many), rising. With `reset`, they start anew.
    pub fn latencies(&self, reset: bool) -> Vec<(u64, u64)> {
        let mut sum =
            Latencies::new_with_bounds(1, 60_000_000_000, DIGITS).expect("these bounds are valid");
        for latencies in &self.latencies {
            let mut latencies = lock(latencies);
            sum.add(&*latencies).expect("equal bounds");
            if reset {
                latencies.reset();
            }
        }
        sum.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
    }

    /// Records a latency on worker `index`, for `count` messages.
    #[cold]
    pub fn record_latency(&self, index: usize, ns: u64, count: u64) {
        lock(&self.latencies[index]).saturating_record_n(ns.max(1), count);
    }

    /// The deadlines of those outside the workers.
    pub fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// Wakes `waker` when the clock shows `deadline_ns`.
    pub fn add_deadline(&self, deadline_ns: u64, waker: Waker) -> DeadlineKey {
        let (key, is_first) = self.deadlines.add(deadline_ns, waker);
        if is_first {
            // Before it sleeps, the first worker looks at the deadlines once more after its announcement.
            self.sleep.wake(0);
        }
        key
    }

    /// Where a runnable made outside the workers is placed, by the number of its seat among those: who takes the seat of one that has ended starts where that did, for there
    /// the memory is warm that it has given back.
    pub fn place(&self, seat: usize) -> usize {
        self.settings.policy.place(seat, self.working())
    }

    /// Each takes the next seat.
    fn place_next(&self) -> usize {
        // Relaxed: only a count.
        self.place(self.placed.fetch_add(1, Ordering::Relaxed))
    }

    /// Starts a new runnable at worker `index`. The caller has made it and nobody else knows it yet.
    pub fn start(&self, runnable: Runnable, index: usize) {
        let header = runnable.header();
        if self.settings.policy.keeps_idle() {
            // Relaxed: the queue's lock publishes it.
            header.owner.store(self.id_of(index) | IN_TRANSIT, Ordering::Relaxed);
            // Not in the public queue: what belongs together starts together, and moves when its worker has too much to do.
            self.homecomings[index].lock().push_back(runnable);
            self.sleep.wake(index);
        } else {
            header.raise();
            self.queue_unowned(runnable, index);
        }
    }

    /// Something was pushed to the runnable's shared queue by a thread that does not own it: sees to it that it runs.
    #[inline]
    pub fn notify(&self, runnable: Runnable, from: Option<&Worker>) {
        if runnable.header().raise() {
            self.deliver(runnable, from);
        }
    }

    /// Delivers a token that the caller has raised.
    pub(crate) fn deliver(&self, runnable: Runnable, from: Option<&Worker>) {
        if !self.settings.policy.keeps_idle() {
            // With no worker at hand, the queues take turns.
            let index = from.map_or_else(|| self.place_next(), |worker| worker.index());
            return self.queue_unowned(runnable, index);
        }
        // Acquire: pairs with the release of DEAD in `bury`. Any other value may be stale: who receives the token forwards it.
        let owner = runnable.header().owner.load(Ordering::Acquire);
        // A worker knows how to let go of what is dead.
        let index = if owner == DEAD { 0 } else { self.index_of(owner) };
        match from {
            Some(worker) => worker.post(runnable, index),
            None if self.inboxes[index].push(runnable) => drop(self.sleep.wake(index)),
            // The scheduler has ended, and with it all runnables.
            None => self.release_dead(runnable),
        }
    }

    /// The caller has the token of something that has ended or, at the scheduler's end, may not have been started.
    #[cold]
    pub(crate) fn release_dead(&self, runnable: Runnable) {
        // Acquire: pairs with the release of DEAD in `bury`.
        if runnable.header().owner.load(Ordering::Acquire) == DEAD {
            // SAFETY: the runnable ended while this token was up, so its release was left to the token's receiver: us.
            unsafe { (runnable.header().vtable.release)(runnable.0) }
        }
    }

    /// Queues a runnable under a policy that keeps no idle ones; its token is up.
    fn queue_unowned(&self, runnable: Runnable, index: usize) {
        let order = self.neighbours[index].iter().map(|&(other, _)| other);
        match self.settings.policy.wake_to() {
            WakeTo::Shared => self.global.lock().push_back(runnable),
            WakeTo::Waker | WakeTo::Owner => self.publics[index].lock().push_back(runnable),
        }
        let working = self.working();
        let order = std::iter::once(index).chain(order).filter(|&index| index < working);
        self.sleep.wake_one_of(order);
    }

    /// Whether nothing runs and nothing waits to be run. See [`Control::wait_idle`].
    pub(crate) fn is_quiescent(&self) -> bool {
        // Looked at between two looks at the sleepers: if each sleeps the same nap at both, nobody took anything meanwhile, so what
        // is found empty was empty all the time.
        let Some(naps) = self.sleep.all_asleep() else { return false };
        let mut queues = self.publics.iter().chain([&self.global]);
        let empty = self.inboxes.iter().all(Inbox::is_empty)
            && self.lanes.are_empty()
            && queues.all(PublicQueue::is_empty);
        empty && !self.homecomings.iter().any(has_scheduled) && self.sleep.is_same_nap(naps)
    }

    /// Wakes every sleeper, for instance to look at `control`.
    pub(crate) fn wake_all(&self) {
        for index in 0..self.workers() {
            self.sleep.wake(index);
        }
    }
}

/// Whether something in a queue of homecomings waits to be run, which may be new. What is idle may lie there as long as it likes.
fn has_scheduled(queue: &PublicQueue) -> bool {
    // SAFETY: what is in transit belongs to the holder of the lock, and the closure calls no user code.
    let is_scheduled = |runnable: &Runnable| unsafe {
        runnable.header().private.with(|private| private.flags & SCHEDULED != 0)
    };
    !queue.is_empty() && queue.lock().iter().any(is_scheduled)
}

/// The other workers by rising distance between the PUs; without topology all are equally far.
fn neighbours(
    worker: usize,
    settings: &Settings,
    topology: Option<&Topology>,
) -> Vec<(usize, u32)> {
    let n = settings.workers;
    // Starting behind oneself spreads thieves over victims at equal distance.
    let others = (1..n).map(|step| (worker + step) % n);
    let mut order: Vec<(usize, u32)> = match (&settings.pus, topology) {
        (Some(pus), Some(topology)) => {
            others.map(|other| (other, topology.distance(pus[worker], pus[other]).rank())).collect()
        }
        _ => others.map(|other| (other, Distance::Machine.rank())).collect(),
    };
    order.sort_by_key(|&(_, rank)| rank);
    order
}
