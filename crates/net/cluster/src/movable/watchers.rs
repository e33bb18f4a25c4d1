//! Those who watch an actor that moves, at one node.

use crate::locks::lock;
use actinium_actor::{ActorId, Down, StopReason};
use std::any::Any;
use std::sync::{Arc, Mutex};

type Notify = Box<dyn FnOnce(Down) + Send>;

struct Watcher {
    /// Who watches, and for which of two reasons.
    by: (ActorId, bool),
    /// The actor that is watched, as the watcher knows it.
    of: ActorId,
    notify: Notify,
    /// The address: its proxy has to live in order to hear of the end.
    _address: Arc<dyn Any + Send + Sync>,
}

/// See the module. None: the actor has ended.
pub(super) struct Watchers(Mutex<Option<Vec<Watcher>>>);

impl Default for Watchers {
    fn default() -> Self {
        Watchers(Mutex::new(Some(Vec::new())))
    }
}

impl Watchers {
    /// Adds one, or tells it at once if the actor has ended.
    pub(super) fn add(
        &self,
        by: (ActorId, bool),
        of: ActorId,
        address: Arc<dyn Any + Send + Sync>,
        notify: Notify,
    ) {
        let late = match &mut *lock(&self.0) {
            Some(watchers) => {
                watchers.push(Watcher { by, of, notify, _address: address });
                None
            }
            None => Some(notify),
        };
        if let Some(notify) = late {
            notify(Down { actor: of, reason: StopReason::AlreadyStopped });
        }
    }

    /// Takes one back.
    pub(super) fn remove(&self, by: (ActorId, bool)) {
        let mut removed = Vec::new();
        if let Some(watchers) = &mut *lock(&self.0) {
            removed.extend(watchers.extract_if(.., |it| it.by == by));
        }
        // Behind the lock: an address may be the last one.
        drop(removed);
    }

    /// Tells all, and whoever comes later.
    pub(super) fn tell(&self, reason: &StopReason) {
        let watchers = lock(&self.0).take();
        for watcher in watchers.into_iter().flatten() {
            (watcher.notify)(Down { actor: watcher.of, reason: reason.clone() });
        }
    }
}
