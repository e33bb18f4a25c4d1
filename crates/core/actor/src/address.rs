//! Addresses, by which actors are reached: from other actors, from any thread, from async code.

use crate::actor::{Actor, Context};
use crate::actor_core::CoreRef;
use crate::actor_id::ActorId;
use crate::cell::reference::CellRef;
use crate::control::Control;
use crate::stop_reason::StopReason;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The address of an actor. Cheap to clone, usable from any thread.
///
/// Messages from one sender to one actor arrive in the order in which they were sent. An actor ends
/// when its last address is gone and its mailbox is empty, unless it has a name; timers and pending
/// futures of the actor hold an address of it.
pub struct Address<A: Actor>(pub(crate) CellRef<A>);

impl<A: Actor> Address<A> {
    /// The actor's identity.
    pub fn id(&self) -> ActorId {
        self.0.core.id
    }

    /// Whether the actor refuses messages: it has ended, or is about to.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The number of messages that wait in its mailbox: an estimate while the actor is in use.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no message waits: an estimate while the actor is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most messages that its mailbox takes; `None`: no bound.
    pub fn capacity(&self) -> Option<usize> {
        Some(self.0.capacity()).filter(|&capacity| capacity > 0)
    }

    /// Asks it to end once it has handled what is in its mailbox; it takes no more from when it
    /// sees the request.
    pub fn stop(&self) {
        // One that has ended already needs no stopping.
        let _ = self.0.core.control(Control::Stop);
    }

    /// Asks it to end: at the end of its present turn, or before the next message if it has none.
    /// What is in its mailbox then becomes dead letters.
    pub fn kill(&self) {
        // One that has ended already needs no stopping.
        let _ = self.0.core.control(Control::Kill(StopReason::Requested));
    }

    /// An address that does not keep the actor alive.
    pub fn downgrade(&self) -> WeakAddress<A> {
        WeakAddress { core: self.0.core_ref(), kind: std::marker::PhantomData }
    }
}

impl<A: Actor> Context<'_, A> {
    /// The actor's own address. Each address that it keeps or sends away keeps it alive.
    pub fn address(&self) -> Address<A> {
        Address(CellRef::of_context(self))
    }
}

impl<A: Actor> Clone for Address<A> {
    fn clone(&self) -> Self {
        Address(self.0.clone())
    }
}

impl<A: Actor> PartialEq for Address<A> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(&*self.0, &*other.0)
    }
}

impl<A: Actor> Eq for Address<A> {}

impl<A: Actor> Hash for Address<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl<A: Actor> fmt::Debug for Address<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({}, {})", self.id(), self.0.core.kind())
    }
}

/// An address that does not keep its actor alive.
pub struct WeakAddress<A: Actor> {
    core: CoreRef,
    kind: std::marker::PhantomData<fn(A)>,
}

impl<A: Actor> WeakAddress<A> {
    /// The actor's address, unless it has ended.
    pub fn upgrade(&self) -> Option<Address<A>> {
        CellRef::upgrade(&self.core).map(Address)
    }

    /// The actor's identity.
    pub fn id(&self) -> ActorId {
        self.core.id
    }
}

impl<A: Actor> Clone for WeakAddress<A> {
    fn clone(&self) -> Self {
        WeakAddress { core: self.core.clone(), kind: self.kind }
    }
}

impl<A: Actor> fmt::Debug for WeakAddress<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WeakAddress({}, {})", self.id(), self.core.kind())
    }
}
