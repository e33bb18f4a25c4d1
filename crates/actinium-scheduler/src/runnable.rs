//! What a worker picks up: the header that every runnable starts with.
//!
//! # Who may touch what
//!
//! A runnable is **owned** by at most one worker at a time. `owner` says by whom:
//!
//! | `owner` | meaning | who may write the private fields |
//! |---|---|---|
//! | a worker's id | that worker holds it: in its run queue, running, or idle at home | that worker's thread |
//! | `IN_TRANSIT` + id | it lies in that worker's *public* queue, for anyone to take | whoever holds that queue's lock |
//! | `NOBODY` | idle, or in a queue, under a policy that does not keep idle runnables (`pool`, `stealing`) | the holder of the queue's lock |
//! | `DEAD` | it ended | nobody |
//!
//! Only the present owner changes `owner` away from itself, so `owner == me` can be read without any ordering:
//! nobody else can make it true or false. That one test lets a worker send to its own actors with plain stores.
//!
//! # Wake-ups: the token
//!
//! Whoever is not the owner pushes its message to the runnable's shared queue and then *raises the token*
//! (`token.swap(true)`). The one that finds it down must deliver it: to the owner's inbox
//! (policies that keep idle runnables) or by queueing the runnable itself (those that do not). Invariants:
//!
//! 1. the token is up exactly while it travels to, or waits in, an inbox; so there is at most one, and the link `next`
//!    suffices for it;
//! 2. a shared message that was not taken has its token up, or its runnable is scheduled and will look.
//!
//! The token is lowered by a read-modify-write *before* the shared queue is looked at; a sender raises it *after* its
//! push. So either the sender finds it down (and delivers it), or the lowering reads the sender's raise and thereby sees its push.
//!
//! Where idle runnables have no owner, the token means "queued": the worker that takes the runnable sets it to
//! `RUNNING` before it looks, and to `DOWN` by a compare-and-swap when it finds nothing more; if that fails, somebody has raised
//! it meanwhile and the runnable stays queued. After the swap to `DOWN` the worker never touches the runnable again.

use crate::footprint::Footprint;
use crate::lanes::{NO_LANE, Parcels};
use crate::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Arc, OwnerCell};
use crate::worker::Worker;
use std::ptr::NonNull;

/// `owner`: nobody's.
pub const NOBODY: u32 = 0;
/// `owner`: ended.
pub const DEAD: u32 = u32::MAX;
/// `owner`: added to a worker's id while the runnable lies in that worker's public queue.
pub const IN_TRANSIT: u32 = 1 << 31;

/// `Private::flags`: in a run queue, or running.
pub const SCHEDULED: u8 = 1;
/// `Private::flags`: something may be in its shared queue. Set by whatever lowers the token or takes the runnable over, cleared by
/// its turn when it has found the shared queue empty.
pub const ALERTED: u8 = 2;
/// `Private::flags`: it is scheduled because its last turn left it more to do.
pub const AGAIN: u8 = 4;
/// `Private::flags`: it is scheduled because a turn at its own worker woke it.
pub const BY_NEIGHBOUR: u8 = 8;
/// `Private::flags`: set together with `ALERTED`; the runnable's own sort says when it is cleared.
pub const CALLED: u8 = 16;
/// `Private::flags`: the first bit that the scheduler leaves to the runnable's own sort.
pub const FIRST_FREE: u8 = 32;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// There is more to do: queue it again.
    Again,
    /// Nothing to do until somebody wakes it.
    Idle,
    /// It ended and has been cleaned up; the scheduler drops its reference.
    Dead,
}

/// What the scheduler can do with a runnable of some kind.
#[derive(Debug)]
pub struct VTable {
    /// What sort of runnables these are ("actor"): those of one sort share what follows the header.
    pub sort: &'static str,
    /// Runs one turn on the worker that owns it. Returns how it ended and how many items it handled.
    pub run: unsafe fn(NonNull<Header>, &Worker) -> (Turn, u32),
    /// Ends it at shutdown: nobody runs it any more.
    pub dispose: unsafe fn(NonNull<Header>, &Worker),
    /// Drops the reference that the scheduler holds while the runnable lives.
    pub release: unsafe fn(NonNull<Header>),
    /// How many items wait for it, as far as its owner, who asks, can tell cheaply.
    pub pending: unsafe fn(NonNull<Header>) -> usize,
    /// Takes messages that came through a lane, at least one and at most all that come next for this runnable, and puts them into
    /// its mailbox. Calls no user code ([`Worker::defer`] does, later).
    pub deliver: unsafe fn(NonNull<Header>, &mut Parcels<'_>, &Worker),
}

/// What all runnables of one kind (actors of one type, say) share.
#[derive(Debug)]
pub struct Kind {
    name: &'static str,
    stays: bool,
    /// Measured nanoseconds per handled item, exponentially weighted over all of the kind; 0: not known yet.
    cost_ns: AtomicU32,
    /// KiB that those work on which declare nothing, as first turns elsewhere have shown, likewise.
    footprint_kib: AtomicU32,
}

impl Kind {
    /// A kind of which nothing is known but its name.
    pub fn new(name: &'static str) -> Self {
        let (cost_ns, footprint_kib) = (AtomicU32::new(0), AtomicU32::new(0));
        Kind { name, stays: false, cost_ns, footprint_kib }
    }

    /// A kind whose runnables stay at the workers where they are made, as far as the policy keeps runnables at workers at all: for what stands
    /// for a worker, and is woken so that *that* worker does something.
    pub fn staying(name: &'static str) -> Self {
        Kind { stays: true, ..Kind::new(name) }
    }

    /// Whether its runnables stay at their workers.
    #[inline]
    pub fn stays(&self) -> bool {
        self.stays
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Measured nanoseconds per handled item; 0: not known yet.
    #[inline]
    pub fn cost_ns(&self) -> u32 {
        // Relaxed: an estimate.
        self.cost_ns.load(Ordering::Relaxed)
    }

    /// KiB that its runnables work on, as far as learnt; 0: not known.
    #[inline]
    pub fn footprint_kib(&self) -> u32 {
        // Relaxed: an estimate.
        self.footprint_kib.load(Ordering::Relaxed)
    }

    pub(crate) fn set_footprint_kib(&self, kib: u32) {
        // Relaxed: an estimate; a lost update does no harm.
        self.footprint_kib.store(kib, Ordering::Relaxed);
    }

    pub(crate) fn set_cost_ns(&self, cost_ns: u32) {
        // Relaxed: an estimate; a lost update does no harm.
        self.cost_ns.store(cost_ns, Ordering::Relaxed);
    }
}

/// Fields that only the owner touches. What each turn writes stands last, as far as possible from what others read.
#[derive(Debug)]
#[repr(C)]
pub struct Private {
    /// Measured nanoseconds per handled item, exponentially weighted; 0: not known yet (its kind's may be).
    pub cost_ns: u32,
    /// Index of the worker that stole it last.
    pub thief: u16,
    /// How often that worker stole it in a row.
    pub steals: u16,
    /// Index of the worker that it prefers.
    pub home: u32,
    /// How many turns in a row it has run away from home, at whatever worker.
    pub away: u8,
    /// See the constants.
    pub flags: u8,
    /// How much memory it works on (its kind's may be known if its own is not).
    pub footprint: Footprint,
}

/// Each idle actor pays for it.
const _: () = assert!(size_of::<Private>() == 16);

/// Words in a header for the runnable's own sort.
const OWN_WORDS: usize = 6;

/// What a header holds for the runnable's own sort, as the scheduler sees it.
pub type Words = [usize; OWN_WORDS];

/// The start of every runnable; the runnable's own fields follow it in memory (`repr(C)`).
///
/// Whoever sends reads `owner`, often from another core. What is written each turn must not lie on the same cache line, wherever the
/// allocator puts the header; so what is hardly ever written stands around it, and `own`, of the size of [`Words`], is room for more of that.
#[derive(Debug)]
#[repr(C)]
pub struct Header<S = Words> {
    pub(crate) vtable: &'static VTable,
    pub(crate) kind: Arc<Kind>,
    /// The inbox's link, used only while the token travels.
    pub(crate) next: AtomicPtr<Header>,
    /// The epoch in which its owner took it over, or `NO_LANE` (see `lanes`).
    pub(crate) since: AtomicU64,
    /// See the table in the module's documentation.
    pub(crate) owner: AtomicU32,
    pub(crate) token: AtomicU8,
    own: S,
    pub(crate) private: OwnerCell<Private>,
}

/// What each turn writes is at least so far from `owner`: a cache line, less the 16 bytes to which allocators align.
const _: () = assert!(
    cfg!(any(loom, shuttle))
        || std::mem::offset_of!(Header, private) - std::mem::offset_of!(Header, owner) >= 48
);

/// A runnable in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runnable(pub NonNull<Header>);

// SAFETY: a Runnable is only dereferenced under the ownership rules above, which hand a runnable from thread to
// thread through locks or release/acquire pairs; those who make headers promise that their content is Send.
unsafe impl Send for Runnable {}

impl Runnable {
    /// The header. The runnable must be alive: those in a queue, a register or running are.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: a queued or owned runnable is alive: the scheduler's reference is dropped only after `Turn::Dead`,
        // when no queue holds it, or by the one that consumes its last token.
        unsafe { self.0.as_ref() }
    }
}

impl<S> Header<S> {
    /// A header for a runnable that nobody holds yet; its home is the worker with index `home`.
    /// `flags` and `own` are those of its own sort.
    pub fn new(vtable: &'static VTable, kind: Arc<Kind>, home: usize, flags: u8, own: S) -> Self {
        const {
            let fits =
                size_of::<S>() == size_of::<Words>() && align_of::<S>() == align_of::<Words>();
            assert!(fits || cfg!(any(loom, shuttle)), "a header is a header, whatever its sort");
        }
        let home = home as u32;
        Header {
            own,
            vtable,
            kind,
            next: AtomicPtr::new(std::ptr::null_mut()),
            since: AtomicU64::new(0),
            owner: AtomicU32::new(NOBODY),
            token: AtomicU8::new(DOWN),
            private: OwnerCell::new(Private {
                cost_ns: 0,
                thief: u16::MAX,
                steals: 0,
                away: 0,
                home,
                flags: SCHEDULED | flags,
                footprint: Footprint::UNKNOWN,
            }),
        }
    }

    /// What it holds for its own sort.
    #[inline(always)]
    pub fn own(&self) -> &S {
        &self.own
    }

    /// The same, before anybody else knows the runnable.
    pub fn own_mut(&mut self) -> &mut S {
        &mut self.own
    }

    /// The function of its vtable that drops a reference.
    #[inline]
    pub fn release_fn(&self) -> unsafe fn(NonNull<Header>) {
        self.vtable.release
    }

    /// Its sort: see [`VTable::sort`].
    pub fn sort(&self) -> &'static str {
        self.vtable.sort
    }

    /// Its kind.
    pub fn kind(&self) -> &Arc<Kind> {
        &self.kind
    }

    /// Whether the worker with this id owns it. Exact when asked by that worker's thread.
    #[inline(always)]
    pub fn is_owned_by(&self, worker_id: u32) -> bool {
        // Relaxed: only the worker itself can make this true or false (module documentation).
        self.owner.load(Ordering::Relaxed) == worker_id
    }

    /// The worker with this id, which has settled, takes it over in the present epoch (see `lanes`).
    #[inline]
    pub(crate) fn take_over(&self, worker_id: u32, epoch: u64) {
        // Relaxed: the release below publishes it.
        if self.since.load(Ordering::Relaxed) != NO_LANE {
            self.since.store(epoch, Ordering::Relaxed);
        }
        // Release: pairs with the acquire in `Worker::has_lane_to`.
        self.owner.store(worker_id, Ordering::Release);
    }

    /// From now on nothing is sent to it through lanes, for whoever sends must hear what becomes of the message. Only its owner, or
    /// whoever makes it, may say so.
    pub fn close_lanes(&self) {
        // Relaxed: who does not see it yet sends as if it had done so before.
        self.since.store(NO_LANE, Ordering::Relaxed);
    }

    /// Lends the private fields to `f`.
    ///
    /// # Safety
    /// The caller owns the runnable (module documentation), and `f` does not come back here.
    #[inline(always)]
    pub unsafe fn with_private<R>(&self, f: impl FnOnce(&mut Private) -> R) -> R {
        // SAFETY: by contract.
        unsafe { self.private.with(f) }
    }

    /// Whether the token is up: somebody has pushed to the shared queue, and whoever lowers the token will mark the runnable alerted.
    #[inline(always)]
    pub fn is_raised(&self) -> bool {
        // Relaxed: asked by the owner about what was done before on its own thread, or came to it through a lock.
        self.token.load(Ordering::Relaxed) == UP
    }

    /// Raises the token; true if the caller has to deliver it.
    #[inline]
    pub fn raise(&self) -> bool {
        // AcqRel: the release half publishes the caller's push to the `lower` or `start` that reads this (or a later raise,
        // through the release sequence); the acquire half orders whoever finds it up after the raise that did it.
        self.token.swap(UP, Ordering::AcqRel) == DOWN
    }

    /// Lowers the token, before looking at the shared queue.
    #[inline]
    pub fn lower(&self) {
        // AcqRel: the acquire half synchronises with every `raise` up to now; the release half lets the next raiser
        // see what the owner did before.
        self.token.swap(DOWN, Ordering::AcqRel);
    }

    /// Without an owner: the turn starts and will look at the shared queue.
    #[inline]
    pub fn start(&self) {
        // AcqRel: as in `lower`.
        self.token.swap(RUNNING, Ordering::AcqRel);
    }

    /// Without an owner: the turn found nothing more. False: somebody raised the token meanwhile, queue it again.
    /// After true the caller must not touch the runnable any more.
    #[inline]
    pub fn finish(&self) -> bool {
        // AcqRel: the release half hands the private fields to the worker that takes it next (through the raise that reads
        // this); the acquire half is for symmetry with `raise`. Relaxed on failure: the next `start` acquires.
        self.token.compare_exchange(RUNNING, DOWN, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// It ended: nobody owns it any more. True if the caller shall release the scheduler's reference; else a token is on
    /// its way and whoever receives it will, when it finds `DEAD`; the caller must then not touch the runnable any more.
    pub(crate) fn bury(&self) -> bool {
        // AcqRel: as in `raise`. From now on no raise succeeds, so no further token travels.
        let idle = self.token.swap(UP, Ordering::AcqRel) != UP;
        // Release: whoever finds DEAD (acquire in the token's delivery) sees everything that was done to end it. If a token
        // travels, its receiver may free the runnable from here on: this is the last touch.
        self.owner.store(DEAD, Ordering::Release);
        idle
    }
}

/// `token`: down.
const DOWN: u8 = 0;
/// `token`: on its way.
const UP: u8 = 1;
/// `token`: without an owner, a turn is under way.
const RUNNING: u8 = 2;
