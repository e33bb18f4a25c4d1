//! The error of a send, which gives the message back.

use crate::mailbox::carrier::Carrier;
use std::fmt;

/// Why a traced message was lost: its actor has ended, or ends.
pub(crate) const ENDED: &str = "the actor has ended";

/// Why a traced message was lost: too many wait.
pub(crate) const FULL: &str = "the mailbox is full";

/// Why a message was not accepted; the message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<M> {
    /// The actor has ended.
    Closed(M),
    /// The actor's mailbox is full, or too much waits for its node.
    Full(M),
    /// The actor's node is down, or was never met. Only of actors of other nodes.
    NodeDown(M),
    /// The message can not be encoded, or is longer than any frame: its node's listeners are told
    /// what is wrong. Only of actors of other nodes.
    Unsendable(M),
}

impl<M> SendError<M> {
    /// The same error with the message out of its box.
    pub(crate) fn open<N>(self) -> SendError<N>
    where
        M: Carrier<N>,
    {
        self.map(M::open)
    }

    /// The same error with what `f` makes of the message.
    pub fn map<N>(self, f: impl FnOnce(M) -> N) -> SendError<N> {
        match self {
            SendError::Closed(msg) => SendError::Closed(f(msg)),
            SendError::Full(msg) => SendError::Full(f(msg)),
            SendError::NodeDown(msg) => SendError::NodeDown(f(msg)),
            SendError::Unsendable(msg) => SendError::Unsendable(f(msg)),
        }
    }

    /// The message.
    pub fn into_inner(self) -> M {
        match self {
            SendError::Closed(msg)
            | SendError::Full(msg)
            | SendError::NodeDown(msg)
            | SendError::Unsendable(msg) => msg,
        }
    }

    /// Whether the actor has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self, SendError::Closed(_))
    }
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendError::Closed(_) => "Closed(..)",
            SendError::Full(_) => "Full(..)",
            SendError::NodeDown(_) => "NodeDown(..)",
            SendError::Unsendable(_) => "Unsendable(..)",
        })
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = std::any::type_name::<M>();
        match self {
            SendError::Closed(_) => {
                write!(f, "the actor has ended: this {message} can not be delivered")
            }
            SendError::Full(_) => {
                write!(
                    f,
                    "the mailbox is full: try again later, or wait with send_blocking or send_async, with this {message}"
                )
            }
            SendError::NodeDown(_) => {
                write!(f, "the actor's node is down: this {message} can not be delivered")
            }
            SendError::Unsendable(_) => write!(
                f,
                "this {message} can not be sent to another node: it can not be encoded, or is too long (see NodeEvent::Unsendable)"
            ),
        }
    }
}

impl<M> std::error::Error for SendError<M> {}
