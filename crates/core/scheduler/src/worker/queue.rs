//! A worker's run queue: a growing ring, of which both ends are one load, one mask and one store
//! away.
//!
//! `VecDeque` keeps a head and a length, both of which each end writes, and does not know that its
//! capacity is a power of two: that is ten instructions more in each turn.

use crate::owned::Owned;
use crate::runnable::Runnable;
use std::mem::MaybeUninit;

/// Runnables that wait for their turns, all of them this worker's: evidence of that goes in, and
/// comes out.
#[derive(Debug)]
pub(super) struct RunQueue {
    /// A power of two of places; those from `head` up to `tail`, both counted round and round, hold
    /// something.
    places: Box<[MaybeUninit<Runnable>]>,
    /// One less than there are places.
    mask: usize,
    head: usize,
    tail: usize,
}

impl RunQueue {
    /// An empty queue with room for so many, a power of two.
    pub(super) fn new(capacity: usize) -> Self {
        assert!(capacity.is_power_of_two(), "a run queue of {capacity}");
        RunQueue { places: Box::new_uninit_slice(capacity), mask: capacity - 1, head: 0, tail: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    #[inline(always)]
    fn place(&mut self, at: usize) -> &mut MaybeUninit<Runnable> {
        // SAFETY: the mask is below the length.
        unsafe { self.places.get_unchecked_mut(at & self.mask) }
    }

    #[inline(always)]
    pub(super) fn push_back(&mut self, owned: Owned<'_>) {
        self.push(owned.runnable());
    }

    #[inline(always)]
    pub(super) fn pop_front<'a>(&mut self) -> Option<Owned<'a>> {
        // SAFETY: evidence of it was put in, and was given up for that.
        self.pop().map(|runnable| unsafe { Owned::new(runnable) })
    }

    pub(super) fn pop_back<'a>(&mut self) -> Option<Owned<'a>> {
        // SAFETY: as in `pop_front`.
        self.pop_last().map(|runnable| unsafe { Owned::new(runnable) })
    }

    /// Takes out what stands at `index`; those behind it move up.
    pub(super) fn remove<'a>(&mut self, index: usize) -> Option<Owned<'a>> {
        // SAFETY: as in `pop_front`.
        self.take_out(index).map(|runnable| unsafe { Owned::new(runnable) })
    }

    /// Puts something behind the first so many, or last.
    pub(super) fn push_behind(&mut self, others: usize, owned: Owned<'_>) {
        self.insert(others, owned.runnable());
    }

    fn insert(&mut self, index: usize, runnable: Runnable) {
        let before = index.min(self.len());
        if self.len() > self.mask {
            self.grow();
        }
        self.head = self.head.wrapping_sub(1);
        for step in 0..before {
            let at = self.head.wrapping_add(step);
            *self.place(at) = *self.place(at.wrapping_add(1));
        }
        self.place(self.head.wrapping_add(before)).write(runnable);
    }

    #[inline(always)]
    fn push(&mut self, runnable: Runnable) {
        if self.len() > self.mask {
            self.grow();
        }
        self.place(self.tail).write(runnable);
        self.tail = self.tail.wrapping_add(1);
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Runnable> {
        if self.head == self.tail {
            return None;
        }
        // SAFETY: between head and tail.
        let runnable = unsafe { self.place(self.head).assume_init_read() };
        self.head = self.head.wrapping_add(1);
        Some(runnable)
    }

    fn pop_last(&mut self) -> Option<Runnable> {
        if self.head == self.tail {
            return None;
        }
        self.tail = self.tail.wrapping_sub(1);
        // SAFETY: it was between head and tail.
        Some(unsafe { self.place(self.tail).assume_init_read() })
    }

    /// Iterates from the front to the back.
    pub(super) fn iter(&self) -> impl Iterator<Item = Runnable> + '_ {
        (0..self.len()).map_while(|index| self.at(index))
    }

    /// What stands at `index`.
    pub(super) fn at(&self, index: usize) -> Option<Runnable> {
        let at = self.head.wrapping_add(index) & self.mask;
        // SAFETY: between head and tail; the mask is below the length.
        (index < self.len()).then(|| unsafe { self.places.get_unchecked(at).assume_init_read() })
    }

    fn take_out(&mut self, index: usize) -> Option<Runnable> {
        if index >= self.len() {
            return None;
        }
        let mut at = self.head.wrapping_add(index);
        // SAFETY: between head and tail.
        let removed = unsafe { self.place(at).assume_init_read() };
        self.tail = self.tail.wrapping_sub(1);
        while at != self.tail {
            let next = at.wrapping_add(1);
            *self.place(at) = *self.place(next);
            at = next;
        }
        Some(removed)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut larger = RunQueue::new(self.places.len() * 2);
        while let Some(runnable) = self.pop() {
            larger.push(runnable);
        }
        *self = larger;
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::ptr::NonNull;

    /// Never looked into: a queue only moves them.
    fn runnable(n: usize) -> Runnable {
        let nowhere = std::ptr::without_provenance_mut(8 * (n + 1));
        Runnable(NonNull::new(nowhere).expect("not null"))
    }

    #[test]
    fn it_behaves_like_a_deque_while_it_wraps_and_grows() {
        let (mut queue, mut model) = (RunQueue::new(2), VecDeque::new());
        // Its ends are counted round and round: they come to the end of their range on the way.
        (queue.head, queue.tail) = (usize::MAX - 20, usize::MAX - 20);
        let mut state = 1u64;
        for n in 0..if cfg!(miri) { 100 } else { 2000 } {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            match state >> 60 {
                0..8 => {
                    queue.push(runnable(n));
                    model.push_back(runnable(n));
                }
                8..11 => assert_eq!(queue.pop(), model.pop_front()),
                11 => {
                    let index = state as usize % 8;
                    queue.insert(index, runnable(n));
                    model.insert(index.min(model.len()), runnable(n));
                }
                12..14 => assert_eq!(queue.pop_last(), model.pop_back()),
                _ => {
                    let index = state as usize % (model.len() + 1);
                    assert_eq!(queue.take_out(index), model.remove(index));
                }
            }
            assert_eq!(queue.len(), model.len());
            assert!(queue.iter().eq(model.iter().copied()));
        }
        while let Some(first) = model.pop_front() {
            assert_eq!(queue.pop(), Some(first));
        }
        assert_eq!(queue.pop(), None);
        assert_eq!((queue.len(), queue.pop_last()), (0, None));
    }
}
