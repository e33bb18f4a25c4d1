//! How actors are reached: from other actors, from any thread, from async code.

use crate::actor::StopReason;
use crate::actor::{Actor, ActorId};
use crate::cell::{ActorCell, CellRef, CoreRef, NOTE_MUTED};
use crate::control::Control;
use crate::dead_letters::DeadLetter;
use crate::mailbox::PushError;
use actinium_scheduler::sync::Arc;
use actinium_scheduler::{Worker, current};
use std::fmt;
use std::hash::{Hash, Hasher};

/// Reaches an actor. Cheap to clone, usable from any thread.
///
/// Messages from one sender to one actor arrive in the order in which they were sent. An actor ends when its last address
/// is gone and its mailbox is empty, unless it has a name; timers and pending futures of the actor hold an address of it.
pub struct Address<A: Actor>(pub(crate) CellRef<A>);

/// Why a message was not accepted; the message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<M> {
    /// The actor has ended.
    Closed(M),
    /// Its mailbox is full.
    Full(M),
}

impl<M> SendError<M> {
    /// The message.
    pub fn into_inner(self) -> M {
        match self {
            SendError::Closed(msg) | SendError::Full(msg) => msg,
        }
    }

    /// Whether the actor has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self, SendError::Closed(_))
    }
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_closed() { "Closed(..)" } else { "Full(..)" })
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = std::any::type_name::<M>();
        match self {
            SendError::Closed(_) => {
                write!(f, "the actor has ended: this {message} can not be delivered")
            }
            SendError::Full(_) => {
                write!(
                    f,
                    "the mailbox is full: try again later, or wait with send_blocking or send_async, with this {message}"
                )
            }
        }
    }
}

impl<M> std::error::Error for SendError<M> {}

/// What a send does with a full mailbox.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// Says so.
    Refuse,
    /// From an actor: goes over the bound and mutes the sender. From elsewhere: says so.
    Mute,
    /// Goes over the bound: for what the actor itself has asked for.
    Over,
}

impl<A: Actor> ActorCell<A> {
    /// The owner's own worker, where the plain way is not open: a bound, or messages from elsewhere are in between.
    #[cold]
    #[inline(never)]
    pub(crate) fn send_here(
        &self,
        msg: A::Msg,
        stamp_ns: u64,
        worker: &Worker,
    ) -> Result<(), SendError<A::Msg>> {
        match self.gather(msg, stamp_ns, worker) {
            Ok(()) => Ok(()),
            Err(msg) => self.push(msg, stamp_ns, WhenFull::Mute, Some(worker)),
        }
    }

    /// To an actor at another worker, with lanes in between.
    #[inline]
    pub(crate) fn send_across(
        &self,
        msg: A::Msg,
        worker: &Worker,
    ) -> Result<(), SendError<A::Msg>> {
        let stamp_ns = if worker.count_send() { worker.sample(self.core.runnable()) } else { 0 };
        // What this turn has gathered for it, while it was elsewhere or on its way, comes before.
        worker.end_run();
        match self.send_by_lane(msg, stamp_ns, worker) {
            Ok(()) => Ok(()),
            Err(msg) => self.push(msg, stamp_ns, WhenFull::Mute, Some(worker)),
        }
    }

    /// From another worker where there are no lanes, or from outside.
    #[inline(never)]
    pub(crate) fn send_there(
        &self,
        msg: A::Msg,
        when_full: WhenFull,
        worker: Option<&Worker>,
    ) -> Result<(), SendError<A::Msg>> {
        let system = &self.core.system;
        // A worker of another system is an outsider here.
        let worker = worker.filter(|worker| Arc::ptr_eq(worker.shared(), &system.shared));
        match worker {
            Some(worker) => {
                let stamp_ns =
                    if worker.count_send() { worker.sample(self.core.runnable()) } else { 0 };
                if self.core.backpressure.is_none() {
                    // What it sent before may lie in a lane, if the actor has ended or is just moving.
                    worker.settle_open_lanes();
                }
                match self.gather(msg, stamp_ns, worker) {
                    Ok(()) => Ok(()),
                    Err(msg) => self.push(msg, stamp_ns, when_full, Some(worker)),
                }
            }
            None => self.send_from_outside(msg, when_full, system.shared.control().is_draining()),
        }
    }

    fn send_from_outside(
        &self,
        msg: A::Msg,
        when_full: WhenFull,
        is_refused: bool,
    ) -> Result<(), SendError<A::Msg>> {
        let system = &self.core.system;
        let outside = system.outside.begin(&system.shared);
        let result = if is_refused {
            Err(SendError::Closed(msg))
        } else {
            self.push(msg, outside.stamp_ns(), when_full, None)
        };
        if result.is_err() {
            outside.count_returned();
        }
        result
    }

    fn push(
        &self,
        msg: A::Msg,
        stamp_ns: u64,
        when_full: WhenFull,
        worker: Option<&Worker>,
    ) -> Result<(), SendError<A::Msg>> {
        if let Some(worker) = worker {
            worker.counters().shared.add(1);
        }
        let sender = worker.filter(|_| when_full == WhenFull::Mute).and_then(Worker::running);
        let over = sender.is_some() || when_full == WhenFull::Over;
        let result = self.send_shared(msg, stamp_ns, over, worker);
        if let (Ok(len), Some(worker), Some(_)) = (&result, worker, sender) {
            let capacity = self.capacity();
            if capacity != 0 && *len > capacity {
                worker.counters().muted.add(u64::from(self.mute_sender(worker)));
            }
        }
        if let (Err(_), Some(worker)) = (&result, worker) {
            worker.counters().returned.add(1);
        }
        match result {
            Ok(_) => Ok(()),
            Err(PushError::Closed(msg)) => Err(SendError::Closed(msg)),
            Err(PushError::Full(msg)) => Err(SendError::Full(msg)),
        }
    }

    #[cold]
    fn mute_sender(&self, worker: &Worker) -> bool {
        let muted = self.mute_running(worker);
        if muted {
            worker.note().set(worker.note().get() | NOTE_MUTED);
        }
        muted
    }
}

impl<A: Actor> Address<A> {
    /// Sends a message.
    ///
    /// From an actor, a full mailbox takes the message nevertheless, and the sender is *muted*: it is not run again until
    /// the receiver has caught up (to half its capacity), so a mailbox exceeds its bound by at most what each sender
    /// sends in one turn. A sender whose own mailbox is over its bound is not muted; that is why muting cannot deadlock.
    /// From outside, nobody is ever made to wait: a full mailbox is an error.
    ///
    /// # Errors
    /// [`SendError::Closed`] if the actor has ended; outside actors [`SendError::Full`] if its mailbox is full.
    #[inline(always)]
    pub fn send(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        self.0.send(msg)
    }

    /// Sends a message unless the mailbox is full; never mutes the sender.
    ///
    /// # Errors
    /// [`SendError::Closed`] if the actor has ended, [`SendError::Full`] if its mailbox is full.
    pub fn try_send(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        if self.0.core.backpressure.is_none() {
            // It is never full.
            return self.send(msg);
        }
        current(|worker| self.0.send_there(msg, WhenFull::Refuse, worker))
    }

    /// Sends a message of which nobody waits to hear: what cannot be delivered becomes a dead letter, which is counted, sampled
    /// and shown to listeners.
    pub fn tell(&self, msg: A::Msg) {
        let result = self.send(msg);
        self.undeliverable(result);
    }

    /// As `tell`, from outside, over the bound, and even while the system drains: for what the actor has asked for and the drain waits for.
    pub(crate) fn tell_at_any_time(&self, msg: A::Msg) {
        let result = self.0.send_from_outside(msg, WhenFull::Over, false);
        self.undeliverable(result);
    }

    /// A message that came back, and that nobody waits to hear of, is a dead letter.
    fn undeliverable(&self, result: Result<(), SendError<A::Msg>>) {
        if let Err(error) = result {
            let reason =
                if error.is_closed() { StopReason::AlreadyStopped } else { StopReason::Requested };
            let core = &self.0.core;
            core.system.count_returned_as_dead();
            core.system.dead_letters.add(DeadLetter {
                to: core.id,
                kind: core.kind(),
                message: std::any::type_name::<A::Msg>(),
                count: 1,
                reason,
            });
        }
    }

    /// The actor's identity.
    pub fn id(&self) -> ActorId {
        self.0.core.id
    }

    /// Whether the actor refuses messages: it has ended, or is about to.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Messages that wait in its mailbox: an estimate while the actor is in use.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no message waits: an estimate while the actor is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Most messages that its mailbox takes; `None`: no bound.
    pub fn capacity(&self) -> Option<usize> {
        Some(self.0.capacity()).filter(|&capacity| capacity > 0)
    }

    /// Asks it to end once it has handled what is in its mailbox; it takes no more from when it sees the request.
    pub fn stop(&self) {
        // One that has ended already needs no stopping.
        let _ = self.0.core.control(Control::Stop);
    }

    /// Asks it to end: at the end of its present turn, or before the next message if it has none. What is in its mailbox then becomes
    /// dead letters.
    pub fn kill(&self) {
        // One that has ended already needs no stopping.
        let _ = self.0.core.control(Control::Kill(StopReason::Requested));
    }

    /// An address that does not keep the actor alive.
    pub fn downgrade(&self) -> WeakAddress<A> {
        WeakAddress { core: self.0.core_ref(), kind: std::marker::PhantomData }
    }

    pub(crate) fn of(cell: &ActorCell<A>) -> Self {
        Address(CellRef::new(cell))
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

/// Reaches an actor as long as somebody else keeps it alive.
pub struct WeakAddress<A: Actor> {
    core: CoreRef,
    kind: std::marker::PhantomData<fn(A)>,
}

impl<A: Actor> WeakAddress<A> {
    /// The address, unless the actor has ended.
    pub fn upgrade(&self) -> Option<Address<A>> {
        self.core.upgrade().map(Address)
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
