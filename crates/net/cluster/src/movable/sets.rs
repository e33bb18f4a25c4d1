//! Actors that move and are shards of a set: what travels with them, and whom a node tells that one
//! has come. See `sharding`.

use super::id::MovableId;
use crate::locks::lock;
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Which shard of which set a state is. It travels with the state.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
pub(crate) struct ShardTag {
    pub(crate) set: String,
    pub(crate) shard: u32,
    /// The time at which the name of the shard was claimed for it: see `names`.
    pub(crate) since_ns: u64,
    /// The name under which the shell is exported that it was copied from.
    pub(super) before: String,
}

impl ShardTag {
    pub(crate) fn new(set: String, shard: u32, since_ns: u64) -> Self {
        ShardTag { set, shard, since_ns, before: String::new() }
    }
}

/// A shard has come to this node.
pub(crate) struct ShardCame {
    pub(crate) tag: ShardTag,
    pub(crate) id: MovableId,
    pub(crate) moves: u64,
    /// The name under which its shell is exported.
    pub(crate) exported: String,
}

/// Told when a shard has come.
pub(crate) type Came = Arc<dyn Fn(ShardCame) + Send + Sync>;

type Kept = Arc<dyn Any + Send + Sync>;

/// The sets of shards of one type of actors at this node, by their names. Each says whom to tell
/// that a shard has come, and is kept for those who look for it.
#[derive(Default)]
pub(crate) struct Sets(Mutex<BTreeMap<String, (Came, Kept)>>);

impl Sets {
    pub(crate) fn insert(&self, name: &str, came: Came, set: Kept) {
        lock(&self.0).insert(name.to_owned(), (came, set));
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self, name: &str) -> Option<Arc<T>> {
        let set = lock(&self.0).get(name)?.1.clone();
        set.downcast().ok()
    }

    pub(super) fn came(&self, name: &str) -> Option<Came> {
        lock(&self.0).get(name).map(|(came, _)| came.clone())
    }
}
