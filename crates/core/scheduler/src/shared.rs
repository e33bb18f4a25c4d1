//! The state that the workers of one scheduler share: queues, sleepers, settings. No worker's
//! private state.

use crate::clock::{Clock, Until};
use crate::control::Control;
use crate::counters::{CounterValues, Counters};
use crate::deadlines::{DeadlineKey, Deadlines};
use crate::exchanges::{Exchange, Exchanges};
use crate::idle_poller::{IdlePoller, PollerCell};
use crate::ids::Ids;
use crate::inbox::Inbox;
use crate::lanes::Lanes;
use crate::owned::Owned;
use crate::policy::{Domains, Elastic, Policy, ScaleEvent, WakeTo};
use crate::recording::Recording;
use crate::runnable::{DEAD, Header, IN_TRANSIT, Runnable, SCHEDULED};
use crate::scaling::Scaling;
use crate::seat::{Seat, Sighting};
use crate::sleep::Sleep;
use crate::steal_queue::StealQueue;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};
use crate::trace::traces::Traces;
use crate::utilization::SharedUtilization;
use actinium_topology::{Distance, PuId, Topology};
use hdrhistogram::Histogram;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
    /// Whether latency is sampled and turns are timed for the figures. Plain counts are always
    /// kept: they are the ledger that proves that nothing was lost.
    pub figures: bool,
    /// Whether only as many workers work as there is work for, and when that changes; `None`: all
    /// of them work.
    pub elastic: Option<Elastic>,
    /// PU of each worker that is bound to one. If it is shorter than there are workers, the rest is
    /// not.
    pub pus: Vec<Option<PuId>>,
}

#[cfg(all(test, not(any(loom, shuttle))))]
impl Settings {
    /// Those of two workers, for tests: the rest is as programs mostly have it.
    pub(crate) fn of_two(policy: Policy) -> Self {
        Settings {
            workers: 2,
            policy,
            batch: 64,
            batch_time: Duration::from_micros(100),
            figures: false,
            elastic: None,
            pus: Vec::new(),
        }
    }
}

/// Significant digits of a latency. Capacities shrink under the model checkers, and under Miri,
/// where the 28,000 counts of each worker took most of the time of a test.
const DIGITS: u8 = if cfg!(any(loom, shuttle, miri)) { 0 } else { 3 };

/// Latencies from 1 ns to 60 s.
pub(crate) type Latencies = Histogram<u64>;

/// The shared part of a scheduler.
#[derive(Debug)]
pub struct Shared {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    idle_poller: PollerCell,
    recording: Recording,
    pub(crate) exchanges: Exchanges,
    /// Apart: only traced messages come there.
    traces: Box<Traces>,
    /// Worker `i` has the first of these and `i`.
    ids: Ids,
    pub(crate) inboxes: Box<[Inbox]>,
    /// Lanes from each worker to each other, where runnables have owners.
    pub(crate) lanes: Lanes,
    pub(crate) steal_queues: Box<[StealQueue]>,
    /// New runnables, and idle ones that come home: only the worker itself takes them.
    pub(crate) return_queues: Box<[StealQueue]>,
    /// The one queue of the policy `pool`.
    pub(crate) global: StealQueue,
    pub(crate) sleep: Sleep,
    pub(crate) control: Control,
    /// Where others see what each worker is at.
    pub(crate) seats: Box<[Seat]>,
    /// For each worker: the others by rising distance, with the distance's rank.
    pub(crate) neighbours: Box<[Vec<(usize, u32)>]>,
    /// Which workers are near each other.
    pub(crate) domains: Domains,
    counters: Box<[Counters]>,
    latencies: Box<[Mutex<Latencies>]>,
    /// The measured time per turn of each worker, for thieves.
    pub(crate) turn_ns: Box<[AtomicUsize]>,
    /// How long each worker's queue takes to run once through, for those who have more to do:
    /// nanoseconds.
    pub(crate) load_ns: Box<[AtomicUsize]>,
    /// How busy each worker is, for the same: hints.
    pub(crate) utilization: Box<[SharedUtilization]>,
    /// When each worker was woken last, and until when it counts as delayed: hints.
    pub(crate) called_ns: Box<[AtomicUsize]>,
    pub(crate) delayed_until_ns: Box<[AtomicUsize]>,
    /// Until when no worker asks whether what talks had better be gathered at one of them: a hint.
    pub(crate) certain_until_ns: AtomicUsize,
    /// How many workers work, where that changes.
    pub(crate) scaling: Option<Scaling>,
    placed: AtomicUsize,
    /// The workers that were made, or never will be. Not the model checkers' atomics: only the
    /// first to come counts.
    claimed: Box<[AtomicBool]>,
    pub(crate) deadlines: Deadlines,
}

impl Shared {
    /// Sets the idle poller that workers help from now on. There is one; false if there was one
    /// before.
    pub fn set_idle_poller(&self, poller: Arc<dyn IdlePoller>) -> bool {
        self.idle_poller.set(poller)
    }

    #[inline]
    pub(crate) fn idle_poller(&self) -> Option<&dyn IdlePoller> {
        self.idle_poller.get()
    }

    /// The idle poller has something to move, and says so when asked ([`IdlePoller::is_called`]):
    /// the first worker is woken if it sleeps. True if it did.
    pub fn request_poll(&self) -> bool {
        self.sleep.wake(0)
    }

    /// The shared part of a scheduler on this machine.
    ///
    /// # Panics
    /// If `settings.workers` or `settings.batch` is 0: whoever offers these to users checks them
    /// first. If living schedulers of this process have 2^31 workers.
    pub fn new(settings: Settings, topology: Option<&Topology>, clock: Clock) -> Self {
        let n = settings.workers;
        assert!(
            n > 0 && settings.batch > 0,
            "Settings: workers and batch must be at least 1, not {n} and {}",
            settings.batch
        );
        let latencies = || {
            Latencies::new_with_bounds(1, 60_000_000_000, DIGITS).expect("these bounds are valid")
        };
        let rank = |a, b| rank(&settings, topology, a, b);
        Shared {
            clock,
            ids: Ids::take(n),
            inboxes: (0..n).map(|_| Inbox::new()).collect(),
            lanes: Lanes::new(n, settings.policy.keeps_idle()),
            steal_queues: (0..n).map(|_| StealQueue::new()).collect(),
            return_queues: (0..n).map(|_| StealQueue::new()).collect(),
            global: StealQueue::new(),
            sleep: Sleep::new(n),
            control: Control::new(n),
            seats: (0..n).map(|_| Seat::default()).collect(),
            neighbours: (0..n).map(|worker| neighbours(worker, n, rank)).collect(),
            domains: Domains::new(n, rank),
            counters: (0..n).map(|_| Counters::default()).collect(),
            latencies: (0..n).map(|_| Mutex::new(latencies())).collect(),
            turn_ns: (0..n).map(|_| AtomicUsize::new(0)).collect(),
            load_ns: (0..n).map(|_| AtomicUsize::new(0)).collect(),
            utilization: (0..n).map(|_| SharedUtilization::new()).collect(),
            called_ns: (0..n).map(|_| AtomicUsize::new(0)).collect(),
            delayed_until_ns: (0..n).map(|_| AtomicUsize::new(0)).collect(),
            certain_until_ns: AtomicUsize::new(0),
            scaling: settings.elastic.map(|rules| Scaling::new(rules, n)),
            placed: AtomicUsize::new(0),
            claimed: (0..n).map(|_| AtomicBool::new(false)).collect(),
            deadlines: Deadlines::default(),
            idle_poller: PollerCell::default(),
            recording: Recording::new(n),
            exchanges: Exchanges::new(n),
            traces: Box::new(Traces::new()),
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

    /// Workers that are given work: those with the lowest indices. Where workers are not elastic,
    /// all.
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

    /// What each worker got from each other one since the start: of pairs with anything only. It
    /// looks at as many places in memory as there are pairs.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.all(&self.lanes)
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Pausing, draining and ending the workers.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The records of what the workers do.
    #[inline]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Traced messages, and who hears of spans.
    #[inline]
    pub fn traces(&self) -> &Traces {
        &self.traces
    }

    /// Traces from now on: what comes with a context, and this share of the messages that come from
    /// outside without one (from 0 to 1).
    pub fn start_traces(&self, share: f64) {
        self.traces.start(share, self.clock.zero_unix_ns());
    }

    /// Ends timers and refuses messages from outside from now on (those who take them ask
    /// [`Control::is_draining`]).
    pub fn request_drain(&self) {
        self.control.request_drain();
        self.wake_all();
    }

    /// Ends the workers as soon as their present turns are over.
    pub fn request_exit(&self) {
        self.control.request_exit();
        self.wake_all();
    }

    /// Runs `f` while every worker stands between two turns. Waits for long turns to end, but not
    /// beyond `until`: then nothing is called, and the workers go on. Those outside may send until
    /// all workers stand, for a turn may wait for what they do.
    pub fn while_paused<R>(&self, until: Option<Until>, f: impl FnOnce() -> R) -> Option<R> {
        self.control.while_paused(|| self.wake_all(), until, f)
    }

    /// Waits until nothing runs and nothing waits to be run, but not beyond `until`; true if that
    /// is so, or the workers have to end. Timers that are not due do not count, but what is held
    /// does ([`Control::hold`]).
    pub fn wait_idle(&self, until: Option<Until>) -> bool {
        self.control.wait_idle(|| self.is_quiescent(), until)
    }

    /// Does what [`Shared::wait_idle`] does, until the time of [`Control::end_by`].
    pub fn wait_drained(&self) -> bool {
        self.control.wait_drained(|| self.is_quiescent())
    }

    /// The sleepers.
    pub fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    /// How many chunks of messages each worker has sent each other through their lane: from, to,
    /// chunks. Pairs without any are left out.
    pub fn lane_traffic(&self) -> Vec<(usize, usize, u64)> {
        if !self.lanes.exist() {
            return Vec::new();
        }
        let workers = self.workers();
        let pairs = (0..workers).flat_map(|from| (0..workers).map(move |to| (from, to)));
        let sent = pairs.map(|(from, to)| (from, to, self.lanes.published(from, to)));
        sent.filter(|&(_, _, chunks)| chunks > 0).collect()
    }

    /// The runnable that worker `index` runs, or disposes of at its end, as seen from elsewhere;
    /// `None`: none.
    pub fn sight(&self, index: usize) -> Option<Sighting> {
        self.seats[index].look()
    }

    /// Whether a worker runs this runnable at this moment, as seen from elsewhere: an estimate. It
    /// takes a load where nobody owns the runnable, and else a look at one worker.
    pub fn is_running<S>(&self, header: &Header<S>) -> bool {
        // Relaxed: an estimate.
        let owner = header.owner.load(Ordering::Relaxed);
        let index = owner.wrapping_sub(self.ids.first()) as usize;
        let seat = self.seats.get(index);
        seat.is_some_and(|seat| seat.is_at(NonNull::from(header).cast()))
    }

    /// The worker that owns a runnable at this moment, or from which it is being taken, as seen
    /// from elsewhere: an estimate. `None`: nobody.
    pub fn worker_of<S>(&self, header: &Header<S>) -> Option<usize> {
        // Relaxed: an estimate.
        let owner = header.owner.load(Ordering::Relaxed) & !IN_TRANSIT;
        let index = owner.wrapping_sub(self.ids.first()) as usize;
        (index < self.workers()).then_some(index)
    }

    /// Whether worker `index` is the caller's to make: the first who asks may.
    pub(crate) fn claim(&self, index: usize) -> bool {
        // Relaxed: nothing is handed over, for nobody comes second.
        self.claimed
            .get(index)
            .is_some_and(|it| !it.swap(true, std::sync::atomic::Ordering::Relaxed))
    }

    /// The threads of worker `first` and those behind it could not be started: nobody waits for
    /// these workers, and nobody makes them.
    ///
    /// # Panics
    /// If one of them was made.
    pub fn never_started(&self, first: usize) {
        for index in first..self.workers() {
            assert!(self.claim(index), "worker {index} was made, so it is waited for");
        }
        self.control.never_started(self.workers().saturating_sub(first));
    }

    /// The id of worker `index`.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn id_of(&self, index: usize) -> u32 {
        assert!(index < self.workers(), "there is no worker {index}");
        self.ids.first() + index as u32
    }

    /// The worker of this scheduler with this id.
    pub(crate) fn index_of(&self, id: u32) -> usize {
        let index = (id & !IN_TRANSIT).wrapping_sub(self.ids.first()) as usize;
        assert!(
            index < self.workers(),
            "worker id {id} is not one of this scheduler's {}",
            self.workers()
        );
        index
    }

    /// How long worker `index` takes to run once through its queue, as it estimates: nanoseconds. 0
    /// under a policy that balances no loads.
    pub fn load_ns(&self, index: usize) -> u64 {
        // Relaxed: a hint.
        self.load_ns[index].load(Ordering::Relaxed) as u64
    }

    /// The counters of worker `index`; only its thread may add to them.
    pub fn counters(&self, index: usize) -> &Counters {
        &self.counters[index]
    }

    /// The values of all workers' counters.
    pub fn counter_values(&self) -> Vec<CounterValues> {
        self.counters.iter().map(Counters::values).collect()
    }

    /// Sampled latencies of all workers: (nanoseconds, how many), rising. With `reset`, they start
    /// anew.
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
            // Before it sleeps, the first worker looks at the deadlines once more after its
            // announcement.
            self.sleep.wake(0);
        }
        key
    }

    /// Where a runnable made outside the workers is placed, by the number of its seat among those:
    /// who takes the seat of one that has ended starts where that did, for there the memory is warm
    /// that it has given back.
    pub fn place(&self, seat: usize) -> usize {
        self.settings.policy.place(seat, self.working())
    }

    /// Each takes the next seat.
    fn place_next(&self) -> usize {
        // Relaxed: only a count.
        self.place(self.placed.fetch_add(1, Ordering::Relaxed))
    }

    /// Starts a new runnable at worker `index`.
    ///
    /// # Safety
    /// The caller has made it, with a reference for the scheduler, and nobody else has started it,
    /// owns it or sends to it yet.
    pub unsafe fn start(&self, runnable: Runnable, index: usize) {
        let header = runnable.header();
        if self.settings.policy.keeps_idle() {
            // Relaxed: the queue's lock publishes it.
            header.owner.store(self.id_of(index) | IN_TRANSIT, Ordering::Relaxed);
            // Not in the steal queue: what belongs together starts together, and moves when its
            // worker has too much to do.
            self.return_queues[index].lock().push_back(runnable);
            self.sleep.wake(index);
        } else {
            header.set_notified();
            self.queue_unowned(runnable, index);
        }
    }

    /// Delivers a notification that the caller, which is no worker of this scheduler, has set.
    pub(crate) fn deliver_from_outside(&self, runnable: Runnable) {
        if !self.settings.policy.keeps_idle() {
            // With no worker at hand, the queues take turns.
            return self.queue_unowned(runnable, self.place_next());
        }
        let index = self.receiver_of(runnable);
        // SAFETY: the notification keeps the runnable until it is received.
        if unsafe { self.inboxes[index].push(runnable) } {
            self.sleep.wake(index);
        } else {
            // The scheduler has ended, and with it all runnables.
            self.release_dead(runnable);
        }
    }

    /// The worker to which the notification of a runnable goes that the caller has set, where idle
    /// runnables have owners.
    pub(crate) fn receiver_of(&self, runnable: Runnable) -> usize {
        // Acquire: pairs with the release of DEAD in `retire`. Any other value may be stale:
        // whoever receives the notification forwards it. No model can tell: nothing is done here
        // with what is dead, but by whoever receives the notification.
        let owner = runnable.header().owner.load(Ordering::Acquire);
        // A worker knows how to let go of what is dead.
        if owner == DEAD { 0 } else { self.index_of(owner) }
    }

    /// The caller has the notification of something that has ended or, at the scheduler's end, may
    /// not have been started.
    #[cold]
    pub(crate) fn release_dead(&self, runnable: Runnable) {
        // Acquire: pairs with the release of DEAD in `retire`. No model can tell: who comes here
        // has found an inbox closed, or closes it, after a stage of ending that all those have
        // reached who ended something.
        let is_dead = runnable.header().owner.load(Ordering::Acquire) == DEAD;
        if is_dead && !self.control.leaks() {
            // SAFETY: the runnable ended while this notification was on its way, so its release was
            // left to the receiver: us.
            unsafe { (runnable.header().vtable.release)(runnable.0) }
        }
    }

    /// Queues a runnable under a policy that keeps no idle ones; it is notified.
    pub(crate) fn queue_unowned(&self, runnable: Runnable, index: usize) {
        let order = self.neighbours[index].iter().map(|&(other, _)| other);
        match self.settings.policy.wake_to() {
            WakeTo::Shared => self.global.lock().push_back(runnable),
            WakeTo::Waker | WakeTo::Owner => self.steal_queues[index].lock().push_back(runnable),
        }
        let working = self.working();
        let order = std::iter::once(index).chain(order).filter(|&index| index < working);
        self.sleep.wake_one_of(order);
    }

    /// Whether nothing runs and nothing waits to be run. See [`Shared::wait_idle`].
    pub(crate) fn is_quiescent(&self) -> bool {
        // Looked at between two looks at the sleepers: if each sleeps the same nap at both, nobody
        // took anything meanwhile, so what is found empty was empty all the time.
        let Some(naps) = self.sleep.all_asleep() else { return false };
        let mut queues = self.steal_queues.iter().chain([&self.global]);
        let empty = self.inboxes.iter().all(Inbox::is_empty)
            && self.lanes.are_empty()
            && queues.all(StealQueue::is_empty);
        empty
            && !self.control.is_held()
            && !self.return_queues.iter().any(has_scheduled)
            && self.sleep.is_same_nap(naps)
    }

    /// Wakes every sleeper, for instance to look at `control`.
    pub(crate) fn wake_all(&self) {
        for index in 0..self.workers() {
            self.sleep.wake(index);
        }
    }
}

/// Whether something in a return queue waits to be run, which may be new. What is idle may lie
/// there as long as it likes.
fn has_scheduled(queue: &StealQueue) -> bool {
    let is_scheduled = |&runnable: &Runnable| {
        // SAFETY: what is in transit belongs to the holder of the lock.
        let mut owned = unsafe { Owned::new(runnable) };
        owned.with(|private| private.flags & SCHEDULED != 0)
    };
    !queue.is_empty() && queue.lock().iter().any(is_scheduled)
}

/// The rank of the distance between two workers' PUs. Who has none may be anywhere, and without
/// topology everybody: far away.
fn rank(settings: &Settings, topology: Option<&Topology>, a: usize, b: usize) -> u32 {
    let pu = |worker: usize| settings.pus.get(worker).copied().flatten();
    let distance = || Some(topology?.distance(pu(a)?, pu(b)?));
    distance().unwrap_or(Distance::Machine).rank()
}

/// The other workers by rising distance between the PUs.
fn neighbours(worker: usize, n: usize, rank: impl Fn(usize, usize) -> u32) -> Vec<(usize, u32)> {
    // Starting behind oneself spreads thieves over victims at equal distance.
    let others = (1..n).map(|step| (worker + step) % n);
    let mut order: Vec<(usize, u32)> = others.map(|other| (other, rank(worker, other))).collect();
    order.sort_by_key(|&(_, rank)| rank);
    order
}
