//! Actors that wait for their restart: work that is not done.
//!
//! Each of them counts as held ([`Control::hold`]), so that the system is not idle. The list finds
//! them, so that a drain need not wait for the time to pass.

use crate::actor_id::ActorId;
use actinium_scheduler::control::Control;
use actinium_scheduler::sync::{Mutex, lock};
use std::collections::BTreeMap;

/// The actors that wait, in the order of their identities; `R` refers to one.
pub(crate) struct Backoffs<R>(Mutex<BTreeMap<ActorId, R>>);

impl<R> Default for Backoffs<R> {
    fn default() -> Self {
        Backoffs(Mutex::default())
    }
}

impl<R: Clone> Backoffs<R> {
    /// Lets an actor, in whose turn this is, wait for its restart from now on. False: the system
    /// drains, and the actor restarts at once.
    pub(crate) fn begin(&self, control: &Control, id: ActorId, actor: R) -> bool {
        let mut waiting = lock(&self.0);
        // Under the lock: a drain is announced first, and collects those that wait afterwards.
        if control.is_draining() {
            return false;
        }
        if waiting.insert(id, actor).is_none() {
            control.hold();
        }
        true
    }

    /// Ends an actor's wait: it restarts, or ends.
    pub(crate) fn end(&self, control: &Control, id: ActorId) {
        let waited = lock(&self.0).remove(&id);
        if waited.is_some() {
            control.release();
        }
    }

    /// The actors that wait.
    pub(crate) fn waiting(&self) -> Vec<R> {
        lock(&self.0).values().cloned().collect()
    }
}
