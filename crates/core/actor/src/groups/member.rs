//! What groups need of their members.

use crate::actor::Actor;
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::handle::ask_recipient::AskRecipient;
use crate::handle::recipient::Recipient;
use crate::send_error::SendError;

/// What a [`Router`](crate::Router) chooses among, and a [`Broadcast`](crate::Broadcast) reaches:
/// an [`Address`], or a [`Recipient`] or [`AskRecipient`], whose actor may live on another node.
pub trait Member: Clone + Send + Sync + 'static {
    /// What it takes: a message, or a request.
    type Msg: Send + 'static;

    /// The actor's identity in its own system.
    fn id(&self) -> ActorId;

    /// Whether the actor is known to have ended.
    fn is_closed(&self) -> bool;
}

/// A member that takes messages.
pub trait Tells: Member {
    /// Sends a message: see [`Address::send`] and [`Recipient::send`].
    ///
    /// # Errors
    /// As there.
    fn send(&self, msg: Self::Msg) -> Result<(), SendError<Self::Msg>>;

    /// Sends a message, blocking the thread while there is no room; never a worker, where it
    /// refuses.
    ///
    /// # Errors
    /// As [`Address::send_blocking`].
    fn send_blocking(&self, msg: Self::Msg) -> Result<(), SendError<Self::Msg>>;

    /// Sends a message of which nobody waits to hear.
    fn tell(&self, msg: Self::Msg);
}

/// A member that knows how much it has to do. That of an actor of another node is not known.
pub trait Loaded: Member {
    /// The messages that wait for it: an estimate.
    fn waiting(&self) -> usize;

    /// Whether it handles messages at this moment: an estimate.
    fn is_running(&self) -> bool;
}

impl<A: Actor> Member for Address<A> {
    type Msg = A::Msg;

    fn id(&self) -> ActorId {
        self.id()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }
}

impl<A: Actor> Tells for Address<A> {
    fn send(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        self.send(msg)
    }

    fn send_blocking(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        self.send_blocking(msg)
    }

    fn tell(&self, msg: A::Msg) {
        self.tell(msg);
    }
}

impl<A: Actor> Loaded for Address<A> {
    fn waiting(&self) -> usize {
        self.len()
    }

    fn is_running(&self) -> bool {
        let core = &self.0.core;
        core.system.shared.is_running(&core.header)
    }
}

impl<M: Send + 'static> Member for Recipient<M> {
    type Msg = M;

    fn id(&self) -> ActorId {
        self.id()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }
}

impl<M: Send + 'static> Tells for Recipient<M> {
    fn send(&self, msg: M) -> Result<(), SendError<M>> {
        self.send(msg)
    }

    fn send_blocking(&self, msg: M) -> Result<(), SendError<M>> {
        self.send_blocking(msg)
    }

    fn tell(&self, msg: M) {
        self.tell(msg);
    }
}

impl<Q: Send + 'static, R: Send + 'static> Member for AskRecipient<Q, R> {
    type Msg = Q;

    fn id(&self) -> ActorId {
        self.id()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }
}
