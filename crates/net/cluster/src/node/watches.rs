//! The table of actors on other nodes whose end somebody here waits for.

use crate::error::RemoteDown;
use crate::fabric::NodeId;
use std::collections::BTreeMap;

pub(super) type Notify = Box<dyn FnOnce(RemoteDown) + Send>;

/// The watches that have not ended, by number. Nobody is told in here: that runs user code, and
/// comes after the lock.
#[derive(Default)]
pub(super) struct Watches {
    next: u64,
    open: BTreeMap<u64, (NodeId, Notify)>,
}

impl Watches {
    /// Keeps a watch of an actor on a node, and returns its number.
    pub(super) fn add(&mut self, node: NodeId, notify: Notify) -> u64 {
        let watch = self.next;
        self.next += 1;
        self.open.insert(watch, (node, notify));
        watch
    }

    /// Whether there ever was a watch of this number. What is watched no more may end late.
    pub(super) fn was_given(&self, watch: u64) -> bool {
        watch < self.next
    }

    /// The node of a watch that has not ended.
    pub(super) fn node_of(&self, watch: u64) -> Option<NodeId> {
        self.open.get(&watch).map(|(node, _)| *node)
    }

    /// The watches of actors on this node.
    pub(super) fn of(&self, node: NodeId) -> Vec<u64> {
        let of_node = self.open.iter().filter(|(_, (of, _))| *of == node);
        of_node.map(|(&watch, _)| watch).collect()
    }

    pub(super) fn take(&mut self, watch: u64) -> Option<(NodeId, Notify)> {
        self.open.remove(&watch)
    }

    pub(super) fn take_all(&mut self) -> Vec<(NodeId, Notify)> {
        std::mem::take(&mut self.open).into_values().collect()
    }
}
