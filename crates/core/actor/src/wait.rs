//! Waiting for capacity in a bounded mailbox: for threads and tasks that are not actors.

use crate::actor::Actor;
use crate::address::Address;
use crate::cell::actor_cell::ActorCell;
use crate::send::WhenFull;
use crate::send_error::SendError;
use actinium_scheduler::current;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Poll, Waker};

/// A message that waits for capacity: see [`Address::send_async`].
pub struct SendAsync<'a, A: Actor> {
    address: &'a Address<A>,
    msg: Option<A::Msg>,
}

// It is never pinned in place: the message is moved out whole.
impl<A: Actor> Unpin for SendAsync<'_, A> {}

impl<A: Actor> Address<A> {
    /// Sends a message, waiting for capacity if the mailbox is full; for async code.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Mailbox, SpawnOptions, System};
    /// # struct Sink;
    /// # impl Actor for Sink {
    /// #     type Msg = u64;
    /// #     fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
    /// # }
    /// # let system = System::builder().workers(1).build()?;
    /// let sink = system.spawn_with(SpawnOptions::new().mailbox(Mailbox::bounded(2)), || Sink)?;
    /// futures_lite::future::block_on(async {
    ///     for i in 0..100 {
    ///         sink.send_async(i).await.expect("the sink lives");
    ///     }
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SendError::Closed`] if the actor has ended, or ends meanwhile.
    pub fn send_async(&self, msg: A::Msg) -> SendAsync<'_, A> {
        SendAsync { address: self, msg: Some(msg) }
    }

    /// Sends a message, blocking the thread while the mailbox is full. A worker is never blocked:
    /// there it does as [`Address::try_send`].
    ///
    /// # Errors
    /// [`SendError::Closed`] if the actor has ended, or ends meanwhile; on a worker
    /// [`SendError::Full`].
    pub fn send_blocking(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        if current(|worker| worker.is_some()) {
            return self.try_send(msg);
        }
        futures_lite::future::block_on(self.send_async(msg))
    }
}

impl<A: Actor> Future for SendAsync<'_, A> {
    type Output = Result<(), SendError<A::Msg>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let msg = self.msg.take().expect("polled after it was ready");
        match self.address.send_bounded(msg, WhenFull::Refuse) {
            Err(SendError::Full(msg)) => {
                self.address.0.wait_for_room(cx.waker());
                self.msg = Some(msg);
                Poll::Pending
            }
            result => Poll::Ready(result),
        }
    }
}

impl<A: Actor> ActorCell<A> {
    fn has_room(&self) -> bool {
        self.capacity() == 0 || self.len() < self.capacity() || self.is_closed()
    }

    /// Wakes this waker when the mailbox takes messages again, or at once if it does by now.
    pub(crate) fn wait_for_room(&self, waker: &Waker) {
        match self.core.backpressure.as_deref() {
            Some(backpressure) => backpressure.wait(waker, || self.has_room()),
            None => waker.wake_by_ref(),
        }
    }

    /// Ready when the mailbox takes messages, or never will.
    pub(crate) fn poll_room(&self, cx: &mut std::task::Context<'_>) -> Poll<()> {
        if self.has_room() {
            return Poll::Ready(());
        }
        self.wait_for_room(cx.waker());
        Poll::Pending
    }
}

impl<A: Actor> fmt::Debug for SendAsync<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendAsync(to {})", self.address.id())
    }
}
