//! Wakes whoever moves the frames, and nobody if it is awake.
//!
//! Frames are moved by the node's thread, or, where the system has one worker, by that worker while it is awake: see `helm`.

use crate::fabric::{Doorbell, Woken};
use actinium_actor::SystemHandle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

#[derive(Default)]
pub(super) struct Alarm {
    /// Set before it first looks for something to do.
    thread: OnceLock<Thread>,
    /// Where it sleeps, if the fabric has a place for that. Set before anybody rings.
    doorbell: OnceLock<Arc<dyn Doorbell>>,
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

    /// There is something to do, which whoever is rung for finds when it looks.
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
        if let Some(doorbell) = self.doorbell.get() {
            return doorbell.ring();
        }
        // If it is awake, it does not go to sleep the next time; that costs no call to the system.
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// The node's thread sleeps at the fabric's doorbell from now on.
    pub(super) fn sleep_at(&self, doorbell: Arc<dyn Doorbell>) {
        let _ = self.doorbell.set(doorbell);
    }

    /// The node's thread sleeps until it is rung for, so long at most.
    pub(super) fn sleep(&self, longest: Duration) -> Woken {
        if let Some(doorbell) = self.doorbell.get() {
            return doorbell.sleep(longest);
        }
        thread::park_timeout(longest);
        Woken::Late
    }

    /// The calling thread is the node's.
    pub(super) fn ring_this_thread(&self) {
        let _ = self.thread.set(thread::current());
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
        // SeqCst: whoever rings asks after it has said that it calls; a worker that goes to sleep says so here before it looks for calls.
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
