//! The outbox: messages and requests on their way to a shell, in order.

use crate::actor::RemoteActor;
use crate::any::AnyAddress;
use crate::error::{RemoteAskError, RemoteSendError};
use crate::node::NodeEvent;
use crate::node::state::Inner;
use actinium_actor::{Actor, Context, Reply};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Something for the state, or for its shell.
pub(super) enum Delivery<A: RemoteActor> {
    Tell(A::Message),
    Ask(A::Request, Reply<A::Answer>),
}

/// A delivery that waits, and the token by which it is counted while it does.
pub(super) type Waiting<A> = (Delivery<A>, Option<Arc<()>>);

/// The timeout of requests on the way: none in effect, because whoever asks has a timeout of its
/// own.
const FOREVER: Duration = Duration::from_secs(1 << 32);

/// See the module.
pub(super) struct Outbox<A: RemoteActor> {
    deliveries: VecDeque<Waiting<A>>,
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
        Outbox { deliveries: VecDeque::new(), waits_for_capacity: false }
    }

    pub(super) fn push(&mut self, waiting: Waiting<A>) {
        self.deliveries.push_back(waiting);
    }

    pub(super) fn len(&self) -> usize {
        self.deliveries.len()
    }

    /// The number of messages, without requests.
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
            && let Some((delivery, counted)) = self.deliveries.pop_front()
        {
            if let AnyAddress::There(there) = to
                && there.is_full()
            {
                self.deliveries.push_front((delivery, counted));
                self.waits_for_capacity = true;
                let ready = back.ready;
                return ctx.pipe(there.ready(), move |()| ready());
            }
            match delivery {
                Delivery::Tell(message) => match to.send(message) {
                    Ok(()) => {}
                    // Others have filled it up just now: the next turn of the loop waits.
                    Err(RemoteSendError::Full(message)) => {
                        self.deliveries.push_front((Delivery::Tell(message), counted));
                    }
                    Err(_) => {
                        if let Some(inner) = inner.upgrade() {
                            let event = NodeEvent::Undelivered { node: to.node(), messages: 1 };
                            inner.tell_listeners(&event);
                        }
                    }
                },
                Delivery::Ask(request, reply) => {
                    let answered = back.answered;
                    ctx.pipe(to.ask(request, FOREVER), move |answer| answered(reply, answer));
                }
            }
        }
    }
}
