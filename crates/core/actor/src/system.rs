//! A system: workers, and the actors on them.

use crate::actor::Actor;
use crate::actor_core::Inner;
use crate::address::Address;
use crate::ending::{End, work};
use crate::estimates::Estimates;
use crate::options::{SpawnError, SpawnOptions};
use crate::state::names::{LookupError, NameError};
use crate::stats::Stats;
use crate::system_handle::SystemHandle;
use actinium_scheduler::Policy;
use actinium_scheduler::sync::{lock, thread};
use actinium_topology::{PuId, Seat};
use std::fmt;
use std::sync::Arc;

/// Workers and actors, from [`System::builder`] to [`System::shutdown`].
///
/// Dropping it shuts it down with [`crate::Shutdown::Drop`]; on one of its own workers, without
/// waiting for that.
pub struct System {
    pub(crate) inner: Arc<Inner>,
    pub(crate) end: End,
}

impl System {
    /// Starts the workers.
    pub(crate) fn start(
        inner: Inner,
        seats: Vec<Seat>,
        stack_bytes: usize,
    ) -> std::io::Result<Self> {
        let system = System { inner: Arc::new(inner), end: End::default() };
        for (index, seat) in seats.into_iter().enumerate() {
            let inner = system.inner.clone();
            let thread = thread::Builder::new()
                .name(format!("actinium-{index}"))
                .stack_size(stack_bytes)
                .spawn(move || work(&inner, index, &seat));
            // Those before it end with the system, which is dropped.
            let thread = thread.inspect_err(|_| system.inner.shared.never_started(index))?;
            lock(&system.end.threads).push(thread);
        }
        Ok(system)
    }

    /// Access to the system that can be cloned and passed on.
    pub fn handle(&self) -> SystemHandle {
        SystemHandle::new(self.inner.clone())
    }

    /// Starts an actor, where the policy places it.
    pub fn spawn<A: Actor>(&self, actor: A) -> Address<A> {
        self.handle().spawn(actor)
    }

    /// Starts an actor with options. The factory makes its state, now and at each restart.
    ///
    /// # Errors
    /// If the name is taken, the worker or the node does not exist, the allocator has no memory,
    /// the capacity is 0, or the factory panics.
    pub fn spawn_with<A: Actor>(
        &self,
        options: SpawnOptions,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> Result<Address<A>, SpawnError> {
        self.handle().spawn_with(options, factory)
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.inner.shared.workers()
    }

    /// The PU to which each worker is bound; `None` for one that runs wherever the process may. See
    /// [`crate::SystemBuilder::bind`].
    pub fn pus(&self) -> &[Option<PuId>] {
        &self.inner.shared.settings().pus
    }

    /// The scheduling policy.
    pub fn policy(&self) -> Policy {
        self.inner.shared.settings().policy
    }

    /// See [`SystemHandle::estimates`].
    pub fn estimates<A: Actor>(&self) -> Estimates {
        self.handle().estimates::<A>()
    }

    /// See [`SystemHandle::register`].
    ///
    /// # Errors
    /// If the name is taken.
    pub fn register<A: Actor>(&self, name: &str, address: &Address<A>) -> Result<(), NameError> {
        self.handle().register(name, address)
    }

    /// See [`SystemHandle::lookup`].
    ///
    /// # Errors
    /// If no living actor has the name, or it has another type.
    pub fn lookup<A: Actor>(&self, name: &str) -> Result<Address<A>, LookupError> {
        self.handle().lookup(name)
    }

    /// Counters and sampled latencies.
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    /// Forgets the latencies sampled so far: after a warm-up, say.
    pub fn reset_latencies(&self) {
        self.inner.shared.latencies(true);
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "System({} workers, {})", self.workers(), self.policy())
    }
}
