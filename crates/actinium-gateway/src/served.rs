//! What an actor sees of those who reach it from outside.

use crate::admission::Identity;
use crate::conversation::{Conversation, Handle};
use actinium_actor::Actor;
use actinium_wire::protocol::{Spoken, Violation};
use std::fmt;
use std::sync::Arc;

/// An actor that may be reached from outside.
pub trait Served: Actor {
    /// What is said: a `protocol!`'s messages. The actor is the second party.
    type Talk: Spoken;

    /// What the actor is sent for something that a client says. The monitor has let it through.
    fn heard(call: Call<Self::Talk>) -> Self::Msg;

    /// What the actor is sent when a conversation by WebSocket has ended.
    fn left(peer: PeerId) -> Option<Self::Msg> {
        let _ = peer;
        None
    }
}

/// Something that a client says. As long as the actor keeps it whole, the message counts as in flight.
#[derive(Debug)]
pub struct Call<M: Spoken> {
    /// What.
    pub message: M,
    /// Who: the way back.
    pub peer: Peer<M>,
    pub(crate) _place: Place<M>,
}

/// A place among the messages in flight; free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place<M: Spoken>(pub(crate) Arc<Conversation<M>>);

impl<M: Spoken> Drop for Place<M> {
    fn drop(&mut self) {
        self.0.handled();
    }
}

/// One conversation of one client: unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(pub(crate) u64);

/// A client: the way back. Whoever keeps it can go on talking, as the protocol's state allows.
///
/// When a request is open and nobody has its peer any more, the client is told that there will be no answer.
pub struct Peer<M: Spoken>(pub(crate) Arc<Handle<M>>);

/// Why something was not said to a client.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unsent<M> {
    /// The conversation has ended.
    Closed(M),
    /// So many messages wait for its socket that it takes no more: see [`Peer::room`].
    Full(M),
    /// The protocol's state does not allow it.
    Violation(M, Violation),
}

impl<M> Unsent<M> {
    /// The message.
    pub fn into_inner(self) -> M {
        match self {
            Unsent::Closed(message) | Unsent::Full(message) | Unsent::Violation(message, _) => {
                message
            }
        }
    }
}

impl<M> fmt::Display for Unsent<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsent::Closed(_) => f.write_str("the conversation has ended"),
            Unsent::Full(_) => {
                f.write_str("too much waits for the client's socket: expected to wait for room")
            }
            Unsent::Violation(_, violation) => write!(f, "{violation}"),
        }
    }
}

impl<M: fmt::Debug> std::error::Error for Unsent<M> {}

impl<M: Spoken> Peer<M> {
    /// Which conversation.
    #[must_use]
    pub fn id(&self) -> PeerId {
        self.0.conversation.id
    }

    /// As whom the client was let in.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.0.conversation.identity
    }

    /// Says something to the client. It waits for nothing: what does not fit comes back.
    ///
    /// # Errors
    /// If the conversation has ended, too much waits for the socket, or the protocol's state does not allow it.
    pub fn send(&self, message: M) -> Result<(), Unsent<M>> {
        self.0.conversation.say(message)
    }

    /// Waits until there is room for another message, or the conversation has ended: for `Context::pipe`.
    pub fn room(&self) -> impl Future<Output = ()> + Send + 'static {
        let conversation = self.0.conversation.clone();
        async move { conversation.room().await }
    }

    /// Whether the conversation has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.conversation.has_closed()
    }
}

impl<M: Spoken> Clone for Peer<M> {
    fn clone(&self) -> Self {
        Peer(self.0.clone())
    }
}

impl<M: Spoken> fmt::Debug for Peer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peer({}, {})", self.id().0, self.identity())
    }
}
