//! Handles for requests.

use super::at::{Handle, Place};
use super::local::Local;
use super::target::Asked;
use crate::actor::Actor;
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::ask::{Answer, Reply, TryAnswer};
use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// Reaches any actor that answers a `Q` with an `R`: made of the [`Address`] of an actor whose
/// message is `From<(Q, Reply<R>)>`. Otherwise as a [`Recipient`](crate::Recipient).
///
/// ```
/// use actinium_actor::{Actor, AskRecipient, Context, Reply, System};
///
/// struct Doubler;
///
/// impl Actor for Doubler {
///     type Msg = (u64, Reply<u64>);
///     fn handle(&mut self, (n, reply): Self::Msg, _ctx: &mut Context<'_, Self>) {
///         let _ = reply.send(2 * n);
///     }
/// }
///
/// let system = System::builder().workers(1).build()?;
/// let doubler: AskRecipient<u64, u64> = system.spawn(Doubler).into();
/// assert_eq!(doubler.ask(21).wait()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AskRecipient<Q, R>(pub(crate) Arc<dyn Asked<Q, R>>);

impl<Q: Send + 'static, R: Send + 'static> AskRecipient<Q, R> {
    /// Asks. For an actor: `ctx.pipe(recipient.ask(..), Msg::Answer)`.
    pub fn ask(&self, request: Q) -> Answer<R> {
        self.0.ask(None, request)
    }

    /// Asks as [`AskRecipient::ask`] does, with a deadline. A request to another node should have
    /// one: on links that are not reliable, requests and answers may be lost.
    pub fn ask_timeout(&self, timeout: Duration, request: Q) -> Answer<R> {
        self.0.ask(Some(timeout), request)
    }

    /// Asks as [`AskRecipient::ask`] does, waiting for room if the mailbox is full, or too much
    /// waits for the actor's node: see [`Address::ask_async`].
    pub fn ask_async(&self, request: Q) -> Answer<R> {
        self.0.ask_async(request)
    }

    /// Waits until a request that was refused as full is worth trying again.
    pub fn room(&self) -> impl Future<Output = ()> + Send + use<Q, R> {
        self.0.room()
    }
}

impl<Q, T, E> AskRecipient<Q, Result<T, E>>
where
    Q: Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    /// Asks for an answer that may be an error itself: see [`Address::try_ask`].
    pub fn try_ask(&self, request: Q) -> TryAnswer<T, E> {
        self.ask(request).flat()
    }
}

impl<Q, R> AskRecipient<Q, R> {
    /// The actor's identity in its own system.
    pub fn id(&self) -> ActorId {
        self.0.at().id()
    }

    /// Whether the actor is known to refuse requests: it has ended, or is about to.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl<A: Actor, Q: Send + 'static, R: Send + 'static> From<Address<A>> for AskRecipient<Q, R>
where
    A::Msg: From<(Q, Reply<R>)>,
{
    fn from(address: Address<A>) -> Self {
        AskRecipient(Arc::new(Local::new(address, A::Msg::from)))
    }
}

impl<A: Actor, Q: Send + 'static, R: Send + 'static> From<&Address<A>> for AskRecipient<Q, R>
where
    A::Msg: From<(Q, Reply<R>)>,
{
    fn from(address: &Address<A>) -> Self {
        address.clone().into()
    }
}

impl<Q, R> Handle for AskRecipient<Q, R> {
    fn place(&self) -> Place<'_> {
        Place(self.0.at())
    }
}

impl<Q, R> Clone for AskRecipient<Q, R> {
    fn clone(&self) -> Self {
        AskRecipient(self.0.clone())
    }
}

impl<Q, R> PartialEq for AskRecipient<Q, R> {
    fn eq(&self, other: &Self) -> bool {
        self.0.at() == other.0.at()
    }
}

impl<Q, R> Eq for AskRecipient<Q, R> {}

impl<Q, R> Hash for AskRecipient<Q, R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.at().hash(state);
    }
}

impl<Q, R> fmt::Debug for AskRecipient<Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.at().fmt_as("AskRecipient", f)
    }
}
