//! The table of actors on other nodes whose end somebody here waits for.

use crate::error::RemoteDown;
use crate::fabric::NodeId;
use crate::message::HandleKey;
use actinium_actor::ActorId;
use std::collections::BTreeMap;

pub(super) type Notify = Box<dyn FnOnce(RemoteDown) + Send>;

/// Who has asked, by a handle, to be told of an actor's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchedBy {
    pub(super) handle: HandleKey,
    pub(super) actor: ActorId,
    /// Whether it is a link: a watch and a link of one actor are two.
    pub(super) is_link: bool,
}

struct Watch {
    node: NodeId,
    by: Option<WatchedBy>,
    notify: Notify,
}

/// The watches that have not ended, by number. Nobody is told in here: that runs user code, and
/// comes after the lock.
#[derive(Default)]
pub(super) struct Watches {
    next: u64,
    open: BTreeMap<u64, Watch>,
}

impl Watches {
    /// Keeps a watch of an actor on a node, and returns its number.
    pub(super) fn add(&mut self, node: NodeId, by: Option<WatchedBy>, notify: Notify) -> u64 {
        let watch = self.next;
        self.next += 1;
        self.open.insert(watch, Watch { node, by, notify });
        watch
    }

    /// Takes the watches of an actor on a node that somebody has asked for. Takes time in
    /// proportion to all watches.
    pub(super) fn take_by(&mut self, node: NodeId, by: WatchedBy) -> Vec<(u64, Notify)> {
        let of_it = self.open.iter().filter(|(_, it)| it.node == node && it.by == Some(by));
        let numbers: Vec<u64> = of_it.map(|(&number, _)| number).collect();
        let take = |number| Some((number, self.open.remove(&number)?.notify));
        numbers.into_iter().filter_map(take).collect()
    }

    /// Whether there ever was a watch of this number. What is watched no more may end late.
    pub(super) fn was_given(&self, watch: u64) -> bool {
        watch < self.next
    }

    /// The node of a watch that has not ended.
    pub(super) fn node_of(&self, watch: u64) -> Option<NodeId> {
        self.open.get(&watch).map(|watch| watch.node)
    }

    /// The watches of actors on this node.
    pub(super) fn of(&self, node: NodeId) -> Vec<u64> {
        let of_node = self.open.iter().filter(|(_, watch)| watch.node == node);
        of_node.map(|(&watch, _)| watch).collect()
    }

    pub(super) fn take(&mut self, watch: u64) -> Option<(NodeId, Notify)> {
        self.open.remove(&watch).map(|watch| (watch.node, watch.notify))
    }

    pub(super) fn take_all(&mut self) -> Vec<(NodeId, Notify)> {
        let open = std::mem::take(&mut self.open);
        open.into_values().map(|watch| (watch.node, watch.notify)).collect()
    }
}
