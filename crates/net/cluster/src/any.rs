//! An address that does not say where its actor is.

use crate::actor::RemoteActor;
use crate::answer::RemoteAnswer;
use crate::error::{RemoteDown, RemoteDownReason, RemoteSendError};
use crate::fabric::NodeId;
use crate::node::Undelivered;
use crate::remote::RemoteAddress;
use actinium_actor::{Actor, Address, Context, Down};
use actinium_memory::heap::Payload;
use std::fmt;
use std::time::Duration;

/// Reaches an actor of this node or of another. Messages to one of this node do not become bytes.
pub enum AnyAddress<A: RemoteActor> {
    /// The actor lives on this node, whose number is this.
    Here(NodeId, Address<A>),
    /// The actor lives on another node.
    There(RemoteAddress<A>),
}

/// Whether the mailbox of an actor of this node is full, and the sender is nobody who could be
/// muted.
fn is_refused<A: Actor>(here: &Address<A>) -> bool {
    let is_external = actinium_scheduler::current(|worker| worker.is_none());
    is_external && here.capacity().is_some_and(|capacity| here.len() >= capacity)
}

impl<A: RemoteActor> AnyAddress<A> {
    /// The node that it lives on.
    pub fn node(&self) -> NodeId {
        match self {
            AnyAddress::Here(node, _) => *node,
            AnyAddress::There(there) => there.node(),
        }
    }

    /// Sends a message. To an actor of this node as [`Address::tell`] does: from an actor, a full
    /// mailbox takes it and mutes the sender; from outside it is refused.
    ///
    /// # Errors
    /// If it can not be sent: see [`RemoteAddress::send`].
    pub fn send(&self, message: A::Message) -> Result<(), RemoteSendError<A::Message>> {
        match self {
            AnyAddress::Here(node, here) => {
                if is_refused(here) {
                    return Err(RemoteSendError::Full(message));
                }
                // If others fill it up just now, the message is a dead letter, which is counted and
                // told.
                here.tell(A::message_from(*node, message));
                Ok(())
            }
            AnyAddress::There(there) => there.send(message),
        }
    }

    /// Sends a message together with bytes: see [`RemoteAddress::send_with_payload`]. To an actor
    /// of this node, without a copy.
    ///
    /// # Errors
    /// If it can not be sent.
    pub fn send_with_payload(
        &self,
        message: A::Message,
        payload: Payload,
    ) -> Result<(), RemoteSendError<(A::Message, Payload)>> {
        match self {
            AnyAddress::Here(node, here) => {
                if is_refused(here) {
                    return Err(RemoteSendError::Full((message, payload)));
                }
                let msg = A::with_payload_from(*node, message, payload);
                here.tell(msg.map_err(RemoteSendError::NotTaken)?);
                Ok(())
            }
            AnyAddress::There(there) => there.send_with_payload(message, payload),
        }
    }

    /// Gives back messages that do not arrive: see [`RemoteAddress::on_undelivered`]. Those to an
    /// actor of this node do, or are dead letters.
    pub fn on_undelivered(&self, listener: impl Fn(Undelivered<A>) + Send + Sync + 'static) {
        if let AnyAddress::There(there) = self {
            there.on_undelivered(listener);
        }
    }

    /// Asks. For an actor: `ctx.pipe(address.ask(..), Msg::Answer)`.
    pub fn ask(&self, request: A::Request, timeout: Duration) -> RemoteAnswer<A::Answer> {
        match self {
            AnyAddress::Here(node, here) => RemoteAnswer::of_local(
                *node,
                here.ask_timeout(timeout, |reply| A::request_from(*node, request, reply)),
            ),
            AnyAddress::There(there) => there.ask(request, timeout),
        }
    }

    /// Asks for a message to the actor that calls this when the other one ends, or its node goes
    /// down.
    pub fn watch<B: Actor>(
        &self,
        ctx: &Context<'_, B>,
        msg: impl FnOnce(RemoteDown) -> B::Msg + Send + 'static,
    ) {
        match self {
            AnyAddress::Here(node, address) => {
                let node = *node;
                ctx.watch(address, move |Down { reason, .. }| {
                    let is_abnormal = reason.is_abnormal();
                    let why = if is_abnormal {
                        RemoteDownReason::Failed
                    } else {
                        RemoteDownReason::Ended
                    };
                    msg(RemoteDown { node, reason: why(reason.to_string()) })
                });
            }
            AnyAddress::There(there) => there.watch(ctx, msg),
        }
    }

    /// Asks it to end once it has handled what is in its mailbox.
    pub fn stop(&self) {
        match self {
            AnyAddress::Here(_, here) => here.stop(),
            AnyAddress::There(there) => there.stop(),
        }
    }

    /// Asks it to end at once.
    pub fn kill(&self) {
        match self {
            AnyAddress::Here(_, here) => here.kill(),
            AnyAddress::There(there) => there.kill(),
        }
    }
}

impl<A: RemoteActor> Clone for AnyAddress<A> {
    fn clone(&self) -> Self {
        match self {
            AnyAddress::Here(node, here) => AnyAddress::Here(*node, here.clone()),
            AnyAddress::There(there) => AnyAddress::There(there.clone()),
        }
    }
}

impl<A: RemoteActor> fmt::Debug for AnyAddress<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyAddress::Here(_, here) => here.fmt(f),
            AnyAddress::There(there) => there.fmt(f),
        }
    }
}
