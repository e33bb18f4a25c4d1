//! The state of a system, put together from its parts.

use super::attached::AttachedWork;
use super::backoffs::Backoffs;
use super::dead_letters::{DeadLetter, DeadLetters};
use super::external::External;
use super::names::Names;
use super::nodes::WorkerNodes;
use super::offloads::Offloads;
use super::register::Register;
use super::restarts::Restarts;
use crate::actor_id::ActorId;
use crate::failure::Failure;
use crate::stats::{Audit, Stats};
use actinium_scheduler::guard::{self, Panicked};
use actinium_scheduler::runnable::Kind;
use actinium_scheduler::sync::{Condvar, Mutex, lock};
use actinium_scheduler::task::Tasks;
use actinium_scheduler::{Shared, Worker, current};
use futures_channel::oneshot;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The state that all parts of a system share; `R` refers to an actor.
pub(crate) struct SystemState<R> {
    pub(crate) shared: actinium_scheduler::sync::Arc<Shared>,
    /// What runs beside actors.
    pub(crate) tasks: Tasks,
    pub(crate) attached: AttachedWork,
    /// One value of each type, for those who build on systems.
    pub(crate) extensions: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
    pub(crate) names: Names<R>,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) external: External,
    pub(crate) offloads: Offloads,
    pub(crate) backoffs: Backoffs<R>,
    pub(crate) restarts: Restarts,
    /// See `cell::faults`, which knows their type.
    pub(crate) faults: OnceLock<Box<dyn Any + Send + Sync>>,
    pub(crate) register: Register,
    pub(crate) nodes: WorkerNodes,
    /// The number of each worker's thread, as Linux counts; 0: not known.
    pub(crate) threads: Box<[AtomicU32]>,
    pub(crate) stop: StopRequest,
    /// The dead letters when the workers were first asked to end.
    pub(crate) dead_before: Mutex<Option<u64>>,
    /// The failure that ended the system, if one reached the top.
    pub(crate) escalation: Mutex<Option<Failure>>,
    kinds: Mutex<BTreeMap<TypeId, actinium_scheduler::sync::Arc<Kind>>>,
    next_id: AtomicU64,
    #[cfg(feature = "tokio")]
    pub(crate) tokio: Option<tokio::runtime::Handle>,
}

/// A request from inside that the system shall end.
#[derive(Default)]
pub(crate) struct StopRequest {
    pub(crate) requested: Mutex<bool>,
    pub(crate) changed: Condvar,
    /// Those who wait for it in async code.
    awaited: Mutex<Vec<oneshot::Sender<()>>>,
}

impl<R> SystemState<R> {
    /// The state of a system without actors.
    pub(crate) fn new(
        shared: Shared,
        nodes: WorkerNodes,
        #[cfg(feature = "tokio")] tokio: Option<tokio::runtime::Handle>,
    ) -> Self {
        let register = Register::new(shared.workers());
        let threads = (0..shared.workers()).map(|_| AtomicU32::new(0)).collect();
        let shared = actinium_scheduler::sync::Arc::new(shared);
        SystemState {
            tasks: Tasks::new(shared.clone()),
            attached: AttachedWork::default(),
            extensions: Mutex::default(),
            shared,
            names: Names::default(),
            dead_letters: DeadLetters::default(),
            external: External::default(),
            offloads: Offloads::default(),
            backoffs: Backoffs::default(),
            restarts: Restarts::default(),
            faults: OnceLock::new(),
            register,
            nodes,
            threads,
            stop: StopRequest::default(),
            dead_before: Mutex::new(None),
            escalation: Mutex::new(None),
            kinds: Mutex::new(BTreeMap::new()),
            next_id: AtomicU64::new(1),
            #[cfg(feature = "tokio")]
            tokio,
        }
    }

    /// Lends the calling thread's worker to `f`, if it is one of this system.
    pub(crate) fn with_worker<T>(&self, f: impl FnOnce(Option<&Worker>) -> T) -> T {
        current(|worker| {
            f(worker.filter(|worker| {
                actinium_scheduler::sync::Arc::ptr_eq(worker.shared(), &self.shared)
            }))
        })
    }

    /// Whether the calling thread is one of this system's workers.
    pub(crate) fn is_on_worker(&self) -> bool {
        self.with_worker(|worker| worker.is_some())
    }

    // ---- actors
    // --------------------------------------------------------------------------------------------------

    /// An identity that no actor had before.
    pub(crate) fn next_id(&self) -> ActorId {
        // Relaxed: only uniqueness matters.
        ActorId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// The scheduler's record of the actors of one type, which they all share.
    pub(crate) fn kind_of<A: 'static>(&self) -> actinium_scheduler::sync::Arc<Kind> {
        let kind = || actinium_scheduler::sync::Arc::new(Kind::new(std::any::type_name::<A>()));
        lock(&self.kinds).entry(TypeId::of::<A>()).or_insert_with(kind).clone()
    }

    /// The records of all types that actors were started of.
    pub(crate) fn kinds(&self) -> Vec<actinium_scheduler::sync::Arc<Kind>> {
        lock(&self.kinds).values().cloned().collect()
    }

    // ---- figures
    // -------------------------------------------------------------------------------------------------

    /// The sums of all counters, and the number of queued messages that the caller has counted.
    pub(crate) fn ledger(&self, queued: u64) -> Audit {
        let mut sum = self.external.values();
        for values in self.shared.counter_values() {
            sum.add(&values);
        }
        Audit {
            sent: sum.sent,
            handled: sum.handled,
            queued,
            returned: sum.returned,
            dead: sum.dead,
            events: self.attached.ledger(),
        }
    }

    /// Counters and sampled latencies.
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            workers: self.shared.counter_values(),
            external: self.external.values(),
            latencies: self.shared.latencies(false),
            working: self.shared.working(),
            scale_events: self.shared.scale_events(),
            actors: self.register.len(),
        }
    }

    /// Counts a panic of user code on this thread that is nobody's failure.
    #[cold]
    pub(crate) fn count_panic(&self) {
        self.with_worker(|worker| match worker {
            Some(worker) => worker.counters().panicked.add(1),
            None => self.external.panicked(),
        });
    }

    /// Counts a message that came back to its sender, and is not wanted there, as a dead letter.
    pub(crate) fn count_returned_as_dead(&self) {
        self.with_worker(|worker| match worker {
            Some(worker) => {
                worker.counters().dead.add(1);
                // The counter wraps: this takes one away.
                worker.counters().returned.add(u64::MAX);
            }
            None => self.external.returned_as_dead(),
        });
    }

    // ---- the end
    // -------------------------------------------------------------------------------------------------

    /// Ends the system because a failure reached the top.
    pub(crate) fn escalated(&self, failure: &Failure) {
        lock(&self.escalation).get_or_insert_with(|| failure.clone());
        self.request_stop();
    }

    /// Asks whoever waits for it to end the system.
    pub(crate) fn request_stop(&self) {
        *lock(&self.stop.requested) = true;
        self.stop.changed.notify_all();
        let awaited = std::mem::take(&mut *lock(&self.stop.awaited));
        for awaited in awaited {
            // Whoever waited may have gone.
            let _ = awaited.send(());
        }
    }

    /// Tells this one when somebody wants the system to end: at once, if somebody does.
    pub(crate) fn on_stop(&self, awaited: oneshot::Sender<()>) {
        let mut all = lock(&self.stop.awaited);
        // Those who wait no more.
        all.retain(|awaited| !awaited.is_canceled());
        all.push(awaited);
        drop(all);
        // Whoever has asked before this one stood there has told nobody.
        if self.stop_requested() {
            self.request_stop();
        }
    }

    /// Whether somebody inside wants the system to end.
    pub(crate) fn stop_requested(&self) -> bool {
        *lock(&self.stop.requested)
    }
}

impl<R: 'static> SystemState<R> {
    /// Notes dead letters, which the caller has counted, and calls the listeners.
    pub(crate) fn add_dead_letter(self: &Arc<Self>, letter: DeadLetter) {
        let Some(call) = self.dead_letters.add(letter) else { return };
        let system = self.clone();
        // Of what listeners cause for ever they do not hear any more: it is counted.
        let _ = guard::unnested(move || call(&|| system.count_panic()));
    }

    /// Drops a value of the user's: see [`guard::drop_guarded`].
    #[inline]
    pub(crate) fn drop_guarded<T: 'static>(self: &Arc<Self>, value: T) {
        self.drop_guarded_and(value, |_| ());
    }

    /// Drops a value of the user's as [`SystemState::drop_guarded`] does; calls `on_panic` if its
    /// destructor panics.
    #[inline]
    pub(crate) fn drop_guarded_and<T: 'static>(
        self: &Arc<Self>,
        value: T,
        on_panic: impl FnOnce(&Panicked) + 'static,
    ) {
        if !std::mem::needs_drop::<T>() {
            return;
        }
        if self.is_on_worker() {
            return guard::drop_guarded_and(value, move |panicked| {
                guard::count_here();
                on_panic(&panicked);
            });
        }
        let system = self.clone();
        guard::drop_guarded_and(value, move |panicked| {
            system.external.panicked();
            on_panic(&panicked);
        });
    }
}
