//! Requests, watches and adopted children that actors of another node have here.
//!
//! An entry belongs to one session of the two nodes. This node does not report an entry's result in
//! a later session, because the other node may have given the same number to another request by
//! then.

use crate::message::{ActorKey, HandleKey};
use std::collections::{BTreeMap, BTreeSet};

/// Names an actor that is watched: as one that is exported, or by a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watched {
    Exported(ActorKey),
    Given(HandleKey),
}

/// The requests, watches and adopted children that one other node's actors have here: see the
/// module.
#[derive(Default)]
pub(crate) struct Inbound {
    session: u64,
    /// The number of open requests, those of earlier sessions included: actors here still have
    /// them.
    asks: usize,
    /// The watches of each actor, by the other node's numbers. An actor stays in the table until it
    /// ends, even if nobody watches it any more: so this node watches each actor once.
    watches: BTreeMap<Watched, Vec<u64>>,
    watched: usize,
    /// Actors of this node that end with the other one.
    adopted: BTreeSet<ActorKey>,
}

/// The outcome of a request to watch an actor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Watching {
    /// The actor is not watched for that node yet, so the caller watches it now.
    First,
    /// The actor is watched for that node already.
    Another,
    /// The other node has too many watches.
    TooMany,
}

impl Inbound {
    /// Begins a request, and returns the number of the session that it belongs to. None if too many
    /// are open.
    pub(super) fn ask(&mut self, most: usize) -> Option<u64> {
        if self.asks >= most {
            return None;
        }
        self.asks += 1;
        Some(self.session)
    }

    /// Ends a request that was answered. True if the session in which it was asked goes on.
    pub(super) fn answered(&mut self, session: u64) -> bool {
        self.asks = self.asks.saturating_sub(1);
        session == self.session
    }

    pub(super) fn watch(&mut self, key: Watched, watch: u64, most: usize) -> Watching {
        if self.watched >= most {
            return Watching::TooMany;
        }
        self.watched += 1;
        let is_first = !self.watches.contains_key(&key);
        self.watches.entry(key).or_default().push(watch);
        if is_first { Watching::First } else { Watching::Another }
    }

    /// Drops an actor that has ended, and returns the watches that wait for that.
    pub(super) fn ended(&mut self, key: Watched) -> Vec<u64> {
        if let Watched::Exported(key) = key {
            self.adopted.remove(&key);
        }
        let watches = self.watches.remove(&key).unwrap_or_default();
        self.watched -= watches.len();
        watches
    }

    /// Ends one watch of an actor.
    pub(super) fn unwatch(&mut self, key: Watched, watch: u64) {
        if let Some(watches) = self.watches.get_mut(&key) {
            let before = watches.len();
            watches.retain(|&other| other != watch);
            self.watched -= before - watches.len();
        }
    }

    /// The numbers of open requests, watches, and children.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.asks, self.watched, self.adopted.len())
    }

    pub(super) fn adopt(&mut self, key: ActorKey) {
        self.adopted.insert(key);
    }

    pub(super) fn has_adopted(&self, key: ActorKey) -> bool {
        self.adopted.contains(&key)
    }

    /// Ends the session, and returns the actors that are to end with it.
    pub(super) fn leave(&mut self) -> BTreeSet<ActorKey> {
        self.session += 1;
        self.watched = 0;
        self.watches.values_mut().for_each(|watches| *watches = Vec::new());
        std::mem::take(&mut self.adopted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: ActorKey = ActorKey { index: 3, generation: 9 };
    const WATCHED: Watched = Watched::Exported(KEY);

    #[test]
    fn requests_are_counted_and_those_of_an_earlier_session_are_not_answered() {
        let mut inbound = Inbound::default();
        assert_eq!((inbound.ask(2), inbound.ask(2), inbound.ask(2)), (Some(0), Some(0), None));
        assert!(inbound.answered(0));
        inbound.leave();
        assert_eq!(inbound.ask(2), Some(1));
        assert_eq!(inbound.ask(2), None, "one of the first session is still open");
        assert!(!inbound.answered(0));
        assert!(inbound.answered(1));
        assert_eq!(inbound.ask(1), Some(1));
    }

    #[test]
    fn watches_are_counted_and_end_with_their_session() {
        let mut inbound = Inbound::default();
        assert_eq!(inbound.watch(WATCHED, 1, 2), Watching::First);
        assert_eq!(inbound.watch(WATCHED, 2, 2), Watching::Another);
        assert_eq!(inbound.watch(WATCHED, 3, 2), Watching::TooMany);
        inbound.adopt(KEY);
        assert_eq!(inbound.leave(), [KEY].into());
        assert!(!inbound.has_adopted(KEY));
        assert_eq!(inbound.watch(WATCHED, 1, 2), Watching::Another, "the actor is watched already");
        assert_eq!(inbound.ended(WATCHED), [1]);
        assert!(inbound.ended(WATCHED).is_empty());
        assert_eq!(inbound.watch(WATCHED, 4, 1), Watching::First);
        inbound.unwatch(WATCHED, 5);
        inbound.unwatch(WATCHED, 4);
        assert_eq!(inbound.counts(), (0, 0, 0));
        assert_eq!(inbound.watch(WATCHED, 5, 1), Watching::Another);
    }
}
