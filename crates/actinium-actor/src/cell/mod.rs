//! An actor in memory: header, mailbox, state, and the references that keep it there.
//!
//! This file and `mailbox` hold all of the crate's `unsafe` code. Others use [`CoreRef`] and [`CellRef`], which are safe.
//!
//! # References
//!
//! `strong` counts addresses: an actor without any, and without messages, ends. `refs` counts what keeps the memory: each
//! [`CoreRef`], one for all addresses together while there are any, and one of the scheduler's while the actor lives.
//!
//! # Who may touch what
//!
//! `own`, `actor` and `life` belong to the actor's owner (see `actinium_scheduler::runnable`). `actor` is lent to user code for
//! the length of a turn; user code never reaches it in another way, for only the owner's turn does, and a turn is not entered twice.

mod refs;
mod room;

pub(crate) use refs::{CellRef, CoreRef};
pub(crate) use room::{NoRoom, Room};

use room::{put, release};

use crate::actor::{Actor, ActorId, StopReason};
use crate::address::{SendError, WhenFull};
use crate::backpressure::Backpressure;
use crate::context::Context;
use crate::control::{Control, Controls};
use crate::dead_letters::DeadLetter;
use crate::life::Life;
use crate::mailbox::{Envelope, PushError, RawRing, SharedQueue};
use crate::system::Inner;
use actinium_scheduler::lanes::Parcels;
use actinium_scheduler::runnable::{ALERTED, CALLED, FIRST_FREE, Kind};
use actinium_scheduler::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use actinium_scheduler::sync::{Arc, Mutex, OwnerCell, lock};
use actinium_scheduler::{Footprint, Header, Runnable, Turn, VTable, Worker, current_unbound};
use std::any::TypeId;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// The scheduler's word for what is an `ActorCell`.
const SORT: &str = "actor";
/// A flag of the runnable: messages only go to the shared part of the mailbox, because it is bounded or closed.
pub(crate) const HELD: u8 = FIRST_FREE;
/// A flag of the runnable: it is not running its normal life; a turn begins with the prelude.
pub(crate) const UNUSUAL: u8 = FIRST_FREE << 1;
/// A flag of the runnable: it ends when its mailbox is empty.
pub(crate) const DRAINING: u8 = FIRST_FREE << 2;
/// `flags`: there is something in `control`. Whoever sets this or clears `MUTED` brings a turn that finds `CALLED`, and only such a turn looks.
pub(crate) const CONTROL: u8 = 1;
/// `flags`: a full mailbox muted it; it is not run until that has room.
pub(crate) const MUTED: u8 = 2;
/// `flags`: it waits for a grace period, after which it ends if nobody reaches it then.
const FADING: u8 = 4;
/// `flags`: it was without addresses and got one again.
const REVIVED: u8 = 8;
/// A worker's note for the running actor: it was muted in this turn.
pub(crate) const NOTE_MUTED: u32 = 1;
/// A worker's note for the running actor: it asked to end.
pub(crate) const NOTE_STOP: u32 = 2;
/// A worker's note for the running actor: there is a control for it, handed over in this turn.
pub(crate) const NOTE_CONTROL: u32 = 4;
/// It lets others run before its next message.
pub(crate) const NOTE_YIELD: u32 = 8;
/// Messages moved from the shared part of a mailbox to the own part at a time.
const REFILL: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

/// What all actors have in common and is hardly ever written: it stands in the header, next to what senders read.
#[repr(C)]
pub(crate) struct Fixed {
    /// The cell's own address as it was allocated: every pointer to it is a copy of this one.
    me: NonNull<Header>,
    /// The shared part's length, without knowing the actor's type.
    shared_len: fn(&Core) -> usize,
    /// Which actor it is. Called, never compared: a function's address is neither unique nor the same everywhere.
    type_id: fn() -> TypeId,
    /// Those whom its bounded mailbox holds back.
    pub(crate) backpressure: Option<Box<Backpressure>>,
    pub(crate) id: ActorId,
    pub(crate) system: std::sync::Arc<Inner>,
}

/// What all actors have in common: the part that is used without knowing the actor's type.
///
/// What the owner touches with each message stands first, then what is rarely used.
#[repr(C)]
pub(crate) struct Core {
    header: Header<Fixed>,
    /// The own part of the mailbox: envelopes of the actor's messages.
    own: OwnerCell<RawRing>,
    /// The ring's length, written by the owner: others may look at this without touching the ring.
    own_len: AtomicU32,
    /// Each turn reads it: it stands with what each turn writes, so that a turn touches no line more.
    strong: AtomicU32,
    refs: AtomicU32,
    pub(crate) flags: AtomicU8,
    /// It has a name, by which it can be reached without an address.
    named: AtomicBool,
    /// Its memory is not the global allocator's: see `room`.
    has_room: bool,
    pub(crate) controls: Mutex<Controls>,
    /// Where it stands in the system's register: shard and key, packed; written once, before it starts.
    place: AtomicU64,
}

/// An actor of a known type.
#[repr(C)]
pub(crate) struct ActorCell<A: Actor> {
    pub(crate) core: Core,
    actor: OwnerCell<Option<A>>,
    shared: SharedQueue<A::Msg>,
    pub(crate) life: OwnerCell<Life<A>>,
}

/// How the loop over messages ended.
enum Pause {
    Empty,
    More,
    Stop,
    Muted,
}

impl Deref for Core {
    type Target = Fixed;

    #[inline(always)]
    fn deref(&self) -> &Fixed {
        self.header.own()
    }
}

impl Core {
    #[inline(always)]
    pub(crate) fn runnable(&self) -> Runnable {
        Runnable(self.me)
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.header.kind().name()
    }

    /// Sees to it that the actor runs: after a push or a control.
    #[inline]
    pub(crate) fn wake(&self, worker: Option<&Worker>) {
        match worker {
            Some(worker) if self.header.is_owned_by(worker.id()) => worker.alert(self.runnable()),
            _ => self.system.shared.notify(self.runnable(), worker),
        }
    }

    /// Hands a control to the actor; it comes back if the actor has ended.
    pub(crate) fn control(&self, control: Control) -> Result<(), (Control, StopReason)> {
        // What the running turn has sent before comes before.
        self.system.with_worker(|worker| worker.into_iter().for_each(Worker::settle));
        let mut controls = lock(&self.controls);
        controls.push(control)?;
        // Release: pairs with the acquire at the turn's start; the lock orders the list itself.
        self.flags.fetch_or(CONTROL, Ordering::Release);
        drop(controls);
        self.system.with_worker(|worker| {
            if let Some(worker) = worker.filter(|it| it.running() == Some(self.runnable())) {
                // To itself: nobody is woken by what runs already.
                worker.note().set(worker.note().get() | NOTE_CONTROL);
            }
            self.wake(worker);
        });
        Ok(())
    }

    /// Messages that wait: exact for a mailbox that nobody is using.
    pub(crate) fn mailbox_len(&self) -> usize {
        // Relaxed: an estimate.
        self.own_len.load(Ordering::Relaxed) as usize + (self.shared_len)(self)
    }

    pub(crate) fn set_place(&self, shard: usize, key: usize) {
        // Relaxed: before the actor starts; starting it publishes this.
        self.place.store((shard as u64) << 48 | key as u64, Ordering::Relaxed);
    }

    /// Where it stands in the system's register: shard and key.
    pub(crate) fn place(&self) -> (usize, usize) {
        // Relaxed: see `set_place`.
        let place = self.place.load(Ordering::Relaxed);
        ((place >> 48) as usize, (place & 0xffff_ffff_ffff) as usize)
    }

    /// The core of a runnable that is an actor and alive (because it is registered, or runs).
    pub(crate) fn of_runnable(runnable: Runnable) -> Option<CoreRef> {
        // SAFETY: runnables of this sort are cells, which begin with a core; it is alive by contract.
        (runnable.header().sort() == SORT)
            .then(|| CoreRef::new(unsafe { runnable.0.cast::<Core>().as_ref() }))
    }

    /// The actor that runs on this worker, if it is an actor that does.
    pub(crate) fn running_on(worker: &Worker) -> Option<CoreRef> {
        worker.running().and_then(Core::of_runnable)
    }

    /// Whether it is an `A`.
    pub(crate) fn is_a<A: Actor>(&self) -> bool {
        (self.type_id)() == TypeId::of::<A>()
    }

    /// It has got a name: that it has no address does not end it any more.
    pub(crate) fn set_named(&self) {
        // Release: pairs with the acquire in `is_named`.
        self.named.store(true, Ordering::Release);
    }

    fn is_named(&self) -> bool {
        // Acquire: whoever named it did so with an address in hand, whose going brings the turn that asks.
        self.named.load(Ordering::Acquire)
    }

    /// So many messages were accepted, but it had ended before they arrived.
    pub(crate) fn bury_messages<A: Actor>(&self, count: usize, worker: &Worker) {
        worker.counters().dead.add(count as u64);
        self.system.dead_letters.add(DeadLetter {
            to: self.id,
            kind: self.kind(),
            message: std::any::type_name::<A::Msg>(),
            count: count as u64,
            reason: StopReason::AlreadyStopped,
        });
    }

    /// Whether nobody can send to it any more, unless somebody revives it.
    fn is_orphaned(&self) -> bool {
        // Acquire: pairs with the release of the last address: what its holder sent before is in the mailbox by then, or in a lane.
        self.strong.load(Ordering::Acquire) == 0 && !self.is_named()
    }

    /// It is without addresses, but what their holders sent may still lie in lanes: it will be looked at again.
    #[cold]
    fn fade(&self, worker: &Worker) {
        // Relaxed: only its own turns set and clear this.
        if self.flags.fetch_or(FADING, Ordering::Relaxed) & FADING == 0 {
            let me = CoreRef::new(self);
            worker.after_grace(Box::new(move |_| drop(me.control(Control::Faded))));
        }
    }

    /// Mutes it: it is not run until [`Core::unmute`]. Only its own turn does.
    pub(crate) fn mute(&self) {
        // Relaxed: set by its own turn; the muting mailbox's lock orders it before the unmuting.
        self.flags.fetch_or(MUTED, Ordering::Relaxed);
        // SAFETY: its own turn, and the closure calls no user code.
        unsafe { self.header.with_private(|private| private.flags |= CALLED) }
    }

    pub(crate) fn unmute(&self, worker: Option<&Worker>) {
        // Release: pairs with the acquire at the turn's start; the wake-up that follows brings the turn.
        self.flags.fetch_and(!MUTED, Ordering::Release);
        self.wake(worker);
    }
}

impl<A: Actor> ActorCell<A> {
    const VTABLE: VTable = VTable {
        sort: SORT,
        run: run::<A>,
        dispose: dispose::<A>,
        release: release::<A>,
        pending: pending::<A>,
        deliver: deliver::<A>,
    };

    /// A new actor with its first address, and where it is to lie. It is neither registered nor started yet.
    pub(crate) fn create(
        system: std::sync::Arc<Inner>,
        id: ActorId,
        kind: Arc<Kind>,
        home: usize,
        capacity: Option<usize>,
        (actor, room): (Option<A>, Option<Room<A>>),
        life: Life<A>,
    ) -> CellRef<A> {
        // User code, which may panic: first of all.
        let footprint_bytes = actor.as_ref().map_or(0, A::footprint_bytes);
        let flags = if capacity.is_some() { UNUSUAL | HELD } else { UNUSUAL };
        let fixed = Fixed {
            me: NonNull::dangling(),
            shared_len: shared_len::<A>,
            type_id: TypeId::of::<A>,
            backpressure: capacity.map(|_| Box::default()),
            id,
            system,
        };
        let cell = ActorCell {
            core: Core {
                header: Header::new(&Self::VTABLE, kind, home, flags, fixed),
                own: OwnerCell::new(RawRing::new()),
                own_len: AtomicU32::new(0),
                place: AtomicU64::new(0),
                controls: Mutex::new(Controls::default()),
                strong: AtomicU32::new(1),
                // One for the addresses, one of the scheduler's.
                refs: AtomicU32::new(2),
                flags: AtomicU8::new(0),
                named: AtomicBool::new(false),
                has_room: room.is_some(),
            },
            shared: SharedQueue::new(capacity),
            life: OwnerCell::new(life),
            actor: OwnerCell::new(actor),
        };
        if capacity.is_some() {
            // Whoever sends to a bounded mailbox must hear at once whether it is full.
            cell.core.header.close_lanes();
        }
        cell.declare_footprint(footprint_bytes);
        let cell = put(cell, room);
        // SAFETY: just allocated, and nobody else knows it yet.
        unsafe { (*cell.as_ptr()).core.header.own_mut().me = cell.cast() };
        CellRef(cell)
    }

    // ---- sending -------------------------------------------------------------------------------------------------

    /// Sends from the worker that owns the actor without an atomic read-modify-write; gives the message back, with the time to stamp it with, if
    /// that is not possible here. `me` is the actor's runnable, which its address knows without looking.
    #[inline(always)]
    pub(crate) fn send_own(
        &self,
        me: Runnable,
        msg: A::Msg,
        worker: &Worker,
    ) -> Result<(), (A::Msg, u64)> {
        if worker.count_send() {
            return self.send_sampled(msg, worker);
        }
        if !self.takes_own() {
            return Err((msg, 0));
        }
        self.push_own(me, Envelope { stamp_ns: 0, msg }, worker);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn send_sampled(&self, msg: A::Msg, worker: &Worker) -> Result<(), (A::Msg, u64)> {
        // This may hand the actor on to other workers: look again.
        let stamp_ns = worker.sample(self.core.runnable());
        if !self.is_owned_by(worker) || !self.takes_own() {
            return Err((msg, stamp_ns));
        }
        self.push_own(self.core.runnable(), Envelope { stamp_ns, msg }, worker);
        Ok(())
    }

    /// Tells the scheduler how much memory the actor works on. Only the owner may, or who makes it.
    pub(crate) fn declare_footprint(&self, bytes: usize) {
        let footprint = Footprint::declared(bytes);
        // SAFETY: the owner declares it, or nobody else knows it yet; and the closure calls no user code.
        unsafe { self.core.header.with_private(|private| private.footprint = footprint) }
    }

    /// Whether the own part of the mailbox may be pushed to (rule 2 of `mailbox`). Only the owner may ask.
    #[inline(always)]
    fn takes_own(&self) -> bool {
        // SAFETY: the owner asks, and the closure calls no user code.
        let flags = unsafe { self.core.header.with_private(|private| private.flags) };
        flags & (ALERTED | HELD) == 0 && !self.core.header.is_raised()
    }

    /// Moves all of the shared part to the own part, so that the next message may go there. False if it must not. Only the owner may ask.
    #[inline(never)]
    fn gather_in(&self) -> bool {
        if self.flags() & HELD != 0 {
            return false;
        }
        while !self.shared.is_empty() {
            if !self.refill() {
                // Somebody is just pushing.
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn push_own(&self, me: Runnable, envelope: Envelope<A::Msg>, worker: &Worker) {
        // SAFETY: this worker owns the actor (the caller has tested it), and the closure calls no user code; the ring holds
        // envelopes of this actor's messages.
        unsafe { self.core.own.with(|own| own.of(&self.core.own_len).push(envelope)) };
        worker.schedule(me);
    }

    /// Whether this worker owns the actor now.
    #[inline(always)]
    pub(crate) fn is_owned_by(&self, worker: &Worker) -> bool {
        self.core.header.is_owned_by(worker.id())
    }

    /// Sends through the lane to the worker that owns the actor; the message comes back if it must go another way.
    #[inline]
    pub(crate) fn send_by_lane(
        &self,
        msg: A::Msg,
        stamp_ns: u64,
        worker: &Worker,
    ) -> Result<(), A::Msg> {
        // SAFETY: alive, for the caller has an address of it; its messages are of this type.
        unsafe { worker.ship(self.core.runnable(), stamp_ns, msg) }
    }

    /// Sends from anywhere; `over` a bound if told so. Returns how many messages wait in a bounded mailbox.
    pub(crate) fn send_shared(
        &self,
        msg: A::Msg,
        stamp_ns: u64,
        over: bool,
        worker: Option<&Worker>,
    ) -> Result<usize, PushError<A::Msg>> {
        let len = self.shared.push(msg, stamp_ns, over)?;
        self.core.wake(worker);
        Ok(len)
    }

    /// What came through a lane and finds that the actor has moved, has messages from elsewhere, or has ended.
    #[cold]
    #[inline(never)]
    fn deliver_shared(&self, msg: A::Msg, stamp_ns: u64, worker: &Worker) {
        worker.counters().shared.add(1);
        match self.shared.push(msg, stamp_ns, true) {
            Ok(_) => self.core.wake(Some(worker)),
            Err(PushError::Closed(msg) | PushError::Full(msg)) => {
                let core = CoreRef::new(&self.core);
                worker.defer(Box::new(move |worker| {
                    core.bury_messages::<A>(1, worker);
                    // A destructor that panics must not take the worker down.
                    let _ = catch_unwind(AssertUnwindSafe(|| drop(msg)));
                }));
            }
        }
    }

    /// Sends many from another worker; those refused because the mailbox is closed stay in `messages`.
    pub(crate) fn push_all(&self, messages: &mut Vec<Envelope<A::Msg>>, worker: &Worker) {
        worker.counters().shared.add(messages.len() as u64);
        self.shared.push_all(messages);
        self.core.wake(Some(worker));
    }

    /// Messages that wait: exact for a mailbox that nobody is using.
    pub(crate) fn len(&self) -> usize {
        self.core.mailbox_len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.shared.capacity()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    // ---- a turn --------------------------------------------------------------------------------------------------

    /// The place of the next message in the own part of the mailbox, out of which it must be read before anything is pushed.
    #[inline(always)]
    fn take_own(&self) -> Option<NonNull<Envelope<A::Msg>>> {
        // SAFETY: only the owner's turn comes here, and the closure calls no user code; the ring holds such envelopes.
        unsafe { self.core.own.with(|own| own.of(&self.core.own_len).pop_place()) }
    }

    /// The own part is empty: moves messages from the shared part there (see `mailbox`). False if there is none.
    #[inline(never)]
    fn refill(&self) -> bool {
        // A bound counts what is in the shared part: there they stay until each has its turn.
        let most = if self.flags() & HELD != 0 { 1 } else { REFILL };
        for moved in 0..most {
            let Some(envelope) = self.shared.pop() else {
                if self.shared.is_empty() {
                    self.set_flags(0, ALERTED);
                }
                return moved > 0;
            };
            // SAFETY: as in `take_own`.
            unsafe { self.core.own.with(|own| own.of(&self.core.own_len).push(envelope)) };
        }
        true
    }

    /// The runnable's flags. Only the owner's turn asks.
    #[inline(always)]
    pub(crate) fn flags(&self) -> u8 {
        // SAFETY: the owner's turn, and the closure calls no user code.
        unsafe { self.core.header.with_private(|private| private.flags) }
    }

    /// Sets and clears flags of the runnable. Only the owner's turn does.
    pub(crate) fn set_flags(&self, set: u8, clear: u8) {
        // SAFETY: the owner's turn, and the closure calls no user code.
        unsafe {
            self.core.header.with_private(|private| private.flags = private.flags & !clear | set)
        }
    }

    /// One turn: a batch of messages.
    #[inline(always)]
    fn turn(&self, worker: &Worker) -> (Turn, u32) {
        if self.flags() & (UNUSUAL | CALLED) != 0
            && let Some(turn) = self.called(worker)
        {
            return (turn, 0);
        }
        let mut handled = 0;
        // SAFETY: the owner's turn; user code does not reach `actor` in another way (module documentation).
        let pause = unsafe {
            self.actor.with(|actor| {
                let actor = actor.as_mut().expect("a running actor has its state");
                catch_unwind(AssertUnwindSafe(|| self.batch(actor, worker, &mut handled)))
            })
        };
        let pause = match pause {
            Ok(pause) => pause,
            Err(payload) => return self.turn_panicked(worker, payload, handled),
        };
        worker.count_handled(handled, std::mem::size_of::<A::Msg>());
        // Not if it is held: a bounded mailbox may have muted somebody.
        let usual = matches!(pause, Pause::Empty) && self.flags() & (HELD | DRAINING) == 0;
        if usual && self.is_modest() {
            return (Turn::Idle, handled);
        }
        (self.paused(pause, worker), handled)
    }

    /// Something may have been asked of it, or it is not in its normal life. `Some`: this was its turn.
    #[cold]
    #[inline(never)]
    fn called(&self, worker: &Worker) -> Option<Turn> {
        self.set_flags(0, CALLED);
        // Acquire: pairs with the releases in `control` and `unmute`.
        let flags = self.core.flags.load(Ordering::Acquire);
        if flags & (CONTROL | MUTED) == 0 && self.flags() & UNUSUAL == 0 {
            return None;
        }
        let turn = self.prelude(worker);
        // Relaxed: what others set or clear from now on calls it again.
        if self.core.flags.load(Ordering::Relaxed) & (CONTROL | MUTED) != 0 {
            self.set_flags(CALLED, 0);
        }
        turn
    }

    /// The messages of a turn.
    #[inline(always)]
    fn batch(&self, actor: &mut A, worker: &Worker, handled: &mut u32) -> Pause {
        let mut ctx = Context::new(self, worker);
        let mut until = worker.check_every();
        loop {
            let Some(place) = self.take_own() else {
                // A token that is up may have been left with a busy worker where the actor was before.
                let may_have = self.flags() & ALERTED != 0 || self.core.header.is_raised();
                if may_have && self.refill() {
                    continue;
                }
                return Pause::Empty;
            };
            // SAFETY: the message taken is read once, before anything is pushed.
            let Envelope { stamp_ns, msg } = unsafe { place.read() };
            *handled += 1;
            if stamp_ns != 0 {
                worker.record_latency(stamp_ns);
            }
            actor.handle(msg, &mut ctx);
            let note = worker.note().get();
            if note != 0 {
                return match note {
                    note if note & NOTE_STOP != 0 => Pause::Stop,
                    note if note & NOTE_CONTROL != 0 => Pause::More,
                    note if note & NOTE_MUTED != 0 => Pause::Muted,
                    _ => Pause::More,
                };
            }
            if *handled == until {
                if *handled == worker.batch() || worker.is_over_time() {
                    return Pause::More;
                }
                until = (until + worker.check_every()).min(worker.batch());
            }
        }
    }

    /// The mailbox is empty: whether it is small, and somebody has an address of the actor; as mostly.
    #[inline(always)]
    fn is_modest(&self) -> bool {
        // SAFETY: the owner's turn, and the closure calls no user code; the ring holds envelopes of this actor's messages.
        let large = unsafe {
            self.core.own.with(|own| own.of::<Envelope<A::Msg>>(&self.core.own_len).is_large())
        };
        // Acquire: pairs with the release of the last address: what its holder sent before is in the mailbox by then.
        !large && self.core.strong.load(Ordering::Acquire) != 0
    }

    #[cold]
    #[inline(never)]
    fn turn_panicked(
        &self,
        worker: &Worker,
        payload: Box<dyn std::any::Any + Send>,
        handled: u32,
    ) -> (Turn, u32) {
        worker.count_handled(handled, std::mem::size_of::<A::Msg>());
        (self.end_turn(self.panicked(worker, payload), worker), handled)
    }

    /// What follows from how the loop over messages ended.
    #[cold]
    #[inline(never)]
    fn paused(&self, pause: Pause, worker: &Worker) -> Turn {
        let turn = match pause {
            Pause::Empty if self.flags() & DRAINING == 0 && self.is_modest() => Turn::Idle,
            Pause::Empty => self.rest(worker),
            Pause::More => Turn::Again,
            Pause::Muted => Turn::Idle,
            Pause::Stop => self.end(worker, StopReason::Requested),
        };
        self.end_turn(turn, worker)
    }

    /// The end of a turn of what may have a bounded mailbox.
    fn end_turn(&self, turn: Turn, worker: &Worker) -> Turn {
        if self.core.backpressure.is_none() {
            return turn;
        }
        self.let_senders_go_on(worker);
        // Whoever was woken may have sent at once, on this thread.
        if turn == Turn::Idle && self.len() > 0 { Turn::Again } else { turn }
    }

    /// The mailbox is empty, and that is not all.
    fn rest(&self, worker: &Worker) -> Turn {
        // SAFETY: the owner's turn, and the closure calls no user code (the ring is empty).
        unsafe { self.core.own.with(|own| own.of::<Envelope<A::Msg>>(&self.core.own_len).free()) };
        if !self.shared.is_empty() {
            return Turn::Again;
        }
        if self.flags() & DRAINING != 0 {
            return self.end(worker, StopReason::Requested);
        }
        if !self.core.is_orphaned() {
            return Turn::Idle;
        }
        if worker.may_be_under_way() {
            self.core.fade(worker);
            return Turn::Idle;
        }
        // What was under way has arrived before that was seen.
        if !self.shared.is_empty() {
            return Turn::Again;
        }
        self.end(worker, StopReason::Orphaned)
    }

    /// A grace period is over: `Some` if it ends now.
    pub(crate) fn faded(&self, worker: &Worker) -> Option<Turn> {
        // Acquire: pairs with the release in `CellRef::new`.
        let flags = self.core.flags.fetch_and(!(FADING | REVIVED), Ordering::Acquire);
        let ends = flags & REVIVED == 0 && self.core.is_orphaned() && self.len() == 0;
        ends.then(|| self.end(worker, StopReason::Orphaned))
    }

    /// Replaces the actor's state; the old one is dropped here.
    pub(crate) fn set_actor(&self, actor: Option<A>) {
        // SAFETY: only the owner calls this, between messages; what is dropped is dropped outside the closure.
        let old = unsafe { self.actor.with(|place| std::mem::replace(place, actor)) };
        // A destructor that panics must not take the worker down.
        if catch_unwind(AssertUnwindSafe(|| drop(old))).is_err() {
            eprintln!(
                "actinium: dropping the state of {} ({}) panicked",
                self.core.id,
                self.core.kind()
            );
        }
    }

    /// Calls one of the actor's hooks; `Err`: it panicked. Without a state nothing is called.
    pub(crate) fn hook(
        &self,
        worker: &Worker,
        hook: impl FnOnce(&mut A, &mut Context<'_, A>),
    ) -> Result<bool, Box<dyn std::any::Any + Send>> {
        // SAFETY: only the owner calls this, between messages; user code does not reach `actor` in another way.
        unsafe {
            self.actor.with(|actor| {
                catch_unwind(AssertUnwindSafe(|| {
                    let mut ctx = Context::new(self, worker);
                    if let Some(actor) = actor.as_mut() {
                        hook(actor, &mut ctx);
                    }
                    ctx.is_stopping()
                }))
            })
        }
    }

    /// Lends the life to `f`. Only the owner may call it; `f` calls no user code.
    pub(crate) fn with_life<R>(&self, f: impl FnOnce(&mut Life<A>) -> R) -> R {
        // SAFETY: crate-internal: called from the owner's turn only (life, context), with closures that call no user code.
        unsafe { self.life.with(f) }
    }

    /// Refuses further messages. What waits stays.
    pub(crate) fn close(&self) {
        self.core.header.close_lanes();
        self.set_flags(HELD, 0);
        self.shared.close();
    }

    /// After `close`: takes what waits, one by one.
    pub(crate) fn take_left(&self) -> Option<A::Msg> {
        // SAFETY: only the owner calls this, between messages, and the closure calls no user code.
        let own = unsafe {
            self.core.own.with(|own| own.of::<Envelope<A::Msg>>(&self.core.own_len).pop())
        };
        own.or_else(|| self.shared.pop_closed()).map(|envelope| envelope.msg)
    }
}

/// # Safety
/// `header` leads an `ActorCell<A>` that is alive.
#[inline(always)]
unsafe fn cell_of<'a, A: Actor>(header: NonNull<Header>) -> &'a ActorCell<A> {
    // SAFETY: by contract; header, core and cell share their address (`repr(C)`).
    unsafe { header.cast::<ActorCell<A>>().as_ref() }
}

/// # Safety
/// As the vtable demands: the calling worker owns the actor.
unsafe fn run<A: Actor>(header: NonNull<Header>, worker: &Worker) -> (Turn, u32) {
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    unsafe { cell_of::<A>(header) }.turn(worker)
}

/// # Safety
/// As the vtable demands: the actor is alive.
unsafe fn pending<A: Actor>(header: NonNull<Header>) -> usize {
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    unsafe { cell_of::<A>(header) }.len()
}

/// # Safety
/// As the vtable demands: the next parcel is for this actor, whose memory is kept.
unsafe fn deliver<A: Actor>(header: NonNull<Header>, parcels: &mut Parcels<'_>, worker: &Worker) {
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    let cell = unsafe { cell_of::<A>(header) };
    let is_own = cell.is_owned_by(worker) && (cell.takes_own() || cell.gather_in());
    let mut crossed = 0;
    loop {
        // SAFETY: by contract there is one, and it is for this actor.
        let (stamp_ns, msg) = unsafe { parcels.take::<A::Msg>() };
        if is_own {
            // SAFETY: this worker owns the actor, and the closure calls no user code; the ring holds envelopes of this actor's messages.
            unsafe {
                cell.core
                    .own
                    .with(|own| own.of(&cell.core.own_len).push(Envelope { stamp_ns, msg }))
            }
            crossed += 1;
        } else {
            cell.deliver_shared(msg, stamp_ns, worker);
        }
        if parcels.next_to() != Some(header) {
            break;
        }
    }
    if is_own {
        worker.counters().crossed.add(crossed);
        worker.schedule(cell.core.runnable());
    }
}

/// # Safety
/// As the vtable demands: nobody runs the actor any more.
unsafe fn dispose<A: Actor>(header: NonNull<Header>, worker: &Worker) {
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    unsafe { cell_of::<A>(header) }.end(worker, StopReason::Shutdown);
}

/// # Panics
/// Never: it is only called on cores of cells of `A` (it stands in them).
fn shared_len<A: Actor>(core: &Core) -> usize {
    // SAFETY: this function stands in the core of an ActorCell<A> only; `me` is that cell.
    unsafe { cell_of::<A>(core.me) }.shared.len()
}

impl<A: Actor> Drop for ActorCell<A> {
    fn drop(&mut self) {
        // SAFETY: the last reference is gone; the ring holds envelopes of this actor's messages.
        unsafe { self.core.own.with(|own| own.of::<Envelope<A::Msg>>(&self.core.own_len).free()) }
    }
}
