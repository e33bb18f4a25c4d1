//! The part of an actor that does not depend on its type: the header, the own part of the mailbox,
//! the counts and the flags.
//!
//! # References
//!
//! `strong` counts addresses: an actor without any, and without messages, ends. `refs` counts what
//! keeps the memory: each [`CoreRef`], one for all addresses together while there are any, and one
//! of the scheduler's while the actor lives.
//!
//! Both counts have 32 bits, and references can be forgotten (`mem::forget`), which costs nothing
//! and never counts down. A count that wraps would free what is still in use. So a count that
//! passes half of its range ends the process, as `Arc`'s does: a panic could be caught, and the
//! counting go on.

use crate::actor_id::ActorId;
use crate::backpressure::{Backpressure, Sender};
use crate::control::{Control, Controls, LockedControls};
use crate::failure::{BoxError, Failure};
use crate::mailbox::own::{Ends, RawRing};
use crate::mailbox::shared::RawQueue;
use crate::state::dead_letters::DeadLetter;
use crate::state::names::Nameable;
use crate::state::register::Place;
use crate::state::system_state::SystemState;
use crate::stop_reason::StopReason;
use actinium_scheduler::guard::Panicked;
use actinium_scheduler::runnable::{CONTROL_PENDING, FIRST_FREE, Kind};
use actinium_scheduler::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use actinium_scheduler::sync::{Arc, Mutex, OwnerCell};
use actinium_scheduler::trace::{Beside, Receiver, is_traced, message_lost};
use actinium_scheduler::{Header, Runnable, VTable, Worker, log, logging};
use std::any::TypeId;
use std::ops::Deref;
use std::ptr::NonNull;

/// The state that all parts of a system share.
pub(crate) type Inner = SystemState<CoreRef>;

/// The scheduler's word for runnables that begin with a [`Core`].
pub(crate) const SORT: &str = "actor";
/// A flag of the runnable: messages only go to the shared part of the mailbox, because it is
/// bounded or closed.
pub(crate) const SHARED_ONLY: u8 = FIRST_FREE;
/// A flag of the runnable: it is not running its normal life; a turn begins with the prelude.
pub(crate) const UNUSUAL: u8 = FIRST_FREE << 1;
/// A flag of the runnable: it ends when its mailbox is empty.
pub(crate) const DRAINING: u8 = FIRST_FREE << 2;
/// `flags`: there is something in `control`. Whoever sets this or clears `MUTED` brings a turn that
/// finds `CONTROL_PENDING`, and only such a turn looks.
pub(crate) const CONTROL: u8 = 1;
/// `flags`: a full mailbox muted it; it is not run until that has taken its messages.
pub(crate) const MUTED: u8 = 2;
/// `flags`: it waits for a grace period, after which it ends if nobody reaches it then.
pub(crate) const LINGERING: u8 = 4;
/// `flags`: it was without addresses and got one again.
pub(crate) const REVIVED: u8 = 8;
/// `flags`: something that it polls was woken. Whoever sets this brings a turn, unless the actor's
/// own turn does: that looks again at its end.
pub(crate) const WOKEN: u8 = 16;
/// `flags`: something of a message that it has handled is under way. Only its own turns set and
/// clear this.
pub(crate) const HOLDING: u8 = 32;
/// `flags`: urgent messages wait. Set and cleared under the lock of `controls`; whoever sets it
/// brings a turn that finds `CONTROL_PENDING`.
pub(crate) const URGENT: u8 = 64;
/// A worker's note for the running actor: it was muted in this turn.
pub(crate) const NOTE_MUTED: u32 = 1;
/// A worker's note for the running actor: it asked to end.
pub(crate) const NOTE_STOP: u32 = 2;
/// A worker's note for the running actor: there is a control for it, handed over in this turn.
pub(crate) const NOTE_CONTROL: u32 = 4;
/// A worker's note for the running actor: it lets others run before its next message.
pub(crate) const NOTE_YIELD: u32 = 8;
/// A worker's note for the running actor: it has failed.
pub(crate) const NOTE_FAILED: u32 = 16;

/// A worker's note for the running actor: the message that it handles is traced.
pub(crate) const NOTE_TRACED: u32 = 32;

/// More references than this, of one sort to one actor, end the process. As many threads again may
/// pass it before the process has ended.
pub(crate) const MOST: u32 = i32::MAX as u32;

/// The fields of an actor that are hardly ever written. They stand in the header, next to what
/// senders read.
#[repr(C)]
pub(crate) struct Fixed {
    /// The cell's own address as it was allocated: every pointer to it is a copy of this one.
    pub(crate) me: NonNull<Header>,
    /// The shared part's length, without knowing the actor's type.
    pub(crate) shared_len: fn(&Core) -> usize,
    /// Which actor it is, and the name of its messages' type. Called, never compared: a function's
    /// address is neither unique nor the same everywhere.
    pub(crate) types: fn() -> (TypeId, &'static str),
    /// The senders that its bounded mailbox holds back.
    pub(crate) backpressure: Option<Box<Backpressure<CoreRef>>>,
    pub(crate) id: ActorId,
    pub(crate) system: std::sync::Arc<Inner>,
    pub(crate) rare: Rare,
}

impl Deref for Fixed {
    type Target = Rare;

    #[inline(always)]
    fn deref(&self) -> &Rare {
        &self.rare
    }
}

/// What is written at times, and read by few.
#[repr(C)]
pub(crate) struct Rare {
    pub(crate) refs: AtomicU32,
    pub(crate) flags: AtomicU8,
    /// Whether the actor has a name, by which it can be reached without an address.
    named: AtomicBool,
    /// The memory is the global allocator's: see `cell::memory`.
    pub(crate) is_global: bool,
    /// Why the actor has ended, as a code: see [`LockedControls`].
    ended: AtomicU8,
    controls: Mutex<Controls<CoreRef>>,
    /// The shared part of the mailbox: envelopes of what carries the actor's messages.
    pub(crate) shared: RawQueue,
    /// The place in the system's register: shard and key, packed; written once, before it starts.
    place: AtomicU64,
}

impl Rare {
    /// That of a new actor, with one address. `is_global`: its memory is the global allocator's.
    pub(crate) fn new(shared: RawQueue, is_global: bool) -> Self {
        Rare {
            // One for the addresses, one of the scheduler's.
            refs: AtomicU32::new(2),
            flags: AtomicU8::new(0),
            named: AtomicBool::new(false),
            is_global,
            ended: AtomicU8::new(0),
            controls: Mutex::new(Controls::default()),
            shared,
            place: AtomicU64::new(0),
        }
    }
}

/// The start of every actor in memory: the part that is used without knowing the actor's type.
///
/// What the owner touches with each message stands first, then what is rarely used.
#[repr(C)]
pub(crate) struct Core {
    pub(crate) header: Header<Fixed>,
    /// The own part of the mailbox: envelopes of the actor's messages.
    pub(crate) own: OwnerCell<RawRing>,
    /// Where the ring begins and ends, written by the owner: others may look at the length.
    pub(crate) own_ends: Ends,
    /// Each turn reads it: it stands with what each turn writes, so that a turn touches no line
    /// more.
    pub(crate) strong: AtomicU32,
}

impl Deref for Core {
    type Target = Fixed;

    #[inline(always)]
    fn deref(&self) -> &Fixed {
        self.header.own()
    }
}

impl Core {
    /// A core with one address, whose actor was neither registered nor started yet.
    pub(crate) fn new(vtable: &'static VTable, kind: Arc<Kind>, home: usize, fixed: Fixed) -> Self {
        let is_bounded = fixed.backpressure.is_some();
        let flags = if is_bounded { UNUSUAL | SHARED_ONLY } else { UNUSUAL };
        let core = Core {
            header: Header::new(vtable, kind, home, flags, fixed),
            own: OwnerCell::new(RawRing::new()),
            own_ends: Ends::new(),
            strong: AtomicU32::new(1),
        };
        if is_bounded {
            // Whoever sends to a bounded mailbox must hear at once whether it is full.
            core.header.close_lanes();
        }
        core
    }

    /// The name of the actor's type.
    pub(crate) fn kind(&self) -> &'static str {
        self.header.kind().name()
    }

    /// Whether the actor is an `A`.
    pub(crate) fn is_a<A: 'static>(&self) -> bool {
        self.type_id() == TypeId::of::<A>()
    }

    /// The actor's type.
    pub(crate) fn type_id(&self) -> TypeId {
        (self.types)().0
    }

    /// The name of the type of the actor's messages.
    pub(crate) fn message(&self) -> &'static str {
        (self.types)().1
    }

    /// The number of messages that wait: exact for a mailbox that nobody is using.
    pub(crate) fn mailbox_len(&self) -> usize {
        let own_len = self.own_ends.len() as usize;
        // Relaxed: an estimate.
        let has_urgent = self.flags.load(Ordering::Relaxed) & URGENT != 0;
        let urgent = if has_urgent { self.controls().urgent() } else { 0 };
        own_len + (self.shared_len)(self) + urgent
    }

    /// Notes the actor's place in the system's register.
    pub(crate) fn set_place(&self, Place { shard, key }: Place) {
        // Relaxed: before the actor starts; starting it publishes this.
        self.place.store((shard as u64) << 48 | key as u64, Ordering::Relaxed);
    }

    /// The actor's place in the system's register.
    pub(crate) fn place(&self) -> Place {
        // Relaxed: see `set_place`.
        let place = self.place.load(Ordering::Relaxed);
        Place { shard: (place >> 48) as usize, key: (place & 0xffff_ffff_ffff) as usize }
    }

    /// Whether nobody can send to it any more, unless somebody revives it.
    pub(crate) fn is_orphaned(&self) -> bool {
        // Acquire: pairs with the release of the last address: what its holder sent before is in
        // the mailbox by then, or in a lane. The name, Acquire: whoever named it did so with an
        // address in hand, whose going brings the turn that asks.
        self.strong.load(Ordering::Acquire) == 0
            && !self.named.load(Ordering::Acquire)
            && !self.is_holding()
    }

    // ---- controls
    // ------------------------------------------------------------------------------------------------

    /// The controls that wait, under their lock.
    pub(crate) fn controls(&self) -> LockedControls<'_, CoreRef> {
        LockedControls::new(&self.controls, &self.ended)
    }

    /// Hands a control to the actor; it comes back if the actor has ended.
    pub(crate) fn control(
        &self,
        control: Control<CoreRef>,
    ) -> Result<(), (Control<CoreRef>, StopReason)> {
        // What the running turn has sent before comes before.
        self.system.with_worker(|worker| worker.into_iter().for_each(Worker::flush_lanes));
        let mut controls = self.controls();
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

    /// Makes a panic of user code that ran for this actor, but not in its turn, the actor's own
    /// failure.
    #[cold]
    pub(crate) fn fail(&self, panicked: Panicked) {
        self.system.count_panic();
        self.fail_with(panicked.into());
    }

    /// Makes an error of user code that ran for this actor, but not in its turn, the actor's own
    /// failure.
    #[cold]
    pub(crate) fn fail_with(&self, error: BoxError) {
        // One that has ended can not fail any more.
        let _ = self.control(Control::Escalated(self.failure(error)));
    }

    /// The actor's failure with this cause, for its supervision.
    #[cold]
    pub(crate) fn failure(&self, cause: BoxError) -> Failure {
        Failure::new(self.id, self.kind(), cause)
    }

    /// Adds so many messages of type `M`, which the caller has counted, to the dead letters.
    pub(crate) fn add_dead_letter<M>(&self, count: u64, reason: StopReason) {
        self.system.add_dead_letter(DeadLetter {
            to: self.id,
            kind: self.kind(),
            message: std::any::type_name::<M>(),
            count,
            reason,
        });
    }

    /// Ends the span of a message of type `M` that reached nobody, if this is the stamp of a traced
    /// one.
    #[inline]
    pub(crate) fn trace_lost<M>(&self, stamp_ns: u64, why: &'static str) {
        if is_traced(stamp_ns) {
            let message = std::any::type_name::<M>();
            let to = Receiver { kind: self.kind(), actor: self.id.as_u64(), message };
            message_lost(&self.system.shared, stamp_ns, to, why);
        }
    }

    /// Begins what goes on beside the message that the actor handles, if that is traced.
    pub(crate) fn beside(&self, name: &'static str) -> Beside {
        Beside::begin(&self.system.shared, name, self.id.as_u64())
    }

    /// Counts messages of type `M` that were accepted, but arrived after the actor had ended.
    pub(crate) fn count_dead<M>(&self, count: usize, worker: &Worker) {
        worker.counters().dead.add(count as u64);
        self.add_dead_letter::<M>(count as u64, StopReason::AlreadyStopped);
    }

    /// Drops an actor's state, each by itself, for it may panic (see `actinium_scheduler::guard`).
    #[inline(never)]
    pub(crate) fn drop_state<A: 'static>(&self, state: A) {
        let (id, kind) = (self.id, self.kind());
        self.system.drop_guarded_and(state, move |panicked| {
            log!(Error, {actor: id.as_u64(), actor_type: kind}, "the state of {id} ({kind}) was dropped, and {panicked}");
        });
    }

    /// Looks at the actor once more after a grace period: it is without addresses, but what their
    /// holders sent may still lie in lanes.
    #[cold]
    pub(crate) fn linger(&self, worker: &Worker) {
        // Relaxed: only its own turns set and clear this.
        if self.flags.fetch_or(LINGERING, Ordering::Relaxed) & LINGERING == 0 {
            let me = CoreRef::new(self);
            worker.after_grace(Box::new(move |_| drop(me.control(Control::LingerOver))));
        }
    }

    // ---- what it waits for
    // ------------------------------------------------------------------------------------------------

    /// Something that the actor polls has been woken: sees to it that it polls again.
    pub(crate) fn ring(&self) {
        // Release: pairs with the acquires in `cell::waiting`. Where it was set before, a turn
        // comes that has not looked yet.
        if self.flags.fetch_or(WOKEN, Ordering::Release) & WOKEN == 0 {
            self.system.with_worker(|worker| self.wake(worker));
        }
    }

    /// Whether a full mailbox has muted it: an estimate for others.
    pub(crate) fn is_muted(&self) -> bool {
        // Relaxed: an estimate.
        self.flags.load(Ordering::Relaxed) & MUTED != 0
    }

    /// Something of a message is under way from now on, and the system does not rest before it is
    /// done. In the actor's own turn.
    pub(crate) fn begin_hold(&self) {
        // Relaxed: only its own turns set and clear this.
        if self.flags.fetch_or(HOLDING, Ordering::Relaxed) & HOLDING == 0 {
            self.system.shared.control().hold();
        }
    }

    /// Whether something of a message is under way: an estimate for others.
    pub(crate) fn is_holding(&self) -> bool {
        // Relaxed: only its own turns set and clear this.
        self.flags.load(Ordering::Relaxed) & HOLDING != 0
    }

    /// Nothing of a message is under way any more. In the actor's own turn.
    pub(crate) fn end_hold(&self) {
        if self.is_holding() {
            // Relaxed: as in `begin_hold`.
            self.flags.fetch_and(!HOLDING, Ordering::Relaxed);
            self.system.shared.control().release();
        }
    }

    // ---- as what the scheduler runs
    // ------------------------------------------------------------------------------

    /// The actor as what the scheduler runs.
    #[inline(always)]
    pub(crate) fn runnable(&self) -> Runnable {
        // SAFETY: a cell begins with a core, and that with its header; the vtable in it is that of
        // cells.
        unsafe { Runnable::new(self.me) }
    }

    /// Starts the actor: at this worker, which is of its system, or else at worker `home`. Only its
    /// launch does, once.
    pub(crate) fn start(&self, worker: Option<&Worker>, home: usize) {
        // SAFETY: a new core counts the scheduler's reference; whoever launches the actor has the
        // only address.
        unsafe {
            match worker {
                Some(worker) => worker.start(self.runnable()),
                None => self.system.shared.start(self.runnable(), home),
            }
        }
    }

    /// Samples a send to the actor: see [`Worker::sample`].
    pub(crate) fn sample(&self, worker: &Worker) -> u64 {
        // SAFETY: this reference keeps it.
        unsafe { worker.sample(self.runnable()) }
    }

    /// Whether a lane leads to the actor: see [`Worker::reaches`].
    #[inline(always)]
    pub(crate) fn is_reached_by(&self, worker: &Worker) -> bool {
        // SAFETY: this reference keeps it.
        unsafe { worker.reaches(self.runnable()) }
    }

    /// Sees to it that the actor runs: after a push or a control.
    #[inline]
    pub(crate) fn wake(&self, worker: Option<&Worker>) {
        match worker {
            // SAFETY: this reference keeps it, and the worker owns it.
            Some(worker) if self.header.is_owned_by(worker.id()) => unsafe {
                worker.notify_owned(self.runnable());
            },
            // SAFETY: this reference keeps it; callers name workers of its own system only.
            _ => unsafe { Worker::notify(&self.system.shared, self.runnable(), worker) },
        }
    }

    /// Whether this worker may end an actor of the register at shutdown. The caller holds the
    /// register's lock.
    pub(crate) fn may_dispose(runnable: Runnable, worker: &Worker) -> bool {
        // SAFETY: what is in the register is alive.
        unsafe { worker.may_dispose(runnable) }
    }

    /// Ends an actor of the register at shutdown. Only a worker that ends, and may, does.
    pub(crate) fn dispose(runnable: Runnable, worker: &Worker) {
        // SAFETY: what is in the register is alive, and the worker, which has left its loop for
        // good, may dispose of it.
        unsafe { worker.dispose(runnable) }
    }

    /// The core of a runnable that is an actor and alive (because it is registered, or runs).
    pub(crate) fn of_runnable(runnable: Runnable) -> Option<CoreRef> {
        Core::look_at(runnable, CoreRef::new)
    }

    /// Looks at the core of such a runnable, which stays alive meanwhile, and takes no reference.
    pub(crate) fn look_at<R>(runnable: Runnable, look: impl FnOnce(&Core) -> R) -> Option<R> {
        // SAFETY: it is alive by contract.
        let is_actor = unsafe { runnable.header_unbound() }.sort() == SORT;
        // SAFETY: runnables of this sort are cells, which begin with a core; it is alive by
        // contract.
        is_actor.then(|| look(unsafe { &*runnable.pointer().as_ptr().cast::<Core>() }))
    }

    /// The actor that runs on this worker, if it is an actor that does.
    pub(crate) fn running_on(worker: &Worker) -> Option<CoreRef> {
        worker.running().and_then(Core::of_runnable)
    }
}

/// Keeps an actor's memory, without knowing its type. It keeps nothing alive but that.
pub(crate) struct CoreRef(NonNull<Core>);

// SAFETY: a core is used through atomics and locks; what is not (`place`, the cell's own fields) is
// its owner's.
unsafe impl Send for CoreRef {}
// SAFETY: as above.
unsafe impl Sync for CoreRef {}

impl CoreRef {
    /// Makes one more reference.
    pub(crate) fn new(core: &Core) -> Self {
        // Relaxed: made from a reference that keeps the memory meanwhile.
        if core.refs.fetch_add(1, Ordering::Relaxed) >= MOST {
            too_many(core, "weak addresses");
        }
        CoreRef(core.me.cast())
    }
}

impl Deref for CoreRef {
    type Target = Core;

    fn deref(&self) -> &Core {
        // SAFETY: the reference that this stands for keeps the memory.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for CoreRef {
    fn clone(&self) -> Self {
        CoreRef::new(self)
    }
}

impl Drop for CoreRef {
    fn drop(&mut self) {
        // SAFETY: gives up the reference that this stands for.
        unsafe { (self.header.release_fn())(self.0.cast()) }
    }
}

impl Nameable for CoreRef {
    fn id(&self) -> ActorId {
        self.id
    }

    fn set_named(&self) {
        // Release: pairs with the acquire in `is_orphaned`.
        self.named.store(true, Ordering::Release);
    }
}

impl Sender for CoreRef {
    fn is(&self, other: &Self) -> bool {
        self.id == other.id
    }

    fn backpressure(&self) -> Option<&Backpressure<Self>> {
        self.backpressure.as_deref()
    }

    fn mute(&self) {
        // Relaxed: set by its own turn; the muting mailbox's lock orders it before the unmuting.
        self.flags.fetch_or(MUTED, Ordering::Relaxed);
        // SAFETY: its own turn, and the closure calls no user code.
        unsafe { self.header.with_private(|private| private.flags |= CONTROL_PENDING) }
    }

    fn unmute(&self, worker: &Worker) {
        // Release: pairs with the acquire at the turn's start; the wake-up that follows brings the
        // turn.
        self.flags.fetch_and(!MUTED, Ordering::Release);
        self.wake(Some(worker));
    }
}

/// Ends the process.
#[cold]
#[inline(never)]
pub(crate) fn too_many(core: &Core, what: &str) -> ! {
    logging::fatal(format_args!(
        "more than {MOST} {what} of {} ({}): were they forgotten (mem::forget, Box::leak) instead of dropped?",
        core.id,
        core.kind()
    ));
}

/// Hands a control to an actor, or answers for it if that has ended.
pub(crate) fn hand(other: &Core, control: Control<CoreRef>) {
    if let Err((control, reason)) = other.control(control) {
        let reason = if reason.is_abnormal() { reason } else { StopReason::AlreadyStopped };
        refuse(other.id, control, &reason);
    }
}

/// Answers a control that came too late, for `ended` has ended.
pub(crate) fn refuse(ended: ActorId, control: Control<CoreRef>, reason: &StopReason) {
    match control {
        Control::Watch { notify, .. } => {
            notify(crate::stop_reason::Down { actor: ended, reason: reason.clone() });
        }
        Control::Link(other) if reason.is_abnormal() => {
            drop(other.control(Control::LinkBroken(ended)))
        }
        _ => {}
    }
}
