//! Progress: the choice of who moves the frames.
//!
//! A message that one thread hands to another waits until that one runs, and a thread that looks
//! for frames takes a core that a worker could have. So a worker *drives*: it moves frames after
//! each round of turns, when it runs out of work, and, where frames are found only by looking, all
//! the time while it looks for some. The node's thread only looks once a millisecond whether a
//! worker still does; it takes over when all are in long turns, and at once when all sleep.
//!
//! Driver and fabric are behind a lock, and have to be fetched from one cache into another each
//! time that another worker drives. So one worker goes on driving for as long as it is there: the
//! *holder*. Another one takes its place when
//! - the holder is away, in a turn that may take long or asleep;
//! - it has run out of work, and so has the time;
//! - somebody has called, and it looks first: what a worker itself has sent leaves after its turn.

use super::driver::Driver;
use super::state::{Inner, guarded};
use super::unparker::Unparker;
use actinium_scheduler::IdlePoller;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};

/// Nobody holds the driver's place.
const NOBODY: usize = usize::MAX;

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
        let can_ring = driver.can_ring;
        let driver = Mutex::new(Some(driver));
        let progress = Arc::new(ProgressDriver { inner, driver, can_ring });
        let help = Help {
            progress: Arc::downgrade(&progress),
            called: progress.unparker().call(),
            holder: AtomicUsize::new(NOBODY),
            wants_looks: !can_ring,
        };
        // Of several nodes of one system only the first has its help.
        if progress.inner.system().set_idle_poller(Arc::new(help)) {
            progress.unparker().ring_workers_of(progress.inner.system().clone());
        }
        progress
    }

    pub(super) fn unparker(&self) -> &Unparker {
        &self.inner.unparker
    }

    /// Locks the driver for the node's thread. None: that has panicked while it had it.
    pub(super) fn driver(&self) -> Option<MutexGuard<'_, Option<Driver>>> {
        self.driver.lock().ok()
    }

    /// Whether a worker drives, and has moved frames since the last call. `seen` keeps the count of
    /// the last call.
    pub(super) fn is_driven(&self, seen: &mut u64) -> bool {
        let driven = self.inner.counters.driven.get();
        if std::mem::replace(seen, driven) != driven {
            return self.unparker().workers_drive();
        }
        // All are in long turns, or were not run for long, or are no more.
        self.unparker().set_workers_drive(false);
        false
    }

    fn drive(&self, is_idle: bool) -> bool {
        let mut slot = match self.driver.try_lock() {
            Ok(slot) => slot,
            // Another one has it. Who has called for a worker calls still.
            Err(TryLockError::WouldBlock) => return false,
            // The node's thread has panicked with it: nobody has it any more.
            Err(TryLockError::Poisoned(slot)) => {
                self.unparker().take_call();
                drop(slot);
                return false;
            }
        };
        self.unparker().take_call();
        let Some(driver) = slot.as_mut() else { return false };
        self.inner.counters.driven.add(1);
        self.unparker().set_workers_drive(true);
        // A fabric is the user's. Its panic ends the node, not the worker: the other nodes notice
        // by its silence.
        let Some(did) = guarded(|| driver.turn(is_idle)) else {
            let broken = slot.take();
            drop(slot);
            guarded(|| drop(broken));
            self.unparker().ring_thread();
            return false;
        };
        did
    }
}

/// The help that workers give to a node. It stays with the system, and keeps nothing of the node
/// alive.
struct Help {
    progress: Weak<ProgressDriver>,
    called: Arc<AtomicBool>,
    /// The worker that goes on driving.
    holder: AtomicUsize,
    wants_looks: bool,
}

impl Help {
    fn drive(&self, worker: usize, is_idle: bool) -> bool {
        // Relaxed: a hint; the driver has a lock. Mostly it is so already.
        if self.holder.load(Ordering::Relaxed) != worker {
            self.holder.store(worker, Ordering::Relaxed);
        }
        self.progress.upgrade().is_some_and(|progress| progress.drive(is_idle))
    }
}

impl IdlePoller for Help {
    fn out_of_work(&self, worker: usize) -> bool {
        self.drive(worker, true)
    }

    fn poll(&self, worker: usize, is_idle: bool) -> bool {
        // Relaxed: a hint, as above.
        let holder = self.holder.load(Ordering::Relaxed);
        (holder == worker || holder == NOBODY || self.is_called()) && self.drive(worker, is_idle)
    }

    fn wants_looks(&self) -> bool {
        self.wants_looks && self.progress.strong_count() > 0
    }

    fn is_called(&self) -> bool {
        // Acquire: pairs with the release in `Unparker::ring`. One that has left takes no calls.
        self.called.load(Ordering::Acquire) && self.progress.strong_count() > 0
    }

    fn away(&self, worker: usize) {
        // Relaxed: a hint, as above. If another one has just taken its place, two drive in turns
        // until one of them is away.
        if self.holder.load(Ordering::Relaxed) == worker {
            self.holder.store(NOBODY, Ordering::Relaxed);
        }
    }

    fn all_asleep(&self) {
        if let Some(progress) = self.progress.upgrade() {
            progress.unparker().set_workers_drive(false);
            // A fabric that rings wakes a worker again.
            if !progress.can_ring {
                progress.unparker().ring_thread();
            }
        }
    }
}
