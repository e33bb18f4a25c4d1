//! What other crates of this workspace build on a system: work beside its actors, on its workers.

use crate::system_handle::SystemHandle;
use actinium_scheduler::Shared;
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::Tasks;
use std::any::Any;
use std::sync::Arc;

pub use crate::state::attached::Attached;

impl SystemHandle {
    /// The scheduler on whose workers the actors run.
    #[doc(hidden)]
    pub fn scheduler(&self) -> &actinium_scheduler::sync::Arc<Shared> {
        &self.inner.shared
    }

    /// The tasks beside the actors. They end with the system.
    #[doc(hidden)]
    pub fn tasks(&self) -> &Tasks {
        &self.inner.tasks
    }

    /// Attaches work that the system waits for when it drains, and whose events it audits. Returns
    /// a number to [`detach`](Self::detach) it by; `None`: the system drains, or has ended.
    #[doc(hidden)]
    pub fn attach(&self, work: Arc<dyn Attached>) -> Option<u64> {
        self.inner.attached.attach(work)
    }

    /// The work has ended. Its ledger is kept.
    #[doc(hidden)]
    pub fn detach(&self, number: u64) {
        self.inner.attached.detach(number);
    }

    /// Returns the system's only value of this type, which is made when somebody asks first.
    #[doc(hidden)]
    pub fn extension<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut extensions = lock(&self.inner.extensions);
        if let Some(found) = extensions.iter().find_map(|it| it.clone().downcast().ok()) {
            return found;
        }
        let made = Arc::new(make());
        extensions.push(made.clone());
        made
    }
}
