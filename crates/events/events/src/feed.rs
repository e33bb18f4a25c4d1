//! The feed: the source, the slots that are free, and counts of events.

use crate::module::{ErasedSource, Transition};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) struct Feed {
    pub(crate) state: Mutex<State>,
    /// Ask the source for no more events.
    stop: AtomicBool,
    failed_hard: AtomicBool,
    pub(crate) done: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(crate) in_flight_max: AtomicU64,
}

pub(crate) struct State {
    /// Away while somebody asks it.
    pub(crate) source: Option<Box<dyn ErasedSource>>,
    pub(crate) free: Vec<u32>,
    pub(crate) slots: usize,
    /// The next event's.
    pub(crate) number: u64,
    pub(crate) barrier: Option<Transition>,
    /// Somebody wanted to ask the source while it was away: if it has nothing, it is asked once
    /// more, for that may have come meanwhile.
    pub(crate) again: bool,
    pub(crate) ended: bool,
}

impl Feed {
    pub(crate) fn new(source: Box<dyn ErasedSource>, slots: usize) -> Self {
        let free = (0..slots as u32).rev().collect();
        Feed {
            state: Mutex::new(State {
                source: Some(source),
                free,
                slots,
                number: 0,
                barrier: None,
                again: false,
                ended: false,
            }),
            stop: AtomicBool::new(false),
            failed_hard: AtomicBool::new(false),
            done: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            in_flight_max: AtomicU64::new(0),
        }
    }

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
