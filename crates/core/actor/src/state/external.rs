//! The counters of external threads: those that are not workers of the system.

use actinium_scheduler::sync::thread;
use actinium_scheduler::{CounterValues, Shared};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters that several threads write: only external threads, which are slower in any case, come
/// here.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct External {
    /// Sends begun (which is what counts as sent) and ended.
    begun: AtomicU64,
    ended: AtomicU64,
    returned: AtomicU64,
    dead: AtomicU64,
    spawned: AtomicU64,
    panicked: AtomicU64,
    /// Each send is looked at, for it may be traced.
    each: AtomicBool,
}

/// One send of an external thread, from before its push until after.
pub(crate) struct Send<'a> {
    external: &'a External,
    shared: &'a Shared,
    number: u64,
}

/// One in so many of these sends is sampled: as of workers, a prime, so that senders that take
/// turns are never in step with the samples.
const SAMPLED: u64 = actinium_scheduler::policy::tuning::SAMPLED as u64;

impl External {
    /// Each send is looked at from now on, for it may be traced; or only those that are sampled.
    pub(crate) fn look_at_each(&self, each: bool) {
        // Relaxed: a sender may learn of it a little later.
        self.each.store(each, Ordering::Relaxed);
    }

    /// Begins a send. Waits while a ledger is drawn up.
    pub(crate) fn begin<'a>(&'a self, shared: &'a Shared) -> Send<'a> {
        loop {
            // SeqCst, as in `while_quiet`: either we see that a ledger is drawn up, or the one who
            // does sees our send.
            let number = self.begun.fetch_add(1, Ordering::SeqCst);
            if !shared.control().is_quiet() {
                return Send { external: self, shared, number };
            }
            self.begun.fetch_sub(1, Ordering::SeqCst);
            while shared.control().is_quiet() {
                thread::yield_now();
            }
        }
    }

    /// Runs `f` at a moment at which no external send is under way; the caller has called for
    /// quiet.
    pub(crate) fn while_quiet<R>(&self, f: impl FnOnce() -> R) -> R {
        while self.begun.load(Ordering::SeqCst) != self.ended.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        f()
    }

    /// Counts a panic of user code.
    pub(crate) fn panicked(&self) {
        // Relaxed: a count.
        self.panicked.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an actor that was spawned.
    pub(crate) fn spawned(&self) {
        // Relaxed: a count.
        self.spawned.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a message that was counted as returned as a dead letter.
    pub(crate) fn returned_as_dead(&self) {
        // One step, so that a ledger drawn up meanwhile balances. Release: pairs with the acquire
        // in `values`, which then sees that it was counted as returned.
        self.dead.fetch_add(1, Ordering::Release);
    }

    /// The values in the shape of a worker's.
    pub(crate) fn values(&self) -> CounterValues {
        // Relaxed, but for one: counts.
        let mut values = CounterValues::default();
        values.sent = self.ended.load(Ordering::Relaxed);
        // Each of these dead letters was counted as returned first. Acquire: pairs with the release
        // in `returned_as_dead`.
        values.dead = self.dead.load(Ordering::Acquire);
        values.returned = self.returned.load(Ordering::Relaxed) - values.dead;
        values.spawned = self.spawned.load(Ordering::Relaxed);
        values.panicked = self.panicked.load(Ordering::Relaxed);
        values
    }
}

impl Send<'_> {
    /// The stamp of the message: the time, if this send is one of those that are sampled, or that
    /// of a traced one; else 0.
    #[inline]
    pub(crate) fn stamp_ns(&self) -> u64 {
        // Relaxed: as in `look_at_each`.
        let looks = self.is_sampled() || self.external.each.load(Ordering::Relaxed);
        if looks { self.stamp() } else { 0 }
    }

    #[inline]
    fn is_sampled(&self) -> bool {
        self.number.is_multiple_of(SAMPLED)
    }

    #[cold]
    fn stamp(&self) -> u64 {
        let sampled = self.shared.settings().figures && self.is_sampled();
        match self.trace_stamp() {
            0 if sampled => self.shared.clock().now_ns().max(1),
            stamp => stamp,
        }
    }

    /// The stamp of the message if it is traced; else 0.
    pub(crate) fn trace_stamp(&self) -> u64 {
        let traces = self.shared.traces();
        if !traces.is_on() {
            return 0;
        }
        let now_ns = self.shared.clock().now_ns();
        traces.stamp_from_outside(self.number, now_ns).unwrap_or(0)
    }

    /// Counts that the message goes back to its sender.
    pub(crate) fn count_returned(&self) {
        // Relaxed: a count.
        self.external.returned.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Send<'_> {
    fn drop(&mut self) {
        // SeqCst: see `begin`.
        self.external.ended.fetch_add(1, Ordering::SeqCst);
    }
}
