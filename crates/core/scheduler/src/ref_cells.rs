//! Cells for values that several threads may read at a time: each a `RefCell` whose count of
//! borrows is atomic, and which may be empty.
//!
//! Nobody waits: whoever comes at the wrong time is refused. So they are for values whose readers
//! and writers are kept apart by something else. The count is there to find an error in that, and
//! only where debug assertions are on: two atomic additions per read are a third of what a short
//! module of an event graph costs. That is why reading is `unsafe`. A cell's state takes two bytes,
//! where an `RwLock<Option<T>>` takes twelve and more beside the value: of small values, three
//! times as many fit in a cache.
//!
//! A cell's state is a word:
//!
//! | value | means |
//! |---|---|
//! | `EMPTY` | there is no value |
//! | `BUSY` | somebody is about to write it, or to take it out |
//! | anything between | there is a value, and it is lent to so many less `FULL` |
//!
//! Only who has made the state `BUSY` writes the value. While it is read, the state says that it is
//! lent (where it counts), and whoever reads has seen to it that nobody makes it `BUSY`.

use crate::sync::atomic::{AtomicU16, Ordering};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Deref;

const EMPTY: u16 = 0;
/// There is a value, and nobody reads it.
const FULL: u16 = 1;
const BUSY: u16 = u16::MAX;

/// Whether readers are counted.
const COUNTS: bool = cfg!(any(debug_assertions, loom, shuttle, miri));

/// So many cells. See the [module](self).
///
/// ```
/// use actinium_scheduler::ref_cells::AtomicRefCells;
///
/// let cells = AtomicRefCells::new(2);
/// // SAFETY: nothing is put or taken while it is read.
/// assert!(unsafe { cells.read(1) }.is_none());
/// assert_eq!(cells.put(1, "a"), Ok(None));
/// // SAFETY: as above.
/// assert_eq!(unsafe { cells.read(1) }.as_deref(), Some(&"a"));
/// assert_eq!(cells.put(1, "b"), Ok(Some("a")));
/// assert_eq!((cells.take(1), cells.take(1)), (Some("b"), None));
/// ```
pub struct AtomicRefCells<T> {
    states: Box<[AtomicU16]>,
    /// As many.
    values: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: they own their values.
unsafe impl<T: Send> Send for AtomicRefCells<T> {}
// SAFETY: several threads read a value at a time (T: Sync), and one may take out what another has
// put in (T: Send). The state says who may do what, see the module.
unsafe impl<T: Send + Sync> Sync for AtomicRefCells<T> {}

impl<T> AtomicRefCells<T> {
    /// So many empty ones.
    #[must_use]
    pub fn new(count: usize) -> Self {
        AtomicRefCells {
            states: (0..count).map(|_| AtomicU16::new(EMPTY)).collect(),
            values: (0..count).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.states.len()
    }

    /// Lends the value of a cell. `None`: there is none, or somebody is about to write it.
    ///
    /// Where debug assertions are on, the value is counted as lent: then [`put`](Self::put) and
    /// [`take`](Self::take) refuse, instead of doing what they must not.
    ///
    /// # Safety
    /// Whatever was put into this cell was put before, as one thread sees it or by what
    /// synchronizes the threads. Until the value that is returned is dropped, nobody puts anything
    /// into this cell, or takes anything out.
    #[inline(always)]
    pub unsafe fn read(&self, cell: usize) -> Option<Ref<'_, T>> {
        let (state, value) = self.at(cell)?;
        // Relaxed: nobody changes it meanwhile but readers, says the caller.
        if !(if COUNTS { count(state) } else { state.load(Ordering::Relaxed) != EMPTY }) {
            return None;
        }
        // SAFETY: the value is there, and nobody writes it: so says the caller, and the state where
        // it counts.
        let value = unsafe { (*value.get()).assume_init_ref() };
        Some(Ref { state, value })
    }

    /// Puts a value into a cell; returns the one that lay there.
    ///
    /// # Errors
    /// If the one that lies there is lent, somebody else is about to write it, or there is no such
    /// cell: gives the value back.
    #[inline(always)]
    pub fn put(&self, cell: usize, value: T) -> Result<Option<T>, T> {
        let Some((state, place)) = self.at(cell) else { return Err(value) };
        // Relaxed: `enter` says what holds.
        let was = if state.load(Ordering::Relaxed) == FULL { FULL } else { EMPTY };
        if !enter(state, was) {
            return Err(value);
        }
        // SAFETY: the state is BUSY by us, so nobody else reads or writes the value; it was there
        // if the state was FULL.
        let old = unsafe {
            let place = &mut *place.get();
            let old = (was == FULL).then(|| place.assume_init_read());
            place.write(value);
            old
        };
        // Release: pairs with the acquire in `count` and `enter`: the value is seen.
        state.store(FULL, Ordering::Release);
        Ok(old)
    }

    /// Takes the value out of a cell. `None`: there is none, it is lent, or somebody is about to
    /// write it.
    pub fn take(&self, cell: usize) -> Option<T> {
        let (state, value) = self.at(cell)?;
        if !enter(state, FULL) {
            return None;
        }
        // SAFETY: the state is BUSY by us, so nobody else reads or writes the value; it was FULL.
        let value = unsafe { (*value.get()).assume_init_read() };
        // Release: pairs with the acquire in `enter`: the value has been read before another one is
        // written. No model needs it: the cell's own memory is not loom's.
        state.store(EMPTY, Ordering::Release);
        Some(value)
    }

    #[inline(always)]
    fn at(&self, cell: usize) -> Option<(&AtomicU16, &UnsafeCell<MaybeUninit<T>>)> {
        Some((self.states.get(cell)?, self.values.get(cell)?))
    }
}

/// Counts a reader, if there is a value that nobody is about to write.
fn count(state: &AtomicU16) -> bool {
    // Nobody counts on to BUSY: that would be as many readers.
    let is_readable = |now: u16| (now != EMPTY && now < BUSY - 1).then(|| now + 1);
    // Acquire: pairs with the release in `put`: the value is seen. Relaxed on failure: it is tried
    // again, or refused.
    state.fetch_update(Ordering::Acquire, Ordering::Relaxed, is_readable).is_ok()
}

/// Makes a state BUSY, if it is this one.
#[inline(always)]
fn enter(state: &AtomicU16, from: u16) -> bool {
    // Acquire: pairs with the release in `put`, in `take`, and where a reader ends: what they did
    // with the value is over. Relaxed on failure: then nothing is done.
    state.compare_exchange(from, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

impl<T> Drop for AtomicRefCells<T> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<T>() {
            (0..self.count()).for_each(|cell| drop(self.take(cell)));
        }
    }
}

impl<T> fmt::Debug for AtomicRefCells<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AtomicRefCells({})", self.count())
    }
}

/// A value while it is lent.
pub struct Ref<'a, T> {
    state: &'a AtomicU16,
    value: &'a T,
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> Drop for Ref<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if COUNTS {
            // Release: pairs with the acquire in `enter`: it is read no more.
            self.state.fetch_sub(1, Ordering::Release);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn values_are_dropped_once() {
        let value = Arc::new(());
        let count = || Arc::strong_count(&value);
        let cells = AtomicRefCells::new(3);
        assert_eq!(cells.put(1, value.clone()), Ok(None));
        assert!(cells.put(1, value.clone()).is_ok_and(|old| old.is_some()));
        assert_eq!(count(), 2);
        drop(cells.take(1));
        assert_eq!(count(), 1);
        assert_eq!(
            (cells.put(0, value.clone()), cells.put(2, value.clone())),
            (Ok(None), Ok(None))
        );
        assert!(cells.put(3, value.clone()).is_err() && cells.take(3).is_none());
        assert_eq!(count(), 3);
        drop(cells);
        assert_eq!(count(), 1);
    }

    fn read<T>(cells: &AtomicRefCells<T>) -> Option<Ref<'_, T>> {
        // SAFETY: readers are counted here: what is put or taken meanwhile is refused.
        unsafe { cells.read(0) }
    }

    #[test]
    fn what_is_read_stays() {
        if !COUNTS {
            return;
        }
        let cells = AtomicRefCells::new(1);
        assert_eq!(cells.put(0, vec![1]), Ok(None));
        let (first, second) = (read(&cells).expect("there"), read(&cells).expect("there"));
        drop(first);
        assert_eq!((cells.take(0), cells.put(0, vec![2])), (None, Err(vec![2])));
        assert_eq!(*second, [1]);
        drop(second);
        assert_eq!(cells.take(0), Some(vec![1]));
    }

    #[test]
    fn readers_without_number_are_refused() {
        if !COUNTS {
            return;
        }
        let cells = AtomicRefCells::new(1);
        assert_eq!(cells.put(0, 7), Ok(None));
        // As if so many had been forgotten.
        cells.states[0].store(BUSY - 2, Ordering::Relaxed); // Relaxed: no other thread.
        std::mem::forget(read(&cells).expect("one more"));
        assert!(read(&cells).is_none());
        assert_eq!((cells.put(0, 8), cells.take(0)), (Err(8), None));
    }
}
