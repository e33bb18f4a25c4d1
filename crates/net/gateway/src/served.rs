//! The side of the actor: clients and their messages.

use crate::admission::Identity;
use crate::conversation::{Conversation, Handle, PeerId, Unsent};
use crate::fault::Fault;
use actinium_actor::Actor;
use actinium_wire::protocol::Spoken;
use std::fmt;
use std::sync::Arc;

/// An actor that may be reached from outside.
pub trait Served: Actor {
    /// The protocol of the conversation: the messages of a `protocol!`. The actor is the second
    /// party.
    type Talk: Spoken;

    /// Makes the actor's message for something that a client says. The monitor has let it through.
    fn heard(call: Call<Self::Talk>) -> Self::Msg;

    /// Makes the actor's message for the end of a conversation by WebSocket, if the actor wants
    /// one.
    fn left(peer: PeerId) -> Option<Self::Msg> {
        let _ = peer;
        None
    }
}

/// Something that a client says. As long as the actor keeps it whole, the message counts as in
/// flight.
#[derive(Debug)]
pub struct Call<M: Spoken> {
    /// The client's message.
    pub message: M,
    /// The client: the way back for answers.
    pub peer: Peer<M>,
    _place: Place<M>,
}

impl<M: Spoken> Call<M> {
    /// Makes a call of what a client says, if the protocol's state allows it.
    pub(crate) fn hear(conversation: &Arc<Conversation<M>>, message: M) -> Result<Self, Fault> {
        let (message, handle) = conversation.heard(message)?;
        Ok(Call { message, peer: Peer(handle), _place: Place(conversation.clone()) })
    }
}

/// A place among the messages in flight; free again when this is dropped.
#[derive(Debug)]
struct Place<M: Spoken>(Arc<Conversation<M>>);

impl<M: Spoken> Drop for Place<M> {
    fn drop(&mut self) {
        self.0.handled();
    }
}

/// A client: the way back. Whoever keeps it can go on talking, as the protocol's state allows.
///
/// When a request is open and nobody has its peer any more, the client is told that there will be
/// no answer.
pub struct Peer<M: Spoken>(Arc<Handle<M>>);

impl<M: Spoken> Peer<M> {
    /// Returns the number of the conversation.
    #[must_use]
    pub fn id(&self) -> PeerId {
        self.0.conversation.id
    }

    /// Returns the identity under which the client was let in.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.0.conversation.identity
    }

    /// Says something to the client. It waits for nothing: what does not fit comes back.
    ///
    /// # Errors
    /// If the conversation has ended, too much waits for the socket, or the protocol's state does
    /// not allow it.
    pub fn send(&self, message: M) -> Result<(), Unsent<M>> {
        self.0.conversation.say(message)
    }

    /// Waits until there is capacity for another message, or the conversation has ended: for
    /// `Context::pipe`.
    pub fn ready(&self) -> impl Future<Output = ()> + Send + 'static {
        let conversation = self.0.conversation.clone();
        async move { conversation.ready().await }
    }

    pub(crate) fn conversation(&self) -> &Arc<Conversation<M>> {
        &self.0.conversation
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
