//! Pausing, draining and ending the workers.
//!
//! # Why ending loses nothing
//!
//! 1. `exit` is raised; each worker leaves its loop between two turns, then waits at
//!    `Control::arrive` until all have.
//! 2. From then on no runnable runs. Each worker disposes of its share of the runnables (closes
//!    them, counts what is left in them as dead letters) and waits again until all have.
//! 3. Notifications that were on their way are taken from the inboxes, which close, and the
//!    references that they hold are dropped. A notification that comes later is that of something
//!    that has ended, and its bringer drops the reference.
//!
//! A message pushed before its mailbox was closed is seen by the closing; one that comes later is
//! returned as closed.
//!
//! # When a worker does not come back
//!
//! Whoever waits for the end may give workers up that are still in user code after some time
//! ([`Control::wait_ended`]). Such a worker may come back at any moment, and goes on as if nothing
//! had happened until it looks here. So from then on the others touch nothing that may be its own,
//! and free nothing that it might still reach:
//!
//! 1. each of the others disposes only of runnables that it owns itself, which is sound while
//!    workers run: it is what happens to a runnable that ends in its turn. While all workers stand
//!    still, whoever disposes of a runnable takes it over first; so one that gets stuck while it
//!    does has that runnable for itself;
//! 2. no reference of the scheduler's to a runnable is dropped any more (`Control::leaks`): the
//!    memory of what has ended stays, and so a message in a lane finds it;
//! 3. the one that was given up learns of it when it arrives at a stage of ending, and touches
//!    nothing from then on.

use crate::clock::Until;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait_until};
use std::time::Duration;

/// How much longer than the time to end by ([`Control::end_by`]) a worker may stay in user code
/// before it is given up.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// The requests of outsiders to the workers, and the workers' answers.
#[derive(Debug)]
pub struct Control {
    /// One flag for the workers to poll: something below has changed.
    attention: AtomicBool,
    exit: AtomicBool,
    draining: AtomicBool,
    paused: AtomicBool,
    /// All workers stand, and a ledger is being drawn up.
    quiet: AtomicBool,
    /// Workers were given up.
    leaks: AtomicBool,
    idle_waiters: AtomicUsize,
    /// Runnables that wait for a time and have work to do then.
    held: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Somebody pauses the workers.
    pausing: bool,
    /// Workers that stand at the pause point.
    standing: usize,
    /// How far each worker has come.
    progress: Box<[Progress]>,
    /// Workers that arrived at the present stage of ending, and how many stages are complete.
    arrived: usize,
    stages: usize,
    /// The worker that disposes of runnables, while nobody was given up.
    disposing: Option<usize>,
    /// Something was disposed of while nobody was given up.
    was_disposed: bool,
    /// How many workers were given up.
    lost: usize,
    /// The time until which a drain, or a worker that does not come back, is waited for.
    limit: Option<Until>,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The worker has ended; others have not yet.
    One,
    /// The worker has ended, and was the last.
    Last,
    /// The worker was given up before: it touches nothing any more, and must not be dropped either.
    GivenUp,
}

/// How far a worker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The worker may be in user code.
    Busy,
    /// The worker waits for others at a stage of ending.
    Waits,
    /// The worker has ended.
    Ended,
    /// The thread could not be started.
    Absent,
    /// Nobody waits for it any more.
    GivenUp,
}

impl State {
    /// How many workers take part in what all do.
    fn present(&self) -> usize {
        let is_present = |it: &&Progress| !matches!(it, Progress::Absent | Progress::GivenUp);
        self.progress.iter().filter(is_present).count()
    }

    fn have_ended(&self) -> bool {
        !self.progress.iter().any(|it| matches!(it, Progress::Busy | Progress::Waits))
    }
}

/// The answer to a worker that arrives at a stage of ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// All others have arrived, too.
    Complete,
    /// This number of workers was given up by now. The worker has to arrive again.
    Lost(usize),
    /// The worker was given up itself: it touches nothing any more.
    GivenUp,
}

impl Control {
    pub(crate) fn new(workers: usize) -> Self {
        let state = State {
            pausing: false,
            standing: 0,
            progress: vec![Progress::Busy; workers].into(),
            arrived: 0,
            stages: 0,
            disposing: None,
            was_disposed: false,
            lost: 0,
            limit: None,
        };
        Control {
            attention: AtomicBool::new(false),
            exit: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            quiet: AtomicBool::new(false),
            leaks: AtomicBool::new(false),
            idle_waiters: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Whether a worker should call [`Control::exit_requested`] and its likes.
    #[inline(always)]
    pub(crate) fn wants_attention(&self) -> bool {
        // Relaxed: polled every round; the mutex orders what follows.
        self.attention.load(Ordering::Relaxed)
    }

    /// Whether the workers shall end.
    pub fn exit_requested(&self) -> bool {
        // Acquire: pairs with the release in `request_exit`.
        self.exit.load(Ordering::Acquire)
    }

    /// Whether timers are to be dropped because the system drains.
    pub fn is_draining(&self) -> bool {
        // Acquire: pairs with the release in `request_drain`.
        self.draining.load(Ordering::Acquire)
    }

    /// Asks for [`Shared::request_drain`](crate::Shared::request_drain), whose caller wakes all
    /// workers.
    pub(crate) fn request_drain(&self) {
        // Release: pairs with the acquire in `is_draining`.
        self.draining.store(true, Ordering::Release);
        self.raise();
    }

    /// Asks for [`Shared::request_exit`](crate::Shared::request_exit), whose caller wakes all
    /// workers.
    pub(crate) fn request_exit(&self) {
        // Release: pairs with the acquire in `exit_requested`.
        self.exit.store(true, Ordering::Release);
        self.raise();
    }

    /// Ends the wait for a drain at this time at the latest. Workers that have not ended
    /// [`PATIENCE`] after it are given up. Of several such times the earliest counts.
    pub fn end_by(&self, limit: Until) {
        let mut state = self.lock();
        state.limit = Some(state.limit.map_or(limit, |before| before.min(limit)));
        self.changed.notify_all();
    }

    /// The time of [`Control::end_by`].
    pub fn limit(&self) -> Option<Until> {
        self.lock().limit
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        wait_until(&self.changed, state, None).0
    }

    /// Calls for the workers' attention. The caller wakes all of them when it has released the
    /// lock.
    fn raise(&self) {
        let _state = self.lock();
        // Relaxed: `Shared::wake_all` fences, so a worker that goes to sleep either sees this or is
        // woken.
        self.attention.store(true, Ordering::Relaxed);
        // Those who pause the workers stop waiting for that.
        self.changed.notify_all();
    }

    /// Whether the workers have to stand still.
    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        // Relaxed: asked after the acquire of `attention`'s lock, or before a sleep, which fences.
        self.paused.load(Ordering::Relaxed)
    }

    /// Whether outsiders must hold back for a moment: all workers stand, and a ledger is being
    /// drawn up. Nothing that runs meanwhile waits for anybody's code, so the moment ends.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        // SeqCst, with the swap in `while_paused`: either a sender from outside sees this, or the
        // one who draws up the ledger sees its send. No model can tell: loom takes a SeqCst access
        // for an AcqRel one.
        self.quiet.load(Ordering::SeqCst)
    }

    /// Does [`Shared::while_paused`](crate::Shared::while_paused); `wake_all` wakes all workers.
    pub(crate) fn while_paused<R>(
        &self,
        wake_all: impl FnOnce(),
        until: Option<Until>,
        f: impl FnOnce() -> R,
    ) -> Option<R> {
        let mut state = self.lock();
        while state.pausing {
            let (next, is_late) = wait_until(&self.changed, state, until);
            state = next;
            if is_late {
                return None;
            }
        }
        state.pausing = true;
        // Relaxed: workers look under the lock, or see `attention` raised after this.
        self.paused.store(true, Ordering::Relaxed);
        drop(state);
        self.raise();
        wake_all();
        let mut state = self.lock();
        let mut is_late = false;
        while state.standing < state.present() && !self.exit_requested() && !is_late {
            (state, is_late) = wait_until(&self.changed, state, until);
        }
        let result = (!is_late).then(|| {
            // SeqCst: see `is_quiet`, where no model can tell either.
            self.quiet.swap(true, Ordering::SeqCst);
            let result = f();
            self.quiet.store(false, Ordering::SeqCst);
            result
        });
        // Relaxed: under the lock, so that no worker that stands misses the notification.
        self.paused.store(false, Ordering::Relaxed);
        state.pausing = false;
        // Relaxed: `raise` sets it under this lock after it has set what it stands for, so nothing
        // is forgotten here.
        self.attention.store(self.exit_requested() || self.is_draining(), Ordering::Relaxed);
        self.changed.notify_all();
        drop(state);
        result
    }

    /// A worker stands still while a pause is requested.
    #[cold]
    pub(crate) fn pause_point(&self) {
        if !self.is_paused() {
            return;
        }
        let mut state = self.lock();
        state.standing += 1;
        self.changed.notify_all();
        while self.is_paused() && !self.exit_requested() {
            state = self.wait(state);
        }
        state.standing -= 1;
    }

    /// Does [`Shared::wait_idle`](crate::Shared::wait_idle); `is_quiescent` says whether nothing
    /// runs and nothing waits.
    pub(crate) fn wait_idle(&self, is_quiescent: impl Fn() -> bool, until: Option<Until>) -> bool {
        self.wait_idle_by(is_quiescent, |_| until)
    }

    /// Does what [`Control::wait_idle`] does, until the time of [`Control::end_by`].
    pub(crate) fn wait_drained(&self, is_quiescent: impl Fn() -> bool) -> bool {
        self.wait_idle_by(is_quiescent, |state| state.limit)
    }

    fn wait_idle_by(
        &self,
        is_quiescent: impl Fn() -> bool,
        until: impl Fn(&State) -> Option<Until>,
    ) -> bool {
        let mut state = self.lock();
        // Relaxed, then the fence: pairs with the fence of a worker that announces itself asleep
        // (`Sleep::announce`) before it looks whether anyone waits here. Either it sees us, or we
        // see it asleep.
        self.idle_waiters.fetch_add(1, Ordering::Relaxed);
        let is_idle = loop {
            fence(Ordering::SeqCst);
            if is_quiescent() || self.exit_requested() {
                break true;
            }
            let until = until(&state);
            let (next, is_late) = wait_until(&self.changed, state, until);
            state = next;
            if is_late {
                break false;
            }
        };
        // Relaxed: only a count, under the lock.
        self.idle_waiters.fetch_sub(1, Ordering::Relaxed);
        drop(state);
        is_idle
    }

    /// A worker has announced itself asleep (which fences): tells those who wait for that.
    pub(crate) fn gone_idle(&self) {
        // Relaxed: after the announcement's fence; see `wait_idle`.
        if self.idle_waiters.load(Ordering::Relaxed) > 0 {
            let _state = self.lock();
            self.changed.notify_all();
        }
    }

    /// Says that something waits for a time and has work to do then: nothing counts as idle until
    /// [`Control::release`]. Called in a turn.
    pub fn hold(&self) {
        // Relaxed: in a turn, and so before its worker's next nap, whose announcement releases it
        // (`is_held`).
        self.held.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes one [`Control::hold`] back. Called in a turn.
    pub fn release(&self) {
        // Relaxed: as in `hold`.
        self.held.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether something is held. The caller has acquired the naps of all workers.
    pub(crate) fn is_held(&self) -> bool {
        // Relaxed: see `hold`.
        self.held.load(Ordering::Relaxed) > 0
    }

    /// Notes that the threads of the last `workers` workers could not be started, so that nobody
    /// waits for them.
    pub(crate) fn never_started(&self, workers: usize) {
        let mut state = self.lock();
        let started = state.progress.len() - workers;
        state.progress[started..].fill(Progress::Absent);
    }

    /// Whether workers were given up: then no reference to a runnable is dropped any more.
    pub(crate) fn leaks(&self) -> bool {
        // Acquire: pairs with the release in `give_up`. No model gives a worker up: its waits have
        // no time limit.
        self.leaks.load(Ordering::Acquire)
    }

    /// Waits until every worker has arrived so often: the stages of ending. `lost`: how many were
    /// given up, as far as this worker knows.
    pub(crate) fn arrive(&self, index: usize, lost: usize) -> Arrival {
        let mut state = self.lock();
        if state.progress[index] == Progress::GivenUp {
            return Arrival::GivenUp;
        }
        if state.lost != lost {
            return Arrival::Lost(state.lost);
        }
        state.progress[index] = Progress::Waits;
        state.arrived += 1;
        let stage = state.stages;
        if state.arrived == state.present() {
            state.arrived = 0;
            state.stages += 1;
        }
        self.changed.notify_all();
        while state.stages == stage && state.lost == lost {
            state = self.wait(state);
        }
        state.progress[index] = Progress::Busy;
        if state.stages == stage { Arrival::Lost(state.lost) } else { Arrival::Complete }
    }

    /// Waits until nobody else disposes of runnables: what that calls may send, and a worker takes
    /// what it owned for its own, though another disposes of it. Returns how many workers were
    /// given up (if any, several may dispose at once, each of what it owns), and whether nothing
    /// was disposed of before that. `None`: this one was given up.
    pub(crate) fn begin_disposing(&self, index: usize) -> Option<(usize, bool)> {
        let mut state = self.lock();
        while state.lost == 0 && state.disposing.is_some() {
            state.progress[index] = Progress::Waits;
            state = self.wait(state);
        }
        if state.progress[index] == Progress::GivenUp {
            return None;
        }
        state.progress[index] = Progress::Busy;
        if state.lost == 0 {
            state.disposing = Some(index);
            state.was_disposed = true;
        }
        Some((state.lost, !state.was_disposed))
    }

    /// The next one may dispose.
    pub(crate) fn end_disposing(&self, index: usize) {
        let mut state = self.lock();
        if state.disposing == Some(index) {
            state.disposing = None;
            self.changed.notify_all();
        }
    }

    /// A worker has ended.
    pub(crate) fn ended(&self, index: usize) -> Ended {
        let mut state = self.lock();
        if state.progress[index] == Progress::GivenUp {
            return Ended::GivenUp;
        }
        state.progress[index] = Progress::Ended;
        self.changed.notify_all();
        if state.have_ended() { Ended::Last } else { Ended::One }
    }

    /// Waits until all workers have ended. With a time to end by ([`Control::end_by`]), those that
    /// are in user code [`PATIENCE`] after it are given up: for each of them, returns its index and
    /// what `look` said of it just before.
    pub fn wait_ended<T>(&self, look: impl Fn(usize) -> T) -> Vec<(usize, T)> {
        let mut given_up = Vec::new();
        let mut since = Until::now();
        let mut state = self.lock();
        while !state.have_ended() {
            let until = state.limit.and_then(|limit| limit.max(since).later(PATIENCE));
            let (next, is_late) = wait_until(&self.changed, state, until);
            state = next;
            if !is_late {
                continue;
            }
            let busy = |&index: &usize| state.progress[index] == Progress::Busy;
            let stuck: Vec<usize> = (0..state.progress.len()).filter(busy).collect();
            drop(state);
            let stuck: Vec<_> = stuck.into_iter().map(|index| (index, look(index))).collect();
            state = self.lock();
            for (index, seen) in stuck {
                if state.progress[index] == Progress::Busy {
                    self.give_up(&mut state, index);
                    given_up.push((index, seen));
                }
            }
            since = Until::now();
        }
        given_up
    }

    fn give_up(&self, state: &mut State, index: usize) {
        state.progress[index] = Progress::GivenUp;
        state.lost += 1;
        // Those who have arrived come again when they know of it.
        state.arrived = 0;
        state.disposing = None;
        // Release: pairs with the acquire in `leaks`. No model comes here: see there.
        self.leaks.store(true, Ordering::Release);
        self.changed.notify_all();
    }
}
