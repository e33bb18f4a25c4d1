//! Records of what workers do, kept while somebody asks for them.
//!
//! Each worker writes to a ring of its own, and the ring forgets the oldest record when it is full.
//! A lock guards the ring against whoever takes the records. The worker never waits for that lock:
//! what it cannot write it counts as lost, as it counts what the ring forgets.
//!
//! Figures by kinds are kept likewise: see [`crate::measure`].
//!
//! While nobody asks, a worker looks at one flag once a round.

use crate::measure::{Measure, Measured, Measuring};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
// The standard library's lock, not the model checkers': no worker waits for it.
use std::sync::{Mutex, PoisonError, TryLockError};

/// What a worker did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// It ran a turn of an actor, or of something of the runtime's own.
    Turn {
        /// The actor's type.
        kind: &'static str,
        /// The actor's identity as a number; 0: no actor.
        number: u64,
        /// Messages that were handled in the turn.
        handled: u64,
    },
    /// It had nothing to do, and slept.
    Sleep,
    /// It took so many actors from another worker's queue.
    Steal {
        /// The index of that worker.
        from: usize,
        /// How many.
        actors: u64,
    },
    /// So many actors are at home at another worker from now on, or at this one if it names itself.
    Move {
        /// The index of their new worker.
        to: usize,
        /// How many.
        actors: u64,
    },
    /// It woke another worker.
    Wake {
        /// The index of that worker.
        worker: usize,
    },
    /// It changed the number of workers that are given work.
    Scale {
        /// How many worked before.
        from: usize,
        /// How many work now.
        to: usize,
    },
}

/// What a worker did, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it began, in nanoseconds since the scheduler was made.
    pub begin_ns: u64,
    /// How long it took, in nanoseconds; 0 for what is a moment.
    pub took_ns: u64,
    /// What was done.
    pub act: Act,
}

/// The records of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerRecords {
    /// In the order in which they ended.
    pub records: Vec<Record>,
    /// How many were lost since the last ones were taken: the ring was full, or locked.
    pub lost: u64,
}

#[derive(Debug, Default)]
struct Ring {
    records: Mutex<VecDeque<Record>>,
    lost: AtomicU64,
}

/// The records of a scheduler's workers.
#[derive(Debug)]
pub struct Recording {
    /// What is kept: [`RECORDS`], [`FIGURES`], and in other bits how often that has begun.
    keeps: AtomicU32,
    /// The numbers of those whose turns are recorded, rising; none: all.
    chosen: Mutex<Arc<[u64]>>,
    per_worker: AtomicUsize,
    rings: Box<[Ring]>,
    measuring: Measuring,
}

/// Records are kept.
pub(crate) const RECORDS: u32 = 1;
/// Figures are kept.
pub(crate) const FIGURES: u32 = 2;
/// Another beginning, below the highest bit, which is never set.
const BEGINNING: u32 = 4;
const HIGHEST: u32 = 1 << 31;

impl Recording {
    pub(crate) fn new(workers: usize) -> Self {
        Recording {
            keeps: AtomicU32::new(0),
            chosen: Mutex::default(),
            per_worker: AtomicUsize::new(1),
            rings: (0..workers).map(|_| Ring::default()).collect(),
            measuring: Measuring::new(workers),
        }
    }

    /// Whether records are kept.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.keeps() & RECORDS != 0
    }

    /// What is kept: [`RECORDS`], [`FIGURES`]. Another value if that has begun again.
    #[inline]
    pub(crate) fn keeps(&self) -> u32 {
        // Relaxed: a worker may learn of it a round later.
        self.keeps.load(Ordering::Relaxed)
    }

    /// The same, for a worker that then looks at what was chosen.
    pub(crate) fn keeps_now(&self) -> u32 {
        // Acquire: pairs with the release in `start_of`.
        self.keeps.load(Ordering::Acquire)
    }

    /// Keeps the latest so many records of each worker from now on, at least one.
    pub fn start(&self, per_worker: usize) {
        self.start_of(per_worker, Vec::new());
    }

    /// The same; of turns, only those of runnables with these numbers ([`VTable::number`]), unless
    /// there are none.
    ///
    /// [`VTable::number`]: crate::VTable::number
    pub fn start_of(&self, per_worker: usize, mut numbers: Vec<u64>) {
        numbers.sort_unstable();
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = numbers.into();
        // Relaxed: a worker that sees it late keeps fewer records for a moment.
        self.per_worker.store(per_worker.max(1), Ordering::Relaxed);
        let begun = |keeps: u32| Some(keeps.wrapping_add(BEGINNING) & !HIGHEST | RECORDS);
        // Release: pairs with the acquire in `keeps_now`: who sees this finds what was chosen.
        // Relaxed on failure: it is tried again, and always succeeds.
        let _ = self.keeps.fetch_update(Ordering::Release, Ordering::Relaxed, begun);
    }

    /// The numbers of those whose turns are recorded, rising; none: all. `None`: the caller would
    /// have to wait.
    pub(crate) fn chosen(&self) -> Option<Arc<[u64]>> {
        match self.chosen.try_lock() {
            Ok(chosen) => Some(chosen.clone()),
            Err(TryLockError::Poisoned(chosen)) => Some(chosen.into_inner().clone()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Keeps no further records, once each worker has ended its round. Those that were kept can
    /// still be taken.
    pub fn stop(&self) {
        // Relaxed: as in `keeps`.
        self.keeps.fetch_and(!RECORDS, Ordering::Relaxed);
    }

    /// Keeps figures of this, too, from now on, until [`end_measuring`](Recording::end_measuring)
    /// with the number that is returned.
    pub fn measure(&self, measure: Measure) -> u64 {
        self.measuring.begin(measure, || {
            // Relaxed: as in `keeps`.
            self.keeps.fetch_or(FIGURES, Ordering::Relaxed);
        })
    }

    /// Keeps no further figures for the one who was given this number.
    pub fn end_measuring(&self, number: u64) {
        self.measuring.end(number, || {
            // Relaxed: as in `keeps`.
            self.keeps.fetch_and(!FIGURES, Ordering::Relaxed);
        });
    }

    /// What was measured since the scheduler was made. It lacks what workers have noted in the
    /// round that they are in.
    pub fn measured(&self) -> Measured {
        self.measuring.measured()
    }

    /// What is measured.
    pub(crate) fn measuring(&self) -> &Measuring {
        &self.measuring
    }

    /// Takes all records of each worker, by index.
    pub fn take(&self) -> Vec<WorkerRecords> {
        self.rings.iter().map(Ring::take).collect()
    }

    /// Adds a record of worker `index`, on its thread.
    pub(crate) fn add(&self, index: usize, record: Record) {
        // Relaxed: as in `start`.
        self.rings[index].add(record, self.per_worker.load(Ordering::Relaxed));
    }
}

impl Ring {
    fn add(&self, record: Record, most: usize) {
        let mut records = match self.records.try_lock() {
            Ok(records) => records,
            Err(TryLockError::Poisoned(records)) => records.into_inner(),
            Err(TryLockError::WouldBlock) => return self.lose(),
        };
        while records.len() >= most {
            records.pop_front();
            self.lose();
        }
        records.push_back(record);
    }

    fn lose(&self) {
        // Relaxed: only a count.
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self) -> WorkerRecords {
        let records =
            std::mem::take(&mut *self.records.lock().unwrap_or_else(PoisonError::into_inner));
        // Relaxed: only a count.
        WorkerRecords { records: records.into(), lost: self.lost.swap(0, Ordering::Relaxed) }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn at(begin_ns: u64) -> Record {
        Record { begin_ns, took_ns: 0, act: Act::Sleep }
    }

    #[test]
    fn a_full_ring_forgets_the_oldest_and_says_how_many() {
        let recording = Recording::new(2);
        recording.start(2);
        (0..5).for_each(|n| recording.add(1, at(n)));
        let taken = recording.take();
        assert_eq!(taken[0], WorkerRecords::default());
        assert_eq!(taken[1], WorkerRecords { records: vec![at(3), at(4)], lost: 3 });
        assert_eq!(recording.take()[1], WorkerRecords::default(), "taken once");
    }

    #[test]
    fn a_worker_does_not_wait_for_whoever_takes_its_records() {
        let recording = Recording::new(1);
        recording.start(8);
        let taker = recording.rings[0].records.lock();
        recording.add(0, at(1));
        drop(taker);
        recording.add(0, at(2));
        assert_eq!(recording.take(), [WorkerRecords { records: vec![at(2)], lost: 1 }]);
    }

    #[test]
    fn a_ring_keeps_at_least_one() {
        let recording = Recording::new(1);
        recording.start(0);
        (0..2).for_each(|n| recording.add(0, at(n)));
        assert_eq!(recording.take(), [WorkerRecords { records: vec![at(1)], lost: 1 }]);
    }
}
