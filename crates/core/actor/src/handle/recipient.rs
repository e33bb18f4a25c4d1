//! Handles for messages.

use super::at::{Handle, Place};
use super::local::Local;
use super::target::Tell;
use crate::actor::Actor;
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::send_error::SendError;
use actinium_scheduler::current;
use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Reaches any actor that takes an `M`: made of the [`Address`] of an actor whose message is
/// `From<M>`. Cheap to clone, usable from any thread.
///
/// It says what may be sent, and not to whom. So an actor answers whoever it likes, a test puts a
/// [`Probe`](crate::testing::Probe) in an actor's place, and a handle may lead to another node: in
/// a program with the feature `cluster`, a recipient is data in any message that goes through a
/// node.
///
/// ```
/// use actinium_actor::{Actor, Context, Recipient, testing::TestSystem};
///
/// struct Squares;
///
/// struct Square { of: u64, to: Recipient<u64> }
///
/// impl Actor for Squares {
///     type Msg = Square;
///     fn handle(&mut self, msg: Square, _ctx: &mut Context<'_, Self>) {
///         msg.to.tell(msg.of * msg.of);
///     }
/// }
///
/// /// An actor with messages of its own.
/// struct Sum(u64);
///
/// enum SumMsg { Add(u64) }
///
/// impl From<u64> for SumMsg {
///     fn from(n: u64) -> Self { SumMsg::Add(n) }
/// }
///
/// impl Actor for Sum {
///     type Msg = SumMsg;
///     fn handle(&mut self, SumMsg::Add(n): SumMsg, _ctx: &mut Context<'_, Self>) { self.0 += n }
/// }
///
/// let mut sys = TestSystem::seeded(1);
/// let (squares, sum) = (sys.spawn(Squares), sys.spawn(Sum(0)));
/// squares.tell(Square { of: 3, to: sum.into() });
/// let probe = sys.probe::<u64>();
/// squares.tell(Square { of: 4, to: probe.recipient() });
/// probe.expect_eq(16);
/// ```
///
/// Like an address, it keeps an actor of its own process alive. One that has come from another node
/// keeps nothing alive: when its actor has ended, sends report [`SendError::Closed`].
pub struct Recipient<M>(pub(crate) Arc<dyn Tell<M>>);

impl<M: Send + 'static> Recipient<M> {
    /// Sends a message.
    ///
    /// To an actor of this process, as [`Address::send`] does: from an actor, a full mailbox takes
    /// the message and mutes the sender. To an actor of another node it is as
    /// [`Recipient::try_send`], for a sender is never muted by another node. What is sent there is
    /// delivered at most once.
    ///
    /// # Errors
    /// [`SendError::Closed`] if the actor is known to have ended; [`SendError::Full`] outside
    /// actors if its mailbox is full, or if too much waits for its node: [`Recipient::room`] says
    /// when to try again. [`SendError::NodeDown`] and [`SendError::Unsendable`] from other nodes'
    /// handles only.
    pub fn send(&self, msg: M) -> Result<(), SendError<M>> {
        self.0.send(msg)
    }

    /// Sends a message unless the mailbox is full; never mutes the sender.
    ///
    /// # Errors
    /// As [`Recipient::send`], and [`SendError::Full`] in actors, too.
    pub fn try_send(&self, msg: M) -> Result<(), SendError<M>> {
        self.0.try_send(msg)
    }

    /// Sends a message that is handled before all others that wait in the mailbox: see
    /// [`Address::send_urgent`]. To an actor of another node it leaves at once, without waiting for
    /// others to travel with it, and comes in order: after those that were sent there before.
    ///
    /// ```
    /// # use actinium_actor::{Recipient, testing::TestSystem};
    /// # let mut system = TestSystem::seeded(1);
    /// let probe = system.probe::<&str>();
    /// let recorder: Recipient<&str> = probe.recipient();
    /// recorder.send("one")?;
    /// recorder.send_urgent("before it")?;
    /// system.run_until_idle();
    /// assert_eq!(probe.received(), ["before it", "one"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Recipient::try_send`]; [`SendError::Full`] of an actor of this process if it is bounded
    /// and as many urgent messages wait as its mailbox takes others.
    pub fn send_urgent(&self, msg: M) -> Result<(), SendError<M>> {
        self.0.send_urgent(msg)
    }

    /// Sends a message of which nobody waits to hear: what can not be delivered becomes a dead
    /// letter. What can not be sent to another node is told to its listeners as undelivered.
    pub fn tell(&self, msg: M) {
        self.0.tell(msg);
    }

    /// Waits until a send that was refused as [`SendError::Full`] is worth trying again. For an
    /// actor, which must not block and keeps meanwhile what it has:
    /// `ctx.pipe(recipient.room(), |()| Msg::Room)`.
    pub fn room(&self) -> impl Future<Output = ()> + Send + use<M> {
        self.0.room()
    }

    /// Sends a message, waiting for room if the mailbox is full, or too much waits for its node;
    /// for async code.
    ///
    /// # Errors
    /// As [`Recipient::send`], but for [`SendError::Full`].
    pub async fn send_async(&self, mut msg: M) -> Result<(), SendError<M>> {
        loop {
            match self.try_send(msg) {
                Err(SendError::Full(back)) => msg = back,
                result => return result,
            }
            self.room().await;
        }
    }

    /// Sends a message, blocking the thread while there is no room. A worker is never blocked:
    /// there it does as [`Recipient::try_send`].
    ///
    /// # Errors
    /// As [`Recipient::send`]; [`SendError::Full`] on a worker only.
    pub fn send_blocking(&self, msg: M) -> Result<(), SendError<M>> {
        if current(|worker| worker.is_some()) {
            return self.try_send(msg);
        }
        futures_lite::future::block_on(self.send_async(msg))
    }
}

impl<M> Recipient<M> {
    /// The actor's identity in its own system.
    pub fn id(&self) -> ActorId {
        self.0.at().id()
    }

    /// Whether the actor is known to refuse messages: it has ended, or is about to.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl<A: Actor, M: Send + 'static> From<Address<A>> for Recipient<M>
where
    A::Msg: From<M>,
{
    fn from(address: Address<A>) -> Self {
        Recipient(Arc::new(Local::new(address, A::Msg::from)))
    }
}

impl<A: Actor, M: Send + 'static> From<&Address<A>> for Recipient<M>
where
    A::Msg: From<M>,
{
    fn from(address: &Address<A>) -> Self {
        address.clone().into()
    }
}

impl<M> From<&Recipient<M>> for Recipient<M> {
    fn from(recipient: &Recipient<M>) -> Self {
        recipient.clone()
    }
}

impl<M> Handle for Recipient<M> {
    fn place(&self) -> Place<'_> {
        Place(self.0.at())
    }
}

impl<M> Clone for Recipient<M> {
    fn clone(&self) -> Self {
        Recipient(self.0.clone())
    }
}

impl<M> PartialEq for Recipient<M> {
    fn eq(&self, other: &Self) -> bool {
        self.0.at() == other.0.at()
    }
}

impl<M> Eq for Recipient<M> {}

impl<M> Hash for Recipient<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.at().hash(state);
    }
}

impl<M> fmt::Debug for Recipient<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.at().fmt_as("Recipient", f)
    }
}
