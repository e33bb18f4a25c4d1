//! Answers that are under way.

use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use actinium_actor::{Answer, AskError};
use futures_channel::oneshot;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An answer that is under way: await it, give it to
/// [`Context::pipe`](actinium_actor::Context::pipe), or [`RemoteAnswer::wait`] for it on a thread
/// that may block.
pub struct RemoteAnswer<R>(From<R>);

enum From<R> {
    There(oneshot::Receiver<Result<R, RemoteAskError>>),
    /// An answer of an actor of this node.
    Here(NodeId, Answer<R>),
    /// An answer that takes several requests, one after the other.
    Later(Pin<Box<dyn Future<Output = Result<R, RemoteAskError>> + Send>>),
}

impl<R> RemoteAnswer<R> {
    pub(crate) fn new(receiver: oneshot::Receiver<Result<R, RemoteAskError>>) -> Self {
        RemoteAnswer(From::There(receiver))
    }

    /// One that is there already.
    pub(crate) fn ready(answer: Result<R, RemoteAskError>) -> Self {
        let (sender, receiver) = oneshot::channel();
        // The receiver is here.
        drop(sender.send(answer));
        Self::new(receiver)
    }

    /// Wraps the answer of an actor of this node.
    pub(crate) fn of_local(node: NodeId, answer: Answer<R>) -> Self {
        RemoteAnswer(From::Here(node, answer))
    }

    /// Makes an answer of a future that combines several requests.
    pub(crate) fn later(
        answer: impl Future<Output = Result<R, RemoteAskError>> + Send + 'static,
    ) -> Self {
        RemoteAnswer(From::Later(Box::pin(answer)))
    }

    /// The part of the answer that `pick` finds in it. None: it is the answer to something else.
    #[doc(hidden)]
    pub fn pick<T>(self, pick: fn(R) -> Option<T>) -> RemoteAnswer<T>
    where
        R: Send + 'static,
        T: 'static,
    {
        RemoteAnswer::later(async move { pick(self.await?).ok_or(RemoteAskError::NotUnderstood) })
    }

    /// Waits for the answer, blocking the thread.
    ///
    /// # Errors
    /// If there is none; [`RemoteAskError::WouldBlock`] at once on a worker.
    pub fn wait(self) -> Result<R, RemoteAskError> {
        if actinium_scheduler::current(|worker| worker.is_some()) {
            return Err(RemoteAskError::WouldBlock);
        }
        futures_lite::future::block_on(self)
    }
}

impl<R> Future for RemoteAnswer<R> {
    type Output = Result<R, RemoteAskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            From::There(receiver) => Pin::new(receiver)
                .poll(cx)
                .map(|answer| answer.unwrap_or(Err(RemoteAskError::Left))),
            From::Later(answer) => answer.as_mut().poll(cx),
            From::Here(node, answer) => Pin::new(answer).poll(cx).map(|answer| {
                answer.map_err(|error| match error {
                    AskError::Closed(_) => RemoteAskError::Closed,
                    AskError::Full(_) => RemoteAskError::Full(*node),
                    AskError::Timeout(_, timeout) => RemoteAskError::Timeout(timeout),
                    AskError::WouldBlock => RemoteAskError::WouldBlock,
                    _ => RemoteAskError::NoReply,
                })
            }),
        }
    }
}

impl<R> fmt::Debug for RemoteAnswer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteAnswer")
    }
}
