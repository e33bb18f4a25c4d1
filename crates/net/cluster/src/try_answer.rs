//! Answers of other nodes that may be errors themselves.

use crate::answer::RemoteAnswer;
use crate::error::RemoteAskError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An answer that is under way and may be an error itself: one `Result` says what has become of it.
/// Otherwise as [`RemoteAnswer`]; made by [`RemoteAnswer::flat`].
pub struct RemoteTryAnswer<T, E>(RemoteAnswer<Result<T, E>>);

impl<T, E> RemoteAnswer<Result<T, E>> {
    /// The answer with one `Result` instead of two: an error of the actor is
    /// [`RemoteAskError::Failed`].
    ///
    /// The methods that `#[actor(remote = "..")]` makes of those that return a `Result` give such
    /// an answer by themselves.
    ///
    /// ```
    /// use actinium_cluster::{RemoteAnswer, RemoteAskError};
    ///
    /// fn withdrawn(answer: RemoteAnswer<Result<u64, String>>) -> Result<u64, String> {
    ///     match answer.flat().wait() {
    ///         Err(RemoteAskError::Failed(why)) => Err(format!("the bank refuses: {why}")),
    ///         answer => answer.map_err(|why| format!("nobody knows: {why}")),
    ///     }
    /// }
    /// ```
    pub fn flat(self) -> RemoteTryAnswer<T, E> {
        RemoteTryAnswer(self)
    }
}

impl<T, E> RemoteTryAnswer<T, E> {
    /// Waits for the answer, blocking the thread.
    ///
    /// # Errors
    /// If there is none, or it is an error; [`RemoteAskError::WouldBlock`] at once on a worker.
    pub fn wait(self) -> Result<T, RemoteAskError<E>> {
        RemoteAskError::flatten(self.0.wait())
    }
}

impl<T, E> Future for RemoteTryAnswer<T, E> {
    type Output = Result<T, RemoteAskError<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(RemoteAskError::flatten)
    }
}

impl<T, E> fmt::Debug for RemoteTryAnswer<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteTryAnswer")
    }
}
