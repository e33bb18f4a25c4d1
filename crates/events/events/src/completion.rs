//! The handle by which a waiting module is completed: from any thread, now or at a given time.

use crate::cause::{Cause, tell_cause};
use crate::engine::{Anchor, Engine};
use crate::slot::Pass;
use actinium_scheduler::{current, guard};
use std::marker::PhantomData;

/// Stores a result, and says whether a path goes on.
pub(crate) type Deliver<T> = fn(&Engine, u32, u16, T) -> bool;

/// Ends the wait of one module for one event. Dropped unused, it fails the event.
pub struct Completion<T> {
    pub(crate) engine: Option<Anchor>,
    pub(crate) slot: u32,
    pub(crate) module: u16,
    pub(crate) pass: Pass,
    pub(crate) deliver: Deliver<T>,
    pub(crate) result: PhantomData<fn(T)>,
}

impl<T> Completion<T> {
    /// The module is done, or has failed.
    pub fn finish(mut self, result: Result<T, Cause>) {
        let Some(engine) = self.engine.take() else { return };
        let (slot, module, deliver) = (self.slot, self.module, self.deliver);
        let mut result = Some(result.map_err(tell_cause));
        // Its results are stored only while this very wait is on.
        engine.complete(slot, module, self.pass, || match result.take() {
            Some(result) => result.map(|value| deliver(&engine, slot, module, value)),
            None => Ok(false),
        });
        drop_late(result);
    }

    /// The module is done with this result when the clock shows `deadline_ns` (see
    /// [`crate::Event::now_ns`]). On a worker only, which its start is.
    pub fn at(mut self, deadline_ns: u64, result: T) {
        let Some(engine) = self.engine.take() else { return };
        let (slot, module, pass) = (self.slot, self.module, self.pass);
        let mut result = Some(result);
        let deliver = || result.take().map(|result| (self.deliver)(&engine, slot, module, result));
        let Some(Some(goes_on)) = engine.while_waiting(slot, module, pass, deliver) else {
            return drop_late(result);
        };
        current(|worker| engine.wait_until(worker, deadline_ns, slot, module, pass, goes_on));
    }
}

/// Drops a result that came too late. Its destructor is user code: a panic in it is caught and
/// counted.
fn drop_late<T>(result: T) {
    if guard::drop_caught(result).is_err() {
        guard::count_here();
    }
}

impl<T> Drop for Completion<T> {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            let cause = "it dropped its completion without a result".into();
            engine.complete(self.slot, self.module, self.pass, || Err(cause));
        }
    }
}

impl<T> std::fmt::Debug for Completion<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Completion(slot {}, module {})", self.slot, self.module)
    }
}
