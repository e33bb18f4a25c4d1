//! The trait of actors that other nodes can reach.

use crate::fabric::NodeId;
use actinium_actor::{Actor, Reply};
use actinium_memory::heap::Payload;
use actinium_wire::Encoding;
use actinium_wire::hello::Hello;
use actinium_wire::schema::{Describe, Schema};
use serde::{Serialize, de::DeserializeOwned};

/// An actor that other nodes can reach: what they may send it and ask it, which is data, and how
/// that becomes its own messages.
///
/// ```
/// use actinium_actor::{Actor, Context, Reply};
/// use actinium_cluster::RemoteActor;
///
/// struct Counter { count: u64 }
///
/// enum Msg { Add(u64), Get(Reply<u64>) }
///
/// impl Actor for Counter {
///     type Msg = Msg;
///     fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
///         match msg {
///             Msg::Add(n) => self.count += n,
///             Msg::Get(reply) => drop(reply.send(self.count)),
///         }
///     }
/// }
///
/// impl RemoteActor for Counter {
///     const KIND: &'static str = "example.counter";
///     type Message = u64;
///     type Request = ();
///     type Answer = u64;
///     fn message(n: u64) -> Msg { Msg::Add(n) }
///     fn request((): (), reply: Reply<u64>) -> Msg { Msg::Get(reply) }
/// }
/// ```
pub trait RemoteActor: Actor {
    /// The name of the actor's type, the same on every node and in every version.
    const KIND: &'static str;
    /// Rises when the types below change. Nodes whose types differ talk as far as the types allow:
    /// see `actinium_wire`.
    const VERSION: u32 = 1;
    /// Whether it is of the cluster's own machinery, whose messages are no work that
    /// [`Team::quiesce`](crate::Team::quiesce) waits for.
    #[doc(hidden)]
    const INTERNAL: bool = false;
    /// The messages that other nodes may send to the actor:
    /// `#[derive(Serialize, Deserialize, actinium_wire::Message)]`, or of simple types.
    type Message: Describe + Serialize + DeserializeOwned + Send;
    /// The requests that other nodes may send to the actor.
    type Request: Describe + Serialize + DeserializeOwned + Send;
    /// The actor's answer to a request.
    type Answer: Describe + Serialize + DeserializeOwned + Send;

    /// The own message for what another node has sent.
    fn message(message: Self::Message) -> Self::Msg;

    /// The own message for what another node has asked.
    fn request(request: Self::Request, reply: Reply<Self::Answer>) -> Self::Msg;

    /// Converts a message together with the node that sent it, which may be this node
    /// ([`AnyAddress`](crate::AnyAddress)). Implement this if the actor needs to know the sender's
    /// node; by default it calls [`RemoteActor::message`].
    fn message_from(node: NodeId, message: Self::Message) -> Self::Msg {
        let _ = node;
        Self::message(message)
    }

    /// Converts a request together with the node that sent it. By default it calls
    /// [`RemoteActor::request`].
    fn request_from(node: NodeId, request: Self::Request, reply: Reply<Self::Answer>) -> Self::Msg {
        let _ = node;
        Self::request(request, reply)
    }

    /// The own message for what another node has sent together with a payload: see
    /// [`RemoteAddress::send_with_payload`](crate::RemoteAddress::send_with_payload).
    ///
    /// # Errors
    /// As if nothing is said here: it takes no payloads, and gives both back.
    fn with_payload(
        message: Self::Message,
        payload: Payload,
    ) -> Result<Self::Msg, (Self::Message, Payload)> {
        Err((message, payload))
    }

    /// Converts a message and its payload together with the node that sent them. By default it
    /// calls [`RemoteActor::with_payload`].
    ///
    /// # Errors
    /// As [`RemoteActor::with_payload`].
    fn with_payload_from(
        node: NodeId,
        message: Self::Message,
        payload: Payload,
    ) -> Result<Self::Msg, (Self::Message, Payload)> {
        let _ = node;
        Self::with_payload(message, payload)
    }
}

/// Builds a node's hello for the messages of an actor's type: their schema, and the encodings in
/// which the node takes them.
pub(crate) fn hello<A: RemoteActor>(encodings: &[Encoding]) -> Hello {
    let schema = Schema::of::<(A::Message, A::Request, A::Answer)>(A::KIND, A::VERSION);
    // The link sees to checksums.
    Hello::with_schema(schema, encodings, false)
}

/// Builds a [`hello`] for an actor's type and for the arguments from which such an actor is made.
pub(crate) fn hello_with_args<A: RemoteActor, Args: Describe>(encodings: &[Encoding]) -> Hello {
    let schema = Schema::of::<(Args, A::Message, A::Request, A::Answer)>(A::KIND, A::VERSION);
    Hello::with_schema(schema, encodings, false)
}
