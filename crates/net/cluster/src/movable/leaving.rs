//! An actor that is about to move waits until all that it has sent has arrived.
//!
//! From the node where it goes, it sends by other ways. What it sends there might otherwise
//! overtake what is still on the old ways. So it asks by each address that it has used whether all
//! is there, as a proxy does. Meanwhile it goes on with its work, at first. If it never comes to an
//! end so, it *holds* what it is sent, for it sends nothing then.
//!
//! Nobody waits in a circle. An actor that holds answers whoever asks it the same, at once if it
//! holds nothing that came before by that way. Otherwise it goes on with its work, and tries again.

use super::delivery::Waiting;
use crate::actor::RemoteActor;
use crate::fabric::NodeId;
use crate::traffic::Key;
use crate::traffic::scope::{Flush, Sender, Used};
use std::collections::VecDeque;

/// So often it asks while it goes on with its work.
const LIVE_ROUNDS: u32 = 2;
/// So often it asks in all, before it gives up.
const ROUNDS_MAX: u32 = 32;

/// A move that has not begun, because something may be on its way. `T` is told what has become of
/// it.
pub(super) struct Leaving<A: RemoteActor, T> {
    pub(super) node: NodeId,
    pub(super) asker: T,
    rounds: u32,
    /// The number of answers that are outstanding.
    open: usize,
    is_holding: bool,
    held: VecDeque<(NodeId, Waiting<A>)>,
}

/// What follows.
pub(super) enum Next {
    Wait,
    /// Ask by each of these addresses.
    Ask(Vec<(Key, Used, Flush)>),
    Go,
    GiveUp,
}

impl<A: RemoteActor, T> Leaving<A, T> {
    pub(super) fn new(node: NodeId, asker: T) -> Self {
        Leaving { node, asker, rounds: 0, open: 0, is_holding: false, held: VecDeque::new() }
    }

    pub(super) fn is_holding(&self) -> bool {
        self.is_holding
    }

    /// Holds what has come from a node. Returns what is to be dealt with now. `is_close`: whoever
    /// sent it asks whether all is there that was sent before.
    pub(super) fn hold(
        &mut self,
        from: NodeId,
        waiting: Waiting<A>,
        is_close: bool,
    ) -> Vec<Waiting<A>> {
        if !is_close {
            self.held.push_back((from, waiting));
            return Vec::new();
        }
        let is_behind = self.held.iter().any(|(node, _)| *node == from);
        let mut now = if is_behind { self.release() } else { Vec::new() };
        now.push(waiting);
        now
    }

    /// Stops holding. Returns what was held.
    pub(super) fn release(&mut self) -> Vec<Waiting<A>> {
        self.is_holding = false;
        std::mem::take(&mut self.held).into_iter().map(|(_, waiting)| waiting).collect()
    }

    /// An answer has come.
    pub(super) fn answered(&mut self) {
        self.open -= 1;
    }

    /// What follows, once nothing is outstanding.
    pub(super) fn next(&mut self, sender: Option<&mut Sender>) -> Next {
        if self.open > 0 {
            return Next::Wait;
        }
        let Some(sender) = sender.filter(|sender| sender.uses_any()) else { return Next::Go };
        if self.rounds == ROUNDS_MAX {
            return Next::GiveUp;
        }
        self.rounds += 1;
        self.is_holding |= self.rounds > LIVE_ROUNDS;
        let used = sender.take_used();
        self.open = used.len();
        Next::Ask(used)
    }
}
