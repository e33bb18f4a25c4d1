//! Counts of a run's events, and whether it takes more. They outlive the run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See the module. On cache lines of its own, for each event writes it.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Counts {
    /// Ask the source for no more events.
    stop: AtomicBool,
    failed_hard: AtomicBool,
    pub(crate) begun: AtomicU64,
    pub(crate) done: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(crate) in_flight_max: AtomicU64,
    /// Those in flight when the run was given up.
    pub(crate) cancelled: AtomicU64,
}

impl Counts {
    /// Whether no more events are to be begun.
    pub(crate) fn is_stopped(&self) -> bool {
        // Relaxed: a hint.
        self.stop.load(Ordering::Relaxed)
    }

    /// No more events are begun.
    pub(crate) fn stop(&self) {
        // Relaxed: a hint; the next one to feed sees it.
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn count_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed); // Relaxed: a statistic.
    }

    pub(crate) fn count_failed(&self, ends: bool) {
        self.failed.fetch_add(1, Ordering::Relaxed); // Relaxed: a statistic.
        if ends {
            self.fail();
        }
    }

    pub(crate) fn fail(&self) {
        // Relaxed: read when the workers have ended, and as a hint.
        self.failed_hard.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub(crate) fn ended_by_failure(&self) -> bool {
        // Relaxed: read when the workers have ended.
        self.failed_hard.load(Ordering::Relaxed)
    }
}
