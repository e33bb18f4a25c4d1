//! Who moves the frames.
//!
//! The node's thread does, for it is always there. But a message that one thread hands to another waits until that one runs, and a thread
//! that looks for frames takes a core that a worker could have. So where a system has one worker, that worker *steers* while it is awake: it moves frames
//! after each round of turns, and all the time while it looks for work. The thread then only looks once a millisecond whether the worker still
//! does; it takes over when a turn takes longer, and at once when the worker goes to sleep.
//!
//! Driver and fabric are behind a lock, so there is one caller at a time, and mostly the same for long. Where there are more workers, the
//! thread is the one: a core for it is a small part of theirs, and a fabric whose callers take turns has to be fetched from one cache
//! into another each time.

use super::Inner;
use super::bell::Alarm;
use super::driver::Driver;
use actinium_scheduler::Porter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};

/// See the module.
pub(super) struct Helm {
    pub(super) inner: Arc<Inner>,
    /// None: the node has left.
    driver: Mutex<Option<Driver>>,
    /// Whether the fabric says when a frame has come.
    pub(super) can_ring: bool,
}

impl Helm {
    pub(super) fn new(driver: Driver) -> Arc<Self> {
        let inner = driver.inner.clone();
        let may_steer = inner.system().workers() == 1;
        let can_ring = driver.can_ring;
        let driver = Mutex::new(Some(driver));
        let helm = Arc::new(Helm { inner, driver, can_ring });
        let help = Help {
            helm: Arc::downgrade(&helm),
            called: helm.alarm().call(),
            may_steer,
            wants_looks: may_steer && !can_ring,
        };
        // Of several nodes of one system only the first has its help.
        if helm.inner.system().set_porter(Arc::new(help)) && may_steer {
            helm.alarm().ring_worker_of(helm.inner.system().clone());
        }
        helm
    }

    pub(super) fn alarm(&self) -> &Alarm {
        &self.inner.alarm
    }

    /// The driver, for the node's thread. None: the worker has panicked while it had it.
    pub(super) fn driver(&self) -> Option<MutexGuard<'_, Option<Driver>>> {
        self.driver.lock().ok()
    }

    /// Whether a worker steers, and has moved frames since this was asked last, when `seen` was how often.
    pub(super) fn is_steered(&self, seen: &mut u64) -> bool {
        // Relaxed: a count.
        let steered = self.inner.steered.load(Ordering::Relaxed);
        if std::mem::replace(seen, steered) != steered {
            return self.alarm().worker_steers();
        }
        // It is in a long turn, or was not run for long, or is no more.
        self.alarm().set_worker_steers(false);
        false
    }

    fn steer(&self, is_idle: bool) -> bool {
        let mut driver = match self.driver.try_lock() {
            Ok(driver) => driver,
            // The thread has it. Who has called for the worker calls still.
            Err(TryLockError::WouldBlock) => return false,
            // Nobody has it any more.
            Err(TryLockError::Poisoned(driver)) => {
                self.alarm().take_call();
                drop(driver);
                return false;
            }
        };
        self.alarm().take_call();
        let Some(driver) = driver.as_mut() else { return false };
        // Relaxed: a count.
        self.inner.steered.fetch_add(1, Ordering::Relaxed);
        self.alarm().set_worker_steers(true);
        driver.turn(is_idle)
    }
}

/// A worker's help. It stays with the system, and keeps nothing of the node alive.
struct Help {
    helm: Weak<Helm>,
    called: Arc<AtomicBool>,
    may_steer: bool,
    wants_looks: bool,
}

impl Porter for Help {
    fn out_of_work(&self) {
        // Who steers says so with each turn of the driver.
        if !self.may_steer
            && let Some(helm) = self.helm.upgrade()
        {
            helm.inner.worker_is_idle();
        }
    }

    fn carry(&self, is_idle: bool) -> bool {
        self.may_steer && self.helm.upgrade().is_some_and(|helm| helm.steer(is_idle))
    }

    fn wants_looks(&self) -> bool {
        self.wants_looks && self.helm.strong_count() > 0
    }

    fn is_called(&self) -> bool {
        // Acquire: pairs with the release in `Alarm::ring`. One that has left takes no calls.
        self.called.load(Ordering::Acquire) && self.helm.strong_count() > 0
    }

    fn asleep(&self) {
        if self.may_steer
            && let Some(helm) = self.helm.upgrade()
        {
            helm.alarm().set_worker_steers(false);
            // A fabric that rings wakes the worker again.
            if !helm.can_ring {
                helm.alarm().ring_thread();
            }
        }
    }
}
