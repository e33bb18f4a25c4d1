//! Pausing, draining and ending the workers.
//!
//! # Why ending loses nothing
//!
//! 1. `exit` is raised; each worker leaves its loop between two turns, then waits at [`Control::arrive`] until all have.
//! 2. From then on no runnable runs. Each worker disposes of its share of the runnables (closes them, counts what
//!    is left in them as dead letters) and waits again until all have.
//! 3. Tokens that were on their way are taken from the inboxes, which close, and the references that they hold are dropped. A token that
//!    comes later is that of something that has ended, and its bringer drops the reference.
//!
//! A message pushed before its mailbox was closed is seen by the closing; one that comes later is returned as closed.

use crate::shared::Shared;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::sync::{Condvar, Mutex, MutexGuard, lock};

/// What outsiders want of the workers, and what the workers answer.
#[derive(Debug)]
pub struct Control {
    /// One flag for the workers to poll: something below has changed.
    attention: AtomicBool,
    exit: AtomicBool,
    draining: AtomicBool,
    paused: AtomicBool,
    idle_waiters: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
    alone: Mutex<()>,
    workers: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Workers that stand at the pause point.
    standing: usize,
    /// Workers whose threads could not be started.
    absent: usize,
    /// Workers that arrived at the present stage of ending, and how many stages are complete.
    arrived: usize,
    stages: usize,
}

impl Control {
    pub(crate) fn new(workers: usize) -> Self {
        Control {
            attention: AtomicBool::new(false),
            exit: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            idle_waiters: AtomicUsize::new(0),
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
            alone: Mutex::new(()),
            workers,
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

    /// Timers end; messages from outside are refused from now on (by those who ask [`Control::is_draining`]).
    pub fn request_drain(&self, shared: &Shared) {
        // Release: pairs with the acquire in `is_draining`.
        self.draining.store(true, Ordering::Release);
        self.raise(shared);
    }

    /// The workers end as soon as their present turns are over.
    pub fn request_exit(&self, shared: &Shared) {
        // Release: pairs with the acquire in `exit_requested`.
        self.exit.store(true, Ordering::Release);
        self.raise(shared);
    }

    fn raise(&self, shared: &Shared) {
        let state = lock(&self.state);
        // Relaxed: `wake_all` fences, so a worker that goes to sleep either sees this or is woken.
        self.attention.store(true, Ordering::Relaxed);
        drop(state);
        shared.wake_all();
    }

    /// Whether outsiders must hold back for a moment: a ledger is being drawn up.
    #[inline]
    pub fn is_paused(&self) -> bool {
        // SeqCst, with the swap in `while_paused`: either a sender from outside sees the pause, or the one who pauses sees its send.
        self.paused.load(Ordering::SeqCst)
    }

    /// Runs `f` while every worker stands between two turns. Waits for long turns to end. One caller at a time.
    pub fn while_paused<R>(&self, shared: &Shared, f: impl FnOnce() -> R) -> R {
        // SeqCst: see `is_paused`.
        while self.paused.swap(true, Ordering::SeqCst) {
            crate::sync::thread::yield_now();
        }
        self.raise(shared);
        let mut state = lock(&self.state);
        while state.standing < self.workers - state.absent && !self.exit_requested() {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        let result = f();
        // Under the lock, so that no worker that stands misses the notification. SeqCst: see `is_paused`.
        self.paused.store(false, Ordering::SeqCst);
        // Relaxed: `raise` sets it under this lock after it has set what it stands for, so nothing is forgotten here.
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
        let mut state = lock(&self.state);
        state.standing += 1;
        self.changed.notify_all();
        while self.is_paused() && !self.exit_requested() {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        state.standing -= 1;
    }

    /// Waits until nothing runs and nothing waits to be run. Timers that are not due do not count.
    pub fn wait_idle(&self, shared: &Shared) {
        let mut state = lock(&self.state);
        // Relaxed, then the fence: pairs with the fence of a worker that announces itself asleep (`Sleep::announce`)
        // before it looks whether anyone waits here. Either it sees us, or we see it asleep.
        self.idle_waiters.fetch_add(1, Ordering::Relaxed);
        loop {
            fence(Ordering::SeqCst);
            if shared.is_quiescent() || self.exit_requested() {
                break;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        // Relaxed: only a count, under the lock.
        self.idle_waiters.fetch_sub(1, Ordering::Relaxed);
    }

    /// A worker has announced itself asleep (which fences): tells those who wait for that.
    pub(crate) fn gone_idle(&self) {
        // Relaxed: after the announcement's fence; see `wait_idle`.
        if self.idle_waiters.load(Ordering::Relaxed) > 0 {
            let _state = lock(&self.state);
            self.changed.notify_all();
        }
    }

    /// So many workers' threads could not be started: nobody waits for them.
    pub fn never_started(&self, workers: usize) {
        lock(&self.state).absent = workers;
    }

    /// Lets one worker at a time dispose of its share of the runnables.
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.alone)
    }

    /// Waits until every worker has arrived so often: the stages of ending.
    pub fn arrive(&self) {
        let mut state = lock(&self.state);
        state.arrived += 1;
        let stage = state.stages;
        if state.arrived == self.workers - state.absent {
            state.arrived = 0;
            state.stages += 1;
        }
        self.changed.notify_all();
        while state.stages == stage {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}
