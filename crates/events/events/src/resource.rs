//! Resources that a limited number of calls may use at a time: a queue, never a lock. A worker that
//! finds a resource taken leaves its module in the queue and does something else. A worker that
//! releases it hands it to the oldest event in the queue.
//!
//! A resource that only one call may use at a time has a *home*, a worker in whose cache its state
//! is. A run goes there when that pays, as in `affine`: when it takes longer than a wake-up and
//! home has nothing else to do; it never waits for home. A module that is handed the resource runs
//! where the resource was used just before. After a few runs in a row on other workers, the home is
//! the worker of the last one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// After so many runs in a row away from home, home is where it ran last.
const AWAY_TO_REHOME: u32 = 4;

/// A module of an event that waits. The oldest event comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Waiting {
    pub(crate) number: u64,
    pub(crate) module: u16,
    pub(crate) slot: u32,
    pub(crate) since_ns: u64,
}

/// On cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Resource {
    pub(crate) name: String,
    state: Mutex<(u32, BinaryHeap<Reverse<Waiting>>)>,
    /// The worker where its state is; nobody's for what several may use.
    home: AtomicUsize,
    /// Runs in a row that were elsewhere.
    away: AtomicU32,
    /// How many wait: for the sampler.
    pub(crate) waiting: AtomicUsize,
    /// Nanoseconds that modules waited for it.
    pub(crate) waited_ns: AtomicU64,
}

impl Resource {
    /// `home`: at first.
    pub(crate) fn new(name: String, most: u32, home: usize) -> Self {
        Resource {
            name,
            state: Mutex::new((most, BinaryHeap::new())),
            home: AtomicUsize::new(if most == 1 { home } else { usize::MAX }),
            away: AtomicU32::new(0),
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
        state.1.push(Reverse(waiting));
        // Relaxed: a statistic.
        self.waiting.store(state.1.len(), Ordering::Relaxed);
        false
    }

    /// Gives it back; whoever is returned has it now.
    pub(crate) fn release(&self) -> Option<Waiting> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let next = state.1.pop().map(|Reverse(next)| next);
        if next.is_none() {
            state.0 += 1;
        }
        // Relaxed: a statistic.
        self.waiting.store(state.1.len(), Ordering::Relaxed);
        next
    }

    /// Where its state is, if that is somewhere.
    pub(crate) fn home(&self) -> Option<usize> {
        // Relaxed: a hint.
        Some(self.home.load(Ordering::Relaxed)).filter(|&home| home != usize::MAX)
    }

    /// Notes that the resource is used at this worker, and returns whether that is its home. Only
    /// the holder of the resource calls this.
    pub(crate) fn runs_at(&self, worker: usize) -> bool {
        let Some(home) = self.home() else { return false };
        // Relaxed: only one has it at a time, and the queue's lock orders those who do.
        let away = if home == worker { 0 } else { self.away.load(Ordering::Relaxed) + 1 };
        if away >= AWAY_TO_REHOME {
            self.home.store(worker, Ordering::Relaxed);
        }
        self.away.store(away % AWAY_TO_REHOME, Ordering::Relaxed);
        home == worker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(number: u64) -> Waiting {
        Waiting { number, module: 0, slot: number as u32, since_ns: 0 }
    }

    #[test]
    fn the_oldest_event_in_the_queue_comes_first() {
        let resource = Resource::new("it".to_owned(), 1, 0);
        assert!(resource.acquire(waiting(5)));
        assert!([7, 3, 9].iter().all(|&number| !resource.acquire(waiting(number))));
        let order: Vec<_> = std::iter::from_fn(|| resource.release()).map(|it| it.number).collect();
        assert_eq!(order, [3, 7, 9]);
        assert!(resource.acquire(waiting(1)), "it was given back");
    }

    #[test]
    fn home_follows_what_runs_elsewhere_again_and_again() {
        let resource = Resource::new("it".to_owned(), 1, 2);
        assert!(resource.runs_at(2));
        assert_eq!([1, 1, 1].map(|worker| resource.runs_at(worker)), [false; 3]);
        assert!(resource.runs_at(2), "not often enough in a row");
        assert_eq!([1, 1, 1, 1].map(|worker| resource.runs_at(worker)), [false; 4]);
        assert!(resource.runs_at(1));
        assert_eq!(Resource::new("many".to_owned(), 2, 0).home(), None);
    }
}
