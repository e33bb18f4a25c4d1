//! How a waiting module says that it is done: from any thread, now or at a time.

use crate::engine::Engine;
use crate::module::Cause;
use actinium_scheduler::current;
use std::marker::PhantomData;
use std::sync::Arc;

/// Stores a result, and says whether a path goes on.
pub(crate) type Deliver<T> = fn(&Engine, u32, u16, u32, T) -> bool;

/// Ends the wait of one module for one event. Dropped unused, it fails the event.
pub struct Completion<T> {
    pub(crate) engine: Option<Arc<Engine>>,
    pub(crate) slot: u32,
    pub(crate) module: u16,
    pub(crate) stamp: u32,
    pub(crate) attempt: u32,
    pub(crate) deliver: Deliver<T>,
    pub(crate) result: PhantomData<fn(T)>,
}

impl<T> Completion<T> {
    /// The module is done, or has failed.
    pub fn finish(mut self, result: Result<T, Cause>) {
        let Some(engine) = self.engine.take() else { return };
        let pass = (self.stamp, self.attempt);
        // Its results are stored only while this very wait is on.
        if !engine.waits(self.slot, self.module, pass) {
            return;
        }
        let result =
            result.map(|value| (self.deliver)(&engine, self.slot, self.module, self.stamp, value));
        engine.complete(self.slot, self.module, pass, result);
    }

    /// The module is done with this result when the clock shows `deadline_ns` (see [`crate::Event::now_ns`]). On a worker only,
    /// which its start is.
    pub fn at(mut self, deadline_ns: u64, result: T) {
        let Some(engine) = self.engine.take() else { return };
        let pass = (self.stamp, self.attempt);
        if !engine.waits(self.slot, self.module, pass) {
            return;
        }
        let goes_on = (self.deliver)(&engine, self.slot, self.module, self.stamp, result);
        current(|worker| {
            engine.wait_until(worker, deadline_ns, self.slot, self.module, pass, goes_on);
        });
    }
}

impl<T> Drop for Completion<T> {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            let cause = "it dropped its completion without a result".into();
            engine.complete(self.slot, self.module, (self.stamp, self.attempt), Err(cause));
        }
    }
}

impl<T> std::fmt::Debug for Completion<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Completion(slot {}, module {})", self.slot, self.module)
    }
}
