//! The error of a send, which gives the message back.

use crate::mailbox::carrier::Carrier;
use std::fmt;

/// Why a message was not accepted; the message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<M> {
    /// The actor has ended.
    Closed(M),
    /// The actor's mailbox is full.
    Full(M),
}

impl<M> SendError<M> {
    /// The same error with the message out of its box.
    pub(crate) fn open<N>(self) -> SendError<N>
    where
        M: Carrier<N>,
    {
        match self {
            SendError::Closed(msg) => SendError::Closed(msg.open()),
            SendError::Full(msg) => SendError::Full(msg.open()),
        }
    }

    /// The message.
    pub fn into_inner(self) -> M {
        match self {
            SendError::Closed(msg) | SendError::Full(msg) => msg,
        }
    }

    /// Whether the actor has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self, SendError::Closed(_))
    }
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_closed() { "Closed(..)" } else { "Full(..)" })
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
        }
    }
}

impl<M> std::error::Error for SendError<M> {}
