//! Handles of actors elsewhere.

use super::border::{Line, NotSent};
use super::given::{decode, encode};
use super::kind::Data;
use crate::actor_id::ActorId;
use crate::ask::{Answer, AskError};
use crate::handle::at::{At, Room};
use crate::handle::target::{Asked, Tell, WeakAsked, WeakTell};
use crate::send_error::SendError;
use actinium_wire::Encoding;
use futures_channel::oneshot;
use std::sync::Arc;
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
        let (encoding, actor) = (self.encoding, ActorId(self.line.ticket().actor));
        let (sender, receiver) = oneshot::channel();
        let read = Box::new(move |bytes: &[u8]| {
            // Whoever asked may have stopped waiting.
            decode::<R>(encoding, bytes).map(|answer| drop(sender.send(answer)))
        });
        let write = &mut |into: &mut Vec<u8>| encode(encoding, &request, into);
        let answered = self.line.ask(encoding, timeout, write, read);
        Answer::there(Box::pin(async move {
            answered.await?;
            receiver.await.map_err(|_| AskError::NoReply(actor))
        }))
    }

    fn room(&self) -> Room {
        self.line.room()
    }

    fn downgrade(&self) -> Arc<dyn WeakAsked<Q, R>> {
        Arc::new(self.clone())
    }
}

impl<Q: Data, R: Data> WeakAsked<Q, R> for Far {
    fn upgrade(&self) -> Option<Arc<dyn Asked<Q, R>>> {
        Some(Arc::new(self.clone()))
    }
}
