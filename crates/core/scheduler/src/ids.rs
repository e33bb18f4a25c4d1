//! Workers' ids, of which no two workers that live have the same: a runnable's owner is told by it.
//!
//! They are half of 32 bits, and a long job or a fuzzer may build a thousand schedulers a second.
//! So those of a scheduler that is gone are given again, which confuses nobody: whatever names an
//! owner keeps that owner's scheduler.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A runnable's owner: nobody.
pub const NOBODY: u32 = 0;
/// A runnable's owner: it has ended.
pub const DEAD: u32 = u32::MAX;
/// A runnable's owner: added to a worker's id while the runnable lies in that worker's steal queue.
pub const IN_TRANSIT: u32 = 1 << 31;

/// The first id: 0 is nobody's.
const FIRST: u32 = NOBODY + 1;

/// The ids of living schedulers' workers, in order. The standard library's lock, not the model
/// checkers': ids mean nothing to them.
static TAKEN: Mutex<Vec<Range<u32>>> = Mutex::new(Vec::new());

/// The ids of one scheduler's workers, which are nobody else's until this is dropped.
#[derive(Debug)]
pub(crate) struct Ids(Range<u32>);

impl Ids {
    /// Ids for so many workers. O(number of schedulers).
    ///
    /// # Panics
    /// If living schedulers have taken all 2^31 - 1 of them.
    pub(crate) fn take(workers: usize) -> Self {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let place = free_range(&taken, workers);
        let Some((at, ids)) = place else {
            drop(taken);
            panic!("no ids are left for {workers} workers: living schedulers have all of them");
        };
        taken.insert(at, ids.clone());
        Ids(ids)
    }

    /// The first of them.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.0.start
    }
}

impl Drop for Ids {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|ids| *ids != self.0);
    }
}

/// The lowest ids that are free in a row, and where they stand among those taken.
fn free_range(taken: &[Range<u32>], workers: usize) -> Option<(usize, Range<u32>)> {
    let workers = u32::try_from(workers).ok()?;
    let ends = taken.iter().map(|ids| ids.start).chain([IN_TRANSIT]);
    let starts = [FIRST].into_iter().chain(taken.iter().map(|ids| ids.end));
    let gap = starts.zip(ends).position(|(start, end)| end - start >= workers)?;
    let start = gap.checked_sub(1).map_or(FIRST, |before| taken[before].end);
    Some((gap, start..start + workers))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_lowest_free_and_never_beyond_the_end() {
        assert_eq!(free_range(&[], 3), Some((0, 1..4)));
        assert_eq!(free_range(&[], IN_TRANSIT as usize - 1), Some((0, 1..IN_TRANSIT)));
        assert_eq!(free_range(&[], IN_TRANSIT as usize), None);
        assert_eq!(free_range(&[], usize::MAX), None);
        let taken = [1..4, 6..10, 10..IN_TRANSIT - 2];
        assert_eq!(free_range(&taken, 2), Some((1, 4..6)));
        assert_eq!(free_range(&taken[..2], 3), Some((2, 10..13)));
        assert_eq!(free_range(&taken, 3), None, "nothing wraps");
        assert_eq!(
            free_range(&[1..4, 4..IN_TRANSIT - 2], 2),
            Some((2, IN_TRANSIT - 2..IN_TRANSIT))
        );
    }

    #[test]
    fn ids_of_schedulers_that_live_differ_and_those_of_others_come_again() {
        let (a, b) = (Ids::take(2), Ids::take(3));
        assert!(a.0.end <= b.0.start || b.0.end <= a.0.start);
        let last = (IN_TRANSIT - 1) as usize;
        let refused = std::panic::catch_unwind(|| Ids::take(last));
        assert!(refused.is_err(), "two live");
        drop((a, b));
        // More than there are, one after the other.
        (0..8).for_each(|_| drop(Ids::take(1 << 29)));
    }
}
