//! Progress: the choice of the thread that moves the frames.
//!
//! The node's thread does, for it is always there. But a message that one thread hands to another
//! waits until that one runs, and a thread that looks for frames takes a core that a worker could
//! have. So where a system has one worker, that worker *drives* while it is awake: it moves frames
//! after each round of turns, and all the time while it looks for work. The thread then only looks
//! once a millisecond whether the worker still does; it takes over when a turn takes longer, and at
//! once when the worker goes to sleep.
//!
//! Driver and fabric are behind a lock, so there is one caller at a time, and mostly the same for
//! long. Where there are more workers, the thread is the one: a core for it is a small part of
//! theirs, and a fabric whose callers take turns has to be fetched from one cache into another each
//! time.

use super::driver::Driver;
use super::state::Inner;
use super::unparker::Unparker;
use actinium_scheduler::IdlePoller;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};

/// The driver of a node, shared by those who may drive: see the module.
pub(super) struct ProgressDriver {
    pub(super) inner: Arc<Inner>,
    /// None: the node has left.
    driver: Mutex<Option<Driver>>,
    /// Whether the fabric says when a frame has come.
    pub(super) can_ring: bool,
}

impl ProgressDriver {
    pub(super) fn new(driver: Driver) -> Arc<Self> {
        let inner = driver.inner.clone();
        let may_drive = inner.system().workers() == 1;
        let can_ring = driver.can_ring;
        let driver = Mutex::new(Some(driver));
        let progress = Arc::new(ProgressDriver { inner, driver, can_ring });
        let help = Help {
            progress: Arc::downgrade(&progress),
            called: progress.unparker().call(),
            may_drive,
            wants_looks: may_drive && !can_ring,
        };
        // Of several nodes of one system only the first has its help.
        if progress.inner.system().set_idle_poller(Arc::new(help)) && may_drive {
            progress.unparker().ring_worker_of(progress.inner.system().clone());
        }
        progress
    }

    pub(super) fn unparker(&self) -> &Unparker {
        &self.inner.unparker
    }

    /// Locks the driver for the node's thread. None: the worker has panicked while it had it.
    pub(super) fn driver(&self) -> Option<MutexGuard<'_, Option<Driver>>> {
        self.driver.lock().ok()
    }

    /// Whether a worker drives, and has moved frames since the last call. `seen` keeps the count of
    /// the last call.
    pub(super) fn is_driven(&self, seen: &mut u64) -> bool {
        let driven = self.inner.counters.driven.get();
        if std::mem::replace(seen, driven) != driven {
            return self.unparker().worker_drives();
        }
        // It is in a long turn, or was not run for long, or is no more.
        self.unparker().set_worker_drives(false);
        false
    }

    fn drive(&self, is_idle: bool) -> bool {
        let mut driver = match self.driver.try_lock() {
            Ok(driver) => driver,
            // The thread has it. Who has called for the worker calls still.
            Err(TryLockError::WouldBlock) => return false,
            // Nobody has it any more.
            Err(TryLockError::Poisoned(driver)) => {
                self.unparker().take_call();
                drop(driver);
                return false;
            }
        };
        self.unparker().take_call();
        let Some(driver) = driver.as_mut() else { return false };
        self.inner.counters.driven.add(1);
        self.unparker().set_worker_drives(true);
        driver.turn(is_idle)
    }
}

/// The help that a worker gives to a node. It stays with the system, and keeps nothing of the node
/// alive.
struct Help {
    progress: Weak<ProgressDriver>,
    called: Arc<AtomicBool>,
    may_drive: bool,
    wants_looks: bool,
}

impl IdlePoller for Help {
    fn out_of_work(&self) {
        // Who drives says so with each turn of the driver.
        if !self.may_drive
            && let Some(progress) = self.progress.upgrade()
        {
            progress.inner.worker_is_idle();
        }
    }

    fn poll(&self, is_idle: bool) -> bool {
        self.may_drive && self.progress.upgrade().is_some_and(|progress| progress.drive(is_idle))
    }

    fn wants_looks(&self) -> bool {
        self.wants_looks && self.progress.strong_count() > 0
    }

    fn is_called(&self) -> bool {
        // Acquire: pairs with the release in `Unparker::ring`. One that has left takes no calls.
        self.called.load(Ordering::Acquire) && self.progress.strong_count() > 0
    }

    fn asleep(&self) {
        if self.may_drive
            && let Some(progress) = self.progress.upgrade()
        {
            progress.unparker().set_worker_drives(false);
            // A fabric that rings wakes the worker again.
            if !progress.can_ring {
                progress.unparker().ring_thread();
            }
        }
    }
}
