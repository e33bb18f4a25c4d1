//! The outbox: messages and requests on their way to a shell, in order.

use super::delivery::{Delivery, Waiting};
use super::lost;
use crate::actor::RemoteActor;
use crate::any::AnyAddress;
use crate::error::{RemoteAskError, RemoteSendError};
use crate::node::NodeEvent;
use crate::node::state::Inner;
use actinium_actor::{Actor, Context, Reply};
use std::collections::VecDeque;
use std::sync::Weak;
use std::time::Duration;

/// The timeout of requests on the way: none in effect, because whoever asks has a timeout of its
/// own.
const FOREVER: Duration = Duration::from_secs(1 << 32);

/// See the module.
pub(super) struct Outbox<A: RemoteActor> {
    deliveries: VecDeque<Waiting<A>>,
    /// The bytes of all payloads among them.
    payload_bytes: usize,
    waits_for_capacity: bool,
}

/// An answer, or why there is none.
type Answered<A> = Result<<A as RemoteActor>::Answer, RemoteAskError>;

/// How an outbox comes back to its actor.
pub(super) struct Back<A: RemoteActor, B: Actor> {
    pub(super) answered: fn(Reply<A::Answer>, Answered<A>) -> B::Msg,
    pub(super) ready: fn() -> B::Msg,
}

impl<A: RemoteActor> Outbox<A> {
    pub(super) fn new() -> Self {
        Outbox { deliveries: VecDeque::new(), payload_bytes: 0, waits_for_capacity: false }
    }

    pub(super) fn push(&mut self, waiting: Waiting<A>) {
        self.payload_bytes += waiting.0.payload_bytes();
        self.deliveries.push_back(waiting);
    }

    fn pop(&mut self) -> Option<Waiting<A>> {
        let waiting = self.deliveries.pop_front()?;
        self.payload_bytes -= waiting.0.payload_bytes();
        Some(waiting)
    }

    fn put_back(&mut self, waiting: Waiting<A>) {
        self.payload_bytes += waiting.0.payload_bytes();
        self.deliveries.push_front(waiting);
    }

    pub(super) fn len(&self) -> usize {
        self.deliveries.len()
    }

    /// The bytes of all payloads that wait.
    pub(super) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// All that waits.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Waiting<A>> {
        self.payload_bytes = 0;
        std::mem::take(&mut self.deliveries).into_iter()
    }

    /// The number of messages, without requests and without messages that have a payload.
    pub(super) fn messages(&self) -> u64 {
        let is_message = |(delivery, _): &&Waiting<A>| matches!(delivery, Delivery::Tell(_));
        self.deliveries.iter().filter(is_message).count() as u64
    }

    /// There may be capacity again.
    pub(super) fn is_ready(&mut self) {
        self.waits_for_capacity = false;
    }

    /// Sends what there is, as far as there is capacity.
    pub(super) fn pump<B: Actor>(
        &mut self,
        to: &AnyAddress<A>,
        inner: &Weak<Inner>,
        ctx: &Context<'_, B>,
        back: &Back<A, B>,
    ) where
        B::Msg: 'static,
    {
        while !self.waits_for_capacity
            && let Some((delivery, counted)) = self.pop()
        {
            if let AnyAddress::There(there) = to
                && there.is_full()
            {
                self.put_back((delivery, counted));
                self.waits_for_capacity = true;
                let ready = back.ready;
                return ctx.pipe(there.ready(), move |()| ready());
            }
            match delivery {
                Delivery::Tell(message) => match to.send(message) {
                    Ok(()) => {}
                    // Others have filled it up just now: the next turn of the loop waits.
                    Err(RemoteSendError::Full(message)) => {
                        self.put_back((Delivery::Tell(message), counted));
                    }
                    Err(_) => {
                        if let Some(inner) = inner.upgrade() {
                            let event = NodeEvent::Undelivered { node: to.node(), messages: 1 };
                            inner.tell_listeners(&event);
                        }
                    }
                },
                Delivery::TellWith(from, message, payload) => {
                    match to.send_with_payload(message, payload) {
                        Ok(()) => {}
                        Err(RemoteSendError::Full((message, payload))) => {
                            self.put_back((Delivery::TellWith(from, message, payload), counted));
                            if let AnyAddress::There(there) = to {
                                self.waits_for_capacity = true;
                                let ready = back.ready;
                                return ctx.pipe(there.ready_for_payload(), move |()| ready());
                            }
                        }
                        Err(error) => {
                            let why = error.to_string();
                            let (_, payload) = error.into_inner();
                            lost::tell(inner, from, to.node(), payload.len(), why);
                        }
                    }
                }
                Delivery::Ask(request, reply) => {
                    let answered = back.answered;
                    ctx.pipe(to.ask(request, FOREVER), move |answer| answered(reply, answer));
                }
            }
        }
    }
}
