//! Progress: the choice of who moves the frames.
//!
//! A message that one thread hands to another waits until that one runs, and a thread that looks
//! for frames takes a core that a worker could have. So a worker *drives*: it moves frames after
//! each round of turns, when it runs out of work, and, where frames are found only by looking, all
//! the time while it looks for some. The node's thread only looks once a millisecond whether a
//! worker still does; it takes over when all are in long turns, and at once when all sleep.
//!
//! Between two turns of a worker there is mostly nothing to do but to ask the fabric for frames,
//! and that takes a third of what a whole turn of the driver does. So a worker only asks, unless
//! somebody has called, something waits, or a few microseconds have passed: see `Driver::look`.
//!
//! Driver and fabric are behind a lock, and have to be fetched from one cache into another each
//! time that another worker drives. So one worker goes on driving for as long as it is there: the
//! *holder*. Another one takes its place when
//! - the holder is away, in a turn that may take long or asleep;
//! - it has run out of work, and so has the time;
//! - somebody has called, and it looks first: what a worker itself has sent leaves after its turn.

use super::call::Call;
use super::driver::Driver;
use super::state::{Inner, guarded};
use super::unparker::Unparker;
use actinium_scheduler::IdlePoller;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};
use std::thread;
use std::time::Duration;

/// Nobody holds the driver's place.
const NOBODY: usize = usize::MAX;

/// How often in a row an idle worker finds that another thread has the driver until it gives way:
/// some ten microseconds, longer than most turns of a driver.
const BLOCKED: u32 = 64;
/// How long it then sleeps at least.
const GIVE_WAY: Duration = Duration::from_micros(10);

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
            call: progress.unparker().call().clone(),
            holder: AtomicUsize::new(NOBODY),
            blocked: AtomicU32::new(0),
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

    /// Whether there was work. None: another one has the driver, and who has called for a worker
    /// calls still.
    fn drive(&self, is_idle: bool) -> Option<bool> {
        let mut slot = match self.driver.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::WouldBlock) => return None,
            // The node's thread has panicked with it: nobody has it any more.
            Err(TryLockError::Poisoned(slot)) => {
                self.unparker().call().take();
                drop(slot);
                return Some(false);
            }
        };
        let Some(driver) = slot.as_mut() else {
            self.unparker().call().take();
            return Some(false);
        };
        self.inner.counters.driven.add(1);
        self.unparker().set_workers_drive(true);
        // A fabric is the user's. Its panic ends the node, not the worker: the other nodes notice
        // by its silence.
        let Some(did) = guarded(|| driver.look(is_idle)) else {
            let broken = slot.take();
            drop(slot);
            guarded(|| drop(broken));
            self.unparker().ring_thread();
            return Some(false);
        };
        Some(did)
    }
}

/// The help that workers give to a node. It stays with the system, and keeps nothing of the node
/// alive.
struct Help {
    progress: Weak<ProgressDriver>,
    call: Arc<Call>,
    /// The worker that goes on driving.
    holder: AtomicUsize,
    /// How often idle workers have found in a row that another thread has the driver.
    blocked: AtomicU32,
    wants_looks: bool,
}

impl Help {
    fn drive(&self, worker: usize, is_idle: bool) -> Option<bool> {
        // Relaxed: a hint; the driver has a lock. Mostly it is so already.
        if self.holder.load(Ordering::Relaxed) != worker {
            self.holder.store(worker, Ordering::Relaxed);
        }
        self.progress.upgrade().map_or(Some(false), |progress| progress.drive(is_idle))
    }

    /// Another thread has the driver. If somebody calls, this worker would look again and again
    /// until that one is done; but it may wait for this very CPU, and the system would only let it
    /// run when this worker's slice is over, milliseconds later.
    #[cold]
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing tells an idle worker that the lock is free"
    )]
    fn give_way(&self) {
        // Relaxed: a hint.
        let blocked = self.blocked.fetch_add(1, Ordering::Relaxed);
        if blocked % BLOCKED == BLOCKED - 1 && self.is_called() {
            thread::sleep(GIVE_WAY);
        }
    }
}

impl IdlePoller for Help {
    fn out_of_work(&self, worker: usize) -> bool {
        let did = self.drive(worker, true);
        match did {
            // Relaxed: a hint; mostly it is so already.
            Some(_) if self.blocked.load(Ordering::Relaxed) == 0 => {}
            // Relaxed: a hint.
            Some(_) => self.blocked.store(0, Ordering::Relaxed),
            None => self.give_way(),
        }
        did == Some(true)
    }

    fn poll(&self, worker: usize, is_idle: bool) -> bool {
        // Relaxed: a hint, as above.
        let holder = self.holder.load(Ordering::Relaxed);
        (holder == worker || holder == NOBODY || self.is_called())
            && self.drive(worker, is_idle) == Some(true)
    }

    fn wants_looks(&self) -> bool {
        self.wants_looks && self.progress.strong_count() > 0
    }

    fn is_called(&self) -> bool {
        // One that has left takes no calls.
        self.call.is_made() && self.progress.strong_count() > 0
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::NodeId;
    use crate::fabric::in_process::Network;
    use crate::node::config::NodeConfig;
    use actinium_actor::System;
    use actinium_scheduler::Clock;

    #[test]
    fn an_idle_worker_gives_way_to_who_has_the_driver_and_answers_the_call_after_that() {
        let system = System::builder().workers(1).build().unwrap();
        let (fabric, config) = (Network::new().node(NodeId(0)), NodeConfig::default());
        let driver = Driver::new(system.handle(), Box::new(fabric), config, 1, Clock::real());
        let progress = ProgressDriver::new(driver.unwrap());
        let help = Help {
            progress: Arc::downgrade(&progress),
            call: progress.unparker().call().clone(),
            holder: AtomicUsize::new(NOBODY),
            blocked: AtomicU32::new(0),
            wants_looks: false,
        };
        // Relaxed, here and below: hints.
        let blocked = || help.blocked.load(Ordering::Relaxed);

        let driver = progress.driver().unwrap();
        help.call.now();
        for n in 1..=2 * BLOCKED {
            assert!(!help.out_of_work(0));
            assert_eq!(blocked(), n);
        }
        assert!(help.is_called(), "nobody has answered");
        drop(driver);
        // The system's worker may have the driver for a moment.
        assert!((0..1_000_000).any(|_| {
            help.out_of_work(0);
            blocked() == 0
        }));
        assert!(!help.is_called());
    }
}
