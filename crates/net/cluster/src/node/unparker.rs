//! The unparker wakes the thread that moves the frames, if that thread sleeps.
//!
//! While workers are awake, one of them moves the frames, else the node's thread: see `progress`.

use super::call::Call;
use crate::fabric::{Doorbell, Woken};
use actinium_actor::SystemHandle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

#[derive(Default)]
pub(super) struct Unparker {
    /// The node's thread. Set before it first looks for work.
    thread: OnceLock<Thread>,
    /// The place where the thread sleeps, if the fabric has one. Set before anybody rings.
    doorbell: OnceLock<Arc<dyn Doorbell>>,
    /// The system whose workers move frames, if they may.
    system: OnceLock<SystemHandle>,
    /// Whether somebody has rung for a worker.
    call: Arc<Call>,
    /// Whether a worker is awake, and looks after the frames between its turns.
    drives: AtomicBool,
    /// Whether somebody has rung for the thread since it last slept, where there is no doorbell.
    rung: AtomicBool,
}

impl Unparker {
    /// Makes the system's workers those who are rung for, too, from now on.
    pub(super) fn ring_workers_of(&self, system: SystemHandle) {
        let _ = self.system.set(system);
    }

    /// Rings because there is work, which whoever is rung for finds when it looks.
    pub(super) fn ring(&self) {
        self.ring_by(Call::now);
    }

    /// Rings for work that a worker which has other work may do a little later.
    pub(super) fn ring_soon(&self) {
        self.ring_by(Call::soon);
    }

    fn ring_by(&self, call: impl Fn(&Call)) {
        if let Some(system) = self.system.get() {
            // Waking passes a fence, so that the first worker finds it if it is about to sleep.
            call(&self.call);
            // A worker looks when its turn is over. SeqCst: a hint; if no worker drives any more,
            // the last one has rung for the thread.
            if system.is_on_worker() || system.request_poll() || self.drives.load(Ordering::SeqCst)
            {
                return;
            }
        }
        self.ring_thread();
    }

    /// Rings for the node's thread, because there is work for it.
    pub(super) fn ring_thread(&self) {
        if let Some(doorbell) = self.doorbell.get() {
            return doorbell.ring();
        }
        // If it is awake, it does not go to sleep the next time; that costs no call to the system.
        if let Some(thread) = self.thread.get() {
            // Release: pairs with the acquire in `sleep`.
            self.rung.store(true, Ordering::Release);
            thread.unpark();
        }
    }

    /// Makes the node's thread sleep at the fabric's doorbell from now on.
    pub(super) fn sleep_at(&self, doorbell: Arc<dyn Doorbell>) {
        let _ = self.doorbell.set(doorbell);
    }

    /// Lets the node's thread sleep until it is rung for, for `longest` at most.
    pub(super) fn sleep(&self, longest: Duration) -> Woken {
        if let Some(doorbell) = self.doorbell.get() {
            return doorbell.sleep(longest);
        }
        thread::park_timeout(longest);
        // Acquire: pairs with the release in `ring_thread`. A ring that is said after this keeps
        // the thread from falling asleep the next time, and is found then.
        if self.rung.swap(false, Ordering::Acquire) { Woken::Here } else { Woken::Late }
    }

    /// Makes the calling thread the node's thread.
    pub(super) fn ring_this_thread(&self) {
        let _ = self.thread.set(thread::current());
    }

    /// Whether somebody has rung for a worker.
    pub(super) fn call(&self) -> &Arc<Call> {
        &self.call
    }

    /// Whether a worker looks after the frames.
    pub(super) fn workers_drive(&self) -> bool {
        // SeqCst: whoever rings asks after it has said that it calls; the last worker that goes to
        // sleep says so here.
        self.drives.load(Ordering::SeqCst)
    }

    /// Notes that a worker looks after the frames from now on, or none any more.
    pub(super) fn set_workers_drive(&self, drive: bool) {
        // Relaxed: mostly it is so already. SeqCst: see `workers_drive`.
        if self.drives.load(Ordering::Relaxed) != drive {
            self.drives.store(drive, Ordering::SeqCst);
        }
    }
}
