//! How often each actor was restarted, which only a test wants to know.

use crate::actor_id::ActorId;
use actinium_scheduler::sync::{Mutex, lock};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The restarts of each actor, from when somebody began to count them.
#[derive(Default)]
pub(crate) struct Restarts(OnceLock<Mutex<BTreeMap<ActorId, u64>>>);

impl Restarts {
    /// Counts from now on, and keeps the counts of actors that have ended.
    pub(crate) fn count(&self) {
        self.0.get_or_init(Mutex::default);
    }

    /// An actor was restarted.
    pub(crate) fn add(&self, actor: ActorId) {
        if let Some(counts) = self.0.get() {
            *lock(counts).entry(actor).or_default() += 1;
        }
    }

    /// How often this one was.
    pub(crate) fn of(&self, actor: ActorId) -> u64 {
        let counts = self.0.get();
        counts.map_or(0, |counts| lock(counts).get(&actor).copied().unwrap_or(0))
    }
}
