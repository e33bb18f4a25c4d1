//! Futures that were woken and wait to be polled: a queue for each worker.

use actinium_scheduler::sync::lock;
use actinium_scheduler::task::TaskRef;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

/// A future of whatever type.
pub(crate) trait Polled: Send + Sync {
    fn poll(self: Arc<Self>);
}

type Queue = Mutex<VecDeque<Arc<dyn Polled>>>;

/// The futures that were woken, for each worker, and who polls them.
#[derive(Default)]
pub(crate) struct Woken(OnceLock<Box<[(Queue, TaskRef)]>>);

impl Woken {
    pub(crate) fn set_pollers(&self, pollers: impl Iterator<Item = TaskRef>) {
        let _ = self.0.set(pollers.map(|poller| (Mutex::default(), poller)).collect());
    }

    pub(crate) fn put(&self, worker: usize, future: Arc<dyn Polled>) {
        if let Some((queue, poller)) = self.0.get().and_then(|all| all.get(worker)) {
            lock(queue).push_back(future);
            poller.wake();
        }
    }

    pub(crate) fn take(&self, worker: usize) -> Option<Arc<dyn Polled>> {
        lock(&self.0.get()?.get(worker)?.0).pop_front()
    }

    /// Ends the pollers.
    pub(crate) fn retire(&self) {
        self.0.get().into_iter().flatten().for_each(|(_, poller)| poller.retire());
    }

    /// Forgets what a stop left lying.
    pub(crate) fn clear(&self) {
        for worker in 0..self.0.get().map_or(0, |all| all.len()) {
            while let Some(future) = self.take(worker) {
                drop(future);
            }
        }
    }
}
