//! A worker: the thread-private half of the scheduler.
//!
//! A `Worker` is used by one thread only (it is neither `Send` nor `Sync`); its fields are cells,
//! because code that runs inside a turn comes back to it through [`current`].
//!
//! This file holds the worker's state, and how its thread finds it. Parts of the state with rules
//! of their own lie in files that know no worker: `queue`, `lane_ends`, `receivers`, `favoured`,
//! `load`, `delays`, `spread`, `trials`, `sampler`, `spawn_burst`, `spins`, `measured_rounds`. What
//! a worker does stands in `turns` (the loop: begin there), `sending`, `lanes`, `crowded`,
//! `housekeeping`, `sharing`, `idling`, `balance`, `colocation`, `leaving`, `placing`, `elastic`,
//! `records`, `traced` and `ending`, which use the state and are not used by this file.

mod balance;
mod colocation;
mod communication;
mod crowded;
mod delays;
mod elastic;
mod ending;
mod favoured;
mod housekeeping;
mod idling;
mod lane_ends;
mod lanes;
mod leaving;
mod load;
mod measured_rounds;
mod own;
mod placing;
mod queue;
mod receivers;
mod records;
mod sampler;
mod sending;
mod sharing;
mod spawn_burst;
mod spins;
mod spread;
mod traced;
mod trials;
mod turns;

use crate::clock::nanoseconds;
use crate::guard::CountsPanics;
use crate::inbox::Chain;
use crate::policy::tuning::{CHECK_EVERY, EXCHANGE, ROUND};
use crate::runnable::{Header, Runnable, SCHEDULED, WorkerRef};
use crate::seat::Occupation;
use crate::shared::Shared;
use crate::sync::Arc;
use crate::wheel::Wheel;
use communication::AffinityTable;
use delays::Delays;
use favoured::Favoured;
use lane_ends::{Graces, LaneEnds};
use load::LoadTracker;
use measured_rounds::MeasuredRounds;
use own::Own;
use queue::RunQueue;
use sampler::Sampler;
use spawn_burst::SpawnBurst;
use spins::Spins;
use spread::SpreadTracker;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

// tidy: guard: the runtime's own, in which what is the user's is guarded.
/// A call that a worker makes later: when a timer is due, after a delivery, or when a grace period
/// is over.
pub type Callback = Box<dyn FnOnce(&Worker) + Send>;

/// Messages that a turn has buffered for something at another worker.
pub trait RunBuffer {
    /// Delivers them.
    fn flush(&mut self, worker: &Worker);
}

/// The phase of a worker: it runs one turn at a time, and none after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// The worker is in its loop, or in a step.
    Runs,
    /// All workers have left their loops, and this one disposes of runnables.
    Disposes,
    Ended,
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
    /// The index, as the home of runnables; none's under policies that keep no idle runnables,
    /// whose turns are other ones.
    plain_home: u32,
    /// What is kept of what workers do, as this one knows it ([`crate::recording`]); what it notes
    /// of turns; and whether it notes all turns of this round.
    heeded: Cell<u32>,
    notes: Cell<u32>,
    notes_all: Cell<bool>,
    measured: Own<MeasuredRounds>,
    /// The numbers of those whose turns are recorded; none: all.
    recorded: Own<std::sync::Arc<[u64]>>,
    batch: u32,
    batch_time_ns: u64,
    /// Runnables to run, all owned by this worker.
    queue: Own<RunQueue>,
    /// To whom the running turn has sent to another worker last, and how often in a row; null: to
    /// nobody.
    run: Cell<(*const Header, u64)>,
    run_buffer: Own<Option<Box<dyn RunBuffer>>>,
    /// A call to make when the running turn has ended, and before anybody else may run it.
    at_turn_end: Cell<Option<fn()>>,
    /// Notifications buffered for other workers' inboxes.
    outbox: Own<Vec<Chain>>,
    /// The bits of what is left of a round that are 0 when messages are exchanged.
    part_of_round: u32,
    ends: LaneEnds,
    /// Calls that deliveries left for later, because they may call user code.
    deferred: Own<Vec<Callback>>,
    graces: Graces<Callback>,
    timers: Own<Wheel<Callback>>,
    /// Holds the callbacks of timers that are due while they are called.
    fired: Own<Vec<(u64, Callback)>>,
    /// Turns left in this round.
    round: Cell<u32>,
    /// Turns by which the round was cut short.
    cut: Cell<u32>,
    /// The time at which the round began.
    round_ns: Cell<u64>,
    sampler: Sampler,
    /// Whether what it sends is part of a trace: then each send is a sample. And the sends that
    /// were left until the next sample before that.
    traced: Cell<bool>,
    untraced_left: Cell<u32>,
    /// Samples until one of them is followed for a picture of it.
    until_flow: Cell<u32>,
    /// Items handled, and their bytes, since the counters were brought up to date.
    handled: Cell<u64>,
    handled_bytes: Cell<u64>,
    /// The time at which the present turn began, or if that is not known some turn before it in the
    /// same round; and what was left of the round before that turn.
    began_ns: Cell<u64>,
    began_round: Cell<u32>,
    /// The time at which what it had sent to other workers left last, as far as known.
    published_ns: Cell<u64>,
    /// Measured nanoseconds per turn, exponentially weighted.
    turn_ns: Cell<u64>,
    /// Nanoseconds that a message costs more if it crosses workers, both sides together,
    /// exponentially weighted; 0: not known yet.
    crossing_ns: Cell<u32>,
    posted: Cell<bool>,
    /// Whether the number of working workers changes; when it looks at that next, and at whether
    /// something waits too long.
    is_elastic: bool,
    scale_at_ns: Cell<u64>,
    grow_at_ns: Cell<u64>,
    spins: Spins,
    /// The idle poller has just moved something: that need not be done again before there were
    /// turns.
    polled: Cell<bool>,
    load: LoadTracker,
    delays: Delays,
    spread: SpreadTracker,
    affinities: AffinityTable,
    spawn_burst: SpawnBurst,
    favoured: Favoured,
    /// How often in a row it had nothing worth sharing, and the rounds left until it looks again.
    vain_shares: Cell<(u32, u32)>,
    /// The present turn looks at the clock every so many items, no more than a batch; 0: of a cost
    /// that is not known (`tuning::check_every`).
    check_every: Cell<u32>,
    /// The flags of what is woken now: `SCHEDULED`, with `BY_NEIGHBOUR` while turns are run. What
    /// wakes a runnable between turns has come from elsewhere.
    woken_by: Cell<u8>,
    /// For the kind of runnable that is running, cleared before each turn.
    note: Cell<u32>,
    now: Occupation,
    /// Workers were given up: it disposes only of what is its own.
    short_handed: Cell<bool>,
    phase: Cell<Phase>,
    /// Neither Send nor Sync.
    _thread: PhantomData<*const ()>,
}

impl Worker {
    /// Worker `index` of a scheduler, for the calling thread.
    ///
    /// # Panics
    /// If there is no such worker, or there was one before (what it owned would have two owners),
    /// or it was never to be ([`Shared::never_started`]).
    pub fn new(shared: Arc<Shared>, index: usize) -> Self {
        assert!(shared.claim(index), "worker {index} was made before, or never is");
        // SAFETY: nobody has claimed it before.
        unsafe { Worker::new_unclaimed(shared, index) }
    }

    /// Does what [`Worker::new`] does, though there was one of this index before: for model
    /// checkers, whose threads come and go.
    ///
    /// # Safety
    /// The one before is gone, what it did happened before this, and it left no messages in lanes
    /// and no notifications.
    #[doc(hidden)]
    pub unsafe fn new_unclaimed(shared: Arc<Shared>, index: usize) -> Self {
        shared.sleep.register(index);
        let (now_ns, workers) = (shared.clock.now_ns(), shared.workers());
        if let Some(scaling) = &shared.scaling {
            scaling.end_idle(index, now_ns);
        }
        Worker {
            id: shared.id_of(index),
            first_id: shared.id_of(0),
            keeps_idle: shared.settings.policy.keeps_idle(),
            plain_home: if shared.settings.policy.keeps_idle() { index as u32 } else { u32::MAX },
            heeded: Cell::new(0),
            notes: Cell::new(0),
            notes_all: Cell::new(false),
            measured: Own::new(MeasuredRounds::default()),
            recorded: Own::new(std::sync::Arc::default()),
            batch: shared.settings.batch,
            batch_time_ns: nanoseconds(shared.settings.batch_time),
            index,
            queue: Own::new(RunQueue::new(256)),
            run: Cell::new((std::ptr::null(), 0)),
            run_buffer: Own::new(None),
            at_turn_end: Cell::new(None),
            outbox: Own::new((0..workers).map(|_| Chain::default()).collect()),
            part_of_round: if shared.lanes.exist() { EXCHANGE - 1 } else { u32::MAX },
            ends: LaneEnds::new(&shared, index),
            deferred: Own::new(Vec::new()),
            graces: Graces::new(),
            timers: Own::new(Wheel::new(now_ns)),
            fired: Own::new(Vec::new()),
            round: Cell::new(ROUND),
            cut: Cell::new(0),
            round_ns: Cell::new(now_ns),
            sampler: Sampler::new(),
            traced: Cell::new(false),
            untraced_left: Cell::new(1),
            until_flow: Cell::new(0),
            handled: Cell::new(0),
            handled_bytes: Cell::new(0),
            began_ns: Cell::new(now_ns),
            began_round: Cell::new(ROUND),
            published_ns: Cell::new(now_ns),
            turn_ns: Cell::new(0),
            crossing_ns: Cell::new(0),
            posted: Cell::new(false),
            is_elastic: shared.scaling.is_some(),
            scale_at_ns: Cell::new(0),
            grow_at_ns: Cell::new(0),
            spins: Spins::new(),
            polled: Cell::new(false),
            load: LoadTracker::new(now_ns),
            delays: Delays::default(),
            spread: SpreadTracker::default(),
            affinities: AffinityTable::new(
                workers > 1 && shared.settings.policy.colocate_after().is_some(),
            ),
            spawn_burst: SpawnBurst::new(),
            favoured: Favoured::default(),
            vain_shares: Cell::new((0, 0)),
            check_every: Cell::new(CHECK_EVERY.min(shared.settings.batch)),
            woken_by: Cell::new(SCHEDULED),
            note: Cell::new(0),
            now: Occupation::none(),
            short_handed: Cell::new(false),
            phase: Cell::new(Phase::Idle),
            shared,
            _thread: PhantomData,
        }
    }

    /// The worker's index among the scheduler's workers.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The worker's id, unique in the process.
    #[inline(always)]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The state that it shares with the other workers.
    #[inline]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The worker's counters.
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

    /// The runnable that runs now.
    #[inline]
    pub fn running(&self) -> Option<Runnable> {
        self.now.running()
    }
}

impl Worker {
    /// Makes this the calling thread's worker while `f` runs.
    pub fn enter<R>(&self, f: impl FnOnce(&Worker) -> R) -> R {
        struct Leave<'a>(*const Worker, &'a Worker);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0));
                self.1.shared.seats[self.1.index].leave();
            }
        }
        let _leave = Leave(CURRENT.with(|current| current.replace(self)), self);
        // SAFETY: dropped at the end of this function, and so before what an outer call of it has
        // made.
        let _counts = unsafe { CountsPanics::with(&self.counters().panicked) };
        // SAFETY: it leaves the seat before the borrow of this worker ends.
        unsafe { self.shared.seats[self.index].take(&self.now) };
        f(self)
    }

    /// This worker, as the functions of runnables' vtables get it.
    #[inline(always)]
    fn as_worker_ref(&self) -> WorkerRef<'_> {
        // SAFETY: it is a worker, and borrowed for as long.
        unsafe { WorkerRef::new(NonNull::from(self).cast()) }
    }
}

impl<'a> WorkerRef<'a> {
    /// The worker.
    #[inline(always)]
    pub fn get(self) -> &'a Worker {
        // SAFETY: `new` was given a worker, which lives for as long.
        unsafe { self.as_ptr().cast().as_ref() }
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (len, turn_ns) = (self.queue.with(|queue| queue.len()), self.turn_ns.get());
        write!(
            f,
            "worker {} (id {}): {len} queued, {turn_ns} ns per turn, running {:?}",
            self.index,
            self.id,
            self.running()
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

/// The calling thread's worker, if it is one, without a closure around its use: for the hottest
/// path.
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
