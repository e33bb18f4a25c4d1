//! Asking, and the answer that is under way.

use super::error::AskError;
use super::reply::Reply;
use super::way::Way;
use crate::actor::Actor;
use crate::actor_core::Inner;
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::send_error::SendError;
use actinium_scheduler::current;
use actinium_scheduler::deadlines::DeadlineKey;
use actinium_scheduler::nanoseconds;
use futures_channel::oneshot;
use std::fmt;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// An answer that is under way: await it, or [`Answer::wait`] for it on a thread that may block.
///
/// Dropping it cancels the ask: the actor that was asked can see that
/// ([`Reply::is_cancelled`]).
pub struct Answer<R>(Source<R>);

/// An answer that is more than a channel: of an actor of another node, or of one that has no room
/// yet.
pub(crate) trait Awaited<R>: Future<Output = Result<R, AskError>> + Send + Unpin {
    /// Ends the wait with [`AskError::Timeout`] so long from now.
    fn set_timeout(&mut self, timeout: Duration);
}

enum Source<R> {
    Here(Here<R>),
    Else(Box<dyn Awaited<R>>),
}

/// An answer of an actor of this process.
pub(super) struct Here<R> {
    state: State<R>,
    actor: ActorId,
    system: Arc<Inner>,
    deadline: Option<Deadline>,
}

enum State<R> {
    Refused(AskError),
    Waiting(oneshot::Receiver<R>),
    Done,
}

/// Wakes a thread that waits for an answer.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

struct Deadline {
    at_ns: u64,
    timeout: Duration,
    key: Option<DeadlineKey>,
}

impl<A: Actor> Address<A> {
    /// Asks: sends the message that `msg` makes of the way back.
    ///
    /// ```
    /// # use actinium_actor::{Actor, AskError, Context, Reply, System};
    /// struct Adder;
    /// struct Add(u64, u64, Reply<u64>);
    /// impl Actor for Adder {
    ///     type Msg = Add;
    ///     fn handle(&mut self, Add(a, b, reply): Add, _ctx: &mut Context<'_, Self>) {
    ///         let _ = reply.send(a + b);
    ///     }
    /// }
    /// let system = System::builder().workers(1).build()?;
    /// let adder = system.spawn(Adder);
    /// assert_eq!(adder.ask(|reply| Add(40, 2, reply)).wait()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask<R: Send + 'static>(&self, msg: impl FnOnce(Reply<R>) -> A::Msg) -> Answer<R> {
        self.ask_until(None, msg)
    }

    /// Asks as [`Address::ask`] does, with a deadline: short for [`Answer::timeout`].
    pub fn ask_timeout<R: Send + 'static>(
        &self,
        timeout: Duration,
        msg: impl FnOnce(Reply<R>) -> A::Msg,
    ) -> Answer<R> {
        self.ask_until(Some(timeout), msg)
    }

    pub(crate) fn ask_until<R: Send + 'static>(
        &self,
        timeout: Option<Duration>,
        msg: impl FnOnce(Reply<R>) -> A::Msg,
    ) -> Answer<R> {
        let (way, mut answer) = Here::new(self);
        // The time that it takes to make the message counts, too.
        timeout.into_iter().for_each(|timeout| answer.set_timeout(timeout));
        match self.send(msg(Reply::new(way))) {
            Ok(()) => {}
            Err(SendError::Closed(_)) => answer.refuse(AskError::Closed(self.id())),
            Err(_) => answer.refuse(AskError::Full(self.id())),
        }
        answer.into()
    }
}

/// An answer of an actor that is not chosen yet.
pub(crate) struct Unclaimed<R>(oneshot::Receiver<R>);

impl<R> Unclaimed<R> {
    /// The answer of this actor.
    pub(crate) fn of<A: Actor>(self, address: &Address<A>) -> Answer<R> {
        Here::of(address, self.0).into()
    }
}

/// There is no answer, and nobody who could have given one.
impl<R: Send> Awaited<R> for Ready<Result<R, AskError>> {
    fn set_timeout(&mut self, _: Duration) {}
}

impl<R> Answer<R> {
    /// The way of an answer, and the answer, of an actor that is not chosen yet.
    pub(crate) fn channel() -> (Way<R>, Unclaimed<R>) {
        let (way, answer) = oneshot::channel();
        (Way::Future(way), Unclaimed(answer))
    }

    /// There is none.
    pub(crate) fn refused(error: AskError) -> Self
    where
        R: Send + 'static,
    {
        Answer::awaited(Box::new(ready(Err(error))))
    }

    pub(crate) fn awaited(answer: Box<dyn Awaited<R>>) -> Self {
        Answer(Source::Else(answer))
    }

    /// Ends the wait with [`AskError::Timeout`] so long from now; it replaces an earlier deadline.
    ///
    /// ```
    /// # use actinium_actor::{Actor, AskError, Context, Reply, testing::TestSystem};
    /// # use std::time::Duration;
    /// # struct Slow;
    /// # impl Actor for Slow {
    /// #     type Msg = Reply<u64>;
    /// #     fn handle(&mut self, reply: Reply<u64>, _ctx: &mut Context<'_, Self>) {
    /// #         std::mem::forget(reply);
    /// #     }
    /// # }
    /// let mut sys = TestSystem::seeded(1);
    /// let slow = sys.spawn(Slow);
    /// let limit = Duration::from_secs(1);
    /// let answer = slow.ask(|reply| reply).timeout(limit);
    /// sys.advance(limit);
    /// assert_eq!(answer.wait(), Err(AskError::Timeout(slow.id(), limit)));
    /// ```
    #[must_use = "the answer is in here"]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        match &mut self.0 {
            Source::Here(here) => here.set_timeout(timeout),
            Source::Else(answer) => answer.set_timeout(timeout),
        }
        self
    }

    /// Waits for the answer, blocking the thread.
    ///
    /// # Errors
    /// If there is none; [`AskError::WouldBlock`] at once on a worker.
    pub fn wait(self) -> Result<R, AskError> {
        if current(|worker| worker.is_some()) {
            return Err(AskError::WouldBlock);
        }
        match self.0 {
            Source::Here(here) => here.wait(),
            Source::Else(answer) => futures_lite::future::block_on(answer),
        }
    }
}

impl<R> From<Here<R>> for Answer<R> {
    fn from(here: Here<R>) -> Self {
        Answer(Source::Here(here))
    }
}

impl<R> Here<R> {
    /// The way of an actor's answer, and the answer.
    pub(super) fn new<A: Actor>(address: &Address<A>) -> (Way<R>, Self) {
        let (way, answer) = oneshot::channel();
        (Way::Future(way), Here::of(address, answer))
    }

    fn of<A: Actor>(address: &Address<A>, answer: oneshot::Receiver<R>) -> Self {
        let (actor, system) = (address.id(), address.0.core.system.clone());
        Here { state: State::Waiting(answer), actor, system, deadline: None }
    }

    /// There is no answer.
    pub(super) fn refuse(&mut self, error: AskError) {
        self.state = State::Refused(error);
    }

    /// See [`Answer::timeout`].
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        let at_ns = self.system.shared.clock().now_ns().saturating_add(nanoseconds(timeout));
        self.forget_deadline();
        self.deadline = Some(Deadline { at_ns, timeout, key: None });
    }

    /// Lets nobody be woken at the deadline any more.
    fn forget_deadline(&mut self) {
        if let Some(key) = self.deadline.take().and_then(|deadline| deadline.key) {
            self.system.shared.deadlines().remove(key);
        }
    }

    /// The error of one that is late.
    pub(super) fn late(&self) -> AskError {
        let timeout = self.deadline.as_ref().map_or(Duration::ZERO, |deadline| deadline.timeout);
        AskError::Timeout(self.actor, timeout)
    }

    fn wait(mut self) -> Result<R, AskError> {
        let mut receiver = match std::mem::replace(&mut self.state, State::Done) {
            State::Waiting(receiver) => receiver,
            State::Refused(error) => return Err(error),
            State::Done => return Err(AskError::NoReply(self.actor)),
        };
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut cx = std::task::Context::from_waker(&waker);
        loop {
            if let Poll::Ready(answer) = Pin::new(&mut receiver).poll(&mut cx) {
                return answer.map_err(|_| AskError::NoReply(self.actor));
            }
            // Whoever answers or drops the request from here on unparks the thread, so that it does
            // not sleep.
            let Some(Deadline { at_ns, timeout, .. }) = self.deadline else {
                thread::park();
                continue;
            };
            let left = at_ns.saturating_sub(self.system.shared.clock().now_ns());
            if left == 0 {
                return Err(AskError::Timeout(self.actor, timeout));
            }
            thread::park_timeout(Duration::from_nanos(left));
        }
    }

    /// Sees to it that the waker is woken at the deadline; true if that is past.
    pub(super) fn is_late(&mut self, waker: &Waker) -> bool {
        let Some(deadline) = &mut self.deadline else { return false };
        let shared = &self.system.shared;
        // When the system has ended, nobody looks at deadlines any more, and nobody in it will
        // answer.
        if shared.clock().now_ns() >= deadline.at_ns || shared.control().exit_requested() {
            return true;
        }
        let known = deadline.key.is_some_and(|key| shared.deadlines().replace(key, waker));
        if !known {
            deadline.key = Some(shared.add_deadline(deadline.at_ns, waker.clone()));
        }
        false
    }
}

impl<R> Future for Answer<R> {
    type Output = Result<R, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Source::Here(here) => Pin::new(here).poll(cx),
            Source::Else(answer) => Pin::new(answer).poll(cx),
        }
    }
}

impl<R> Future for Here<R> {
    type Output = Result<R, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let result = match &mut this.state {
            State::Refused(error) => Poll::Ready(Err(error.clone())),
            State::Done => Poll::Ready(Err(AskError::NoReply(this.actor))),
            State::Waiting(receiver) => {
                Pin::new(receiver).poll(cx).map_err(|_| AskError::NoReply(this.actor))
            }
        };
        let result = match result {
            Poll::Pending if this.is_late(cx.waker()) => Poll::Ready(Err(this.late())),
            result => result,
        };
        if result.is_ready() {
            this.state = State::Done;
        }
        result
    }
}

impl<R> Drop for Here<R> {
    fn drop(&mut self) {
        self.forget_deadline();
    }
}

impl<R> fmt::Debug for Answer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Here(here) => write!(f, "Answer(from {})", here.actor),
            Source::Else(_) => f.write_str("Answer(from another node, or without room)"),
        }
    }
}
