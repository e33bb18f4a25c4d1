//! Both parts of an actor's mailbox, as what carries the actor's messages (`mailbox::carrier`).
//!
//! The rules that keep messages in order stand in [`crate::mailbox`].

use super::actor_cell::ActorCell;
use super::owned::Owned;
use crate::actor::Actor;
use crate::actor_core::{CoreRef, SHARED_ONLY};
use crate::mailbox::carrier::{Carrier, by_size, carries, is_boxed};
use crate::mailbox::envelope::Envelope;
use crate::mailbox::own::Ring;
use crate::mailbox::shared::SharedQueue;
use crate::send_error::ENDED;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::runnable::{LaneEntries, NOTIFIED, WorkerRef};
use actinium_scheduler::{Header, Runnable, Worker};
use std::ptr::NonNull;

/// Messages moved from the shared part of a mailbox to the own part at a time.
const REFILL: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

// ---- what everybody may ask
// --------------------------------------------------------------------------------------

impl<A: Actor> ActorCell<A> {
    /// The most messages that may wait; 0: no bound.
    pub(crate) fn capacity(&self) -> usize {
        by_size!(A: self, capacity_of())
    }

    fn capacity_of<T: Carrier<A::Msg>>(&self) -> usize {
        self.shared::<T>().capacity()
    }

    /// Whether the mailbox refuses messages.
    pub(crate) fn is_closed(&self) -> bool {
        by_size!(A: self, is_closed_of())
    }

    fn is_closed_of<T: Carrier<A::Msg>>(&self) -> bool {
        self.shared::<T>().is_closed()
    }

    /// The number of messages that wait: exact for a mailbox that nobody is using.
    pub(crate) fn len(&self) -> usize {
        self.core.mailbox_len()
    }

    pub(super) fn shared_len_of<T: Carrier<A::Msg>>(&self) -> usize {
        self.shared::<T>().len()
    }

    /// The shared part. `T` is what `by_size` says, here and in all that is generic over it.
    #[inline(always)]
    pub(crate) fn shared<T: Carrier<A::Msg>>(&self) -> &SharedQueue<T> {
        // Known when it is compiled: the wrong one's code, which nobody calls, is a panic.
        assert!(carries::<T, A::Msg>(), "not what carries these messages");
        // SAFETY: made as such in `create`, and freed only when the cell is dropped.
        unsafe { self.core.shared.of() }
    }

    /// Lets the shared part and lanes refuse further messages. What waits stays.
    pub(crate) fn close_shared(&self) {
        self.core.header.close_lanes();
        by_size!(A: self, close_of());
    }

    fn close_of<T: Carrier<A::Msg>>(&self) {
        self.shared::<T>().close();
    }
}

// ---- what is left when nobody refers to the actor any more
// -------------------------------------------------------

impl<A: Actor> ActorCell<A> {
    /// Takes what waits in either part, one by one.
    pub(super) fn pop_any<T: Carrier<A::Msg>>(&mut self) -> Option<Envelope<T>> {
        let own = self.ring_mut::<T>().pop();
        own.or_else(|| self.shared::<T>().pop())
    }

    /// Drops what waits, with the mailbox's memory.
    pub(super) fn free_mailbox<T: Carrier<A::Msg>>(&mut self) {
        self.ring_mut::<T>().free();
        // SAFETY: nobody else is there; the queue was made for `T`, and is freed once, here.
        unsafe { self.core.header.own_mut().rare.shared.free::<T>() };
    }

    fn ring_mut<T: Carrier<A::Msg>>(&mut self) -> Ring<'_, Envelope<T>> {
        // As in `shared`.
        assert!(carries::<T, A::Msg>(), "not what carries these messages");
        // SAFETY: the ring holds envelopes of what carries this actor's messages.
        unsafe { self.core.own.get_mut().of(&self.core.own_ends) }
    }
}

// ---- what the owner does
// -----------------------------------------------------------------------------------------

impl<A: Actor> Owned<'_, A> {
    /// Lends the own part of the mailbox to `f`, which calls no user code.
    #[inline(always)]
    fn ring<T: Carrier<A::Msg>, R>(&self, f: impl FnOnce(&mut Ring<'_, Envelope<T>>) -> R) -> R {
        // As in `shared`.
        assert!(carries::<T, A::Msg>(), "not what carries these messages");
        let core = &self.cell().core;
        // SAFETY: the owner's thread, by this evidence, and no closure in this file calls user
        // code, but for `free_own`, which empties the ring first; the ring holds envelopes of what
        // carries this actor's messages.
        unsafe { core.own.with(|own| f(&mut own.of(&core.own_ends))) }
    }

    /// Whether the own part may be pushed to (rule 2 of `mailbox`).
    #[inline(always)]
    pub(crate) fn takes_own(&self) -> bool {
        self.flags() & (NOTIFIED | SHARED_ONLY) == 0 && !self.cell().core.header.is_notified()
    }

    /// Pushes a message to the own part, which takes it ([`Owned::takes_own`]), and schedules the
    /// actor. `me` is the actor's runnable, which its address knows without looking.
    #[inline(always)]
    pub(crate) fn push_and_schedule<T: Carrier<A::Msg>>(
        &self,
        me: Runnable,
        envelope: Envelope<T>,
    ) {
        // As in `shared`.
        assert!(carries::<T, A::Msg>(), "not what carries these messages");
        let core = &self.cell().core;
        // Not by `ring`: passed through two closures, the message goes by the stack.
        // SAFETY: as in `ring`.
        unsafe { core.own.with(|own| own.of(&core.own_ends).push(envelope)) };
        // SAFETY: this worker owns the actor, by this evidence, which refers to it.
        unsafe { self.worker().schedule(me) };
    }

    /// The place of the next message in the own part, out of which it must be read before anything
    /// is pushed.
    #[inline(always)]
    pub(super) fn take_own<T: Carrier<A::Msg>>(&self) -> Option<NonNull<Envelope<T>>> {
        self.ring(|own| own.pop_place())
    }

    /// Puts a message behind the first so many, in the actor's own turn, whose batch comes to it.
    pub(super) fn put_behind(&self, first: u32, stamp_ns: u64, msg: A::Msg) {
        if const { is_boxed::<A::Msg>() } {
            self.ring(|own| own.insert(first, Envelope { stamp_ns, msg: Box::new(msg) }));
        } else {
            self.ring(|own| own.insert(first, Envelope { stamp_ns, msg }));
        }
    }

    /// Puts a message of the actor's own behind those of the own part, in its own turn. Rule 2 of
    /// `mailbox` is for senders: messages of this kind are all in the own part.
    pub(super) fn put_last(&self, msg: A::Msg) {
        if const { is_boxed::<A::Msg>() } {
            self.ring(|own| own.push(Envelope { stamp_ns: 0, msg: Box::new(msg) }));
        } else {
            self.ring(|own| own.push(Envelope { stamp_ns: 0, msg }));
        }
    }

    /// Moves messages from the shared part to the own part, which is empty (see `mailbox`). False
    /// if there is none.
    #[inline(never)]
    pub(super) fn refill<T: Carrier<A::Msg>>(&self) -> bool {
        // A bound counts what is in the shared part: there they stay until each has its turn.
        let most = if self.flags() & SHARED_ONLY != 0 { 1 } else { REFILL };
        let shared = self.cell().shared::<T>();
        for moved in 0..most {
            let Some(envelope) = shared.pop() else {
                if shared.is_empty() {
                    self.set_flags(0, NOTIFIED);
                }
                return moved > 0;
            };
            self.ring(|own| own.push(envelope));
        }
        true
    }

    /// Moves all of the shared part to the own part, so that the next message may go there. False
    /// if it must not.
    #[inline(never)]
    fn refill_all<T: Carrier<A::Msg>>(&self) -> bool {
        if self.flags() & SHARED_ONLY != 0 {
            return false;
        }
        while !self.cell().shared::<T>().is_empty() {
            if !self.refill::<T>() {
                // Somebody is just pushing.
                return false;
            }
        }
        true
    }

    /// Whether the own part holds much more memory than most need.
    #[inline(always)]
    pub(super) fn is_own_large<T: Carrier<A::Msg>>(&self) -> bool {
        self.ring::<T, _>(|own| own.is_large())
    }

    /// Gives the memory of the own part back, which is empty.
    pub(super) fn free_own<T: Carrier<A::Msg>>(&self) {
        self.ring::<T, _>(|own| own.free());
    }

    /// Lets the senders go on that this mailbox, if it is bounded, holds back, if it has caught up
    /// or is closed.
    #[cold]
    pub(super) fn release_senders(&self) {
        let cell = self.cell();
        if let Some(mine) = cell.core.backpressure.as_deref() {
            mine.release(cell.is_closed(), || cell.len(), || cell.capacity(), self.worker());
        }
    }

    /// Refuses further messages. What waits stays.
    pub(super) fn close(&self) {
        self.set_flags(SHARED_ONLY, 0);
        self.cell().close_shared();
    }

    /// Takes what waits in the closed mailbox, one by one.
    pub(super) fn take_left<T: Carrier<A::Msg>>(&self) -> Option<Envelope<T>> {
        let own = self.ring::<T, _>(|own| own.pop());
        own.or_else(|| self.cell().shared::<T>().pop_closed())
    }
}

// ---- what comes through lanes
// ------------------------------------------------------------------------------------

/// Puts what came through a lane into the mailbox.
///
/// # Safety
/// As the vtable demands: the next entry is for this actor, whose memory is kept.
pub(super) unsafe fn deliver<A: Actor>(
    header: NonNull<Header>,
    entries: &mut LaneEntries<'_>,
    worker: WorkerRef<'_>,
) -> u64 {
    let worker = worker.get();
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    let cell = unsafe { ActorCell::<A>::of_header(header) };
    if const { is_boxed::<A::Msg>() } {
        // SAFETY: by contract.
        unsafe { deliver_as::<A, Box<A::Msg>>(cell, header, entries, worker) }
    } else {
        // SAFETY: by contract.
        unsafe { deliver_as::<A, A::Msg>(cell, header, entries, worker) }
    }
}

/// # Safety
/// As `deliver`: `header` leads the cell; its messages are carried by `T`.
#[inline(always)]
unsafe fn deliver_as<A: Actor, T: Carrier<A::Msg>>(
    cell: &ActorCell<A>,
    header: NonNull<Header>,
    entries: &mut LaneEntries<'_>,
    worker: &Worker,
) -> u64 {
    let owned = Owned::of(cell, worker);
    let owned = owned.filter(|owned| owned.takes_own() || owned.refill_all::<T>());
    let Some(owned) = owned else {
        // SAFETY: by contract.
        return unsafe { cell.deliver_shared::<T>(header, entries, worker) };
    };
    let mut crossed = 0;
    loop {
        owned.ring(|own| {
            // SAFETY: both fields are written at once, to the place of an envelope; by contract
            // there is an entry, and it is for this actor.
            unsafe {
                let place = own.push_place().as_ptr();
                let stamp_ns = entries.take_to::<T>(&raw mut (*place).msg);
                (&raw mut (*place).stamp_ns).write(stamp_ns);
            }
        });
        crossed += 1;
        if entries.next_to() != Some(header) {
            break;
        }
    }
    worker.counters().crossed.add(crossed);
    // SAFETY: this worker owns it, by the evidence, and it is kept by contract.
    unsafe { worker.schedule(cell.core.runnable()) };
    crossed
}

impl<A: Actor> ActorCell<A> {
    /// Delivers what came through a lane and finds that the actor has moved, has messages from
    /// elsewhere, or has ended: many at a time, for each time costs read-modify-writes.
    ///
    /// # Safety
    /// As `deliver`: `header` leads this cell; its messages are carried by `T`.
    #[cold]
    #[inline(never)]
    unsafe fn deliver_shared<T: Carrier<A::Msg>>(
        &self,
        header: NonNull<Header>,
        entries: &mut LaneEntries<'_>,
        worker: &Worker,
    ) -> u64 {
        let (mut messages, mut delivered) = (Vec::new(), 0);
        loop {
            // SAFETY: by contract there is one, and it is for this actor.
            let (stamp_ns, msg) = unsafe { entries.take::<T>() };
            messages.push(Envelope { stamp_ns, msg });
            delivered += 1;
            let is_last = entries.next_to() != Some(header);
            if is_last || messages.len() == REFILL {
                self.push_delivered(&mut messages, worker);
            }
            if is_last {
                return delivered;
            }
        }
    }

    /// Pushes what was on its way to this actor to the shared part of its mailbox. What it refuses
    /// becomes dead letters.
    pub(super) fn push_delivered<T: Carrier<A::Msg>>(
        &self,
        messages: &mut Vec<Envelope<T>>,
        worker: &Worker,
    ) {
        worker.counters().shared.add(messages.len() as u64);
        self.shared::<T>().push_all(messages);
        if messages.is_empty() {
            return self.core.wake(Some(worker));
        }
        // Dropping them may call user code, and so may whoever listens to dead letters.
        for Envelope { stamp_ns, msg } in messages.drain(..) {
            let (core, msg) = (CoreRef::new(&self.core), Guarded::new(msg));
            worker.defer(Box::new(move |worker| {
                core.count_dead::<A::Msg>(1, worker);
                core.trace_lost::<A::Msg>(stamp_ns, ENDED);
                core.system.drop_guarded(msg.into_inner());
            }));
        }
    }
}
