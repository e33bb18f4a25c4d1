//! Handles of actors elsewhere.

use super::border::{Ask, Line, NotSent};
use super::given::{decode, encode};
use super::kind::Data;
use crate::actor_id::ActorId;
use crate::ask::answer::Awaited;
use crate::ask::{Answer, AskError};
use crate::handle::at::{At, Room};
use crate::handle::target::{Asked, Tell, WeakAsked, WeakTell};
use crate::send_error::SendError;
use actinium_wire::Encoding;
use futures_channel::oneshot;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The way to an actor elsewhere, and how what is sent there is encoded.
#[derive(Clone)]
pub(super) struct Far {
    pub(super) line: Arc<dyn Line>,
    pub(super) encoding: Encoding,
}

impl<M: Data> Tell<M> for Far {
    fn at(&self) -> At<'_> {
        At::There(&*self.line)
    }

    fn is_closed(&self) -> bool {
        self.line.is_closed()
    }

    fn send(&self, msg: M) -> Result<(), SendError<M>> {
        let encoding = self.encoding;
        let write = &mut |into: &mut Vec<u8>| encode(encoding, &msg, into);
        let sent = self.line.tell(encoding, std::any::type_name::<M>(), write);
        sent.map_err(|not_sent| match not_sent {
            NotSent::Closed => SendError::Closed(msg),
            NotSent::Full => SendError::Full(msg),
            NotSent::NodeDown => SendError::NodeDown(msg),
            NotSent::Unsendable => SendError::Unsendable(msg),
        })
    }

    fn try_send(&self, msg: M) -> Result<(), SendError<M>> {
        self.send(msg)
    }

    fn send_urgent(&self, msg: M) -> Result<(), SendError<M>> {
        self.send(msg)?;
        self.line.hurry();
        Ok(())
    }

    fn tell(&self, msg: M) {
        if self.send(msg).is_err() {
            self.line.undelivered();
        }
    }

    fn room(&self) -> Room {
        self.line.room()
    }

    fn downgrade(&self) -> Arc<dyn WeakTell<M>> {
        Arc::new(self.clone())
    }
}

impl<M: Data> WeakTell<M> for Far {
    fn upgrade(&self) -> Option<Arc<dyn Tell<M>>> {
        Some(Arc::new(self.clone()))
    }
}

impl<Q: Data, R: Data> Asked<Q, R> for Far {
    fn at(&self) -> At<'_> {
        At::There(&*self.line)
    }

    fn is_closed(&self) -> bool {
        self.line.is_closed()
    }

    fn ask(&self, timeout: Option<Duration>, request: Q) -> Answer<R> {
        Answer::awaited(Box::new(self.begin::<Q, R>(timeout, request, false)))
    }

    fn ask_async(&self, request: Q) -> Answer<R> {
        Answer::awaited(Box::new(self.begin::<Q, R>(None, request, true)))
    }

    fn room(&self) -> Room {
        self.line.room()
    }

    fn downgrade(&self) -> Arc<dyn WeakAsked<Q, R>> {
        Arc::new(self.clone())
    }
}

impl Far {
    /// Asks. `waits`: it waits while too much waits for the node.
    fn begin<Q: Data, R: Data>(
        &self,
        timeout: Option<Duration>,
        request: Q,
        waits: bool,
    ) -> FarAnswer<Q, R> {
        let stage = self.asked(timeout, &request);
        let waiting = waits.then_some(request);
        FarAnswer { far: self.clone(), waiting, stage, limit: None }
    }

    fn asked<Q: Data, R: Data>(&self, timeout: Option<Duration>, request: &Q) -> Stage<R> {
        let encoding = self.encoding;
        let (sender, receiver) = oneshot::channel();
        let read = Box::new(move |bytes: &[u8]| {
            // Whoever asked may have stopped waiting.
            decode::<R>(encoding, bytes).map(|answer| drop(sender.send(answer)))
        });
        let write = &mut |into: &mut Vec<u8>| encode(encoding, request, into);
        Stage::Asked(self.line.ask(encoding, timeout, write, read), receiver)
    }
}

/// An answer of an actor elsewhere.
struct FarAnswer<Q, R> {
    far: Far,
    /// The request, if it is to be sent again when there was no room for it.
    waiting: Option<Q>,
    stage: Stage<R>,
    /// Done at the deadline that was set afterwards.
    limit: Option<(Duration, Room)>,
}

enum Stage<R> {
    Asked(Ask, oneshot::Receiver<R>),
    NoRoom(Room),
}

// The futures in it are pinned in boxes; the rest is moved.
impl<Q, R> Unpin for FarAnswer<Q, R> {}

impl<Q: Data, R: Data> Awaited<R> for FarAnswer<Q, R> {
    fn set_timeout(&mut self, timeout: Duration) {
        self.limit = Some((timeout, self.far.line.after(timeout)));
    }
}

impl<Q: Data, R: Data> FarAnswer<Q, R> {
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Result<R, AskError>> {
        let actor = ActorId(self.far.line.ticket().actor);
        loop {
            match &mut self.stage {
                Stage::Asked(asked, receiver) => match asked.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(())) => {
                        let answer = receiver.try_recv().ok().flatten();
                        return Poll::Ready(answer.ok_or(AskError::NoReply(actor)));
                    }
                    Poll::Ready(Err(AskError::Full(_))) if self.waiting.is_some() => {
                        self.stage = Stage::NoRoom(self.far.line.room());
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                },
                Stage::NoRoom(room) => {
                    if room.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    let Some(request) = &self.waiting else {
                        return Poll::Ready(Err(AskError::Full(actor)));
                    };
                    self.stage = self.far.asked(None, request);
                }
            }
        }
    }
}

impl<Q: Data, R: Data> Future for FarAnswer<Q, R> {
    type Output = Result<R, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.poll_answer(cx);
        let Some((timeout, limit)) = &mut self.limit else { return answer };
        if answer.is_ready() || limit.as_mut().poll(cx).is_pending() {
            return answer;
        }
        let timeout = *timeout;
        Poll::Ready(Err(AskError::Timeout(ActorId(self.far.line.ticket().actor), timeout)))
    }
}

impl<Q: Data, R: Data> WeakAsked<Q, R> for Far {
    fn upgrade(&self) -> Option<Arc<dyn Asked<Q, R>>> {
        Some(Arc::new(self.clone()))
    }
}
