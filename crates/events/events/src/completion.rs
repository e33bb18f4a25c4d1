//! The handle by which a waiting module is completed: from any thread, now or at a given time.

use crate::cause::{Cause, tell_cause};
use crate::engine::{Anchor, Engine};
use crate::slot::Pass;
use actinium_scheduler::{current, guard};
use std::cell::Cell;
use std::marker::PhantomData;

/// Stores a result, and says whether a path goes on, or why it can not be stored.
pub(crate) type Deliver<T> = fn(&Engine, u32, u16, T) -> Result<bool, Box<str>>;

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
    /// The module is done, or has failed. If its start has not returned yet, it is done when that
    /// has: until then the event holds what the start reads.
    pub fn finish(mut self, result: Result<T, Cause>) {
        let Some(engine) = self.engine.take() else { return };
        let (slot, module, deliver) = (self.slot, self.module, self.deliver);
        let mut result = Some(result.map_err(tell_cause));
        // Its results are stored only while this very wait is on.
        engine.complete(slot, module, self.pass, || match result.take() {
            Some(result) => result.and_then(|value| deliver(&engine, slot, module, value)),
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
        match engine.while_waiting(slot, module, pass, deliver).flatten() {
            Some(Ok(goes_on)) => {
                current(|worker| {
                    engine.wait_until(worker, deadline_ns, slot, module, pass, goes_on);
                });
            }
            Some(Err(cause)) => engine.complete(slot, module, pass, || Err(cause)),
            None => drop_late(result),
        }
    }
}

/// Drops a result that came too late. Its destructor is user code: a panic in it is caught and
/// counted.
fn drop_late<T>(result: T) {
    if guard::drop_caught(result).is_err() {
        guard::count_here();
    }
}

/// The cause of a wait that nobody will end.
const DROPPED: &str = "it dropped its completion without a result";

/// A wait of this process.
type Wait = (*const Engine, u32, u16, Pass);

thread_local! {
    /// The wait that a module begins on this thread, until its completion is dropped.
    static BEGINS: Cell<Option<Wait>> = const { Cell::new(None) };
}

/// Calls what begins a wait. If it drops its completion and returns an error, that error is the
/// cause.
pub(crate) fn begin_wait<T>(
    completion: Completion<T>,
    start: impl FnOnce(Completion<T>) -> Result<(), Cause>,
) -> Result<(), Cause> {
    struct Restores(Option<Wait>);
    impl Drop for Restores {
        fn drop(&mut self) {
            BEGINS.set(self.0);
        }
    }
    let _restores = Restores(BEGINS.replace(completion.wait()));
    start(completion)?;
    if BEGINS.get().is_none() { Err(DROPPED.into()) } else { Ok(()) }
}

impl<T> Completion<T> {
    fn wait(&self) -> Option<Wait> {
        let engine: *const Engine = &***self.engine.as_ref()?;
        Some((engine, self.slot, self.module, self.pass))
    }
}

impl<T> Drop for Completion<T> {
    fn drop(&mut self) {
        let wait = self.wait();
        let Some(engine) = self.engine.take() else { return };
        if BEGINS.get() == wait {
            // Whoever began it ends it.
            return BEGINS.set(None);
        }
        engine.complete(self.slot, self.module, self.pass, || Err(DROPPED.into()));
    }
}

impl<T> std::fmt::Debug for Completion<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Completion(slot {}, module {})", self.slot, self.module)
    }
}
