//! Answers that may be errors themselves.

use super::answer::Answer;
use super::error::AskError;
use super::reply::Reply;
use crate::actor::Actor;
use crate::address::Address;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// An answer that is under way and may be an error itself: one `Result` says what has become of it.
/// Otherwise as [`Answer`]; made by [`Address::try_ask`] and [`Answer::flat`].
pub struct TryAnswer<T, E>(Answer<Result<T, E>>);

impl<A: Actor> Address<A> {
    /// Asks for an answer that may be an error itself, which is [`AskError::Failed`] then.
    ///
    /// ```
    /// use actinium_actor::{Actor, AskError, Context, Reply, System};
    ///
    /// struct Account(i64);
    /// struct Add(i64, Reply<Result<i64, NoFunds>>);
    /// #[derive(Debug, PartialEq)]
    /// struct NoFunds;
    ///
    /// impl Actor for Account {
    ///     type Msg = Add;
    ///     fn handle(&mut self, Add(cents, reply): Add, _ctx: &mut Context<'_, Self>) {
    ///         let enough = self.0 + cents >= 0;
    ///         self.0 += if enough { cents } else { 0 };
    ///         let _ = reply.send(if enough { Ok(self.0) } else { Err(NoFunds) });
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let account = system.spawn(Account(100));
    /// assert_eq!(account.try_ask(|reply| Add(-30, reply)).wait(), Ok(70));
    /// match account.try_ask(|reply| Add(-100, reply)).wait() {
    ///     Ok(_) => unreachable!("there is not so much"),
    ///     Err(AskError::Failed(NoFunds)) => {}
    ///     Err(other) => panic!("{other:?}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_ask<T: Send + 'static, E: Send + 'static>(
        &self,
        msg: impl FnOnce(Reply<Result<T, E>>) -> A::Msg,
    ) -> TryAnswer<T, E> {
        self.ask(msg).flat()
    }
}

impl<T, E> Answer<Result<T, E>> {
    /// The answer with one `Result` instead of two: see [`TryAnswer`].
    pub fn flat(self) -> TryAnswer<T, E> {
        TryAnswer(self)
    }
}

impl<T, E> TryAnswer<T, E> {
    /// Ends the wait so long from now: see [`Answer::timeout`].
    #[must_use = "the answer is in here"]
    pub fn timeout(self, timeout: Duration) -> Self {
        TryAnswer(self.0.timeout(timeout))
    }

    /// Waits for the answer, blocking the thread.
    ///
    /// # Errors
    /// If there is none, or it is an error; [`AskError::WouldBlock`] at once on a worker.
    pub fn wait(self) -> Result<T, AskError<E>> {
        AskError::flatten(self.0.wait())
    }
}

impl<T, E> Future for TryAnswer<T, E> {
    type Output = Result<T, AskError<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(AskError::flatten)
    }
}

impl<T, E> fmt::Debug for TryAnswer<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Try{:?}", self.0)
    }
}
