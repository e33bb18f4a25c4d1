//! Who talks with whom: messages of actors that move are sampled, for the node's partitioner.
//!
//! While the state of such an actor handles something, a worker knows whose turn it is
//! ([`scope`]). What is sent then through an address of this crate is noted for that actor.

mod config;
pub(crate) mod scope;

use crate::fabric::NodeId;
use crate::locks::lock;
use actinium_placement::{Actor, Answer, End, Offer, Partitioner, Refusal, Stats};
use actinium_wire::fnv1a;
pub use config::RepartitionConfig;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Names an actor that moves, of whatever type, in the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// The hash of its kind.
    pub(crate) kind: u64,
    /// The node where it began, and which one of those it is.
    pub(crate) node: u32,
    pub(crate) serial: u64,
}

impl Key {
    pub(crate) fn new(kind: &str, node: u32, serial: u64) -> Self {
        Key { kind: fnv1a(kind.as_bytes()), node, serial }
    }
}

/// Called when a move is over, with the reason if there was none.
pub(crate) type Done = Box<dyn FnOnce(Result<(), String>) + Send>;

/// Moves an actor.
pub(crate) trait Mover: Send + Sync {
    /// Asks it to move. It may refuse.
    fn move_to(&self, node: NodeId, done: Done);
}

/// What a node knows of its actors that move and of whom they talk with.
pub(crate) struct Traffic {
    pub(crate) config: RepartitionConfig,
    has_begun: AtomicBool,
    state: Mutex<State>,
}

struct State {
    partitioner: Partitioner<Key>,
    movers: BTreeMap<Key, Arc<dyn Mover>>,
}

impl Traffic {
    pub(crate) fn new(me: NodeId, config: RepartitionConfig) -> Self {
        let partitioner = Partitioner::new(me.0, config.rules.clone(), u64::from(me.0));
        let state = Mutex::new(State { partitioner, movers: BTreeMap::new() });
        Traffic { config, has_begun: AtomicBool::new(false), state }
    }

    /// Returns true the first time.
    pub(crate) fn begin(&self) -> bool {
        // Relaxed: only who is first matters.
        !self.has_begun.swap(true, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// An actor lives here from now on.
    pub(crate) fn appeared(&self, key: Key, about: Actor, mover: Arc<dyn Mover>) {
        let mut state = self.lock();
        state.partitioner.appeared(key, about);
        state.movers.insert(key, mover);
    }

    /// What was said about an actor here has changed.
    pub(crate) fn changed(&self, key: Key, about: Actor) {
        let mut state = self.lock();
        if state.movers.contains_key(&key) {
            state.partitioner.appeared(key, about);
        }
    }

    /// An actor no longer lives here.
    pub(crate) fn vanished(&self, key: Key) {
        let mut state = self.lock();
        state.movers.remove(&key);
        state.partitioner.vanished(key);
    }

    fn sent(&self, from: Key, to: End<Key>, node: NodeId, messages: u64) {
        self.lock().partitioner.sent(from, to, node.0, messages);
    }

    pub(crate) fn round(&self) -> Option<(NodeId, Offer<Key>)> {
        let made = self.lock().partitioner.round();
        made.map(|(peer, offer)| (NodeId(peer), offer))
    }

    pub(crate) fn offered(&self, from: NodeId, offer: &Offer<Key>) -> Result<Answer<Key>, Refusal> {
        self.lock().partitioner.offered(from.0, offer)
    }

    pub(crate) fn answered(&self, from: NodeId, answer: &Answer<Key>) -> Result<Vec<Key>, Refusal> {
        self.lock().partitioner.answered(from.0, answer)
    }

    pub(crate) fn refused(&self, from: NodeId) -> Option<(NodeId, Offer<Key>)> {
        let made = self.lock().partitioner.refused(from.0);
        made.map(|(peer, offer)| (NodeId(peer), offer))
    }

    /// Returns the next offer of this round, if there is one and the node is free.
    pub(crate) fn next_offer(&self) -> Option<(NodeId, Offer<Key>)> {
        let made = self.lock().partitioner.next_offer();
        made.map(|(peer, offer)| (NodeId(peer), offer))
    }

    /// Returns what moves an actor, if it lives here.
    pub(crate) fn mover(&self, key: Key) -> Option<Arc<dyn Mover>> {
        self.lock().movers.get(&key).cloned()
    }

    /// A move of an exchange is over.
    pub(crate) fn moved(&self, key: Key, has_moved: bool) {
        let mut state = self.lock();
        if has_moved {
            state.partitioner.moved(key);
        } else {
            state.partitioner.not_moved(key);
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        self.lock().partitioner.stats()
    }
}
