//! The table of handles that travel: those of this process that were given away, and those of other
//! nodes that are in use here.
//!
//! A handle that is given away has a serial number, which is never used again, and a secret, which
//! nobody can guess who was not given it. A note of it lives as long as its actor, and there is one
//! for each actor and type of handle: so there are at most as many as living actors, times the
//! types of handles that a program has.

use crate::fabric::NodeId;
use crate::message::HandleKey;
use actinium_actor::travel::{Given, GivenReply, Origin};
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

/// A reply handle of this process that was given away.
struct ReplyNote {
    secret: u64,
    /// The node that it was sent to.
    to: NodeId,
    given: Arc<dyn GivenReply>,
}

/// The error of an answer by somebody who was not given the handle for it.
#[derive(Debug)]
pub(super) struct NotGiven;

/// As many notes of replies are kept before those are looked for that nobody waits for.
const REPLIES_UNSWEPT: usize = 256;

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
    replies: BTreeMap<u64, ReplyNote>,
    /// The number of replies at which those go that nobody waits for.
    sweep_at: usize,
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
    pub(super) fn close(&mut self) -> Self {
        std::mem::replace(self, Handles { is_closed: true, ..Handles::default() })
    }

    /// Notes a reply handle that is given to a node. None if this node has left. Returns, too, the
    /// replies that nobody waits for any more.
    #[must_use = "they are dropped behind the lock"]
    pub(super) fn note_reply(
        &mut self,
        to: NodeId,
        given: Arc<dyn GivenReply>,
    ) -> (Option<HandleKey>, Vec<Arc<dyn GivenReply>>) {
        if self.is_closed {
            return (None, vec![given]);
        }
        let mut swept = Vec::new();
        if self.replies.len() >= self.sweep_at.max(REPLIES_UNSWEPT) {
            swept = self.take_replies(|note| !note.given.is_awaited());
            self.sweep_at = 2 * self.replies.len();
        }
        self.last += 1;
        let serial = self.last;
        let secret = self.secrets.hash_one(serial);
        self.replies.insert(serial, ReplyNote { secret, to, given });
        (Some(HandleKey { serial, secret }), swept)
    }

    /// Takes a reply handle that is answered. None: nobody waits for it any more.
    ///
    /// # Errors
    /// If the key was never given.
    pub(super) fn take_reply(
        &mut self,
        key: HandleKey,
    ) -> Result<Option<Arc<dyn GivenReply>>, NotGiven> {
        match self.replies.get(&key.serial) {
            Some(note) if note.secret == key.secret => Ok(self.forget_reply(key.serial)),
            None if (1..=self.last).contains(&key.serial) => Ok(None),
            _ => Err(NotGiven),
        }
    }

    /// Forgets a reply handle whose message was not sent.
    #[must_use = "it is dropped behind the lock"]
    pub(super) fn forget_reply(&mut self, serial: u64) -> Option<Arc<dyn GivenReply>> {
        self.replies.remove(&serial).map(|note| note.given)
    }

    /// Forgets the reply handles that were given to a node, which is down.
    #[must_use = "they are dropped behind the lock"]
    pub(super) fn forget_replies(&mut self, node: NodeId) -> Vec<Arc<dyn GivenReply>> {
        self.take_replies(|note| note.to == node)
    }

    fn take_replies(&mut self, which: impl Fn(&ReplyNote) -> bool) -> Vec<Arc<dyn GivenReply>> {
        let taken = self.replies.iter().filter(|(_, note)| which(note));
        let serials: Vec<u64> = taken.map(|(&serial, _)| serial).collect();
        serials.into_iter().filter_map(|serial| self.forget_reply(serial)).collect()
    }

    /// The number of handles that were given away and whose actors live, and of reply handles that
    /// were given away.
    pub(super) fn len(&self) -> usize {
        self.notes.len() + self.replies.len()
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
