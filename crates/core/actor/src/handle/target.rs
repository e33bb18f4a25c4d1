//! What a handle does with its messages or requests.

use super::at::{At, Room};
use crate::ask::{Answer, Reply};
use crate::send_error::SendError;
use std::sync::Arc;
use std::time::Duration;

/// Takes messages.
pub(crate) trait Tell<M>: Send + Sync {
    fn at(&self) -> At<'_>;

    fn is_closed(&self) -> bool;

    /// Sends; from an actor, a full mailbox of this process takes the message and mutes the sender.
    fn send(&self, msg: M) -> Result<(), SendError<M>>;

    /// Sends unless the mailbox is full.
    fn try_send(&self, msg: M) -> Result<(), SendError<M>>;

    /// Sends a message that comes before others, or leaves this node at once.
    fn send_urgent(&self, msg: M) -> Result<(), SendError<M>>;

    /// Sends; what can not be delivered is counted and told of.
    fn tell(&self, msg: M);

    /// Waits until a send that was refused as full is worth trying again.
    fn room(&self) -> Room;

    /// The same without keeping the actor alive.
    fn downgrade(&self) -> Arc<dyn WeakTell<M>>;
}

/// A [`Tell`] that does not keep its actor alive.
pub(crate) trait WeakTell<M>: Send + Sync {
    fn upgrade(&self) -> Option<Arc<dyn Tell<M>>>;
}

/// Takes requests.
pub(crate) trait Asked<Q, R>: Send + Sync {
    fn at(&self) -> At<'_>;

    fn is_closed(&self) -> bool;

    fn ask(&self, timeout: Option<Duration>, request: Q) -> Answer<R>;

    /// Asks, waiting for room.
    fn ask_async(&self, request: Q) -> Answer<R>;

    /// Waits until a request that was refused as full is worth trying again.
    fn room(&self) -> Room;

    /// The same without keeping the actor alive.
    fn downgrade(&self) -> Arc<dyn WeakAsked<Q, R>>;
}

/// An [`Asked`] that does not keep its actor alive.
pub(crate) trait WeakAsked<Q, R>: Send + Sync {
    fn upgrade(&self) -> Option<Arc<dyn Asked<Q, R>>>;
}

/// The message of a request.
pub(crate) type Request<Q, R> = (Q, Reply<R>);
