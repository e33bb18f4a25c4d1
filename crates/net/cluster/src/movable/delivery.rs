//! What is on its way to an actor that moves.

use crate::actor::RemoteActor;
use crate::fabric::NodeId;
use actinium_actor::Reply;
use actinium_memory::heap::Payload;
use std::sync::Arc;

/// Something for the state, or for its shell.
pub(super) enum Delivery<A: RemoteActor> {
    Tell(A::Message),
    /// With the node that sent it last.
    TellWith(NodeId, A::Message, Payload),
    Ask(A::Request, Reply<A::Answer>),
}

impl<A: RemoteActor> Delivery<A> {
    /// The number of bytes of its payload.
    pub(super) fn payload_bytes(&self) -> usize {
        if let Delivery::TellWith(_, _, payload) = self { payload.len() } else { 0 }
    }
}

/// A delivery that waits, and the token by which it is counted while it does.
pub(super) type Waiting<A> = (Delivery<A>, Option<Arc<()>>);
