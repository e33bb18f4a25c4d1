//! What sampled messages contain, of runnables that somebody looks at: see
//! [`Measure::contents`](crate::measure::Measure::contents).
//!
//! Each worker keeps the last few texts of each. A lock guards them against whoever reads, and the
//! worker never waits for it: then it keeps none.

use std::collections::{BTreeMap, VecDeque};
// The standard library's lock, not the model checkers': no worker waits for it.
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The last texts that are kept of a runnable.
const KEPT: usize = 20;

/// What a message contained, as a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Contents {
    /// When it was handled, in nanoseconds since the scheduler was made.
    pub at_ns: u64,
    /// The name of the variant, or of the actor's method; empty if its type names none.
    pub name: &'static str,
    /// The text.
    pub text: String,
}

/// The texts of one worker, by the numbers of the runnables.
#[derive(Debug, Default)]
pub(crate) struct KeptContents(Mutex<BTreeMap<u64, VecDeque<Contents>>>);

impl KeptContents {
    pub(crate) fn add(&self, number: u64, contents: Contents) {
        let mut kept = match self.0.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(kept)) => kept.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let texts = kept.entry(number).or_default();
        texts.push_back(contents);
        if texts.len() > KEPT {
            texts.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, VecDeque<Contents>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the texts of runnables that nobody looks at any more.
    pub(crate) fn retain(&self, is_wanted: impl Fn(u64) -> bool) {
        self.lock().retain(|&number, _| is_wanted(number));
    }
}

/// The last texts of all workers, oldest first.
pub(crate) fn last_of<'a>(
    workers: impl Iterator<Item = &'a KeptContents>,
) -> BTreeMap<u64, Vec<Contents>> {
    let mut all = BTreeMap::<u64, Vec<Contents>>::new();
    for worker in workers {
        for (&number, texts) in &*worker.lock() {
            all.entry(number).or_default().extend(texts.iter().cloned());
        }
    }
    for texts in all.values_mut() {
        texts.sort_by_key(|it| it.at_ns);
        texts.drain(..texts.len().saturating_sub(KEPT));
    }
    all
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn at(at_ns: u64) -> Contents {
        Contents { at_ns, name: "add", text: at_ns.to_string() }
    }

    #[test]
    fn the_last_of_all_workers_are_kept() {
        let workers = [KeptContents::default(), KeptContents::default()];
        (0..100).for_each(|n| workers[n as usize % 2].add(7, at(n)));
        workers[0].add(8, at(3));
        let all = last_of(workers.iter());
        assert_eq!(all[&7], (80..100).map(at).collect::<Vec<_>>());
        assert_eq!(all[&8], [at(3)]);
        workers.iter().for_each(|it| it.retain(|number| number == 8));
        assert_eq!(last_of(workers.iter()).keys().collect::<Vec<_>>(), [&8]);
    }

    #[test]
    fn a_worker_does_not_wait_for_whoever_reads() {
        let worker = KeptContents::default();
        let reader = worker.lock();
        worker.add(7, at(1));
        drop(reader);
        assert!(worker.lock().is_empty());
    }
}
