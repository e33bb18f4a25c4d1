//! The load of a worker, as the worker itself tracks it.

use crate::policy::tuning;
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
    /// Turns of this round that have left more to do.
    pub(super) again: Cell<u32>,
    /// When the window began in which it sees whether it has time to spare, and how long it has
    /// been busy since then.
    window_ns: Cell<u64>,
    busy_ns: Cell<u64>,
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
            again: Cell::new(0),
            window_ns: Cell::new(now_ns),
            busy_ns: Cell::new(0),
        }
    }

    /// Notes that the worker has found something to do.
    pub(super) fn start(&self, now_ns: u64) {
        self.since_ns.set(now_ns);
    }

    /// Notes that the worker was busy for so long, with what others had sent. At the end of a
    /// window: when that began, and whether it left time to spare.
    #[inline]
    pub(super) fn note_busy(&self, now_ns: u64, busy_ns: u64) -> Option<(u64, bool)> {
        let busy_ns = self.busy_ns.get() + busy_ns;
        let elapsed_ns = now_ns.saturating_sub(self.window_ns.get());
        if elapsed_ns < tuning::SPARE_WINDOW_NS {
            self.busy_ns.set(busy_ns);
            return None;
        }
        self.busy_ns.set(0);
        Some((self.window_ns.replace(now_ns), tuning::leaves_spare(busy_ns, elapsed_ns)))
    }

    /// Notes that the worker has nothing to do.
    pub(super) fn clear(&self) {
        self.load_ns.set(0);
        self.in_vain.set(0);
        self.looked_ns.set(0);
        self.has_found.set(false);
    }
}
