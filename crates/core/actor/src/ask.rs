//! Asking: a message that carries a handle for its reply.

use crate::actor::{Actor, Context};
use crate::actor_core::Inner;
use crate::actor_id::ActorId;
use crate::address::Address;
#[cfg(feature = "wire")]
use crate::passage::Passage;
use crate::send_error::SendError;
use actinium_scheduler::deadlines::DeadlineKey;
use actinium_scheduler::{Worker, current};
use futures_channel::oneshot;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
#[cfg(feature = "wire")]
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// The handle by which an actor answers a request: see [`Reply::send`].
///
/// Dropping it unanswered tells the asker so.
///
/// In a program with the feature `cluster` it is data in messages that go through a node: then the
/// other node's actor answers. If that node goes down first, the asker is told that there is no
/// answer.
#[derive(Debug)]
pub struct Reply<R> {
    /// None: it was used.
    sender: Option<oneshot::Sender<R>>,
    /// How it leaves in a message to another node, once it was encoded in one.
    #[cfg(feature = "wire")]
    passage: Mutex<Option<Arc<Passage<R>>>>,
}

impl<R> Reply<R> {
    pub(crate) fn new(sender: oneshot::Sender<R>) -> Self {
        Reply {
            sender: Some(sender),
            #[cfg(feature = "wire")]
            passage: Mutex::new(None),
        }
    }

    /// Begins to leave in a message to another node: when this is dropped, the way to the asker
    /// goes to the passage. None if it stands in another message already.
    #[cfg(feature = "wire")]
    pub(crate) fn begin_passage(&self) -> Option<Arc<Passage<R>>> {
        let mut passage = self.passage.lock().unwrap_or_else(PoisonError::into_inner);
        if passage.as_ref().is_some_and(|former| former.is_open()) {
            return None;
        }
        let new = Arc::new(Passage::new());
        *passage = Some(new.clone());
        Some(new)
    }

    /// Answers.
    ///
    /// # Errors
    /// Gives the value back if nobody waits for it any more.
    pub fn send(mut self, value: R) -> Result<(), R> {
        // Cause before effect: what the running turn has sent is there when whoever hears this
        // looks.
        current(|worker| worker.into_iter().for_each(Worker::flush_lanes));
        match self.sender.take() {
            Some(sender) => sender.send(value),
            None => Err(value),
        }
    }
}

#[cfg(feature = "wire")]
impl<R> Drop for Reply<R> {
    fn drop(&mut self) {
        let passage = self.passage.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(passage), Some(sender)) = (passage, self.sender.take()) {
            passage.leave(sender);
        }
    }
}

/// The reasons why an ask gets no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// The actor has ended.
    Closed(ActorId),
    /// The actor's mailbox is full.
    Full(ActorId),
    /// The actor dropped the request: it ended, panicked, or did not answer.
    NoReply(ActorId),
    /// The actor did not answer in time, or not before the system ended.
    Timeout(ActorId, Duration),
    /// A worker must not block: use [`Context::ask`] in actors.
    WouldBlock,
    /// The actor's node is down, was never met, or went down before it had answered: nobody knows
    /// whether the actor got the request. Only of actors of other nodes.
    NodeDown(ActorId),
    /// The request or its answer could not be sent or understood, or the other node refused it.
    /// Only of actors of other nodes.
    Refused(ActorId, String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Closed(actor) => write!(f, "{actor} has ended and can not be asked"),
            AskError::Full(actor) => write!(f, "the mailbox of {actor} is full: ask again later"),
            AskError::NoReply(actor) => write!(f, "{actor} dropped the request without an answer"),
            AskError::Timeout(actor, timeout) => {
                write!(f, "{actor} did not answer within {timeout:?}")
            }
            AskError::WouldBlock => f.write_str(
                "waiting for an answer would block a worker: use Context::ask in actors",
            ),
            AskError::NodeDown(actor) => {
                write!(f, "the node of {actor} is down, or went down before there was an answer")
            }
            AskError::Refused(actor, why) => write!(f, "{actor} could not be asked: {why}"),
        }
    }
}

impl std::error::Error for AskError {}

/// An answer that is under way: await it, or [`Answer::wait`] for it on a thread that may block.
///
/// Its deadline, if it has one, counts from when it was asked.
pub struct Answer<R>(Source<R>);

// tidy: guard: made by `handle::travel`; what it holds of the user's is an answer that comes.
/// An answer of an actor of another node.
type There<R> = Pin<Box<dyn Future<Output = Result<R, AskError>> + Send>>;

enum Source<R> {
    Here(Here<R>),
    #[cfg_attr(not(feature = "wire"), allow(dead_code))]
    There(There<R>),
}

/// An answer of an actor of this process.
struct Here<R> {
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

    /// Asks as [`Address::ask`] does, with a deadline.
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
        let system = self.0.core.system.clone();
        let (reply, answer) = oneshot::channel();
        let deadline = timeout.map(|timeout| {
            let ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
            let at_ns = system.shared.clock().now_ns().saturating_add(ns);
            Deadline { at_ns, timeout, key: None }
        });
        let state = match self.send(msg(Reply::new(reply))) {
            Ok(()) => State::Waiting(answer),
            Err(SendError::Closed(_)) => State::Refused(AskError::Closed(self.id())),
            Err(_) => State::Refused(AskError::Full(self.id())),
        };
        Answer(Source::Here(Here { state, actor: self.id(), system, deadline }))
    }
}

impl<A: Actor> Context<'_, A> {
    /// Asks another actor; the answer, or why there is none, comes as a message to this one.
    ///
    /// `request` makes the message from the reply handle, `msg` this actor's message of the answer.
    pub fn ask<B: Actor, R: Send + 'static>(
        &self,
        other: &Address<B>,
        request: impl FnOnce(Reply<R>) -> B::Msg,
        msg: impl FnOnce(Result<R, AskError>) -> A::Msg + Send + 'static,
    ) {
        self.pipe(other.ask(request), msg);
    }

    /// Asks as [`Context::ask`] does, with a deadline.
    pub fn ask_timeout<B: Actor, R: Send + 'static>(
        &self,
        other: &Address<B>,
        timeout: Duration,
        request: impl FnOnce(Reply<R>) -> B::Msg,
        msg: impl FnOnce(Result<R, AskError>) -> A::Msg + Send + 'static,
    ) {
        self.pipe(other.ask_timeout(timeout, request), msg);
    }
}

impl<R> Answer<R> {
    /// An answer of an actor of another node.
    #[cfg(feature = "wire")]
    pub(crate) fn there(answer: There<R>) -> Self {
        Answer(Source::There(answer))
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
            Source::There(there) => futures_lite::future::block_on(there),
        }
    }
}

impl<R> Here<R> {
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
    fn is_late(&mut self, waker: &Waker) -> bool {
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
            Source::There(there) => there.as_mut().poll(cx),
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
            Poll::Pending if this.is_late(cx.waker()) => {
                let timeout =
                    this.deadline.as_ref().map_or(Duration::ZERO, |deadline| deadline.timeout);
                Poll::Ready(Err(AskError::Timeout(this.actor, timeout)))
            }
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
        if let Some(key) = self.deadline.as_ref().and_then(|deadline| deadline.key) {
            self.system.shared.deadlines().remove(key);
        }
    }
}

impl<R> fmt::Debug for Answer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Here(here) => write!(f, "Answer(from {})", here.actor),
            Source::There(_) => f.write_str("Answer(from another node)"),
        }
    }
}
