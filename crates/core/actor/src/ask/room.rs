//! Asks that wait until a full mailbox takes them.

use super::answer::{Answer, Awaited, Here};
use super::error::AskError;
use super::reply::Reply;
use crate::actor::Actor;
use crate::address::Address;
use crate::send_error::SendError;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A request that waits for room, and then for its answer.
struct Waiting<A: Actor, R> {
    address: Address<A>,
    /// None: it was sent, or is not sent any more.
    msg: Option<A::Msg>,
    answer: Here<R>,
}

// It is never pinned in place: the message is moved out whole.
impl<A: Actor, R> Unpin for Waiting<A, R> {}

impl<A: Actor> Address<A> {
    /// Asks as [`Address::ask`] does, waiting for room if the mailbox is full. A deadline
    /// ([`Answer::timeout`]) covers both waits. A sender that is an actor is never muted by it.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Mailbox, Reply, SpawnOptions, System};
    /// # struct Doubler;
    /// # impl Actor for Doubler {
    /// #     type Msg = (u64, Reply<u64>);
    /// #     fn handle(&mut self, (n, reply): Self::Msg, _ctx: &mut Context<'_, Self>) {
    /// #         let _ = reply.send(2 * n);
    /// #     }
    /// # }
    /// # let system = System::builder().workers(1).build()?;
    /// let narrow = SpawnOptions::new().mailbox(Mailbox::bounded(1));
    /// let doubler = system.spawn_with(narrow, || Doubler)?;
    /// let answers: Vec<_> = (0..100).map(|n| doubler.ask_async(move |reply| (n, reply))).collect();
    /// for (n, answer) in (0..).zip(answers) {
    ///     assert_eq!(answer.wait()?, 2 * n);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// What waits for room is sent only while the answer is awaited.
    pub fn ask_async<R: Send + 'static>(&self, msg: impl FnOnce(Reply<R>) -> A::Msg) -> Answer<R> {
        let (way, mut answer) = Here::new(self);
        match self.try_send(msg(Reply::new(way))) {
            Ok(()) => {}
            Err(SendError::Full(msg)) => {
                let (address, msg) = (self.clone(), Some(msg));
                return Answer::awaited(Box::new(Waiting { address, msg, answer }));
            }
            Err(_) => answer.refuse(AskError::Closed(self.id())),
        }
        answer.into()
    }
}

impl<A: Actor, R: Send> Awaited<R> for Waiting<A, R> {
    fn set_timeout(&mut self, timeout: Duration) {
        self.answer.set_timeout(timeout);
    }
}

impl<A: Actor, R> Future for Waiting<A, R> {
    type Output = Result<R, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(msg) = this.msg.take() {
            match this.address.try_send(msg) {
                Ok(()) => {}
                Err(SendError::Full(msg)) => {
                    if this.answer.is_late(cx.waker()) {
                        // The message goes, unsent.
                        let late = this.answer.late();
                        this.answer.refuse(late);
                    } else {
                        this.msg = Some(msg);
                        // Last: from here on somebody may wake it.
                        this.address.0.wait_for_room(cx.waker());
                        return Poll::Pending;
                    }
                }
                Err(_) => this.answer.refuse(AskError::Closed(this.address.id())),
            }
        }
        Pin::new(&mut this.answer).poll(cx)
    }
}
