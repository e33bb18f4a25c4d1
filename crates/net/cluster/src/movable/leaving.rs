//! An actor that is about to move waits until all that it has sent has arrived.
//!
//! From the node where it goes, it sends by other ways. What it sends there might otherwise overtake
//! what is still on the old ways. So it asks by each address that it has used whether all is there,
//! as a proxy does. Meanwhile it goes on with its work, at first. If it never comes to an end so, it
//! *holds* what it is sent, for it sends nothing then.
//!
//! Nobody waits in a circle. An actor that holds answers whoever asks it the same, at once if it
//! holds nothing that came before by that way. Otherwise it goes on with its work, and tries again.

use super::outbox::{Delivery, Waiting};
use super::shell::{CLOSE, Migrate, Movable};
use crate::fabric::NodeId;
use crate::traffic::scope::{Flush, Sender, Used};
use crate::traffic::{Done, Key};
use actinium_actor::Reply;
use std::collections::VecDeque;

/// So often it asks while it goes on with its work.
const LIVE_ROUNDS: u32 = 2;
/// So often it asks in all, before it gives up.
const ROUNDS_MAX: u32 = 32;

/// Who is told what has become of a move.
pub(super) enum Asker<S: Migrate> {
    Reply(Reply<super::shell::Answer<S>>),
    Repartitioner(Done),
}

impl<S: Migrate> Asker<S> {
    /// Whoever asked may have stopped waiting.
    pub(super) fn tell(self, not_moved: Option<String>) {
        match self {
            Asker::Reply(reply) => drop(reply.send((None, None, not_moved))),
            Asker::Repartitioner(done) => done(not_moved.map_or(Ok(()), Err)),
        }
    }
}

/// A move that has not begun, because something may be on its way.
pub(super) struct Leaving<S: Migrate> {
    pub(super) node: NodeId,
    pub(super) asker: Asker<S>,
    rounds: u32,
    /// The number of answers that are outstanding.
    open: usize,
    is_holding: bool,
    held: VecDeque<(NodeId, Waiting<Movable<S>>)>,
}

/// What follows.
pub(super) enum Next {
    Wait,
    /// Ask by each of these addresses.
    Ask(Vec<(Key, Used, Flush)>),
    Go,
    GiveUp,
}

impl<S: Migrate> Leaving<S> {
    pub(super) fn new(node: NodeId, asker: Asker<S>) -> Self {
        Leaving { node, asker, rounds: 0, open: 0, is_holding: false, held: VecDeque::new() }
    }

    pub(super) fn is_holding(&self) -> bool {
        self.is_holding
    }

    /// Holds what has come from a node, or gives it back: what is to be done now.
    pub(super) fn hold(
        &mut self,
        from: NodeId,
        waiting: Waiting<Movable<S>>,
    ) -> Vec<Waiting<Movable<S>>> {
        if !matches!(waiting.0, Delivery::Ask((CLOSE, ..), _)) {
            self.held.push_back((from, waiting));
            return Vec::new();
        }
        let is_behind = self.held.iter().any(|(node, _)| *node == from);
        let mut now = if is_behind { self.release() } else { Vec::new() };
        now.push(waiting);
        now
    }

    /// Stops holding. Returns what was held.
    pub(super) fn release(&mut self) -> Vec<Waiting<Movable<S>>> {
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
