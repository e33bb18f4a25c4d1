//! The names of actors that move.

use crate::fabric::NodeId;
use crate::message::HandleKey;
use crate::traffic::Key;
use actinium_wire::{Message, fnv1a};
use serde::{Deserialize, Serialize};

/// Names an actor that moves, wherever it is: the node where it began, and which one of those it
/// is. It may be sent to other nodes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Message,
)]
pub struct MovableId {
    /// Where it began.
    pub node: u32,
    /// Tells those of one node apart.
    pub serial: u64,
}

impl MovableId {
    /// Its name among the actors of all types.
    pub(super) fn key(self, kind: &str) -> Key {
        Key::new(kind, self.node, self.serial)
    }

    /// Its name among the handles of actors.
    pub(super) fn handle_key(self, kind: &str) -> HandleKey {
        HandleKey::of_movable(fnv1a(kind.as_bytes()), self.serial)
    }

    /// Returns the name under which the state's shell is exported after `moves` moves, the last of
    /// them from node `from` (before the first move: the node where it began). A shell that a node
    /// sends as somebody's state is therefore found only by those whom that node has sent on.
    pub(super) fn exported(self, moves: u64, from: NodeId) -> String {
        format!("actinium.movable.{}.{}.{moves}.{}", self.node, self.serial, from.0)
    }
}
