//! The way of an answer to its asker.

use futures_channel::oneshot;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The way to an asker. Dropped unused, it tells the asker that there is no answer.
pub(crate) enum Way<R> {
    /// To a future: [`Answer`](super::answer::Answer).
    Future(oneshot::Sender<R>),
    /// To an actor, which gets a message: [`Context::ask`](crate::Context::ask).
    Actor(ToActor<R>),
}

/// Somebody who waits for an answer: an actor, or a crate that brings requests from elsewhere.
#[doc(hidden)]
pub trait Asker<R>: Send + Sync {
    /// Takes the answer.
    ///
    /// # Errors
    /// Gives it back if nobody waits for it any more.
    fn answer(&self, answer: R) -> Result<(), R>;

    /// There will be no answer, unless there was one.
    fn no_more(&self);

    /// Whether nobody waits for an answer any more.
    fn is_over(&self) -> bool;

    /// Ready when nobody waits for an answer any more.
    fn poll_over(self: Arc<Self>, cx: &mut Context<'_>) -> Poll<()>;
}

/// The way to an actor.
pub(crate) struct ToActor<R>(Arc<dyn Asker<R>>);

impl<R> Way<R> {
    pub(crate) fn to_actor(asker: Arc<dyn Asker<R>>) -> Self {
        Way::Actor(ToActor(asker))
    }

    /// Answers.
    ///
    /// # Errors
    /// Gives the value back if nobody waits for it any more.
    pub(crate) fn send(self, value: R) -> Result<(), R> {
        match self {
            Way::Future(sender) => sender.send(value),
            Way::Actor(to) => to.0.answer(value),
        }
    }

    /// Whether nobody waits for an answer any more.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Way::Future(sender) => sender.is_canceled(),
            Way::Actor(to) => to.0.is_over(),
        }
    }

    /// Ready when nobody waits for an answer any more.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Way::Future(sender) => sender.poll_canceled(cx),
            Way::Actor(to) => to.0.clone().poll_over(cx),
        }
    }
}

impl<R> Drop for ToActor<R> {
    fn drop(&mut self) {
        self.0.no_more();
    }
}
