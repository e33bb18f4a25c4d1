//! The scheduler's only worker in a test, and all that decides what it does.

use super::random::Random;
use crate::actor_core::{Core, Inner};
use crate::actor_id::ActorId;
use crate::ending::{Shutdown, ShutdownReport};
use crate::state::nodes::WorkerNodes;
use crate::system_handle::SystemHandle;
use crate::time::Time;
use actinium_scheduler::{Clock, Policy, Settings, Shared, Worker};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The options of a test system.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) seed: u64,
    pub(super) policy: Policy,
    pub(super) batch: u32,
    pub(super) fifo: bool,
    pub(super) run_limit: u64,
}

/// The system did not become idle within
/// [`TestSystemBuilder::run_limit`](crate::testing::TestSystemBuilder::run_limit) turns at one
/// moment of virtual time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeverIdle {
    /// The limit.
    pub limit: u64,
    /// The seed with which it happened.
    pub seed: u64,
    /// The moment at which it happened, in virtual time.
    pub now: Time,
    /// The actors that had the latest turns (the last hundred), and how many turns each had:
    /// busiest first.
    pub busy: Vec<(ActorId, &'static str, u64)>,
}

/// The state that the system and its probes share: the scheduler's only worker, and all that
/// decides what it does.
pub(super) struct Driver {
    pub(super) inner: Arc<Inner>,
    pub(super) worker: Worker,
    pub(super) options: Options,
    pub(super) random: Random,
    pub(super) trace: RefCell<Vec<(ActorId, &'static str)>>,
    pub(super) report: RefCell<Option<ShutdownReport>>,
    /// A turn, or the end, is under way: what runs in it must not come back here.
    pub(super) is_driven: Cell<bool>,
    /// The system was dropped by what runs in it: it ends after that.
    pub(super) was_dropped: Cell<bool>,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: 0, policy: Policy::affine(), batch: 1, fifo: false, run_limit: 1_000_000 }
    }
}

impl Driver {
    /// A driver of a system without actors.
    pub(super) fn new(options: Options) -> Self {
        let settings = Settings {
            workers: 1,
            policy: options.policy,
            batch: options.batch,
            batch_time: Duration::MAX,
            figures: true,
            elastic: None,
            pus: Vec::new(),
        };
        let shared = Shared::new(settings, None, Clock::virtual_time());
        let inner = Inner::new(
            shared,
            WorkerNodes::all_on_one(1),
            #[cfg(feature = "tokio")]
            None,
        );
        inner.restarts.count();
        let worker = Worker::new(inner.shared.clone(), 0);
        Driver {
            inner: Arc::new(inner),
            worker,
            random: Random::new(options.seed),
            options,
            trace: RefCell::default(),
            report: RefCell::default(),
            is_driven: Cell::new(false),
            was_dropped: Cell::new(false),
        }
    }

    /// The system that is driven.
    pub(super) fn handle(&self) -> SystemHandle {
        SystemHandle::new(self.inner.clone())
    }

    /// Where the run is, for messages: enough to come here again.
    pub(super) fn place(&self) -> String {
        format!(
            "seed {}, {} turns, {:?} of virtual time",
            self.options.seed,
            self.trace.borrow().len(),
            Duration::from_nanos(self.now().ns)
        )
    }

    /// One turn. When nobody is ready, what actors have offloaded is waited for: what it sends
    /// comes at this moment of virtual time.
    #[track_caller]
    pub(super) fn step(&self) -> bool {
        if self.report.borrow().is_some() {
            return false;
        }
        // One that ended after the first look has sent before it ended: so once more in any case.
        self.turn() || {
            self.inner.offloads.wait_for_all();
            self.turn()
        }
    }

    /// Drives the system by `f`, which nothing that runs in it may do.
    #[track_caller]
    pub(super) fn drive<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave<'a>(&'a Cell<bool>);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        if self.is_driven.replace(true) {
            panic!(
                "what runs in a test system must not step it, shut it down or drop it ({})",
                self.place()
            );
        }
        let leave = Leave(&self.is_driven);
        let result = f();
        drop(leave);
        if self.was_dropped.take() {
            self.shutdown(Shutdown::Drop);
        }
        result
    }

    /// The test's handle is gone.
    pub(super) fn drop_system(&self) {
        if self.is_driven.get() {
            self.was_dropped.set(true);
            if std::thread::panicking() {
                return;
            }
        }
        self.shutdown(Shutdown::Drop);
        self.inner.dead_letters.dismiss_listeners();
        self.inner.shared.traces().dismiss_listeners();
    }

    #[track_caller]
    fn turn(&self) -> bool {
        self.drive(|| self.turn_of_somebody())
    }

    fn turn_of_somebody(&self) -> bool {
        let pick = |len| if self.options.fifo { 0 } else { self.random.below(len) };
        self.worker.enter(|worker| {
            worker.step(pick, |runnable| {
                if let Some(core) = Core::of_runnable(runnable) {
                    self.trace.borrow_mut().push((core.id, core.kind()));
                }
            })
        })
    }

    #[track_caller]
    pub(super) fn try_run(&self) -> Result<u64, NeverIdle> {
        let mut turns = 0;
        while self.step() {
            turns += 1;
            if turns > self.options.run_limit {
                return Err(self.never_idle());
            }
        }
        Ok(turns)
    }

    #[track_caller]
    pub(super) fn run(&self) -> u64 {
        match self.try_run() {
            Ok(turns) => turns,
            Err(never) => panic!("{never}"),
        }
    }

    #[cold]
    fn never_idle(&self) -> NeverIdle {
        let mut busy = BTreeMap::new();
        for &who in self.trace.borrow().iter().rev().take(100) {
            *busy.entry(who).or_insert(0) += 1;
        }
        let mut busy: Vec<_> = busy.into_iter().map(|((id, kind), n)| (id, kind, n)).collect();
        busy.sort_by_key(|&(id, _, n)| (std::cmp::Reverse(n), id));
        NeverIdle { limit: self.options.run_limit, seed: self.options.seed, now: self.now(), busy }
    }

    pub(super) fn now(&self) -> Time {
        Time { ns: self.inner.shared.clock().now_ns() }
    }

    /// Moves time to a moment, unless that has passed.
    pub(super) fn move_to(&self, ns: u64) {
        self.inner.shared.clock().advance(ns.saturating_sub(self.now().ns));
    }

    #[track_caller]
    pub(super) fn shutdown(&self, how: Shutdown) -> ShutdownReport {
        if let Some(report) = &*self.report.borrow() {
            return report.clone();
        }
        // Refused before anything is asked of the worker.
        self.drive(|| ());
        let shared = &self.inner.shared;
        let drained = match how {
            Shutdown::Drop => Ok(0),
            Shutdown::Drain => {
                self.inner.attached.stop();
                let turns = self.run();
                self.inner.request_drain();
                Ok(turns + self.run())
            }
            Shutdown::DrainWithin(_) => {
                self.inner.attached.stop();
                self.try_run().and_then(|_| {
                    self.inner.request_drain();
                    self.try_run()
                })
            }
        };
        // A real system would go on to wait for it.
        let holds = || how != Shutdown::Drop && !self.inner.unfinished().holding.is_empty();
        let unfinished = (drained.is_err() || holds()).then(|| self.inner.unfinished());
        let dead_before = self.inner.ledger(0).dead;
        shared.request_exit();
        self.drive(|| {
            // No turn follows: the worker only sees the request.
            self.turn_of_somebody();
            self.worker.enter(|worker| worker.end(|worker| self.inner.dispose(worker)));
        });
        let dropped = self.inner.ledger(0).dead - dead_before;
        self.inner.request_stop();
        let report = ShutdownReport { unfinished, ..self.inner.report(dropped) };
        self.report.borrow_mut().insert(report).clone()
    }
}

impl fmt::Display for NeverIdle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = Duration::from_nanos(self.now.ns);
        write!(
            f,
            "not idle after {} turns at {now:?} of virtual time (raise TestSystemBuilder::run_limit if that is not for ever; seed {}); the latest turns:",
            self.limit, self.seed
        )?;
        for (id, kind, n) in self.busy.iter().take(5) {
            write!(f, " {n} x {id} ({kind})")?;
        }
        Ok(())
    }
}

impl std::error::Error for NeverIdle {}
