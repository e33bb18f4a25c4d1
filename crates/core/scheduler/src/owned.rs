//! Evidence that a runnable is its holder's.

use crate::runnable::{Header, NOBODY, Private, Runnable, SCHEDULED};
use crate::sync::atomic::Ordering;
use std::marker::PhantomData;

/// A runnable whose private fields the holder of this value may touch: by the table in
/// [`runnable`](crate::runnable), the calling thread's worker owns it, or holds the queue that it
/// lies in.
///
/// There is one such value of a runnable in use at a time, and it is neither copied nor sent: so
/// its methods need no `unsafe`.
#[derive(Debug)]
pub(crate) struct Owned<'w> {
    runnable: Runnable,
    _holder: PhantomData<(&'w (), *const ())>,
}

impl Owned<'_> {
    /// Says that a runnable is the caller's.
    ///
    /// # Safety
    /// For as long as the value is used, the runnable is alive, the calling thread may touch its
    /// private fields (see the table in `runnable`), and nothing else on this thread touches them
    /// while a method of this value runs.
    #[inline(always)]
    pub(crate) unsafe fn new(runnable: Runnable) -> Self {
        Owned { runnable, _holder: PhantomData }
    }

    /// The runnable.
    #[inline(always)]
    pub(crate) fn runnable(&self) -> Runnable {
        self.runnable
    }

    /// The header.
    #[inline(always)]
    pub(crate) fn header(&self) -> &Header {
        self.runnable.header()
    }

    /// Lends the private fields to `f`, which does plain work on them: it calls no user code and
    /// makes no evidence of its own.
    #[inline(always)]
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut Private) -> R) -> R {
        // SAFETY: by the promise of `new`; `f` can not come back by this value, which is borrowed.
        unsafe { self.runnable.header().private.with(f) }
    }

    /// Nanoseconds per item, its kind's as long as its own are not known; 0: not known either.
    #[inline(always)]
    pub(crate) fn cost_ns(&mut self) -> u32 {
        let own = self.with(|private| private.cost_ns);
        if own == 0 { self.header().kind.cost_ns() } else { own }
    }

    /// Its own nanoseconds per item or its kind's, whichever is less; 0: neither is known. On a
    /// worker that the system keeps waiting, what was measured of one may hold a time slice of
    /// another process.
    pub(crate) fn typical_cost_ns(&mut self) -> u32 {
        match self.header().kind.cost_ns() {
            0 => self.cost_ns(),
            of_kind => self.cost_ns().min(of_kind),
        }
    }

    /// KiB that it works on, its kind's as long as its own are not known; 0: not known either.
    pub(crate) fn footprint_kib(&mut self) -> u32 {
        let own = self.with(|private| private.footprint.kib());
        if own == 0 { self.header().kind.footprint_kib() } else { own }
    }

    /// Whether it stays at this worker: all of its kind do, or it is pinned.
    pub(crate) fn stays(&mut self) -> bool {
        self.header().kind.stays() || self.with(|private| private.is_pinned())
    }

    /// How many items wait for it.
    pub(crate) fn pending(&self) -> usize {
        // SAFETY: its holder asks, and it is alive.
        unsafe { (self.header().vtable.pending)(self.runnable.0) }
    }

    /// The flags, after these are set.
    #[inline(always)]
    pub(crate) fn set_flags(&mut self, set: u8) -> u8 {
        self.with(|private| {
            private.flags |= set;
            private.flags
        })
    }

    /// Notes that it is in no queue and does not run.
    #[inline(always)]
    pub(crate) fn rest(&mut self) {
        self.with(|private| private.flags &= !SCHEDULED);
    }

    /// Makes the worker with this index its home.
    pub(crate) fn move_home(&mut self, to: usize) {
        self.with(|private| private.move_home(to));
    }

    /// Gives it away to whoever takes it from a queue of the worker `owner` is in transit at. The
    /// caller holds that queue's lock.
    #[inline]
    pub(crate) fn give(self, owner: u32) -> Runnable {
        // Relaxed: the queue's lock publishes it.
        self.header().owner.store(owner, Ordering::Relaxed);
        self.runnable
    }

    /// Gives it to nobody: its next holder takes it from a queue, or wakes it.
    pub(crate) fn give_to_nobody(self) -> Runnable {
        // Relaxed: only the worker that gives it away tests for its own id; `finish` or the queue's
        // lock hand it on.
        self.header().owner.store(NOBODY, Ordering::Relaxed);
        self.runnable
    }
}
