//! Targets of this process: an address, and how what comes becomes its actor's message.

use super::at::{At, Room};
use super::target::{Asked, Request, Tell, WeakAsked, WeakTell};
use crate::actor::Actor;
use crate::address::{Address, WeakAddress};
use crate::ask::Answer;
use crate::send::WhenFull;
use crate::send_error::SendError;
use std::any::{Any, TypeId};
use std::sync::Arc;
use std::time::Duration;

/// An actor, and how an `M` becomes its message.
pub(super) struct Local<A: Actor, M> {
    address: Address<A>,
    make: fn(M) -> A::Msg,
    /// Whether the actor takes an `M` as it is, so that it can be given back.
    is_plain: bool,
}

/// A [`Local`] that does not keep its actor alive.
struct WeakLocal<A: Actor, M> {
    address: WeakAddress<A>,
    make: fn(M) -> A::Msg,
    is_plain: bool,
}

impl<A: Actor, M: 'static> Local<A, M> {
    /// `make` gives an `M` back unchanged if the actor's messages are such.
    pub(super) fn new(address: Address<A>, make: fn(M) -> A::Msg) -> Self {
        let is_plain = TypeId::of::<M>() == TypeId::of::<A::Msg>();
        Local { address, make, is_plain }
    }

    /// Like [`Local::new`], but `make` may do anything.
    #[cfg(feature = "wire")]
    pub(super) fn made(address: Address<A>, make: fn(M) -> A::Msg) -> Self {
        Local { address, make, is_plain: false }
    }

    fn send_when(&self, msg: M, when_full: WhenFull) -> Result<(), SendError<M>> {
        if self.is_plain {
            let msg = (self.make)(msg);
            let sent = match when_full {
                WhenFull::Refuse => self.address.try_send(msg),
                _ => self.address.send(msg),
            };
            return sent.map_err(back);
        }
        // The message can not be given back once it is the actor's: it is looked first.
        let is_turn = is_turn_of(&self.address);
        if self.refuses(is_turn) {
            return Err(SendError::Closed(msg));
        }
        let mutes = is_turn && when_full == WhenFull::Mute;
        let capacity = self.address.capacity();
        if !mutes && capacity.is_some_and(|capacity| self.address.len() >= capacity) {
            return Err(SendError::Full(msg));
        }
        let msg = (self.make)(msg);
        let sent = match capacity {
            None => self.address.send(msg),
            // Others may have filled it just now: then it goes over its bound by this message.
            Some(_) if !mutes => self.address.send_bounded(msg, WhenFull::Over),
            Some(_) => self.address.send_bounded(msg, WhenFull::Mute),
        };
        // If the actor has ended just now, it has ended with this message in its mailbox.
        self.address.undeliverable(sent);
        Ok(())
    }

    /// Whether the actor takes no message any more, from this thread.
    fn refuses(&self, is_turn: bool) -> bool {
        self.address.is_closed() || (!is_turn && self.address.refuses_external())
    }
}

/// Whether this is a turn of an actor in the same system.
fn is_turn_of<A: Actor>(address: &Address<A>) -> bool {
    let system = &address.0.core.system;
    system.with_worker(|worker| worker.is_some_and(|worker| worker.running().is_some()))
}

/// The same error, with the message as the type that it is.
fn back<M: 'static, N: 'static>(error: SendError<N>) -> SendError<M> {
    let is_closed = error.is_closed();
    let mut msg = Some(error.into_inner());
    let same = (&mut msg as &mut dyn Any).downcast_mut::<Option<M>>();
    let msg = same.and_then(Option::take).expect("one type");
    if is_closed { SendError::Closed(msg) } else { SendError::Full(msg) }
}

/// Waits until a mailbox takes messages.
fn room<A: Actor>(address: &Address<A>) -> Room {
    let address = address.clone();
    Box::pin(std::future::poll_fn(move |cx| address.0.poll_room(cx)))
}

impl<A: Actor, M: Send + 'static> Tell<M> for Local<A, M> {
    fn at(&self) -> At<'_> {
        At::Here(&self.address.0.core)
    }

    fn is_closed(&self) -> bool {
        self.address.is_closed()
    }

    fn send(&self, msg: M) -> Result<(), SendError<M>> {
        self.send_when(msg, WhenFull::Mute)
    }

    fn try_send(&self, msg: M) -> Result<(), SendError<M>> {
        self.send_when(msg, WhenFull::Refuse)
    }

    fn send_urgent(&self, msg: M) -> Result<(), SendError<M>> {
        if self.is_plain {
            return self.address.send_urgent((self.make)(msg)).map_err(back);
        }
        // As in `send_when`: it is looked first, and what has changed just now is too late.
        if self.refuses(is_turn_of(&self.address)) {
            return Err(SendError::Closed(msg));
        }
        if self.address.is_urgent_full() {
            return Err(SendError::Full(msg));
        }
        self.address.tell_urgent_over((self.make)(msg));
        Ok(())
    }

    fn tell(&self, msg: M) {
        self.address.tell((self.make)(msg));
    }

    fn room(&self) -> Room {
        room(&self.address)
    }

    fn downgrade(&self) -> Arc<dyn WeakTell<M>> {
        Arc::new(WeakLocal {
            address: self.address.downgrade(),
            make: self.make,
            is_plain: self.is_plain,
        })
    }
}

impl<A: Actor, M: Send + 'static> WeakTell<M> for WeakLocal<A, M> {
    fn upgrade(&self) -> Option<Arc<dyn Tell<M>>> {
        let address = self.address.upgrade()?;
        Some(Arc::new(Local { address, make: self.make, is_plain: self.is_plain }))
    }
}

impl<A, Q, R> Asked<Q, R> for Local<A, Request<Q, R>>
where
    A: Actor,
    Q: Send + 'static,
    R: Send + 'static,
{
    fn at(&self) -> At<'_> {
        At::Here(&self.address.0.core)
    }

    fn is_closed(&self) -> bool {
        self.address.is_closed()
    }

    fn ask(&self, timeout: Option<Duration>, request: Q) -> Answer<R> {
        self.address.ask_until(timeout, |reply| (self.make)((request, reply)))
    }

    fn ask_async(&self, request: Q) -> Answer<R> {
        self.address.ask_async(|reply| (self.make)((request, reply)))
    }

    fn room(&self) -> Room {
        room(&self.address)
    }

    fn downgrade(&self) -> Arc<dyn WeakAsked<Q, R>> {
        Arc::new(WeakLocal {
            address: self.address.downgrade(),
            make: self.make,
            is_plain: self.is_plain,
        })
    }
}

impl<A, Q, R> WeakAsked<Q, R> for WeakLocal<A, Request<Q, R>>
where
    A: Actor,
    Q: Send + 'static,
    R: Send + 'static,
{
    fn upgrade(&self) -> Option<Arc<dyn Asked<Q, R>>> {
        let address = self.address.upgrade()?;
        Some(Arc::new(Local { address, make: self.make, is_plain: self.is_plain }))
    }
}
