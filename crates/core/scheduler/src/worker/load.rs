//! The load of a worker, as the worker itself tracks it.

use crate::policy::{Utilization, UtilizationTracker};
use std::cell::Cell;

/// A worker's load, and when it looked at others' loads last.
#[derive(Debug)]
pub(super) struct LoadTracker {
    /// How long its queue takes to run once through, weighted over some rounds: nanoseconds.
    pub(super) load_ns: Cell<u64>,
    /// The time at which it looked at others' loads last, or found something to do.
    pub(super) since_ns: Cell<u64>,
    /// How often in a row it has looked and pushed nothing, second looks that are still to come
    /// left out.
    pub(super) in_vain: Cell<u32>,
    /// The load when it looked last.
    pub(super) looked_ns: Cell<u64>,
    /// Whether its last look has found somebody with less.
    pub(super) has_found: Cell<bool>,
    /// Where in the list of its neighbours it looks next.
    pub(super) next: Cell<usize>,
    utilization: Cell<UtilizationTracker>,
}

impl LoadTracker {
    pub(super) fn new(now_ns: u64) -> Self {
        LoadTracker {
            load_ns: Cell::new(0),
            since_ns: Cell::new(now_ns),
            in_vain: Cell::new(0),
            looked_ns: Cell::new(0),
            has_found: Cell::new(false),
            next: Cell::new(0),
            utilization: Cell::new(UtilizationTracker::new(now_ns)),
        }
    }

    /// Notes a round (see [`UtilizationTracker::note_round`]); returns what to show others, if that
    /// may have changed.
    #[inline]
    pub(super) fn note_round(&self, now_ns: u64, busy_ns: u64) -> Option<Utilization> {
        let mut utilization = self.utilization.get();
        let changed = utilization.note_round(now_ns, busy_ns, self.load_ns.get());
        self.utilization.set(utilization);
        changed
    }

    /// Notes that the worker falls asleep; returns what to show others.
    pub(super) fn note_sleep(&self, now_ns: u64) -> Utilization {
        let mut utilization = self.utilization.get();
        let shown = utilization.note_sleep(now_ns);
        self.utilization.set(utilization);
        shown
    }

    /// The mean load (see [`UtilizationTracker::mean_load`]).
    pub(super) fn mean(&self, now_ns: u64) -> u64 {
        self.utilization.get().mean_load(now_ns)
    }

    /// Whether the worker has been overloaded for long: see
    /// [`UtilizationTracker::is_long_overloaded`].
    pub(super) fn is_long_overloaded(&self, now_ns: u64) -> bool {
        self.utilization.get().is_long_overloaded(now_ns)
    }

    /// Notes that the worker has found something to do.
    pub(super) fn start(&self, now_ns: u64) {
        self.since_ns.set(now_ns);
    }

    /// Notes that the worker has nothing to do.
    pub(super) fn clear(&self) {
        self.load_ns.set(0);
        self.in_vain.set(0);
        self.looked_ns.set(0);
        self.has_found.set(false);
    }
}
