//! Records of what workers do, kept while somebody asks for them.
//!
//! Each worker writes to a ring of its own, and the ring forgets the oldest record when it is full.
//! A lock guards the ring against whoever takes the records. The worker never waits for that lock:
//! it writes elsewhere meanwhile, so a taker that is interrupted costs no records. What the ring
//! forgets is counted as lost.
//!
//! Figures by kinds are kept likewise: see [`crate::measure`].
//!
//! While nobody asks, a worker looks at one flag once a round.

use crate::measure::{Measure, Measured, Measuring};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
// The standard library's lock, not the model checkers': no worker waits for it.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Most names that are kept for [`Act::Call`]: those of a program that makes ever new ones must not
/// fill its memory.
const NAMES_MAX: usize = if cfg!(miri) { 1 << 6 } else { 1 << 16 };
/// What stands for the names beyond that.
const NAMELESS: &str = "(more names than are kept)";

/// A name in a record, which is small and a plain number. Whoever has the records asks
/// [`Recording::text`] for the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

/// The names in records: each once, by the numbers that stand for them.
#[derive(Debug, Default)]
struct Names {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Names {
    fn number(&mut self, text: &str) -> Name {
        if let Some(&number) = self.numbers.get(text) {
            return Name(number);
        }
        let text = if self.texts.len() >= NAMES_MAX { NAMELESS } else { text };
        if let Some(&number) = self.numbers.get(text) {
            return Name(number);
        }
        let (number, text): (u32, Arc<str>) = (self.texts.len() as u32, text.into());
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        Name(number)
    }
}

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
    /// So many actors are at another worker from now on, for good or for a while, or at home at
    /// this one if it names itself.
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
    /// It called something of the program's own within a turn: a module of a graph of events.
    Call {
        /// Its name.
        name: Name,
        /// What it was called for: the number of the event.
        event: u64,
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
    /// How many were lost since the last ones were taken: the ring was full, or two took at once.
    pub lost: u64,
}

#[derive(Debug, Default)]
struct Ring {
    records: Mutex<VecDeque<Record>>,
    /// What was added while somebody took `records`. Who takes both takes these last: so they are
    /// never later than what the next taker finds in `records`.
    meanwhile: Mutex<VecDeque<Record>>,
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
    names: Mutex<Names>,
    measuring: Measuring,
    /// How often records were begun to be kept: tells a guest whether they are still its own.
    begun: Mutex<u64>,
}

/// Records are kept.
pub(crate) const RECORDS: u32 = 1;
/// Figures are kept.
pub(crate) const FIGURES: u32 = 2;
/// Another beginning, below the highest bit, which is never set.
const BEGINNING: u32 = 4;
const HIGHEST: u32 = 1 << 31;

/// Records that are kept for a guest, who makes room for whoever wants them for sure: see
/// [`Recording::try_start`].
#[derive(Debug, PartialEq, Eq)]
pub struct Guest(u64);

impl Recording {
    pub(crate) fn new(workers: usize) -> Self {
        Recording {
            keeps: AtomicU32::new(0),
            chosen: Mutex::default(),
            per_worker: AtomicUsize::new(1),
            rings: (0..workers).map(|_| Ring::default()).collect(),
            names: Mutex::default(),
            measuring: Measuring::new(workers),
            begun: Mutex::new(0),
        }
    }

    /// The name that stands for this text in records, the same for the same text. It takes a lock:
    /// ask once, not at each call. Beyond 65,536 texts, one name stands for all further ones.
    pub fn name(&self, text: &str) -> Name {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).number(text)
    }

    /// The text that a name of this recording stands for.
    pub fn text(&self, Name(number): Name) -> Arc<str> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.texts.get(number as usize).cloned().unwrap_or_else(|| NAMELESS.into())
    }

    /// Only begins and ends wait for each other; workers do not come here.
    fn begun(&self) -> MutexGuard<'_, u64> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub fn start_of(&self, per_worker: usize, numbers: Vec<u64>) {
        self.start_as(&mut self.begun(), per_worker, numbers);
    }

    /// Does as [`start`](Self::start), unless records are kept already: for one who looks at a few
    /// now and then. A later `start` takes them over: then [`take_as`](Self::take_as) and
    /// [`stop_as`](Self::stop_as) do nothing.
    pub fn try_start(&self, per_worker: usize) -> Option<Guest> {
        let mut begun = self.begun();
        if self.is_on() {
            return None;
        }
        self.start_as(&mut begun, per_worker, Vec::new());
        Some(Guest(*begun))
    }

    fn start_as(&self, begun: &mut u64, per_worker: usize, mut numbers: Vec<u64>) {
        *begun += 1;
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
        try_lock(&self.chosen).map(|chosen| chosen.clone())
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

    /// Takes a guest's records; `None`: they are somebody else's by now.
    pub fn take_as(&self, guest: &Guest) -> Option<Vec<WorkerRecords>> {
        let begun = self.begun();
        (*begun == guest.0).then(|| self.take())
    }

    /// Keeps no further records for a guest; nothing happens if they are somebody else's by now.
    pub fn stop_as(&self, guest: Guest) {
        let begun = self.begun();
        if *begun == guest.0 {
            self.stop();
        }
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
        // The last one: who takes may have gone from the first to the second between two attempts.
        let places = [&self.records, &self.meanwhile, &self.records];
        let Some(mut records) = places.into_iter().find_map(try_lock) else { return self.lose() };
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
        let places = [&self.records, &self.meanwhile];
        let [mut records, meanwhile] = places
            .map(|it| std::mem::take(&mut *it.lock().unwrap_or_else(PoisonError::into_inner)));
        if !meanwhile.is_empty() {
            records.extend(meanwhile);
            records.make_contiguous().sort_by_key(|it| it.begin_ns.saturating_add(it.took_ns));
        }
        // Relaxed: only a count.
        WorkerRecords { records: records.into(), lost: self.lost.swap(0, Ordering::Relaxed) }
    }
}

/// `None`: somebody has it.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
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
        let ring = &recording.rings[0];
        let taker = ring.records.lock();
        (1..3).for_each(|n| recording.add(0, at(n)));
        drop(taker);
        // It takes the second place now.
        let taker = ring.meanwhile.lock();
        recording.add(0, at(3));
        drop(taker);
        let [records, meanwhile] =
            [&ring.records, &ring.meanwhile].map(|it| it.lock().map(|it| it.len()).ok());
        assert_eq!((records, meanwhile), (Some(1), Some(2)));
        let all = recording.take().remove(0);
        assert_eq!((all.records.len(), all.lost), (3, 0));
        assert_eq!(recording.take(), [WorkerRecords::default()]);
        // Two who take at once.
        let both = (ring.records.lock(), ring.meanwhile.lock());
        recording.add(0, at(4));
        drop(both);
        assert_eq!(recording.take()[0].lost, 1);
    }

    #[test]
    fn records_that_are_taken_while_a_worker_writes_are_in_order_or_counted() {
        let (recording, total) = (Recording::new(1), if cfg!(miri) { 200 } else { 100_000 });
        recording.start(usize::MAX);
        let (taken, lost) = std::thread::scope(|scope| {
            let worker = scope.spawn(|| (0..total).for_each(|n| recording.add(0, at(n))));
            let (mut taken, mut lost) = (Vec::new(), 0);
            let mut is_last = false;
            while !is_last {
                is_last = worker.is_finished();
                let records = recording.take().remove(0);
                taken.extend(records.records.into_iter().map(|it| it.begin_ns));
                lost += records.lost;
            }
            (taken, lost)
        });
        assert!(taken.is_sorted());
        assert_eq!(taken.len() as u64 + lost, total);
    }

    #[test]
    fn a_text_has_one_name_and_there_is_an_end_to_names() {
        let recording = Recording::new(1);
        let (a, b) = (recording.name("a"), recording.name("b"));
        assert_ne!(a, b);
        assert_eq!((recording.name("a"), &*recording.text(b)), (a, "b"));
        let others: Vec<Name> = (0..NAMES_MAX).map(|n| recording.name(&n.to_string())).collect();
        let last = NAMES_MAX - 3;
        assert_eq!(&*recording.text(others[last]), last.to_string());
        assert_eq!(recording.name("new"), others[NAMES_MAX - 1]);
        assert_eq!(&*recording.text(recording.name("newer")), NAMELESS);
        assert_eq!(recording.name("a"), a, "what has a name keeps it");
    }

    #[test]
    fn a_guest_makes_room_for_whoever_wants_the_records_for_sure() {
        let recording = Recording::new(1);
        let guest = recording.try_start(8).expect("nobody records");
        assert!(recording.try_start(8).is_none(), "one at a time");
        recording.add(0, at(1));
        assert_eq!(recording.take_as(&guest).expect("its own")[0].records, [at(1)]);
        recording.start(8);
        recording.add(0, at(2));
        assert!(recording.take_as(&guest).is_none());
        recording.stop_as(guest);
        assert!(recording.is_on() && recording.take()[0].records == [at(2)]);
        recording.stop();
        recording.stop_as(recording.try_start(8).expect("nobody records"));
        assert!(!recording.is_on());
    }

    #[test]
    fn a_ring_keeps_at_least_one() {
        let recording = Recording::new(1);
        recording.start(0);
        (0..2).for_each(|n| recording.add(0, at(n)));
        assert_eq!(recording.take(), [WorkerRecords { records: vec![at(1)], lost: 1 }]);
    }
}
