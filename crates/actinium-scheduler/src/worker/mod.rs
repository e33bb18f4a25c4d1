//! A worker: the thread-private half of the scheduler, and the loop that everything runs in.
//!
//! A `Worker` is used by one thread only (it is neither `Send` nor `Sync`); its fields are cells, because code that runs inside
//! a turn comes back to it through [`current`].
//!
//! This file holds the loop and the turns; `sending`, `housekeeping`, `sharing` and `ending` hold the rest.

mod balance;
mod ending;
mod housekeeping;
mod lanes;
mod placing;
mod queue;
mod scaling;
mod sending;
mod sharing;
mod talking;

use crate::counters::UNCOUNTED;
use crate::inbox::Chain;
use crate::policy::StolenView;
use crate::policy::pace::{CHECK_EVERY, LONG_NS, ROUND, TIMED_NS, TIMED_ROUNDS, weigh};
use crate::runnable::{AGAIN, BY_NEIGHBOUR, Header, IN_TRANSIT, NOBODY, Runnable, SCHEDULED, Turn};
use crate::shared::Shared;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, OwnerCell};
use crate::wheel::Wheel;
use queue::RunQueue;
use std::cell::Cell;
use std::marker::PhantomData;

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
    /// The id of the first worker.
    first_id: u32,
    /// Copies of what each turn asks of the settings.
    keeps_idle: bool,
    /// Its index, as the home of runnables; none's under policies that keep no idle runnables, whose turns are other ones.
    plain_home: u32,
    batch: u32,
    /// Runnables to run, all owned by this worker.
    queue: OwnerCell<RunQueue>,
    /// To whom the running turn has sent to another worker last, and how often in a row; null: to nobody.
    run: Cell<(*const Header, u32)>,
    gathered: OwnerCell<Option<Box<dyn Gathered>>>,
    /// What is to be done when the running turn has ended, and before anybody else may run it.
    at_turn_end: Cell<Option<fn()>>,
    /// Tokens gathered for other workers' inboxes.
    outbox: OwnerCell<Vec<Chain>>,
    ends: lanes::LaneEnds,
    timers: OwnerCell<Wheel<Alarm>>,
    /// Room for alarms that ring.
    fired: OwnerCell<Vec<(u64, Alarm)>>,
    /// Turns left in this round.
    round: Cell<u32>,
    /// Turns by which the round was cut short.
    cut: Cell<u32>,
    /// When the round began.
    round_ns: Cell<u64>,
    /// Sends left until one is sampled; see [`Worker::count_send`].
    sends_left: Cell<u32>,
    /// How many sends lie between two samples, and when the last one was taken: nanoseconds.
    sample_every: Cell<u32>,
    sampled_ns: Cell<u64>,
    /// What `sends_left` was when the counters were last brought up to date.
    sends_flushed: Cell<u32>,
    /// Items handled, and their bytes, since the counters were brought up to date.
    handled: Cell<u64>,
    handled_bytes: Cell<u64>,
    /// When the present turn, or if that is not known the present round, began.
    began_ns: Cell<u64>,
    /// Measured nanoseconds per turn, exponentially weighted.
    turn_ns: Cell<u64>,
    /// The turn in which a send was sampled last: round of housekeeping, and turns left in it.
    sampled_turn: Cell<(u64, u32)>,
    posted: Cell<bool>,
    /// Whether the number of working workers changes; when it looks at that next, and at whether something waits too long.
    is_elastic: bool,
    scale_at_ns: Cell<u64>,
    grow_at_ns: Cell<u64>,
    /// Rounds of looking for work before it sleeps next.
    spins: Cell<u32>,
    /// The porter has just carried something: that need not be done again before there were turns.
    carried: Cell<bool>,
    scales: balance::Scales,
    talks: talking::Talks,
    flood: placing::Flood,
    /// How often in a row it had nothing worth exposing, and the rounds left until it looks again.
    vain_offers: Cell<(u32, u32)>,
    /// The present turn looks at the clock every so many items; no more than a batch.
    check_every: Cell<u32>,
    /// `BY_NEIGHBOUR` while turns are run, else nothing: what wakes a runnable between turns has come from elsewhere.
    woken_by: Cell<u8>,
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
        if let Some(scaling) = &shared.scaling {
            scaling.end_idle(index, now_ns);
        }
        Worker {
            id: shared.id_of(index),
            first_id: shared.id_of(0),
            keeps_idle: shared.settings.policy.keeps_idle(),
            plain_home: if shared.settings.policy.keeps_idle() { index as u32 } else { u32::MAX },
            batch: shared.settings.batch,
            index,
            queue: OwnerCell::new(RunQueue::new(256)),
            run: Cell::new((std::ptr::null(), 0)),
            gathered: OwnerCell::new(None),
            at_turn_end: Cell::new(None),
            outbox: OwnerCell::new((0..workers).map(|_| Chain::default()).collect()),
            ends: lanes::LaneEnds::new(&shared),
            timers: OwnerCell::new(Wheel::new(now_ns)),
            fired: OwnerCell::new(Vec::new()),
            round: Cell::new(ROUND),
            cut: Cell::new(0),
            round_ns: Cell::new(now_ns),
            sends_left: Cell::new(sending::SAMPLED),
            sample_every: Cell::new(sending::SAMPLED),
            sampled_ns: Cell::new(0),
            sends_flushed: Cell::new(sending::SAMPLED),
            handled: Cell::new(0),
            handled_bytes: Cell::new(0),
            began_ns: Cell::new(now_ns),
            turn_ns: Cell::new(0),
            sampled_turn: Cell::new((0, 0)),
            posted: Cell::new(false),
            is_elastic: shared.scaling.is_some(),
            scale_at_ns: Cell::new(0),
            grow_at_ns: Cell::new(0),
            spins: Cell::new(sharing::SPINS),
            carried: Cell::new(false),
            scales: balance::Scales::new(now_ns),
            talks: talking::Talks::new(
                workers > 1 && shared.settings.policy.talks_to_move().is_some(),
            ),
            flood: placing::Flood::new(),
            vain_offers: Cell::new((0, 0)),
            check_every: Cell::new(CHECK_EVERY.min(shared.settings.batch)),
            woken_by: Cell::new(0),
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

    /// Runs until the scheduler ends.
    pub fn run(&self) {
        loop {
            // Own queue first, for it is warm; then, once a round, what came from elsewhere, so that neither starves.
            self.woken_by.set(BY_NEIGHBOUR);
            while let Some(runnable) = self.pop() {
                if self.turn(runnable) {
                    self.tick();
                    self.woken_by.set(BY_NEIGHBOUR);
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
        self.woken_by.set(BY_NEIGHBOUR);
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

    /// One turn of a runnable that this worker owns; true if the round is over.
    #[inline(always)]
    fn turn(&self, runnable: Runnable) -> bool {
        self.note.set(0);
        let left = self.round.get() - 1;
        self.round.set(left);
        self.running.set(Some(runnable));
        let header = runnable.header();
        // SAFETY: this worker owns the runnable (it was in its queue), and the closure calls no user code.
        let (home, cost_ns) =
            unsafe { header.private.with(|private| (private.home, private.cost_ns)) };
        // The usual turn: at home, known to be short, and not the last of a round, which may be a sample.
        let is_short = cost_ns.wrapping_sub(1) < TIMED_NS - 1;
        if home == self.plain_home && is_short && left != 0 {
            self.turn_plainly(runnable);
            return false;
        }
        self.turn_otherwise(runnable, home);
        self.round.get() == 0
    }

    #[inline(always)]
    fn turn_plainly(&self, runnable: Runnable) {
        // SAFETY: this worker owns the runnable, which is alive.
        let (turn, _) = unsafe { (runnable.header().vtable.run)(runnable.0, self) };
        let turn = self.end_turn(runnable, turn);
        self.after(runnable, turn);
    }

    /// A turn that may have to be timed, or of a runnable without an owner.
    #[inline(never)]
    fn turn_otherwise(&self, runnable: Runnable, home: u32) {
        if !self.keeps_idle {
            return self.turn_unowned(runnable);
        }
        let cost_ns = self.cost_ns(runnable);
        if cost_ns == 0 || cost_ns >= TIMED_NS || self.is_timed_now() || home as usize != self.index
        {
            self.turn_timed(runnable, cost_ns);
        } else {
            self.turn_plainly(runnable);
        }
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
            // SAFETY: this worker owns the runnable, and the closure calls no user code.
            Turn::Idle => unsafe {
                runnable.header().private.with(|private| private.flags &= !SCHEDULED)
            },
            Turn::Again => {
                // SAFETY: this worker owns the runnable, and the closure calls no user code.
                unsafe {
                    runnable.header().private.with(|private| {
                        private.flags = private.flags & !BY_NEIGHBOUR | AGAIN;
                    })
                }
                self.push(runnable)
            }
            Turn::Dead => self.bury(runnable),
        }
    }

    #[cold]
    fn bury(&self, runnable: Runnable) {
        if runnable.header().bury() {
            self.release_dead(runnable);
        }
    }

    #[inline(always)]
    fn is_timed_now(&self) -> bool {
        self.round.get() == 0 && self.counters().ticks.get().is_multiple_of(TIMED_ROUNDS)
    }

    /// A turn that is timed: of something whose cost is unknown or high, of something stolen, or as a sample.
    #[cold]
    fn turn_timed(&self, runnable: Runnable, cost_ns: u32) {
        let header = runnable.header();
        // What nobody has measured may take long.
        let expected_ns = if cost_ns == 0 { u64::MAX } else { u64::from(cost_ns) };
        if expected_ns >= LONG_NS {
            self.hand_on(expected_ns, sharing::EXPOSED_AT_ONCE);
        }
        let start_ns = self.shared.clock.now_ns();
        self.began_ns.set(start_ns);
        if cost_ns == 0 || cost_ns >= TIMED_NS {
            self.check_every.set(1);
        }
        // SAFETY: this worker owns the runnable, which is alive.
        let (turn, handled) = unsafe { (header.vtable.run)(runnable.0, self) };
        let turn = self.end_turn(runnable, turn);
        self.check_every.set(CHECK_EVERY.min(self.batch));
        let took_ns = self.shared.clock.now_ns().saturating_sub(start_ns);
        if took_ns >= LONG_NS {
            // Others may have waited: look after them before the next turn.
            self.cut.set(self.round.replace(0) + self.cut.get());
        }
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        let home = unsafe { header.private.with(|private| private.home as usize) };
        if home == self.index || cost_ns == 0 {
            self.learn(runnable, took_ns, handled);
        } else {
            self.learn_footprint(runnable, took_ns, u64::from(cost_ns) * u64::from(handled));
        }
        if turn == Turn::Dead {
            return self.bury(runnable);
        }
        if home != self.index {
            return self.after_theft(runnable, turn, home);
        }
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        unsafe { header.private.with(|private| (private.steals, private.away) = (0, 0)) };
        self.after(runnable, turn);
    }

    /// Notes what a timed turn at home has cost, for the runnable and for its kind. (Elsewhere it costs more, for its memory is cold;
    /// to learn from that would make what was moved once look ever more worth moving. But any measure is better than none.)
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

    /// Notes what the first turn away from home has cost more than turns at home do, for the runnable and for its kind: that is what its memory is far away.
    fn learn_footprint(&self, runnable: Runnable, took_ns: u64, at_home_ns: u64) {
        let header = runnable.header();
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        let (is_first, home) = unsafe {
            header.private.with(|private| {
                // Of what has never been at home nothing is known yet.
                (private.away == 0 && private.cost_ns > 0, private.home as usize)
            })
        };
        if !is_first || at_home_ns == 0 {
            return;
        }
        let near = self.shared.neighbours[self.index].iter().find(|&&(other, _)| other == home);
        let distance = near.map_or(0, |&(_, distance)| distance);
        let kib = self.shared.settings.policy.footprint_kib(took_ns, at_home_ns, distance);
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        let own_kib = unsafe { header.private.with(|private| private.footprint.learn(kib)) };
        if let Some(own_kib) = own_kib {
            header.kind.set_footprint_kib(weigh(header.kind.footprint_kib(), own_kib.into()));
        }
    }

    /// The turn of something that ran away from home: it stays here for good, or goes back.
    fn after_theft(&self, runnable: Runnable, turn: Turn, home: usize) {
        let header = runnable.header();
        let me = self.index as u32;
        // Relaxed: a hint.
        let home_turn_ns = self.shared.turn_ns[home].load(Ordering::Relaxed) as u64;
        // SAFETY: this worker owns the runnable, and the closure calls no user code.
        let (rehomes, returns) = unsafe {
            header.private.with(|private| {
                let again = u32::from(private.thief) == me;
                private.steals = if again { private.steals.saturating_add(1) } else { 1 };
                private.thief = me as u16;
                private.away = private.away.saturating_add(1);
                let view = StolenView {
                    steals_in_a_row: private.steals.into(),
                    away_in_a_row: private.away.into(),
                    cost_ns: private.cost_ns,
                    home_turn_ns,
                };
                let rehomes = self.shared.settings.policy.rehome(&view);
                if rehomes {
                    (private.home, private.steals, private.away) = (me, 0, 0);
                }
                // Nor does it while much of what was sent here would have to be settled.
                let returns = !rehomes
                    && self.shared.settings.policy.returns_home(&view)
                    && self.settles_soon();
                if turn == Turn::Idle && returns {
                    private.flags &= !SCHEDULED;
                }
                (rehomes, returns)
            })
        };
        if rehomes {
            self.counters().rehomed.add(1);
        }
        if !returns {
            return self.after(runnable, turn);
        }
        self.settle();
        let away = self.shared.id_of(home) | IN_TRANSIT;
        let queue = if turn == Turn::Again {
            &self.shared.publics[home]
        } else {
            &self.shared.homecomings[home]
        };
        let mut queue = queue.lock();
        // Relaxed: the queue's lock publishes it.
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
        let turn = self.end_turn(runnable, turn);
        // Relaxed: only this worker tests for its own id; `finish` and the queue's lock hand it on.
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

    /// The running turn calls [`Worker::is_over_time`] every so many items: no more than a batch.
    #[inline]
    pub fn check_every(&self) -> u32 {
        self.check_every.get()
    }

    /// Counts the items of a turn, each of so many bytes.
    #[inline(always)]
    pub fn count_handled(&self, items: u32, bytes_each: usize) {
        if UNCOUNTED {
            return;
        }
        self.handled.set(self.handled.get() + u64::from(items));
        self.handled_bytes.set(self.handled_bytes.get() + u64::from(items) * bytes_each as u64);
    }

    /// Whether the running turn has used up its time. When turns before it in the same round were not timed, theirs counts too.
    #[cold]
    pub fn is_over_time(&self) -> bool {
        let now_ns = self.shared.clock.now_ns();
        let ran_ns = now_ns.saturating_sub(self.began_ns.get());
        let is_over = u128::from(ran_ns) >= self.shared.settings.batch_time.as_nanos();
        if is_over {
            // The turn ends, and the next one has not used up anything yet.
            self.began_ns.set(now_ns);
        }
        is_over
    }

    /// Records the latency of a message that was sent at `stamp_ns`. It stands for as many as this worker now sends from one sample
    /// to the next, so that times of many messages weigh as much as they should.
    #[cold]
    pub fn record_latency(&self, stamp_ns: u64) {
        let now_ns = self.shared.clock.now_ns();
        self.counters().sampled.add(1);
        let stands_for = u64::from(self.sample_every.get() / sending::SAMPLED);
        self.shared.record_latency(self.index, now_ns.saturating_sub(stamp_ns), stands_for);
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
