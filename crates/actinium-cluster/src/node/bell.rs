//! Wakes whoever moves the frames, and nobody if it is awake.
//!
//! Frames are moved by the node's thread, or, where the system has one worker, by that worker while it is awake: see `helm`.

use actinium_actor::SystemHandle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

#[derive(Default)]
pub(super) struct Alarm {
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
    /// The system whose worker moves frames, if it may.
    system: OnceLock<SystemHandle>,
    /// Somebody who is not that worker has rung for it.
    called: Arc<AtomicBool>,
    /// That worker is awake, and looks after the frames between its turns.
    steers: AtomicBool,
}

impl Alarm {
    /// From now on the system's worker is rung for, too.
    pub(super) fn ring_worker_of(&self, system: SystemHandle) {
        let _ = self.system.set(system);
    }

    /// There is something to do. Whoever rings has put it behind a lock that the sleeper looks behind.
    pub(super) fn ring(&self) {
        if let Some(system) = self.system.get() {
            if system.is_on_worker() {
                // It looks when its turn is over.
                return;
            }
            // Release: pairs with the acquire in `take_call`. Waking passes a fence, so that the worker finds it if it is about to sleep.
            self.called.store(true, Ordering::Release);
            // SeqCst: a hint; a worker that no longer steers has rung for the thread.
            if system.call_porter() || self.steers.load(Ordering::SeqCst) {
                return;
            }
        }
        self.ring_thread();
    }

    /// There is something to do for the node's thread.
    pub(super) fn ring_thread(&self) {
        // SeqCst: the lock decides who comes first. Either the sleeper looks after us, and finds it; or before us, and then we see
        // that it is asleep, because it said so before it looked.
        if self.asleep.load(Ordering::SeqCst)
            && self.asleep.swap(false, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Sleeps until rung or for so long, unless `look` finds something to do. On the node's thread.
    pub(super) fn sleep(&self, longest: Duration, look: impl FnOnce() -> bool) {
        self.thread.get_or_init(thread::current);
        self.asleep.store(true, Ordering::SeqCst);
        if !look() {
            thread::park_timeout(longest);
        }
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Whether somebody has rung for the worker.
    pub(super) fn call(&self) -> Arc<AtomicBool> {
        self.called.clone()
    }

    /// The worker looks now.
    pub(super) fn take_call(&self) {
        // Relaxed: mostly it was not rung for, and what it misses it is woken for. Acquire: pairs with the release in `ring`.
        if self.called.load(Ordering::Relaxed) {
            self.called.swap(false, Ordering::Acquire);
        }
    }

    /// Whether the worker looks after the frames.
    pub(super) fn worker_steers(&self) -> bool {
        // SeqCst: the node's thread asks after it has said that it is asleep; `set_worker_steers` comes before the bell.
        self.steers.load(Ordering::SeqCst)
    }

    /// The worker looks after the frames from now on, or no longer.
    pub(super) fn set_worker_steers(&self, steers: bool) {
        // Relaxed: mostly it is so already, and nobody else says that it does. SeqCst: see `worker_steers`.
        if self.steers.load(Ordering::Relaxed) != steers {
            self.steers.store(steers, Ordering::SeqCst);
        }
    }
}
