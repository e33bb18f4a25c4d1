//! A worker: the thread-private half of the scheduler, and the loop that everything runs in.
//!
//! A `Worker` is used by one thread only (it is neither `Send` nor `Sync`); its fields are cells, because code that runs inside
//! a turn comes back to it through [`current`].

use crate::inbox::Chain;
use crate::policy::{QueueView, StealView, StolenView};
use crate::runnable::{ALERTED, DEAD, Header, IN_TRANSIT, NOBODY, Runnable, SCHEDULED, Turn};
use crate::shared::Shared;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, OwnerCell, spin_loop, thread};
use crate::wheel::{TimerKey, Wheel};
use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::time::Duration;

/// Turns between two rounds of housekeeping: often enough to notice within some microseconds that others wait, rare enough
/// that reading the clock costs below 1 ns per turn.
const ROUND: u32 = 64;
/// One in so many sends is sampled, for the same reason.
const SAMPLED: u32 = 128;
/// In one of so many rounds, a power of two, a turn is timed of which nothing else demands it.
const TIMED_ROUNDS: u64 = 4;
/// A turn that is expected to take longer than this, in nanoseconds, is timed each time: reading the clock is then below 3 % of it.
const TIMED_NS: u32 = 2_000;
/// Before a turn that is expected to take longer than this, in nanoseconds, the worker hands on what others could do meanwhile.
const LONG_NS: u64 = 10_000;
/// Most runnables exposed, and taken by a thief, under one hold of a queue's lock: it is held for some microseconds at most.
const EXPOSED_AT_ONCE: usize = 512;
const STOLEN_AT_ONCE: usize = 64;
/// Most runnables exposed at a time from within a turn: many of them may have been made by this very turn, and then wait for nothing else.
const EXPOSED_IN_TURN: usize = 16;
/// Most runnables that a worker looks at in vain when it exposes.
const KEPT_AT_ONCE: usize = 16;
/// Items of a turn between two looks at the clock, as long as each is short (below `TIMED_NS`).
const CHECK_EVERY: u32 = 32;
/// Rounds of looking for work before a worker goes to sleep: about 20 to 50 µs, a few times what waking it would cost.
#[cfg(not(any(loom, shuttle)))]
const SPINS: u32 = 300;
#[cfg(any(loom, shuttle))]
const SPINS: u32 = 1;
/// Pauses of the processor in each of these rounds.
const PAUSES: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 16 };

/// What a timer does when it is due.
pub type Alarm = Box<dyn FnOnce(&Worker) + Send>;

/// Messages that a turn has gathered for something at another worker.
pub trait Gathered {
    /// Delivers them.
    fn flush(&mut self, worker: &Worker);
}

/// A worker; see the module's documentation.
pub struct Worker {
    shared: Arc<Shared>,
    index: usize,
    id: u32,
    /// Copies of what each turn asks of the settings.
    keeps_idle: bool,
    batch: u32,
    /// Runnables to run, all owned by this worker.
    queue: OwnerCell<VecDeque<Runnable>>,
    /// To whom the running turn has sent to another worker last, and how often in a row; null: to nobody.
    run: Cell<(*const Header, u32)>,
    gathered: OwnerCell<Option<Box<dyn Gathered>>>,
    /// Tokens gathered for other workers' inboxes.
    outbox: OwnerCell<Vec<Chain>>,
    timers: OwnerCell<Wheel<Alarm>>,
    /// Turns left in this round.
    round: Cell<u32>,
    /// Turns by which the round was cut short.
    cut: Cell<u32>,
    /// When the round began.
    round_ns: Cell<u64>,
    /// Sends left until one is sampled; see [`Worker::count_send`].
    sends_left: Cell<u32>,
    /// Items handled, and their bytes, since the counters were brought up to date.
    handled: Cell<(u64, u64)>,
    /// When the present turn, or if that is not known the present round, began.
    began_ns: Cell<u64>,
    /// Measured nanoseconds per turn, exponentially weighted.
    turn_ns: Cell<u64>,
    /// The turn in which a send was sampled last: round of housekeeping, and turns left in it.
    sampled_turn: Cell<(u64, u32)>,
    posted: Cell<bool>,
    /// The present turn looks at the clock every so many items.
    check_every: Cell<u32>,
    /// For the kind of runnable that is running, cleared before each turn.
    note: Cell<u32>,
    running: Cell<Option<Runnable>>,
    /// Neither Send nor Sync.
    _thread: PhantomData<*const ()>,
}

impl Worker {
    /// Worker `index` of a scheduler, for the calling thread.
    pub fn new(shared: Arc<Shared>, index: usize) -> Self {
        shared.sleep.register(index);
        let now_ns = shared.clock.now_ns();
        let workers = shared.workers();
        Worker {
            id: shared.id_of(index),
            keeps_idle: shared.settings.policy.keeps_idle(),
            batch: shared.settings.batch,
            index,
            queue: OwnerCell::new(VecDeque::with_capacity(256)),
            run: Cell::new((std::ptr::null(), 0)),
            gathered: OwnerCell::new(None),
            outbox: OwnerCell::new((0..workers).map(|_| Chain::default()).collect()),
            timers: OwnerCell::new(Wheel::new(now_ns)),
            round: Cell::new(ROUND),
            cut: Cell::new(0),
            round_ns: Cell::new(now_ns),
            sends_left: Cell::new(SAMPLED),
            handled: Cell::new((0, 0)),
            began_ns: Cell::new(now_ns),
            turn_ns: Cell::new(0),
            sampled_turn: Cell::new((0, 0)),
            posted: Cell::new(false),
            check_every: Cell::new(CHECK_EVERY),
            note: Cell::new(0),
            running: Cell::new(None),
            shared,
            _thread: PhantomData,
        }
    }

    /// Its index among the scheduler's workers.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its id, unique in the process.
    #[inline(always)]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What it shares with the other workers.
    #[inline]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Its counters.
    #[inline]
    pub fn counters(&self) -> &crate::counters::Counters {
        self.shared.counters(self.index)
    }

    /// A word that a runnable may use during its turn; 0 at the turn's start.
    #[inline]
    pub fn note(&self) -> &Cell<u32> {
        &self.note
    }

    /// Most items that a turn handles.
    #[inline(always)]
    pub fn batch(&self) -> u32 {
        self.batch
    }

    /// What runs now.
    #[inline]
    pub fn running(&self) -> Option<Runnable> {
        self.running.get()
    }

    // ---- the loop ------------------------------------------------------------------------------------------------

    /// Runs until the scheduler ends.
    pub fn run(&self) {
        loop {
            // Own queue first, for it is warm; then, once a round, what came from elsewhere, so that neither starves.
            while let Some(runnable) = self.pop() {
                self.turn(runnable);
                if self.round.get() == 0 {
                    self.tick();
                }
            }
            self.tick();
            if self.shared.control.wants_attention() && self.shared.control.exit_requested() {
                return;
            }
            if self.queue_len() == 0 && !self.find_work() {
                self.idle();
            }
        }
    }

    /// Runs one turn of what stands at `pick(length of the queue)`, after showing it to `before`; false if nothing is ready, or
    /// the scheduler ends. For deterministic tests.
    pub fn step(&self, pick: impl FnOnce(usize) -> usize, before: impl FnOnce(Runnable)) -> bool {
        self.tick();
        if self.shared.control.exit_requested() {
            return false;
        }
        // All of it, so that there is a choice under policies that take one at a time, too.
        while self.take_some(&self.shared.publics[self.index])
            || self.take_some(&self.shared.global)
        {}
        if self.queue_len() == 0 && !self.steal() {
            return false;
        }
        let index = pick(self.queue_len());
        // SAFETY: this thread owns the queue, and the closure calls no user code.
        let picked = unsafe { self.queue.with(|queue| queue.remove(index)) };
        let Some(runnable) = picked else { return false };
        before(runnable);
        self.turn(runnable);
        self.tick();
        true
    }

    #[inline(always)]
    fn pop(&self) -> Option<Runnable> {
        // SAFETY: this thread owns the queue, and the closure calls no user code.
        unsafe { self.queue.with(|queue| queue.pop_front()) }
    }

    #[inline(always)]
    fn push(&self, runnable: Runnable) {
        // SAFETY: this thread owns the queue, and the closure calls no user code.
        unsafe { self.queue.with(|queue| queue.push_back(runnable)) }
    }

    fn queue_len(&self) -> usize {
        // SAFETY: this thread owns the queue, and the closure calls no user code.
        unsafe { self.queue.with(|queue| queue.len()) }
    }

    /// One turn of a runnable that this worker owns.
    #[inline(always)]
    fn turn(&self, runnable: Runnable) {
        self.note.set(0);
        self.round.set(self.round.get() - 1);
        self.running.set(Some(runnable));
        let header = runnable.header();
        // SAFETY: this worker owns the runnable (it was in its queue), and the closure calls no user code.
        let home = unsafe { header.private.with(|private| private.home) };
        let cost_ns = self.cost_ns(runnable);
        if !self.keeps_idle {
            self.turn_unowned(runnable);
        } else if cost_ns == 0
            || cost_ns >= TIMED_NS
            || self.is_timed_now()
            || home as usize != self.index
        {
            self.turn_timed(runnable, cost_ns);
        } else {
            // SAFETY: this worker owns the runnable, which is alive.
            let (turn, _) = unsafe { (header.vtable.run)(runnable.0, self) };
            self.end_run();
            self.after(runnable, turn);
        }
        self.running.set(None);
    }

    /// Nanoseconds per item of a runnable that this worker owns, its kind's as long as its own are not known; 0: not known either.
    #[inline(always)]
    fn cost_ns(&self, runnable: Runnable) -> u32 {
        let header = runnable.header();
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        let own = unsafe { header.private.with(|private| private.cost_ns) };
        if own == 0 { header.kind.cost_ns() } else { own }
    }

    /// What follows from how the turn of an owned runnable ended.
    #[inline(always)]
    fn after(&self, runnable: Runnable, turn: Turn) {
        match turn {
            Turn::Again => self.push(runnable),
            // SAFETY: this worker owns the runnable, and the closure calls no user code.
            Turn::Idle => unsafe {
                runnable.header().private.with(|private| private.flags &= !SCHEDULED)
            },
            Turn::Dead => self.bury(runnable),
        }
    }

    #[cold]
    fn bury(&self, runnable: Runnable) {
        if runnable.header().bury() {
            // SAFETY: nothing refers to it any more: it is in no queue and no token travels.
            unsafe { (runnable.header().vtable.release)(runnable.0) }
        }
    }

    #[inline(always)]
    fn is_timed_now(&self) -> bool {
        self.round.get() == 0 && self.counters().ticks.get() % TIMED_ROUNDS == 0
    }

    /// A turn that is timed: of something whose cost is unknown or high, of something stolen, or as a sample.
    #[cold]
    fn turn_timed(&self, runnable: Runnable, cost_ns: u32) {
        let header = runnable.header();
        // What nobody has measured may take long.
        let expected_ns = if cost_ns == 0 { u64::MAX } else { u64::from(cost_ns) };
        if expected_ns >= LONG_NS {
            self.hand_on(expected_ns, EXPOSED_AT_ONCE);
        }
        let start_ns = self.shared.clock.now_ns();
        self.began_ns.set(start_ns);
        self.check_every.set(if cost_ns == 0 || cost_ns >= TIMED_NS { 1 } else { CHECK_EVERY });
        // SAFETY: this worker owns the runnable, which is alive.
        let (turn, handled) = unsafe { (header.vtable.run)(runnable.0, self) };
        self.end_run();
        self.check_every.set(CHECK_EVERY);
        let took_ns = self.shared.clock.now_ns().saturating_sub(start_ns);
        if took_ns >= LONG_NS {
            // Others may have waited: look after them before the next turn.
            self.cut.set(self.round.replace(0) + self.cut.get());
        }
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        let home = unsafe { header.private.with(|private| private.home as usize) };
        if home == self.index {
            self.learn(runnable, took_ns, handled);
        }
        if turn == Turn::Dead {
            return self.bury(runnable);
        }
        if home != self.index {
            return self.after_theft(runnable, turn, home);
        }
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        unsafe { header.private.with(|private| private.steals = 0) };
        self.after(runnable, turn);
    }

    /// Notes what a timed turn at home has cost, for the runnable and for its kind. (Elsewhere it costs more, for its memory is cold;
    /// to learn from that would make what was moved once look ever more worth moving.)
    fn learn(&self, runnable: Runnable, took_ns: u64, handled: u32) {
        let header = runnable.header();
        if handled == 0 {
            return;
        }
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        unsafe {
            header.private.with(|private| {
                private.cost_ns = weigh(private.cost_ns, took_ns / u64::from(handled));
                header.kind.set_cost_ns(weigh(header.kind.cost_ns(), private.cost_ns.into()));
            })
        }
    }

    /// The turn of something that ran away from home: it stays here for good, or goes back.
    fn after_theft(&self, runnable: Runnable, turn: Turn, home: usize) {
        let header = runnable.header();
        let me = self.index as u32;
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        let stays = unsafe {
            header.private.with(|private| {
                private.steals = if private.thief == me { private.steals + 1 } else { 1 };
                private.thief = me;
                let view = StolenView { steals_in_a_row: private.steals, cost_ns: private.cost_ns };
                let stays = self.shared.settings.policy.rehome(&view);
                if stays {
                    (private.home, private.steals) = (me, 0);
                }
                if turn == Turn::Idle && !stays {
                    private.flags &= !SCHEDULED;
                }
                stays
            })
        };
        if stays {
            self.counters().rehomed.add(1);
            return self.after(runnable, turn);
        }
        // Relaxed: the queue's lock publishes it.
        let away = self.shared.id_of(home) | IN_TRANSIT;
        let queue = if turn == Turn::Again {
            &self.shared.publics[home]
        } else {
            &self.shared.homecomings[home]
        };
        let mut queue = queue.lock();
        header.owner.store(away, Ordering::Relaxed);
        queue.push_back(runnable);
        drop(queue);
        if turn == Turn::Again {
            self.wake(home);
        }
    }

    /// A turn under a policy that keeps no idle runnables.
    fn turn_unowned(&self, runnable: Runnable) {
        let header = runnable.header();
        // Relaxed: the queue's lock has handed it over; only this worker tests for its own id.
        header.owner.store(self.id, Ordering::Relaxed);
        header.start();
        // SAFETY: this worker holds the runnable, which is alive.
        let (turn, _) = unsafe { (header.vtable.run)(runnable.0, self) };
        // Before anybody else may run it: what it sent comes before what it will send.
        self.end_run();
        header.owner.store(NOBODY, Ordering::Relaxed);
        match turn {
            // It ended with its token up, so that nobody queues it again.
            // SAFETY: it is in no queue.
            Turn::Dead => unsafe { (header.vtable.release)(runnable.0) },
            Turn::Idle if header.finish() => {}
            Turn::Idle | Turn::Again => {
                header.raise();
                self.shared.deliver(runnable, Some(self));
            }
        }
    }

    /// The running turn calls [`Worker::is_over_time`] every so many items.
    #[inline]
    pub fn check_every(&self) -> u32 {
        self.check_every.get()
    }

    /// Counts the items of a turn, each of so many bytes.
    #[inline(always)]
    pub fn count_handled(&self, items: u32, bytes_each: usize) {
        let (handled, bytes) = self.handled.get();
        self.handled
            .set((handled + u64::from(items), bytes + u64::from(items) * bytes_each as u64));
    }

    /// Whether the running turn has used up its time. When turns before it in the same round were not timed, theirs counts too.
    #[cold]
    pub fn is_over_time(&self) -> bool {
        let ran_ns = self.shared.clock.now_ns().saturating_sub(self.began_ns.get());
        u128::from(ran_ns) >= self.shared.settings.batch_time.as_nanos()
    }

    /// Records the latency of a message that was sent at `stamp_ns`.
    #[cold]
    pub fn record_latency(&self, stamp_ns: u64) {
        let now_ns = self.shared.clock.now_ns();
        self.shared.record_latency(self.index, now_ns.saturating_sub(stamp_ns));
    }

    // ---- sending -------------------------------------------------------------------------------------------------

    /// A runnable that this worker owns has something to do.
    #[inline(always)]
    pub fn schedule(&self, runnable: Runnable) {
        // SAFETY: this worker owns the runnable (the caller has tested it), and the closure calls no user code.
        let flags = unsafe {
            runnable.header().private.with(|private| {
                let flags = private.flags;
                private.flags = flags | SCHEDULED;
                flags
            })
        };
        // Without an owner between turns, what this worker owns is what it runs: it will be looked at again.
        if flags & SCHEDULED == 0 {
            self.push(runnable);
        }
    }

    /// Counts a send of this worker; true if this one shall be sampled (then [`Worker::sample`]).
    #[inline(always)]
    pub fn count_send(&self) -> bool {
        let left = self.sends_left.get() - 1;
        self.sends_left.set(left);
        left == 0
    }

    /// Every `SAMPLED`-th send: the time, or 0 if no figures are kept. Also looks whether this turn takes so long that others wait.
    #[cold]
    #[inline(never)]
    pub fn sample(&self) -> u64 {
        self.flush_counts();
        let now_ns = self.shared.clock.now_ns();
        let current_ns = now_ns.saturating_sub(self.began_ns.get());
        // Twice in one turn: else it may only be that the system did not run this thread for a while.
        let turn = (self.counters().ticks.get(), self.round.get());
        if self.sampled_turn.replace(turn) == turn && current_ns >= LONG_NS {
            self.hand_on(current_ns, EXPOSED_IN_TURN);
        }
        if self.shared.settings.figures { now_ns.max(1) } else { 0 }
    }

    fn flush_counts(&self) {
        let (handled, bytes) = self.handled.take();
        self.counters().handled.add(handled);
        self.counters().bytes.add(bytes);
        self.counters().sent.add(u64::from(SAMPLED - self.sends_left.get()));
        self.sends_left.set(SAMPLED);
    }

    /// The running turn sends to a runnable at another worker: the how manieth time in a row, from 0.
    #[inline]
    pub fn count_run(&self, target: *const Header) -> u32 {
        let (last, times) = self.run.get();
        if last == target {
            self.run.set((target, times + 1));
            return times + 1;
        }
        self.end_run();
        self.run.set((target, 0));
        0
    }

    /// The turn has ended, or turns to somebody else: what it has gathered leaves.
    #[inline(always)]
    fn end_run(&self) {
        if !self.run.get().0.is_null() {
            self.flush_gathered();
        }
    }

    #[cold]
    fn flush_gathered(&self) {
        self.run.set((std::ptr::null(), 0));
        // Taken out first: delivering may call user code (a listener to dead letters), which may send.
        // SAFETY: this thread's own, and the closure calls no user code.
        if let Some(mut gathered) = unsafe { self.gathered.with(Option::take) } {
            gathered.flush(self);
        }
    }

    /// So much is gathered that it leaves now, though the run goes on.
    pub fn deliver_gathered(&self) {
        let run = self.run.get();
        // SAFETY: as above.
        let Some(mut gathered) = (unsafe { self.gathered.with(Option::take) }) else { return };
        gathered.flush(self);
        if self.run.get() == run {
            // SAFETY: as above.
            unsafe { self.gathered.with(|slot| *slot = Some(gathered)) };
        }
    }

    /// Lends what the running turn has gathered to `f`.
    ///
    /// # Safety
    /// `f` calls no user code and does not come back to the worker's streams.
    pub unsafe fn with_gathered<R>(
        &self,
        f: impl FnOnce(&mut Option<Box<dyn Gathered>>) -> R,
    ) -> R {
        // SAFETY: this thread's own, and by contract.
        unsafe { self.gathered.with(f) }
    }

    /// A token for a runnable at another worker: gathered, and delivered at the latest at the end of the round.
    #[inline]
    pub(crate) fn post(&self, runnable: Runnable, index: usize) {
        // SAFETY: this thread owns the outbox, and the closure calls no user code.
        unsafe { self.outbox.with(|outbox| outbox[index].add(runnable)) };
        self.counters().posted.add(1);
        self.posted.set(true);
        if self.shared.sleep.is_asleep(index) {
            self.flush(index);
        }
    }

    fn flush(&self, index: usize) {
        // SAFETY: this thread owns the outbox, and the closure calls no user code.
        let posted = unsafe {
            self.outbox.with(|outbox| {
                let chain = &mut outbox[index];
                let posted = !chain.is_empty();
                self.shared.inboxes[index].push_chain(chain);
                posted
            })
        };
        if posted {
            self.wake(index);
        }
    }

    fn flush_all(&self) {
        if self.posted.replace(false) {
            for index in 0..self.shared.workers() {
                self.flush(index);
            }
        }
    }

    fn wake(&self, index: usize) {
        if self.shared.sleep.wake(index) {
            self.counters().woken.add(1);
        }
    }

    // ---- housekeeping --------------------------------------------------------------------------------------------

    /// Once a round: time, timers, what others sent, what others could take.
    #[inline(never)]
    fn tick(&self) {
        let turns = ROUND - self.round.replace(ROUND) - self.cut.replace(0);
        let now_ns = self.shared.clock.now_ns();
        self.began_ns.set(now_ns);
        let took_ns = now_ns.saturating_sub(self.round_ns.replace(now_ns));
        if turns > 0 {
            let turn_ns = u64::from(weigh(self.turn_ns.get() as u32, took_ns / u64::from(turns)));
            self.turn_ns.set(turn_ns);
            // Relaxed: a hint for thieves.
            self.shared.turn_ns[self.index].store(turn_ns as usize, Ordering::Relaxed);
        }
        let counters = self.counters();
        counters.ticks.add(1);
        counters.turns.add(u64::from(turns));
        self.flush_counts();
        if self.shared.control.wants_attention() {
            self.attend();
        }
        self.fire(now_ns);
        self.welcome();
        self.read_inbox();
        self.take_back();
        // Last, for all of the above may post; a worker never sleeps on what it has gathered for others.
        self.flush_all();
        self.offer(0, EXPOSED_AT_ONCE);
    }

    #[cold]
    fn attend(&self) {
        self.flush_all();
        self.shared.control.pause_point();
        if self.shared.control.is_draining() {
            // SAFETY: this thread owns the timers; alarms are dropped outside the closure.
            let alarms =
                unsafe { self.timers.with(|timers| std::mem::replace(timers, Wheel::new(0))) };
            drop(alarms);
        }
        if self.shared.control.exit_requested() {
            // What is queued is not run any more; it is disposed of when all workers have stopped.
            // SAFETY: this thread owns the queue, and the closure calls no user code.
            unsafe { self.queue.with(|queue| queue.clear()) };
        }
    }

    fn fire(&self, now_ns: u64) {
        // SAFETY: this thread owns the timers, and the closure calls no user code.
        let due = unsafe {
            self.timers.with(|timers| timers.next_deadline().is_some_and(|next| next <= now_ns))
        };
        if !due {
            return;
        }
        let mut fired = Vec::new();
        // SAFETY: as above.
        unsafe { self.timers.with(|timers| timers.advance(now_ns, &mut fired)) };
        self.counters().timers.add(fired.len() as u64);
        for (_, alarm) in fired {
            alarm(self);
        }
    }

    /// Sets an alarm at `deadline_ns` of the scheduler's clock on this worker.
    pub fn set_alarm(&self, deadline_ns: u64, alarm: Alarm) -> TimerKey {
        // SAFETY: this thread owns the timers, and the closure calls no user code.
        unsafe { self.timers.with(|timers| timers.insert(deadline_ns, alarm)) }
    }

    /// Takes an alarm of this worker back; `None` if it has fired.
    pub fn cancel_alarm(&self, key: TimerKey) -> Option<Alarm> {
        // SAFETY: this thread owns the timers, and the closure calls no user code.
        unsafe { self.timers.with(|timers| timers.cancel(key)) }
    }

    /// The earliest time at which an alarm may be due.
    pub fn next_alarm_ns(&self) -> Option<u64> {
        // SAFETY: this thread owns the timers, and the closure calls no user code.
        unsafe { self.timers.with(|timers| timers.next_deadline()) }
    }

    /// New runnables, and idle ones that came home.
    fn welcome(&self) {
        if !self.shared.homecomings[self.index].is_empty() {
            self.take_home(None);
        }
    }

    /// Takes what is in the queue of homecomings; true if `wanted` was among it.
    fn take_home(&self, wanted: Option<Runnable>) -> bool {
        let mut found = false;
        for runnable in self.shared.homecomings[self.index].lock().drain(..) {
            found |= Some(runnable) == wanted;
            let header = runnable.header();
            // Relaxed: the lock has handed it over; only this worker tests for its own id.
            header.owner.store(self.id, Ordering::Relaxed);
            // SAFETY: this worker owns the runnable now, and the closure calls no user code.
            let flags = unsafe {
                header.private.with(|private| {
                    private.flags |= ALERTED;
                    private.flags
                })
            };
            if flags & SCHEDULED != 0 {
                self.push(runnable);
            }
        }
        found
    }

    /// Starts a new runnable here. The caller has made it and nobody else knows it yet.
    #[inline]
    pub fn start(&self, runnable: Runnable) {
        if self.keeps_idle {
            // Relaxed: only this worker tests for its own id.
            runnable.header().owner.store(self.id, Ordering::Relaxed);
            self.push(runnable);
        } else {
            self.shared.start(runnable, self.index);
        }
    }

    /// Tokens that others raised.
    fn read_inbox(&self) {
        for runnable in self.shared.inboxes[self.index].take() {
            self.receive(runnable);
        }
    }

    fn receive(&self, runnable: Runnable) {
        let header = runnable.header();
        loop {
            // Acquire: pairs with the release of DEAD in `bury`.
            let owner = header.owner.load(Ordering::Acquire);
            if owner == self.id {
                header.lower();
                return self.alert(runnable);
            }
            if owner == self.id | IN_TRANSIT {
                // It lies in one of this worker's queues. Only under the lock is that certain to last until the token is down; the
                // lock then orders this before the turn of whoever takes it.
                let queue = self.shared.publics[self.index].lock();
                if header.owner.load(Ordering::Relaxed) == owner {
                    header.lower();
                    drop(queue);
                    // If it lay in the public queue, somebody may have taken it from there by now, and may have ended it: it will run, and
                    // is not touched here any more. On its way home it is idle, and must be queued like anything that wakes; the
                    // queue's length says nothing yet, for its owner is set before it is in.
                    if self.take_home(Some(runnable)) {
                        self.alert(runnable);
                    }
                    return;
                }
                continue;
            }
            if owner == DEAD {
                // SAFETY: it ended while this token was up, so its release was left to the token's receiver: us.
                return unsafe { (header.vtable.release)(runnable.0) };
            }
            self.counters().forwarded.add(1);
            return self.post(runnable, self.shared.index_of(owner));
        }
    }

    /// Something that this worker owns has messages in its shared queue.
    pub fn alert(&self, runnable: Runnable) {
        // SAFETY: this worker owns the runnable (the caller has tested it), and the closure calls no user code.
        unsafe { runnable.header().private.with(|private| private.flags |= ALERTED) };
        self.schedule(runnable);
    }

    /// Takes from its own public queue what nobody came for.
    fn take_back(&self) {
        let queue = &self.shared.publics[self.index];
        if queue.is_empty() || !self.keeps_idle {
            return;
        }
        let mut queue = queue.lock();
        // While somebody may come for the rest, one at a time: enough that nothing starves here.
        let n = if self.shared.sleep.idle() == 0 || self.shared.workers() == 1 {
            queue.len()
        } else {
            1
        };
        for _ in 0..n {
            let Some(runnable) = queue.pop_front() else {
                break;
            };
            self.adopt(runnable);
        }
    }

    /// Something taken from a public queue, under that queue's lock.
    #[inline]
    fn adopt(&self, runnable: Runnable) {
        if self.keeps_idle {
            // Relaxed: the lock has handed it over; only this worker tests for its own id.
            runnable.header().owner.store(self.id, Ordering::Relaxed);
        }
        // SAFETY: the lock has handed it over, and the closure calls no user code.
        unsafe { runnable.header().private.with(|private| private.flags |= ALERTED) };
        self.push(runnable);
    }

    /// Exposes what others had better take. `current_ns`: how long the present turn takes, as far as known.
    fn offer(&self, current_ns: u64, most: usize) {
        let idle_workers = self.shared.sleep.idle();
        if idle_workers == 0 {
            return;
        }
        let len = self.queue_len();
        let view = QueueView { len, turn_ns: self.turn_ns.get(), current_ns, idle_workers };
        let n = self.shared.settings.policy.expose(&view).min(most);
        if n > 0 {
            self.expose(n, current_ns);
        }
    }

    #[cold]
    fn expose(&self, n: usize, current_ns: u64) {
        let away = self.id | IN_TRANSIT;
        // What stays is put back in its order.
        let mut kept = Vec::new();
        let mut queue = self.shared.publics[self.index].lock();
        for _ in 0..n {
            // SAFETY: this thread owns the queue, and the closure calls no user code.
            let youngest = unsafe { self.queue.with(|queue| queue.pop_back()) };
            let Some(runnable) = youngest else { break };
            if !self.shared.settings.policy.worth_exposing(self.cost_ns(runnable), current_ns) {
                kept.push(runnable);
                if kept.len() == KEPT_AT_ONCE {
                    break;
                }
                continue;
            }
            if self.keeps_idle {
                // Relaxed: the lock publishes it.
                runnable.header().owner.store(away, Ordering::Relaxed);
            }
            queue.push_front(runnable);
            self.counters().exposed.add(1);
        }
        let public_len = queue.len();
        drop(queue);
        for runnable in kept.into_iter().rev() {
            self.push(runnable);
        }
        self.call_thieves(public_len);
    }

    /// Wakes as many sleepers as the policy wants for so many runnables.
    fn call_thieves(&self, public_len: usize) {
        let wanted = self.shared.settings.policy.wake_more(public_len, self.shared.sleep.idle());
        for _ in 0..wanted {
            let order = self.shared.neighbours[self.index].iter().map(|&(other, _)| other);
            if self.shared.sleep.wake_one_of(order).is_none() {
                break;
            }
            self.counters().woken.add(1);
        }
    }

    /// The present turn takes long: whatever others could do meanwhile is handed on now.
    #[cold]
    fn hand_on(&self, current_ns: u64, most: usize) {
        self.flush_all();
        self.offer(current_ns, most);
    }

    // ---- looking for work ----------------------------------------------------------------------------------------

    /// Own public queue, the shared one, then other workers' by rising distance.
    fn find_work(&self) -> bool {
        self.take_some(&self.shared.publics[self.index])
            || self.take_some(&self.shared.global)
            || self.steal()
    }

    /// Takes a share from a queue that this worker need not be careful with.
    fn take_some(&self, queue: &crate::public::PublicQueue) -> bool {
        if queue.is_empty() {
            return false;
        }
        let mut queue = queue.lock();
        // Policies that keep nothing private take one at a time, so that others can have the rest.
        let n = if self.keeps_idle { queue.len().div_ceil(2) } else { 1 };
        for _ in 0..n {
            let Some(runnable) = queue.pop_front() else {
                break;
            };
            self.adopt(runnable);
        }
        self.queue_len() > 0
    }

    fn steal(&self) -> bool {
        let policy = &self.shared.settings.policy;
        for &(victim, distance) in &self.shared.neighbours[self.index] {
            let len = self.shared.publics[victim].len();
            if len == 0 {
                continue;
            }
            // Relaxed: a hint.
            let turn_ns = self.shared.turn_ns[victim].load(Ordering::Relaxed) as u64;
            if !policy.worth_stealing(&StealView { len, turn_ns, distance }) {
                continue;
            }
            let mut queue = self.shared.publics[victim].lock();
            let mut stolen = 0;
            for _ in 0..queue.len().div_ceil(2).min(STOLEN_AT_ONCE) {
                let Some(runnable) = queue.pop_front() else {
                    break;
                };
                self.adopt(runnable);
                stolen += 1;
            }
            let left = queue.len();
            drop(queue);
            if stolen > 0 {
                self.counters().stolen.add(stolen);
                // Sleepers were woken for a queue that this worker now holds half of: pass the call on.
                if left > 0 {
                    self.call_thieves(1);
                }
                return true;
            }
        }
        false
    }

    /// Nothing to do: looks for work for a while, then sleeps until woken or until the next alarm.
    #[cold]
    fn idle(&self) {
        self.shared.sleep.start_looking();
        if !self.spin() {
            self.nap();
        }
        self.shared.sleep.stop_looking();
    }

    /// Looks for a while; true if there may be something.
    fn spin(&self) -> bool {
        for spin in 0..SPINS {
            if self.may_find_work() {
                return true;
            }
            if spin % 32 == 31 {
                // On a machine with more workers than PUs, whoever has work may need this one.
                thread::yield_now();
            } else {
                for _ in 0..PAUSES {
                    spin_loop();
                }
            }
        }
        false
    }

    fn may_find_work(&self) -> bool {
        let shared = &*self.shared;
        !shared.inboxes[self.index].is_empty()
            || !shared.homecomings[self.index].is_empty()
            || !shared.publics[self.index].is_empty()
            || !shared.global.is_empty()
            || shared.control.wants_attention()
                && (shared.control.exit_requested() || shared.control.is_paused())
            || shared.neighbours[self.index].iter().any(|&(other, distance)| {
                let len = shared.publics[other].len();
                // Relaxed: a hint.
                let turn_ns = || shared.turn_ns[other].load(Ordering::Relaxed) as u64;
                len > 0
                    && shared.settings.policy.worth_stealing(&StealView {
                        len,
                        turn_ns: turn_ns(),
                        distance,
                    })
            })
    }

    /// The sleep protocol: see `sleep`.
    fn nap(&self) {
        self.counters().parked.add(1);
        self.shared.sleep.announce(self.index);
        if self.may_find_work() {
            return self.shared.sleep.cancel(self.index);
        }
        self.shared.control.gone_idle();
        let timeout = self.next_alarm_ns().map(|deadline_ns| {
            let ns = deadline_ns.saturating_sub(self.shared.clock.now_ns());
            Duration::from_nanos(ns)
        });
        if timeout != Some(Duration::ZERO) {
            self.shared.sleep.park(self.index, timeout);
        } else {
            self.shared.sleep.cancel(self.index);
        }
    }

    // ---- ending --------------------------------------------------------------------------------------------------

    /// The stages of ending (see `control`): `dispose` ends this worker's share of the runnables.
    pub fn end(&self, dispose: impl FnOnce(&Worker)) {
        self.flush_all();
        self.flush_counts();
        self.shared.control.arrive();
        dispose(self);
        self.flush_all();
        self.flush_counts();
        self.shared.control.arrive();
        for runnable in self.shared.inboxes[self.index].take() {
            // Acquire: pairs with the release of DEAD in `bury`.
            if runnable.header().owner.load(Ordering::Acquire) == DEAD {
                // SAFETY: it ended while this token was up, so its release was left to the token's receiver: us.
                unsafe { (runnable.header().vtable.release)(runnable.0) }
            }
        }
        // Alarms may hold references to runnables.
        // SAFETY: this thread owns the timers; alarms are dropped outside the closure.
        drop(unsafe { self.timers.with(|timers| std::mem::replace(timers, Wheel::new(0))) });
    }

    /// Ends a runnable at shutdown: disposes of it and drops the scheduler's reference.
    pub fn dispose(&self, runnable: Runnable) {
        // SAFETY: all workers have left their loops, and each runnable is disposed of by one of them.
        unsafe { (runnable.header().vtable.dispose)(runnable.0, self) };
        if self.keeps_idle {
            self.bury(runnable);
        } else {
            runnable.header().raise();
            // SAFETY: the token is up and nobody runs any more: no queue is looked at again.
            unsafe { (runnable.header().vtable.release)(runnable.0) }
        }
    }

    /// Makes this the calling thread's worker while `f` runs.
    pub fn enter<R>(&self, f: impl FnOnce(&Worker) -> R) -> R {
        struct Leave(*const Worker);
        impl Drop for Leave {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0));
            }
        }
        let _leave = Leave(CURRENT.with(|current| current.replace(self)));
        f(self)
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (len, turn_ns) = (self.queue_len(), self.turn_ns.get());
        write!(
            f,
            "worker {} (id {}): {len} queued, {turn_ns} ns per turn, running {:?}",
            self.index,
            self.id,
            self.running.get()
        )
    }
}

/// Exponentially weighted: an eighth of the new value. The first value counts whole; never 0, which means unknown.
///
/// A new value counts as at most so many times the old one: mostly such an outlier means that the system did not run this thread for
/// a while. What has really become slow is known as such after a few more turns.
fn weigh(old: u32, new: u64) -> u32 {
    const OUTLIER: u64 = 4;
    let new = new.clamp(1, u64::from(u32::MAX));
    if old == 0 {
        return new as u32;
    }
    let old = u64::from(old);
    ((old * 7 + new.min(old * OUTLIER)) / 8).clamp(1, u64::from(u32::MAX)) as u32
}

#[cfg(not(any(loom, shuttle)))]
thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(std::ptr::null()) };
}
#[cfg(any(loom, shuttle))]
crate::sync::thread_local! {
    static CURRENT: Cell<*const Worker> = Cell::new(std::ptr::null());
}

/// The calling thread's worker, if it is one, without a closure around its use: for the hottest path.
///
/// # Safety
/// The reference is not kept beyond the calling function: it must not outlive [`Worker::enter`].
#[inline(always)]
pub unsafe fn current_unbound<'a>() -> Option<&'a Worker> {
    let worker = CURRENT.with(|current| current.get());
    // SAFETY: `enter` sets the pointer to a worker that it borrows for as long as it is set.
    unsafe { worker.as_ref() }
}

/// The calling thread's worker, if it is one.
///
/// The reference is lent to a closure: it must not outlive [`Worker::enter`].
#[inline(always)]
pub fn current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    let worker = CURRENT.with(|current| current.get());
    // SAFETY: `enter` sets the pointer to a worker that it borrows for as long as it is set.
    f(unsafe { worker.as_ref() })
}

#[cfg(test)]
mod tests {
    use super::weigh;

    #[test]
    fn the_first_measure_counts_whole_and_later_ones_an_eighth() {
        assert_eq!(weigh(0, 80), 80);
        assert_eq!(weigh(80, 160), 90);
        assert_eq!(weigh(0, 0), 1);
        assert_eq!(weigh(u32::MAX, u64::MAX), u32::MAX);
    }

    #[test]
    fn an_outlier_counts_little_and_a_lasting_change_soon_counts() {
        assert!(weigh(100, 50_000_000) < 150);
        let learnt = (0..40).fold(100, |cost_ns, _| weigh(cost_ns, 1_000_000));
        assert!(learnt > 500_000, "{learnt}");
    }
}
