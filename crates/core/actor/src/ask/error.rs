//! The reasons why an ask gets no answer.

use crate::actor_id::ActorId;
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

/// The reasons why an ask gets no answer.
///
/// An answer that is a `Result` itself can be asked for with
/// [`Address::try_ask`](crate::Address::try_ask): then its error is [`AskError::Failed`], and there
/// is one `Result` to match. All other asks give an `AskError` that is never `Failed`;
/// [`AskError::widen`] makes one of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError<E = Infallible> {
    /// The actor has ended.
    Closed(ActorId),
    /// The actor's mailbox is full.
    Full(ActorId),
    /// The actor dropped the request: it ended, failed, or did not answer.
    NoReply(ActorId),
    /// The actor did not answer in time, or not before the system ended.
    Timeout(ActorId, Duration),
    /// A worker must not block: use [`Context::ask`](crate::Context::ask) in actors.
    WouldBlock,
    /// The actor's node is down, was never met, or went down before it had answered: nobody knows
    /// whether the actor got the request. Only of actors of other nodes.
    NodeDown(ActorId),
    /// The request or its answer could not be sent or understood, or the other node refused it.
    /// Only of actors of other nodes.
    Refused(ActorId, String),
    /// The actor answered with an error.
    Failed(E),
}

impl AskError {
    /// The same reason, where an answer may be an error, too.
    ///
    /// ```
    /// # use actinium_actor::AskError;
    /// fn retry(why: AskError) -> Result<(), AskError<std::io::Error>> {
    ///     if why == AskError::WouldBlock { Err(why.widen()) } else { Ok(()) }
    /// }
    /// assert!(retry(AskError::WouldBlock).is_err());
    /// ```
    pub fn widen<E>(self) -> AskError<E> {
        match self.take() {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }
}

impl<E> AskError<E> {
    /// The actor's own error, or the reason why there is no answer: what
    /// [`AskError::widen`] undoes.
    ///
    /// ```
    /// # use actinium_actor::AskError;
    /// enum BankError { NoFunds, Unavailable(String) }
    ///
    /// fn bank_error(why: AskError<BankError>) -> BankError {
    ///     why.narrow().unwrap_or_else(|why| BankError::Unavailable(why.to_string()))
    /// }
    /// assert!(matches!(bank_error(AskError::Failed(BankError::NoFunds)), BankError::NoFunds));
    /// assert!(matches!(bank_error(AskError::WouldBlock), BankError::Unavailable(_)));
    /// ```
    ///
    /// # Errors
    /// If the actor did not answer.
    pub fn narrow(self) -> Result<E, AskError> {
        self.take()
    }

    /// Takes out the actor's own error. What is left may stand for an ask with any other.
    fn take<F>(self) -> Result<E, AskError<F>> {
        Err(match self {
            AskError::Closed(actor) => AskError::Closed(actor),
            AskError::Full(actor) => AskError::Full(actor),
            AskError::NoReply(actor) => AskError::NoReply(actor),
            AskError::Timeout(actor, timeout) => AskError::Timeout(actor, timeout),
            AskError::WouldBlock => AskError::WouldBlock,
            AskError::NodeDown(actor) => AskError::NodeDown(actor),
            AskError::Refused(actor, why) => AskError::Refused(actor, why),
            AskError::Failed(error) => return Ok(error),
        })
    }

    /// One `Result` of the two that an answer comes in which is a `Result` itself.
    ///
    /// # Errors
    /// If there is no answer, or it is an error ([`AskError::Failed`]).
    pub fn flatten<T>(answer: Result<Result<T, E>, AskError>) -> Result<T, AskError<E>> {
        match answer {
            Ok(answer) => answer.map_err(AskError::Failed),
            Err(error) => Err(error.widen()),
        }
    }
}

impl<E: fmt::Display> fmt::Display for AskError<E> {
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
            // It speaks for itself, and so does its source.
            AskError::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error> std::error::Error for AskError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AskError::Failed(error) => error.source(),
            _ => None,
        }
    }
}
