//! Errors of sending to, asking and watching an actor on another node.

use crate::aggregator::NotAdded;
use crate::codec::CodecError;
use crate::fabric::NodeId;
use crate::link::DownReason;
use crate::message::Unanswered;
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

/// The reason for which a message was not sent. The message comes back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteSendError<M> {
    /// Too much waits for that node: it does not keep up.
    Full(M),
    /// The node is down.
    NodeDown(M),
    /// The message can not be encoded.
    Codec(M, CodecError),
    /// The actor takes no payloads: its
    /// [`RemoteActor::with_payload`](crate::RemoteActor::with_payload) or
    /// [`Migrate::with_payload`](crate::Migrate::with_payload) says so. (Of the former, one of
    /// another node's is told of by an event.)
    NotTaken(M),
    /// The message is longer than any frame.
    TooLong {
        /// The message.
        message: M,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        allowed: usize,
    },
}

pub(crate) fn not_sent<M>(message: M, not_added: NotAdded) -> RemoteSendError<M> {
    match not_added {
        NotAdded::Full => RemoteSendError::Full(message),
        NotAdded::Closed => RemoteSendError::NodeDown(message),
        NotAdded::Failed(error) => RemoteSendError::Codec(message, error),
        NotAdded::TooLong { bytes, allowed } => {
            RemoteSendError::TooLong { message, bytes, allowed }
        }
    }
}

impl<M> RemoteSendError<M> {
    /// The message.
    pub fn into_inner(self) -> M {
        match self {
            RemoteSendError::Full(message)
            | RemoteSendError::NodeDown(message)
            | RemoteSendError::NotTaken(message)
            | RemoteSendError::Codec(message, _)
            | RemoteSendError::TooLong { message, .. } => message,
        }
    }
}

impl<M> fmt::Display for RemoteSendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteSendError::Full(_) => {
                f.write_str("too much waits for that node: try again later")
            }
            RemoteSendError::NodeDown(_) => f.write_str("the node is down"),
            RemoteSendError::Codec(_, error) => error.fmt(f),
            RemoteSendError::NotTaken(_) => f.write_str("the actor takes no payloads"),
            RemoteSendError::TooLong { bytes, allowed, .. } => {
                write!(f, "a message of {bytes} bytes: at most {allowed} fit in a frame")
            }
        }
    }
}

impl<M> fmt::Debug for RemoteSendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteSendError({self})")
    }
}

impl<M> std::error::Error for RemoteSendError<M> {}

/// The reason for which there is no answer from another node.
///
/// An answer that is a `Result` itself comes with [`RemoteAnswer::flat`](crate::RemoteAnswer::flat)
/// as one `Result`: its error is [`RemoteAskError::Failed`] then. All other answers give an error
/// that is never `Failed`; [`RemoteAskError::widen`] makes one of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteAskError<E = Infallible> {
    /// Too much waits for that node.
    Full(NodeId),
    /// The node is down, or went down before it had answered: nobody knows whether it got the
    /// request.
    NodeDown(NodeId),
    /// The actor has ended, or belongs to an earlier incarnation of its node.
    Closed,
    /// The actor dropped the request.
    NoReply,
    /// Request or answer was not understood, here or there: the two nodes' programs differ.
    NotUnderstood,
    /// The request has no bytes, or too many.
    Unsendable(String),
    /// No answer came in time: request or answer may be lost, or still under way.
    Timeout(Duration),
    /// A worker must not block: use [`RemoteAddress::ask`](crate::RemoteAddress::ask) with
    /// [`Context::pipe`](actinium_actor::Context::pipe) in actors.
    WouldBlock,
    /// This node has left the cluster.
    Left,
    /// The node is this one: its actors are found by
    /// [`SystemHandle::lookup`](actinium_actor::SystemHandle::lookup).
    ThisNode,
    /// No actor of that node has the name.
    NoSuchName(String),
    /// The actor of that name has another type.
    OtherKind {
        /// The name.
        name: String,
        /// The type that was asked for.
        expected: &'static str,
        /// The type that the actor has.
        found: String,
    },
    /// The two nodes' ideas of the actor's messages differ so much that none makes sense to the
    /// other.
    Incompatible {
        /// The name.
        name: String,
        /// Where they differ.
        why: String,
    },
    /// The other node starts no actors of this type for others: see
    /// [`NodeHandle::register`](crate::NodeHandle::register).
    NotRegistered(&'static str),
    /// The other node has not started the actor, because its factory panicked, for example.
    NotStarted {
        /// The actor's type.
        kind: &'static str,
        /// The reason, for people to read.
        why: String,
    },
    /// The other node already runs as many actors for other nodes as it allows:
    /// [`NodeConfig::spawned_max`](crate::NodeConfig::spawned_max).
    AtCapacity {
        /// The node that is full.
        node: NodeId,
        /// How many.
        actors: u64,
    },
    /// The other node does not allow this one to ask the actor: see [`Grants`](crate::Grants).
    Denied,
    /// Too many requests of this node are open there: see
    /// [`PeerLimits::asks`](crate::PeerLimits::asks).
    TooMany,
    /// An actor of that node has the name.
    NameTaken {
        /// The name.
        name: String,
        /// The node.
        node: NodeId,
    },
    /// Too few nodes are up for names to be given: see
    /// [`NamesConfig::quorum`](crate::NamesConfig::quorum).
    NoQuorum {
        /// The number of nodes that are up, this one included.
        up: usize,
        /// The number of nodes that have to be up.
        quorum: usize,
    },
    /// The actor answered with an error.
    Failed(E),
}

impl RemoteAskError {
    /// The same reason, where an answer may be an error, too.
    pub fn widen<E>(self) -> RemoteAskError<E> {
        match self {
            RemoteAskError::Full(it) => RemoteAskError::Full(it),
            RemoteAskError::NodeDown(it) => RemoteAskError::NodeDown(it),
            RemoteAskError::Closed => RemoteAskError::Closed,
            RemoteAskError::NoReply => RemoteAskError::NoReply,
            RemoteAskError::NotUnderstood => RemoteAskError::NotUnderstood,
            RemoteAskError::Unsendable(it) => RemoteAskError::Unsendable(it),
            RemoteAskError::Timeout(it) => RemoteAskError::Timeout(it),
            RemoteAskError::WouldBlock => RemoteAskError::WouldBlock,
            RemoteAskError::Left => RemoteAskError::Left,
            RemoteAskError::ThisNode => RemoteAskError::ThisNode,
            RemoteAskError::NoSuchName(it) => RemoteAskError::NoSuchName(it),
            RemoteAskError::OtherKind { name, expected, found } => {
                RemoteAskError::OtherKind { name, expected, found }
            }
            RemoteAskError::Incompatible { name, why } => {
                RemoteAskError::Incompatible { name, why }
            }
            RemoteAskError::NotRegistered(it) => RemoteAskError::NotRegistered(it),
            RemoteAskError::NotStarted { kind, why } => RemoteAskError::NotStarted { kind, why },
            RemoteAskError::AtCapacity { node, actors } => {
                RemoteAskError::AtCapacity { node, actors }
            }
            RemoteAskError::Denied => RemoteAskError::Denied,
            RemoteAskError::TooMany => RemoteAskError::TooMany,
            RemoteAskError::NameTaken { name, node } => RemoteAskError::NameTaken { name, node },
            RemoteAskError::NoQuorum { up, quorum } => RemoteAskError::NoQuorum { up, quorum },
            RemoteAskError::Failed(never) => match never {},
        }
    }
}

impl<E> RemoteAskError<E> {
    /// One `Result` of the two that an answer comes in which is a `Result` itself.
    pub(crate) fn flatten<T>(answer: Result<Result<T, E>, RemoteAskError>) -> Result<T, Self> {
        match answer {
            Ok(answer) => answer.map_err(RemoteAskError::Failed),
            Err(error) => Err(error.widen()),
        }
    }
}

impl<E: fmt::Display> fmt::Display for RemoteAskError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // It speaks for itself, and so does its source.
            RemoteAskError::Failed(error) => error.fmt(f),
            RemoteAskError::Full(node) => write!(f, "too much waits for {node}: ask again later"),
            RemoteAskError::NodeDown(node) => write!(f, "{node} is down"),
            RemoteAskError::Closed => f.write_str("the actor has ended and can not be asked"),
            RemoteAskError::NoReply => {
                f.write_str("the actor dropped the request without an answer")
            }
            RemoteAskError::NotUnderstood => f.write_str(
                "request or answer was not understood: do both nodes run the same program?",
            ),
            RemoteAskError::Unsendable(reason) => {
                write!(f, "the request can not be sent: {reason}")
            }
            RemoteAskError::Timeout(timeout) => write!(f, "no answer within {timeout:?}"),
            RemoteAskError::WouldBlock => f.write_str(
                "waiting for an answer would block a worker: use Context::pipe in actors",
            ),
            RemoteAskError::Left => f.write_str("this node has left the cluster"),
            RemoteAskError::ThisNode => {
                f.write_str("that is this node: look its actors up in their system")
            }
            RemoteAskError::NoSuchName(name) => {
                write!(f, "that node exports no actor of the name '{name}'")
            }
            RemoteAskError::OtherKind { name, expected, found } => {
                write!(f, "the actor '{name}' there is a {found}, not a {expected}")
            }
            RemoteAskError::Incompatible { name, why } => {
                write!(f, "the actor '{name}' there does not understand this node: {why}")
            }
            RemoteAskError::NotRegistered(kind) => {
                write!(f, "that node starts no actors of the type {kind}: register it there")
            }
            RemoteAskError::NotStarted { kind, why } => write!(f, "no {kind} was started: {why}"),
            RemoteAskError::AtCapacity { node, actors } => write!(
                f,
                "{actors} actors that others have started live at {node}, and no more may (spawned_max)"
            ),
            RemoteAskError::Denied => f.write_str(
                "that node does not let this one ask the actor: it is to be exported with Grants::ASK",
            ),
            RemoteAskError::TooMany => f.write_str(
                "too many requests of this node are open there already (PeerLimits::asks)",
            ),
            RemoteAskError::NameTaken { name, node } => {
                write!(f, "an actor of {node} has the name '{name}'")
            }
            RemoteAskError::NoQuorum { up, quorum } => write!(
                f,
                "{up} nodes see each other, and names are given among {quorum} or more: are others cut off?"
            ),
        }
    }
}

impl<E: std::error::Error> std::error::Error for RemoteAskError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RemoteAskError::Failed(error) => error.source(),
            _ => None,
        }
    }
}

impl From<Unanswered> for RemoteAskError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Closed => RemoteAskError::Closed,
            Unanswered::NoReply => RemoteAskError::NoReply,
            Unanswered::NotUnderstood => RemoteAskError::NotUnderstood,
            Unanswered::Denied => RemoteAskError::Denied,
            Unanswered::TooMany => RemoteAskError::TooMany,
        }
    }
}

/// The news that a watcher of a remote actor gets when the actor is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteDown {
    /// Where the actor was.
    pub node: NodeId,
    /// Why it is gone.
    pub reason: RemoteDownReason,
}

/// The reason for which a remote actor is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteDownReason {
    /// The actor has ended. The text comes from its node.
    Ended(String),
    /// The actor has failed and its supervision there has given it up, or it was linked to an actor
    /// that has failed in this way. The text comes from its node.
    Failed(String),
    /// The node is down.
    NodeDown(Option<DownReason>),
    /// The actor may live on, but its node does not allow this one to watch it
    /// ([`Grants::WATCH`](crate::Grants::WATCH), or too many watches).
    Denied,
}
