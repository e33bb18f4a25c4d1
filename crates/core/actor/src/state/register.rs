//! The register of living actors.
//!
//! It has a shard for each worker and one for actors spawned by external threads, so that spawning
//! does not contend.

use crate::actor_id::ActorId;
use actinium_scheduler::Runnable;
use actinium_scheduler::sync::{Mutex, MutexGuard, lock};
use slab::Slab;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::ops::Range;

/// All living actors of a system.
pub(crate) struct Register(Box<[Mutex<Shard>]>);

/// Some of the living actors.
#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) living: Slab<Runnable>,
    /// The parent of each of these that has one.
    pub(crate) parents: BTreeMap<ActorId, ActorId>,
    /// The system has ended: this shard takes no further actors.
    pub(crate) closed: bool,
}

/// The place of an actor in the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) shard: usize,
    pub(crate) key: usize,
}

impl Register {
    /// An empty register for so many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Register((0..=workers).map(|_| Mutex::default()).collect())
    }

    /// The index of the shard of actors that external threads spawn.
    pub(crate) fn external(&self) -> usize {
        self.0.len() - 1
    }

    /// Locks a shard.
    pub(crate) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        lock(&self.0[shard])
    }

    /// Locks one shard after the other.
    pub(crate) fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.0.iter().map(lock)
    }

    /// Looks at the actors at these places of a shard, under its lock. Returns the number of places
    /// that the shard has.
    pub(crate) fn look(
        &self,
        shard: usize,
        places: Range<usize>,
        mut look: impl FnMut(Runnable),
    ) -> usize {
        let shard = self.lock(shard);
        places.filter_map(|key| shard.living.get(key)).for_each(|it| look(*it));
        shard.living.capacity()
    }

    /// Removes an actor that has ended.
    pub(crate) fn remove(&self, place: Place, id: ActorId) {
        let mut shard = self.lock(place.shard);
        shard.living.remove(place.key);
        shard.parents.remove(&id);
    }

    /// The parent of a living actor, if it has one.
    pub(crate) fn parent_of(&self, child: ActorId) -> Option<ActorId> {
        self.shards().find_map(|shard| shard.parents.get(&child).copied())
    }

    /// Looks at each living actor that has a parent, and at that parent; at most `at_once` under
    /// one lock.
    pub(crate) fn each_child(&self, at_once: usize, mut look: impl FnMut(ActorId, ActorId)) {
        for shard in 0..self.0.len() {
            let mut after = Bound::Unbounded;
            loop {
                let shard = self.lock(shard);
                let some: Vec<_> = shard
                    .parents
                    .range((after, Bound::Unbounded))
                    .take(at_once)
                    .map(|(&child, &parent)| (child, parent))
                    .collect();
                drop(shard);
                let Some(&(last, _)) = some.last() else { break };
                after = Bound::Excluded(last);
                some.into_iter().for_each(|(child, parent)| look(child, parent));
            }
        }
    }

    /// The number of living actors.
    pub(crate) fn len(&self) -> usize {
        self.shards().map(|shard| shard.living.len()).sum()
    }
}
