//! Runnables: the header that each one starts with, and who may touch it.
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
//! Only the present owner changes `owner` away from itself, so `owner == me` can be read without
//! any ordering: nobody else can make it true or false. That one test lets a worker send to its own
//! actors with plain stores.
//!
//! # Wake-ups: notifications
//!
//! A sender that does not own the runnable pushes its message to the shared queue and then
//! *notifies* the runnable (`notified.swap(SENT)`). If no notification was on its way, it must
//! deliver this one: to the owner's inbox (policies that keep idle runnables) or by queueing the
//! runnable itself (those that do not). Invariants:
//!
//! 1. a runnable is notified exactly while a notification travels to, or waits in, an inbox; so
//!    there is at most one, and the link `next` suffices for it;
//! 2. a runnable with a shared message that was not taken is notified, or is scheduled and will
//!    look.
//!
//! A notification is cleared by a read-modify-write *before* the shared queue is looked at; a
//! sender sets it *after* its push. So either the sender finds it clear (and delivers it), or the
//! clearing reads what the sender set and thereby sees its push.
//!
//! Where idle runnables have no owner, "notified" means "queued": the worker that takes the
//! runnable sets `RUNNING` before it looks, and `NONE` by a compare-and-swap when it finds nothing
//! more; if that fails, somebody has notified the runnable meanwhile and it stays queued. After the
//! swap to `NONE` the worker never touches the runnable again.

use crate::chunk::Entries;
use crate::footprint::Footprint;
pub use crate::ids::{DEAD, IN_TRANSIT, NOBODY};
use crate::policy::tuning::SENDS_ON_BELIEVED;
use crate::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Arc, OwnerCell};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// `Header::since` of a runnable that takes no messages through lanes: its mailbox is bounded, or
/// closed.
pub const NO_LANE: u64 = u64::MAX;

/// Messages in a lane, of which those that come next are for one runnable.
pub type LaneEntries<'a> = Entries<'a, Header>;

/// `Private::flags`: in a run queue, or running.
pub const SCHEDULED: u8 = 1;
/// `Private::flags`: something may be in its shared queue. Set by whatever clears its notification
/// or takes the runnable over, cleared by its turn when it has found the shared queue empty.
pub const NOTIFIED: u8 = 2;
/// `Private::flags`: it is scheduled because its last turn left it more to do.
pub const AGAIN: u8 = 4;
/// `Private::flags`: it is scheduled because a turn at its own worker woke it.
pub const BY_NEIGHBOUR: u8 = 8;
/// `Private::flags`: a control message may be pending. Set together with `NOTIFIED`; the runnable's
/// own sort says when it is cleared.
pub const CONTROL_PENDING: u8 = 16;
/// `Private::flags`: the first bit that the scheduler leaves to the runnable's own sort.
pub const FIRST_FREE: u8 = 32;

/// `Private::thief`: none stole it.
const NO_THIEF: u16 = u16::MAX;
/// `Private::thief`: it is pinned.
const PINNED: u16 = u16::MAX - 1;
/// `Private::thief` of what has left its home for a while.
const LODGER: u16 = u16::MAX - 2;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// There is more to do: queue it again.
    Again,
    /// Nothing to do until somebody wakes it.
    Idle,
    /// The runnable has ended and was cleaned up; the scheduler drops its reference.
    Dead,
}

/// The functions by which the scheduler uses a runnable of some kind.
#[derive(Debug)]
pub struct VTable {
    /// The sort of these runnables ("actor"): those of one sort share what follows the header.
    pub sort: &'static str,
    /// Runs one turn on the worker that owns it. Returns how it ended and how many items it
    /// handled.
    pub run: unsafe fn(NonNull<Header>, WorkerRef<'_>) -> (Turn, u32),
    /// Ends it at shutdown: nobody runs it any more.
    pub dispose: unsafe fn(NonNull<Header>, WorkerRef<'_>),
    /// Drops the reference that the scheduler holds while the runnable lives.
    pub release: unsafe fn(NonNull<Header>),
    /// What tells it from others of its sort, to a reader of records; 0: nothing does.
    pub number: unsafe fn(NonNull<Header>) -> u64,
    /// How many items wait for it, as far as its owner, who asks, can tell cheaply.
    pub pending: unsafe fn(NonNull<Header>) -> usize,
    /// Takes messages that came through a lane, at least one and at most all that come next for
    /// this runnable, and puts them into its mailbox: returns how many. Calls no user code
    /// ([`Worker::defer`](crate::Worker::defer) does, later).
    pub deliver: unsafe fn(NonNull<Header>, &mut LaneEntries<'_>, WorkerRef<'_>) -> u64,
}

/// The calling thread's worker as the functions of a [`VTable`] get it: a plain reference without
/// its type, for workers are built on runnables and not the other way round. [`WorkerRef::get`]
/// gives the type back.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct WorkerRef<'a>(NonNull<()>, PhantomData<&'a ()>);

impl WorkerRef<'_> {
    /// Hides the type of a worker.
    ///
    /// # Safety
    /// The pointer is that of a `Worker`, which lives for as long as this reference.
    #[inline(always)]
    pub(crate) unsafe fn new(worker: NonNull<()>) -> Self {
        WorkerRef(worker, PhantomData)
    }

    /// Where the worker is.
    #[inline(always)]
    pub(crate) fn as_ptr(self) -> NonNull<()> {
        self.0
    }
}

/// Data that all runnables of one kind (actors of one type, say) share.
#[derive(Debug)]
pub struct Kind {
    name: &'static str,
    stays: bool,
    /// Measured nanoseconds per handled item, exponentially weighted over all of the kind; 0: not
    /// known yet.
    cost_ns: AtomicU32,
    /// KiB that those work on which declare nothing, as first turns elsewhere have shown, likewise.
    footprint_kib: AtomicU32,
    /// Its runnables were seen to send when they handle items: how often that is believed.
    sends_on: AtomicU32,
    /// How often its runnables were restarted.
    restarts: AtomicU64,
}

impl Kind {
    /// A kind of which nothing is known but its name.
    pub fn new(name: &'static str) -> Self {
        let (cost_ns, footprint_kib) = (AtomicU32::new(0), AtomicU32::new(0));
        let restarts = AtomicU64::new(0);
        let sends_on = AtomicU32::new(0);
        Kind { name, stays: false, cost_ns, footprint_kib, sends_on, restarts }
    }

    /// A kind whose runnables stay at the workers where they are made, as far as the policy keeps
    /// runnables at workers at all: for what stands for a worker, and is woken so that *that*
    /// worker does something.
    pub fn staying(name: &'static str) -> Self {
        Kind { stays: true, ..Kind::new(name) }
    }

    /// Whether its runnables stay at their workers.
    #[inline]
    pub fn stays(&self) -> bool {
        self.stays
    }

    /// The kind's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Measured nanoseconds per handled item; 0: not known yet.
    #[inline]
    pub fn cost_ns(&self) -> u32 {
        // Relaxed: an estimate.
        self.cost_ns.load(Ordering::Relaxed)
    }

    /// KiB that its runnables work on, as far as measured; 0: not known.
    #[inline]
    pub fn footprint_kib(&self) -> u32 {
        // Relaxed: an estimate.
        self.footprint_kib.load(Ordering::Relaxed)
    }

    /// How often its runnables were restarted.
    pub fn restarts(&self) -> u64 {
        // Relaxed: a statistic.
        self.restarts.load(Ordering::Relaxed)
    }

    /// One of its runnables was restarted.
    pub fn count_restart(&self) {
        // Relaxed: a statistic.
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether its runnables were seen to send when they handle items. That is believed for some
    /// thousand questions: it may have been an exception.
    pub(crate) fn sends_on(&self) -> bool {
        // Relaxed: an estimate.
        let left = self.sends_on.load(Ordering::Relaxed);
        if left > 0 {
            // Relaxed: an estimate; a lost update does no harm.
            self.sends_on.store(left - 1, Ordering::Relaxed);
        }
        left > 0
    }

    pub(crate) fn set_sends_on(&self) {
        // Relaxed: an estimate.
        self.sends_on.store(SENDS_ON_BELIEVED, Ordering::Relaxed);
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

/// Fields that only the owner touches.
#[derive(Debug)]
#[repr(C)]
pub struct Private {
    /// Measured nanoseconds per handled item, exponentially weighted; 0: not known yet (its kind's
    /// may be).
    pub cost_ns: u32,
    /// Index of the worker that stole it last; `PINNED`: none may; `LODGER`: it has left its home
    /// for a while.
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

impl Private {
    /// From now on it stays at its home, as far as the policy keeps runnables there at all.
    pub fn pin(&mut self) {
        self.thief = PINNED;
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.thief == PINNED
    }

    /// Makes the worker with this index its home.
    pub(crate) fn move_home(&mut self, to: usize) {
        if self.is_lodger() {
            self.thief = NO_THIEF;
        }
        (self.home, self.steals, self.away) = (to as u32, 0, 0);
    }

    /// Notes that it goes to that worker for a while: unless that is its home, it was not stolen,
    /// and its turns there say nothing of its footprint.
    pub(crate) fn lodge_at(&mut self, to: usize) {
        if self.home as usize == to {
            self.move_home(to);
        } else {
            (self.thief, self.steals, self.away) = (LODGER, 0, 1);
        }
    }

    pub(crate) fn is_lodger(&self) -> bool {
        self.thief == LODGER
    }
}

/// Words in a header for the runnable's own sort.
const OWN_WORDS: usize = 11;

/// The words that a header holds for the runnable's own sort, as the scheduler sees it: it never
/// looks at them, and they may change under its eyes.
#[derive(Debug)]
pub struct Words {
    _words: OwnerCell<[usize; OWN_WORDS]>,
}

impl Default for Words {
    fn default() -> Self {
        Words { _words: OwnerCell::new([0; OWN_WORDS]) }
    }
}

/// The start of every runnable; the runnable's own fields follow it in memory (`repr(C)`).
///
/// Senders read `owner`, often from another core. Fields that each turn writes must not lie on the
/// same cache line, nor on the one beside it, for processors fetch lines in pairs; so what is
/// hardly ever written stands around it, and `own`, of the size of [`Words`], is room for more of
/// that. What each message reads stands in the first 16 bytes: an allocator aligns to so many, and
/// more might lie across two lines.
#[derive(Debug)]
#[repr(C)]
pub struct Header<S = Words> {
    pub(crate) vtable: &'static VTable,
    /// See the table in the module's documentation.
    pub(crate) owner: AtomicU32,
    pub(crate) notified: AtomicU8,
    pub(crate) kind: Arc<Kind>,
    /// The inbox's link, used only while a notification travels.
    pub(crate) next: AtomicPtr<Header>,
    /// The epoch in which its owner took it over, or `NO_LANE` (see `lanes`).
    pub(crate) since: AtomicU64,
    // Where atomics are a model checker's they have other sizes: what the scheduler uses must not
    // lie behind them there.
    #[cfg(any(loom, shuttle))]
    pub(crate) private: OwnerCell<Private>,
    own: S,
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) private: OwnerCell<Private>,
}

/// What each turn writes begins with a pair of cache lines, where a header does.
const _: () = assert!(cfg!(any(loom, shuttle)) || std::mem::offset_of!(Header, private) == 128);

/// A runnable in a queue: a name for it, which keeps nothing alive. It can be had without `unsafe`
/// ([`Worker::running`](crate::Worker::running)), copied, kept and compared; all that follows it to
/// the runnable is `unsafe`, for it may have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runnable(pub(crate) NonNull<Header>);

// SAFETY: a Runnable is only dereferenced under the ownership rules above, which hand a runnable
// from thread to thread through locks or release/acquire pairs; those who make headers promise that
// their content is Send.
unsafe impl Send for Runnable {}

impl Runnable {
    /// The runnable that begins with this header.
    ///
    /// # Safety
    /// The header begins a runnable of the sort that its vtable is for, and is a copy of the
    /// pointer by which that was allocated.
    #[inline(always)]
    pub unsafe fn new(header: NonNull<Header>) -> Self {
        Runnable(header)
    }

    /// Where its header is, or was: the pointer that it was made of ([`Runnable::new`]).
    #[inline(always)]
    pub fn pointer(self) -> NonNull<Header> {
        self.0
    }

    /// The header.
    ///
    /// # Safety
    /// The runnable is alive for as long as the reference is used: those in a queue, a register or
    /// running are.
    #[inline(always)]
    pub unsafe fn header_unbound<'a>(self) -> &'a Header {
        // SAFETY: by contract.
        unsafe { self.0.as_ref() }
    }

    /// The header. In this crate runnables are followed only where they are known to be alive
    /// (module documentation).
    #[inline(always)]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: a queued or owned runnable is alive: the scheduler's reference is dropped only
        // after `Turn::Dead`, when no queue holds it, or by the one that consumes its last
        // notification.
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
            notified: AtomicU8::new(NONE),
            private: OwnerCell::new(Private {
                cost_ns: 0,
                thief: NO_THIEF,
                steals: 0,
                away: 0,
                home,
                flags: SCHEDULED | flags,
                footprint: Footprint::UNKNOWN,
            }),
        }
    }

    /// The words of its own sort.
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

    /// The runnable's sort: see [`VTable::sort`].
    pub fn sort(&self) -> &'static str {
        self.vtable.sort
    }

    /// The runnable's kind.
    pub fn kind(&self) -> &Arc<Kind> {
        &self.kind
    }

    /// Whether the worker with this id owns it. Exact when asked by that worker's thread.
    #[inline(always)]
    pub fn is_owned_by(&self, worker_id: u32) -> bool {
        self.owner() == worker_id
    }

    /// The id of the worker that owns it, or what else `owner` says: see the module documentation.
    #[inline(always)]
    pub(crate) fn owner(&self) -> u32 {
        // Relaxed: only a worker itself can make it its own id, or another (module documentation).
        self.owner.load(Ordering::Relaxed)
    }

    /// The worker with this id, in whose lanes nothing lies for it, takes it over in the present
    /// epoch (see `lanes`).
    #[inline]
    pub(crate) fn take_over(&self, worker_id: u32, epoch: u64) {
        // Relaxed: the release below publishes it.
        if self.since.load(Ordering::Relaxed) != NO_LANE {
            self.since.store(epoch, Ordering::Relaxed);
        }
        // Release: pairs with the acquire in `Worker::has_lane_to`.
        self.owner.store(worker_id, Ordering::Release);
    }

    /// Ends sending to it through lanes, for whoever sends must hear what becomes of the message.
    /// Only its owner, or whoever makes it, may say so.
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

    /// Whether a notification is on its way: somebody has pushed to the shared queue, and whoever
    /// clears it sets `NOTIFIED`.
    #[inline(always)]
    pub fn is_notified(&self) -> bool {
        // Relaxed: asked by the owner about what was done before on its own thread, or came to it
        // through a lock.
        self.notified.load(Ordering::Relaxed) == SENT
    }

    /// Notifies the runnable; true if the caller has to deliver the notification, for none was on
    /// its way.
    #[inline]
    pub fn set_notified(&self) -> bool {
        // AcqRel: the release half publishes the caller's push to the `clear_notified` or `start`
        // that reads this (or a later notification, through the release sequence); the acquire half
        // orders whoever finds it set after the one that set it.
        self.notified.swap(SENT, Ordering::AcqRel) == NONE
    }

    /// Clears the notification, before looking at the shared queue.
    #[inline]
    pub fn clear_notified(&self) {
        // AcqRel: the acquire half synchronises with every `set_notified` up to now; the release
        // half keeps what the owner did before (it read the link of an inbox) before what the next
        // notifier does (it writes that link). No model can tell the latter, for loom's loads never
        // read what is stored later.
        self.notified.swap(NONE, Ordering::AcqRel);
    }

    /// Without an owner: the turn starts and will look at the shared queue.
    #[inline]
    pub fn start(&self) {
        // AcqRel: as in `clear_notified`. No model needs the release half: whoever finds it running
        // leaves the runnable alone.
        self.notified.swap(RUNNING, Ordering::AcqRel);
    }

    /// Without an owner: the turn found nothing more. False: somebody notified the runnable
    /// meanwhile, queue it again. After true the caller must not touch the runnable any more.
    #[inline]
    pub fn finish(&self) -> bool {
        // AcqRel: the release half hands the private fields to the worker that takes it next
        // (through the notification that reads this); the acquire half is for symmetry with
        // `set_notified`, and no model needs it: what it reads is its own `start`. Relaxed on
        // failure: the next `start` acquires.
        self.notified.compare_exchange(RUNNING, NONE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Gives it up before it was started: nobody wakes it any more.
    pub fn never_starts(&self) {
        // No notification travels: whoever could send one would have found no owner to bring it to.
        self.retire();
    }

    /// Marks it as ended: nobody owns it any more. True if the caller shall release the scheduler's
    /// reference; else a notification is on its way and whoever receives it will, when it finds
    /// `DEAD`; the caller must then not touch the runnable any more.
    pub(crate) fn retire(&self) -> bool {
        // AcqRel: as in `set_notified`. From now on it stays set, so no further notification
        // travels. No model needs either half: who finds it set does nothing, and what was set
        // before has been cleared by the owner, or is left to the notification's receiver.
        let idle = self.notified.swap(SENT, Ordering::AcqRel) != SENT;
        // Release: whoever finds DEAD (acquire in the notification's delivery) sees everything that
        // was done to end it. If a notification travels, its receiver may free the runnable from
        // here on: this is the last touch.
        self.owner.store(DEAD, Ordering::Release);
        idle
    }
}

/// `notified`: no notification is on its way.
const NONE: u8 = 0;
/// `notified`: a notification is on its way.
const SENT: u8 = 1;
/// `notified`: without an owner, a turn is under way.
const RUNNING: u8 = 2;
