//! A system: workers, and the actors on them.

use crate::actor_core::Inner;
use crate::ending::{End, work};
use crate::system_handle::SystemHandle;
use actinium_scheduler::sync::{lock, thread};
use actinium_topology::Seat;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Workers and actors, from [`System::builder`] to [`System::shutdown`]. It dereferences to its
/// [`SystemHandle`], which starts actors, names them and counts what they do.
///
/// Dropping it shuts it down with [`crate::Shutdown::Drop`]; on one of its own workers, without
/// waiting for that, and with the feature `tokio` so, too, inside a tokio runtime: nothing blocks a
/// thread of tokio's. ([`System::shutdown_async`] waits.)
pub struct System {
    pub(crate) handle: SystemHandle,
    pub(crate) end: End,
}

impl System {
    /// Starts the workers.
    pub(crate) fn start(
        inner: Inner,
        seats: Vec<Seat>,
        stack_bytes: usize,
    ) -> std::io::Result<Self> {
        let handle = SystemHandle::new(Arc::new(inner));
        let system = System { handle, end: End::default() };
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
        self.handle.clone()
    }

    /// Forgets the latencies sampled so far: after a warm-up, say.
    pub fn reset_latencies(&self) {
        self.inner.shared.latencies(true);
    }
}

impl Deref for System {
    type Target = SystemHandle;

    fn deref(&self) -> &SystemHandle {
        &self.handle
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "System({} workers, {})", self.workers(), self.policy())
    }
}
