//! The table of handles that travel: those of this process that were given away, and those of other
//! nodes that are in use here.
//!
//! A handle that is given away has a serial number, which is never used again, and a secret, which
//! nobody can guess who was not given it. A note of it lives as long as its actor, and there is one
//! for each actor and type of handle: so there are at most as many as living actors, times the
//! types of handles that a program has.

use crate::fabric::NodeId;
use crate::message::HandleKey;
use actinium_actor::travel::{Given, Origin};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

/// A handle of this process that was given away.
struct Note {
    secret: u64,
    origin: Origin,
    given: Arc<dyn Given>,
}

/// The table: see the module.
#[derive(Default)]
pub(super) struct Handles {
    /// Whether the node has left: nothing is noted any more.
    is_closed: bool,
    /// The source of secrets: a keyed hash, whose key is the operating system's random numbers.
    secrets: RandomState,
    last: u64,
    notes: BTreeMap<u64, Note>,
    by_origin: BTreeMap<Origin, u64>,
    /// For each handle of another node that is in use here, whether its actor is known to have
    /// ended.
    in_use: BTreeMap<(NodeId, HandleKey), Weak<AtomicBool>>,
}

impl Handles {
    /// The key of a handle that is noted already.
    pub(super) fn known(&self, origin: &Origin) -> Option<HandleKey> {
        let &serial = self.by_origin.get(origin)?;
        self.notes.get(&serial).map(|note| HandleKey { serial, secret: note.secret })
    }

    /// Notes a handle that is given away. None if the node has left.
    pub(super) fn note(&mut self, origin: Origin, given: Arc<dyn Given>) -> Option<HandleKey> {
        if self.is_closed {
            return None;
        }
        self.last += 1;
        let serial = self.last;
        let secret = self.secrets.hash_one(serial);
        self.notes.insert(serial, Note { secret, origin, given });
        self.by_origin.insert(origin, serial);
        Some(HandleKey { serial, secret })
    }

    /// Returns a handle that was given away, if this is its key.
    pub(super) fn given(&self, key: HandleKey) -> Option<&Arc<dyn Given>> {
        let note = self.notes.get(&key.serial)?;
        (note.secret == key.secret).then_some(&note.given)
    }

    /// Forgets a handle whose actor has ended.
    #[must_use = "it is dropped behind the lock"]
    pub(super) fn forget(&mut self, serial: u64) -> Option<Arc<dyn Given>> {
        let note = self.notes.remove(&serial)?;
        if self.by_origin.get(&note.origin) == Some(&serial) {
            self.by_origin.remove(&note.origin);
        }
        Some(note.given)
    }

    /// Empties the table, because the node has ended, and returns what was in it.
    #[must_use = "it is dropped behind the lock"]
    pub(super) fn close(&mut self) -> Vec<Arc<dyn Given>> {
        self.is_closed = true;
        self.by_origin.clear();
        std::mem::take(&mut self.notes).into_values().map(|note| note.given).collect()
    }

    /// The number of handles that were given away and whose actors live.
    pub(super) fn len(&self) -> usize {
        self.notes.len()
    }

    /// Begins to use a handle of another node. Returns whether its actor is known to have ended.
    pub(super) fn begin_use(&mut self, node: NodeId, key: HandleKey) -> Arc<AtomicBool> {
        let known = self.in_use.entry((node, key)).or_default();
        known.upgrade().unwrap_or_else(|| {
            let new = Arc::default();
            *known = Arc::downgrade(&new);
            new
        })
    }

    /// Ends one use of a handle.
    pub(super) fn end_use(&mut self, node: NodeId, key: HandleKey, used: Arc<AtomicBool>) {
        drop(used);
        if self.in_use.get(&(node, key)).is_some_and(|known| known.strong_count() == 0) {
            self.in_use.remove(&(node, key));
        }
    }

    /// Returns the mark of a handle of that node, if it is in use here.
    pub(super) fn used(&self, node: NodeId, key: HandleKey) -> Option<Arc<AtomicBool>> {
        self.in_use.get(&(node, key))?.upgrade()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_in_use_as_long_as_somebody_uses_it() {
        let mut handles = Handles::default();
        let (node, key) = (NodeId(1), HandleKey { serial: 1, secret: 2 });
        let (one, other) = (handles.begin_use(node, key), handles.begin_use(node, key));
        assert!(Arc::ptr_eq(&one, &other));
        handles.end_use(node, key, one);
        assert!(handles.used(node, key).is_some());
        handles.end_use(node, key, other);
        assert!(handles.used(node, key).is_none() && handles.in_use.is_empty());
    }
}
