//! What only so many may use at a time: a queue, never a lock. Whoever finds it taken leaves its module in the queue and does
//! something else; whoever releases it hands it to the first in the queue.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A module of an event that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) slot: u32,
    pub(crate) module: u16,
    pub(crate) since_ns: u64,
}

#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) name: String,
    state: Mutex<(u32, VecDeque<Waiting>)>,
    /// How many wait: for the sampler.
    pub(crate) waiting: AtomicUsize,
    /// Nanoseconds that modules waited for it.
    pub(crate) waited_ns: AtomicU64,
}

impl Resource {
    pub(crate) fn new(name: String, most: u32) -> Self {
        Resource {
            name,
            state: Mutex::new((most, VecDeque::new())),
            waiting: AtomicUsize::new(0),
            waited_ns: AtomicU64::new(0),
        }
    }

    /// True: the caller has it. False: the module is in the queue and will be handed it.
    pub(crate) fn acquire(&self, waiting: Waiting) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 > 0 {
            state.0 -= 1;
            return true;
        }
        state.1.push_back(waiting);
        // Relaxed: a statistic.
        self.waiting.store(state.1.len(), Ordering::Relaxed);
        false
    }

    /// Gives it back; whoever is returned has it now.
    pub(crate) fn release(&self) -> Option<Waiting> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let next = state.1.pop_front();
        if next.is_none() {
            state.0 += 1;
        }
        // Relaxed: a statistic.
        self.waiting.store(state.1.len(), Ordering::Relaxed);
        next
    }
}
