//! Sending: the whole way of a message from an address into a mailbox.
//!
//! [`Address::send`] takes one of four ways, each a function of this file, in this order:
//!
//! | way | who takes it | what it costs |
//! |---|---|---|
//! | [`push_and_schedule`](Owned::push_and_schedule) | a sender on the worker that owns the receiver | a few plain stores |
//! | [`push_lane`](ActorCell::push_lane) | a turn on another worker, to which lanes lead | some stores to a chunk of the lane |
//! | [`push_run`](ActorCell::push_run) | a turn that sends many messages in a row to one receiver, without a lane | one contended read-modify-write for many messages |
//! | [`push_shared`](ActorCell::push_shared) | everybody else, and whoever the other ways refuse | two contended read-modify-writes for each message |
//!
//! The first two are compiled into the sender. The rules that keep messages in order stand in
//! [`crate::mailbox`].

use crate::actor::Actor;
use crate::actor_core::{Core, NOTE_MUTED};
use crate::address::Address;
use crate::cell::actor_cell::ActorCell;
use crate::cell::owned::Owned;
use crate::cell::reference::CellRef;
use crate::mailbox::carrier::{Carrier, is_boxed};
use crate::mailbox::envelope::Envelope;
use crate::mailbox::shared::PushError;
use crate::send_error::{ENDED, FULL, SendError};
use crate::stop_reason::StopReason;
use actinium_scheduler::sync::Arc;
use actinium_scheduler::worker::RunBuffer;
use actinium_scheduler::{Header, Worker, current, current_unbound};

/// The result of a send.
type Sent<M> = Result<(), SendError<M>>;

/// The action of a send when the mailbox is full.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// Returns the message.
    Refuse,
    /// Lets an actor go over the bound, and mutes it. Returns the message of any other sender.
    Mute,
    /// Goes over the bound: for what the actor itself has asked for.
    Over,
}

impl<A: Actor> Address<A> {
    /// Sends a message.
    ///
    /// It is moved by value. One of more than 2 KiB moves into a box that the runtime makes, and
    /// out of it to its handler; one of more than 1 MiB is refused when the program is compiled.
    ///
    /// From an actor, a full mailbox takes the message nevertheless, and the sender is *muted*: it
    /// is not run again until the receiver has caught up (to half its capacity), so a mailbox
    /// exceeds its bound by at most what each sender sends in one turn. A sender whose own mailbox
    /// is over its bound is not muted; that is why muting cannot deadlock. External threads never
    /// wait: a full mailbox is an error.
    ///
    /// # Errors
    /// [`SendError::Closed`] if the actor has ended; outside actors [`SendError::Full`] if its
    /// mailbox is full.
    #[inline(always)]
    pub fn send(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        self.send_then(msg, |sent| sent)
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
        self.send_bounded(msg, WhenFull::Refuse)
    }

    /// Sends a message of which nobody waits to hear: what cannot be delivered becomes a dead
    /// letter, which is counted, sampled and shown to listeners.
    pub fn tell(&self, msg: A::Msg) {
        self.send_then(msg, |sent| self.undeliverable(sent));
    }

    /// Tells over the bound: for what the actor has asked for once.
    pub(crate) fn tell_over(&self, msg: A::Msg) {
        let result = match self.0.core.backpressure {
            None => self.send(msg),
            Some(_) => self.send_bounded(msg, WhenFull::Over),
        };
        self.undeliverable(result);
    }

    /// Tells from an external thread, over the bound, and even while the system drains: for what
    /// the actor has asked for and the drain waits for.
    pub(crate) fn tell_at_any_time(&self, msg: A::Msg) {
        let result = if const { is_boxed::<A::Msg>() } {
            let result = self.0.send_external(Box::new(msg), WhenFull::Over, false);
            result.map_err(SendError::open)
        } else {
            self.0.send_external(msg, WhenFull::Over, false)
        };
        self.undeliverable(result);
    }

    /// Makes a message that came back, and that nobody waits to hear of, a dead letter.
    #[inline(always)]
    pub(crate) fn undeliverable(&self, result: Sent<A::Msg>) {
        if let Err(error) = result {
            self.returned(error);
        }
    }

    #[cold]
    #[inline(never)]
    fn returned(&self, error: SendError<A::Msg>) {
        let reason =
            if error.is_closed() { StopReason::AlreadyStopped } else { StopReason::Requested };
        let core = &self.0.core;
        core.system.count_returned_as_dead();
        core.add_dead_letter::<A::Msg>(1, reason);
        core.system.drop_guarded(error.into_inner());
    }

    /// Whether whoever is no actor of the system is refused, because that drains.
    pub(crate) fn refuses_external(&self) -> bool {
        self.0.core.system.shared.control().is_draining()
    }

    /// Sends to a bounded mailbox; `when_full` says what if that is full.
    pub(crate) fn send_bounded(&self, msg: A::Msg, when_full: WhenFull) -> Sent<A::Msg> {
        if const { is_boxed::<A::Msg>() } {
            let msg = Box::new(msg);
            return current(|worker| self.0.send_without_lane(msg, when_full, worker))
                .map_err(SendError::open);
        }
        current(|worker| self.0.send_without_lane(msg, when_full, worker))
    }

    // ---- the choice of the way
    // -----------------------------------------------------------------------------------

    /// Sends a message, and calls `then` with how that went.
    ///
    /// Not a result to be returned: where `then` does nothing for a message that stayed on its
    /// worker, there is no result then.
    #[inline(always)]
    fn send_then<R>(&self, msg: A::Msg, then: impl FnOnce(Sent<A::Msg>) -> R) -> R {
        if const { is_boxed::<A::Msg>() } {
            return then(self.send_boxed(msg));
        }
        self.send_as(msg, then)
    }

    #[inline(never)]
    fn send_boxed(&self, msg: A::Msg) -> Sent<A::Msg> {
        self.send_as(Box::new(msg), |sent| sent).map_err(SendError::open)
    }

    /// Takes the first of the ways that is open.
    ///
    /// The cold functions get an envelope, not the message. So the message is copied for them, and
    /// has no address otherwise: the compiler writes its fields straight to the mailbox or lane.
    /// Written to the stack first and copied as a whole from there, a message costs a third of a
    /// hop: the processor waits with such a copy until all stores before it are done.
    #[inline(always)]
    fn send_as<T: Carrier<A::Msg>, R>(&self, msg: T, then: impl FnOnce(Sent<T>) -> R) -> R {
        // SAFETY: not kept beyond this function.
        let worker = unsafe { current_unbound() };
        if let Some(worker) = worker {
            // SAFETY: this address keeps the actor.
            let me = match unsafe { worker.if_owned(self.0.runnable()) } {
                Ok(me) => {
                    // SAFETY: as above, and this worker owns it.
                    let owned = unsafe { Owned::<A>::of_runnable(me, worker) };
                    if worker.count_send() {
                        return then(owned.push_own_sampled(Envelope { stamp_ns: 0, msg }));
                    }
                    if !owned.takes_own() {
                        let envelope = Envelope { stamp_ns: 0, msg };
                        return then(owned.cell().not_own(envelope, worker));
                    }
                    owned.push_and_schedule(me, Envelope { stamp_ns: 0, msg });
                    return then(Ok(()));
                }
                Err(me) => me,
            };
            // SAFETY: this address keeps the actor.
            if let Some(lane) = unsafe { worker.open_lane_to::<T>(me) } {
                if worker.count_send() {
                    return then(self.0.push_lane_sampled(Envelope { stamp_ns: 0, msg }, worker));
                }
                worker.push_lane(lane, me, msg);
                return then(Ok(()));
            }
        }
        then(self.0.send_elsewhere(Envelope { stamp_ns: 0, msg }, worker))
    }
}

impl<A: Actor> ActorCell<A> {
    /// Sends from the owner's worker where the own part is not open: a bound, or messages from
    /// elsewhere are in between.
    #[cold]
    #[inline(never)]
    fn not_own<T: Carrier<A::Msg>>(&self, envelope: Envelope<T>, worker: &Worker) -> Sent<T> {
        let Envelope { stamp_ns, msg } = envelope;
        match self.push_run(msg, stamp_ns, worker) {
            Ok(()) => Ok(()),
            Err(msg) => self.push_shared(msg, stamp_ns, WhenFull::Mute, Some(worker)),
        }
    }

    /// Sends from another worker, to which no lane is open or a lane without room, or from an
    /// external thread.
    #[inline(never)]
    fn send_elsewhere<T: Carrier<A::Msg>>(
        &self,
        envelope: Envelope<T>,
        worker: Option<&Worker>,
    ) -> Sent<T> {
        match worker {
            Some(worker) if worker.running().is_some() && self.core.is_reached_by(worker) => {
                self.push_lane(envelope.msg, self.stamp_ns(worker), worker)
            }
            worker => self.send_without_lane(envelope.msg, WhenFull::Mute, worker),
        }
    }

    /// Sends from another worker to which no lane leads, or from an external thread.
    fn send_without_lane<T: Carrier<A::Msg>>(
        &self,
        msg: T,
        when_full: WhenFull,
        worker: Option<&Worker>,
    ) -> Sent<T> {
        let system = &self.core.system;
        // A worker of another system is an external thread here.
        let worker = worker.filter(|worker| Arc::ptr_eq(worker.shared(), &system.shared));
        match worker {
            Some(worker) => {
                let stamp_ns = self.stamp_ns(worker);
                if self.core.backpressure.is_none() {
                    // What it sent before may lie in a lane, if the actor has ended or is just
                    // moving.
                    worker.flush_open_lanes();
                }
                match self.push_run(msg, stamp_ns, worker) {
                    Ok(()) => Ok(()),
                    Err(msg) => self.push_shared(msg, stamp_ns, when_full, Some(worker)),
                }
            }
            None => self.send_external(msg, when_full, system.shared.control().is_draining()),
        }
    }

    fn send_external<T: Carrier<A::Msg>>(
        &self,
        msg: T,
        when_full: WhenFull,
        is_refused: bool,
    ) -> Sent<T> {
        let system = &self.core.system;
        let send = system.external.begin(&system.shared);
        let result = if is_refused {
            self.core.trace_lost::<A::Msg>(send.stamp_ns(), ENDED);
            Err(SendError::Closed(msg))
        } else {
            self.push_shared(msg, send.stamp_ns(), when_full, None)
        };
        if result.is_err() {
            send.count_returned();
        }
        result
    }

    /// Counts a send of this worker; returns the time if the send is one of those that are sampled,
    /// else 0.
    #[inline(always)]
    fn stamp_ns(&self, worker: &Worker) -> u64 {
        if worker.count_send() { self.core.sample(worker) } else { 0 }
    }
}

// ---- to the own part
// -------------------------------------------------------------------------------------------------

impl<A: Actor> Owned<'_, A> {
    /// Pushes one of the messages that are sampled.
    #[cold]
    #[inline(never)]
    fn push_own_sampled<T: Carrier<A::Msg>>(self, mut envelope: Envelope<T>) -> Sent<T> {
        let (cell, worker) = (self.cell(), self.worker());
        // This may hand the actor on to other workers: look again.
        envelope.stamp_ns = cell.core.sample(worker);
        match Owned::of(cell, worker).filter(Owned::takes_own) {
            Some(owned) => {
                owned.push_and_schedule(cell.core.runnable(), envelope);
                Ok(())
            }
            None => cell.not_own(envelope, worker),
        }
    }
}

// ---- into a lane
// -----------------------------------------------------------------------------------------------------

impl<A: Actor> ActorCell<A> {
    /// Pushes one of the messages that are sampled.
    #[cold]
    #[inline(never)]
    fn push_lane_sampled<T: Carrier<A::Msg>>(
        &self,
        envelope: Envelope<T>,
        worker: &Worker,
    ) -> Sent<T> {
        self.push_lane(envelope.msg, self.core.sample(worker), worker)
    }

    /// Pushes into the lane to the worker that owns the actor, or, if that is closed, to the shared
    /// part of the mailbox.
    fn push_lane<T: Carrier<A::Msg>>(&self, msg: T, stamp_ns: u64, worker: &Worker) -> Sent<T> {
        // What this turn has buffered for it, while it was elsewhere or on its way, comes before.
        worker.end_run();
        // SAFETY: alive, for the caller has an address of it; its messages are of this type.
        match unsafe { worker.send_via_lane(self.core.runnable(), stamp_ns, msg) } {
            Ok(()) => Ok(()),
            Err(msg) => self.push_shared(msg, stamp_ns, WhenFull::Mute, Some(worker)),
        }
    }
}

// ---- a run of messages
// -----------------------------------------------------------------------------------------------

/// Messages to one actor in a row before they are buffered.
const RUN: u64 = if cfg!(any(loom, shuttle)) { 1 } else { 8 };
/// Messages buffered before they are pushed.
const BUFFERED: usize = if cfg!(any(loom, shuttle)) { 2 } else { 32 };

/// The messages that a turn has buffered for one actor.
///
/// Each push to the shared part of a mailbox costs two contended read-modify-writes. A turn that
/// has sent `RUN` messages to the same actor in a row is likely to send more; from then on they are
/// buffered on its worker and pushed `BUFFERED` at a time, with one read-modify-write each time.
/// What is buffered leaves, at the latest, when the turn ends or turns to another actor; so the
/// order between two actors is kept, and a turn that sends only a few messages sends each at once.
struct Run<A: Actor, T> {
    /// Keeps the actor reachable until its messages are.
    target: CellRef<A>,
    messages: Vec<Envelope<T>>,
}

impl<A: Actor> ActorCell<A> {
    /// Takes a message that the running turn sends to the shared part of the mailbox, if it is one
    /// of many in a row.
    ///
    /// Until it leaves, no later message of this turn can come to the own part of the mailbox: what
    /// keeps messages from there (another owner, a notification, on its way or received) ends only
    /// between turns. Nor does one go by a lane: before that, what is buffered leaves (the actor
    /// may be taken over by another worker at any time).
    #[inline]
    fn push_run<T: Carrier<A::Msg>>(
        &self,
        msg: T,
        stamp_ns: u64,
        worker: &Worker,
    ) -> Result<(), T> {
        let me: *const Header = self.core.runnable().pointer().as_ptr();
        let run = worker.count_run(me);
        // What it sends to itself is looked at in this very turn.
        let is_another = worker.running().is_some_and(|sender| sender != self.core.runnable());
        if run < RUN || !is_another || self.core.backpressure.is_some() {
            return Err(msg);
        }
        if run == RUN && self.is_closed() {
            return Err(msg);
        }
        // SAFETY: this thread's worker, and the closure calls no user code.
        let buffered = unsafe {
            worker.with_run_buffer(|slot| {
                let run: &mut dyn RunBuffer = &mut **slot.get_or_insert_with(|| {
                    let messages = Vec::with_capacity(BUFFERED);
                    Box::new(Run::<A, T> { target: CellRef::new(self), messages })
                });
                // SAFETY: a run is to one actor, and whatever was buffered for another left when
                // the run began: it is a Run<A, T>, for all who send to an actor name the same T.
                let run = &mut *std::ptr::from_mut(run).cast::<Run<A, T>>();
                run.messages.push(Envelope { stamp_ns, msg });
                run.messages.len()
            })
        };
        if buffered == BUFFERED {
            worker.deliver_run();
        }
        Ok(())
    }
}

impl<A: Actor, T: Carrier<A::Msg>> RunBuffer for Run<A, T> {
    fn flush(&mut self, worker: &Worker) {
        if self.messages.is_empty() {
            return;
        }
        worker.counters().shared.add(self.messages.len() as u64);
        self.target.shared::<T>().push_all(&mut self.messages);
        self.target.core.wake(Some(worker));
        if !self.messages.is_empty() {
            self.drop_messages(worker);
        }
    }
}

impl<A: Actor, T: Carrier<A::Msg>> Run<A, T> {
    /// Drops what the mailbox has refused: the actor has ended since its sender was told that it
    /// had not.
    #[cold]
    fn drop_messages(&mut self, worker: &Worker) {
        self.target.core.count_dead::<A::Msg>(self.messages.len(), worker);
        let system = &self.target.core.system;
        self.messages.drain(..).for_each(|envelope| {
            self.target.core.trace_lost::<A::Msg>(envelope.stamp_ns, ENDED);
            system.drop_guarded(envelope.msg);
        });
    }
}

// ---- to the shared part
// ----------------------------------------------------------------------------------------------

impl<A: Actor> ActorCell<A> {
    /// Pushes to the shared part of the mailbox, and wakes the actor.
    fn push_shared<T: Carrier<A::Msg>>(
        &self,
        msg: T,
        stamp_ns: u64,
        when_full: WhenFull,
        worker: Option<&Worker>,
    ) -> Sent<T> {
        if let Some(worker) = worker {
            worker.counters().shared.add(1);
        }
        let sender = worker.filter(|_| when_full == WhenFull::Mute).and_then(Worker::running);
        let over = sender.is_some() || when_full == WhenFull::Over;
        match self.shared::<T>().push(msg, stamp_ns, over) {
            Ok(len) => {
                self.core.wake(worker);
                if let (Some(worker), Some(_)) = (worker, sender) {
                    let capacity = self.capacity();
                    if capacity != 0 && len > capacity {
                        worker.counters().muted.add(u64::from(self.mute_sender(worker)));
                    }
                }
                Ok(())
            }
            Err(refused) => {
                if let Some(worker) = worker {
                    worker.counters().returned.add(1);
                }
                let (error, why) = match refused {
                    PushError::Closed(msg) => (SendError::Closed(msg), ENDED),
                    PushError::Full(msg) => (SendError::Full(msg), FULL),
                };
                self.core.trace_lost::<A::Msg>(stamp_ns, why);
                Err(error)
            }
        }
    }

    /// Mutes what `worker` runs, because the mailbox exceeds its capacity. False if the sender is
    /// exempt: see `backpressure`.
    #[cold]
    fn mute_sender(&self, worker: &Worker) -> bool {
        let (Some(mine), Some(sender)) =
            (self.core.backpressure.as_deref(), Core::running_on(worker))
        else {
            return false;
        };
        let is_own = sender.id == self.core.id;
        let muted = mine.mute(sender, is_own, || self.is_closed());
        if muted {
            // The receiver looks at `overloaded` after each turn; if it has had its last one
            // meanwhile, this brings another.
            self.core.wake(Some(worker));
            worker.note().set(worker.note().get() | NOTE_MUTED);
        }
        muted
    }
}
