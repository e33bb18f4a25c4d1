//! A plain growing ring: the part of a mailbox that only the owner worker touches.
//!
//! It does not know its items' type, so that it can stand among an actor's untyped fields, next to
//! what else a turn touches; and it writes an item straight to its place. All of its users name the
//! same type (`ActorCell<A>`: `Envelope<A::Msg>`).

use actinium_scheduler::sync::atomic::{AtomicU32, Ordering};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Capacity in bytes when the first item comes, unless one item needs more: most mailboxes hold one
/// or two messages at a time, and a cache line's worth is then all that they touch.
const FIRST: usize = 64;
/// A ring that has grown beyond this is given back when it is empty.
const KEPT: u32 = 1024;

/// The untyped fields: nothing is allocated until the first item comes.
#[derive(Debug)]
pub(crate) struct RawRing {
    items: NonNull<u8>,
    /// A power of two, or 0.
    capacity: u32,
    head: u32,
}

// SAFETY: it holds Send items (its user sees to that: messages are Send) and is used by one thread
// at a time.
unsafe impl Send for RawRing {}

/// A ring whose items' type is known: a view of a [`RawRing`].
///
/// The length stands outside, in an atomic that the owner writes with plain stores, so that others
/// may look at it.
pub(crate) struct Ring<'a, T> {
    raw: &'a mut RawRing,
    len: &'a AtomicU32,
    items: PhantomData<T>,
}

impl RawRing {
    pub(crate) const fn new() -> Self {
        RawRing { items: NonNull::dangling(), capacity: 0, head: 0 }
    }

    /// Views it as a ring of `T`.
    ///
    /// # Safety
    /// Every view of this ring in its life is one of the same `T` with the same `len`, which nobody
    /// else writes and which starts at 0; and whoever drops the ring calls [`Ring::free`] first.
    #[inline(always)]
    pub(crate) unsafe fn of<'a, T>(&'a mut self, len: &'a AtomicU32) -> Ring<'a, T> {
        Ring { raw: self, len, items: PhantomData }
    }
}

impl<T> Ring<'_, T> {
    /// The number of items.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        // Relaxed: only this ring's user writes it.
        self.len.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set_len(&mut self, len: u32) {
        // Relaxed: others only want an estimate.
        self.len.store(len, Ordering::Relaxed);
    }

    /// Puts an item last. O(1), amortised.
    ///
    /// # Panics
    /// If it would hold 2^31 items.
    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        let len = self.len();
        if len == self.raw.capacity {
            self.grow();
        }
        let place = self.raw.head.wrapping_add(len) & (self.raw.capacity - 1);
        self.set_len(len + 1);
        // SAFETY: below the capacity, and not among the items.
        unsafe { self.raw.items.cast::<T>().add(place as usize).write(item) };
    }

    /// Puts an item behind the first `behind`, of which there are so many. O(`behind`), amortised.
    ///
    /// # Panics
    /// If it would hold 2^31 items.
    pub(crate) fn insert(&mut self, behind: u32, item: T) {
        assert!(behind <= self.len(), "behind items that are not there");
        let len = self.len();
        if len == self.raw.capacity {
            self.grow();
        }
        let place = self.raw.head.wrapping_sub(1) & (self.raw.capacity - 1);
        self.raw.head = place;
        self.set_len(len + 1);
        let items = self.raw.items.cast::<T>();
        // SAFETY: below the capacity, and not among the items.
        unsafe { items.add(place as usize).write(item) };
        for before in 0..behind {
            let at = |n: u32| (place.wrapping_add(n) & (self.raw.capacity - 1)) as usize;
            // SAFETY: both are among the items, for there are `behind` and the new one.
            unsafe { items.add(at(before)).swap(items.add(at(before + 1))) };
        }
    }

    /// Takes the first item out, to be read from the place returned before the ring is used again.
    #[inline(always)]
    pub(crate) fn pop_place(&mut self) -> Option<NonNull<T>> {
        let len = self.len();
        if len == 0 {
            return None;
        }
        let place = self.raw.head;
        self.raw.head = place.wrapping_add(1) & (self.raw.capacity - 1);
        self.set_len(len - 1);
        // SAFETY: below the capacity.
        Some(unsafe { self.raw.items.cast::<T>().add(place as usize) })
    }

    /// Takes the first item.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        // SAFETY: the first item, which the head has left.
        self.pop_place().map(|place| unsafe { place.read() })
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let raw = &mut *self.raw;
        let capacity = if raw.capacity == 0 {
            // The power of two of items that fit.
            1 << (FIRST / size_of::<T>().max(1)).max(1).ilog2()
        } else {
            raw.capacity.checked_mul(2).expect("2^31 messages in a mailbox")
        };
        let layout =
            Layout::array::<T>(capacity as usize).expect("a mailbox beyond the address space");
        if layout.size() != 0 {
            let old = Layout::array::<T>(raw.capacity as usize).expect("smaller than the new one");
            // Growing in place spares copying, and for large rings the page faults of a second
            // allocation.
            let items = if old.size() == 0 {
                // SAFETY: the size is not 0.
                unsafe { alloc(layout) }
            } else {
                // SAFETY: allocated here with the layout `old`; the new size is not 0 and was
                // checked by Layout.
                unsafe { realloc(raw.items.as_ptr(), old, layout.size()) }
            };
            raw.items = NonNull::new(items).unwrap_or_else(|| handle_alloc_error(layout));
        }
        // The ring was full: what had wrapped around, before the head, now follows the rest.
        // SAFETY: the new capacity is at least twice the old one, so both stretches lie in it and
        // do not overlap.
        unsafe {
            let items = raw.items.cast::<T>();
            items.add(raw.capacity as usize).copy_from_nonoverlapping(items, raw.head as usize);
        }
        raw.capacity = capacity;
    }

    fn dealloc(&mut self) {
        let layout = Layout::array::<T>(self.raw.capacity as usize)
            .expect("it was allocated with this layout");
        if layout.size() != 0 {
            // SAFETY: allocated by `grow` with this layout.
            unsafe { dealloc(self.raw.items.as_ptr(), layout) };
        }
    }

    /// Whether it holds much more memory than most mailboxes need.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        self.raw.capacity > KEPT
    }

    /// Drops all items and gives the memory back.
    pub(crate) fn free(&mut self) {
        while self.pop().is_some() {}
        self.dealloc();
        *self.raw = RawRing::new();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::rc::Rc;

    fn with_ring<T, R>(f: impl FnOnce(&mut Ring<'_, T>) -> R) -> R {
        let (mut raw, len) = (RawRing::new(), AtomicU32::new(0));
        // SAFETY: only viewed as a ring of T, and freed.
        let mut ring = unsafe { raw.of::<T>(&len) };
        let result = f(&mut ring);
        ring.free();
        result
    }

    #[test]
    fn it_behaves_like_a_deque_while_it_wraps_and_grows() {
        with_ring(|ring| {
            let mut model = VecDeque::new();
            let mut state = 1u64;
            for i in 0..3000u64 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                if state >> 62 == 3 {
                    let behind = (state >> 32) as u32 % (ring.len().min(5) + 1);
                    ring.insert(behind, i);
                    model.insert(behind as usize, i);
                } else if state >> 62 != 0 {
                    ring.push(i);
                    model.push_back(i);
                } else {
                    assert_eq!(ring.pop(), model.pop_front());
                }
                assert_eq!(ring.len() as usize, model.len());
            }
            while let Some(item) = model.pop_front() {
                assert_eq!(ring.pop(), Some(item));
            }
            assert_eq!(ring.pop(), None);
        });
    }

    #[test]
    fn items_of_no_size_are_counted() {
        with_ring(|ring| {
            (0..100).for_each(|_| ring.push(()));
            assert_eq!(ring.len(), 100);
            assert_eq!(std::iter::from_fn(|| ring.pop()).count(), 100);
        });
    }

    #[test]
    fn a_ring_of_2_to_the_31_wraps_and_refuses_one_more_unharmed() {
        with_ring::<(), _>(|ring| {
            (ring.raw.capacity, ring.raw.head) = (1 << 31, (1 << 31) - 1);
            ring.set_len((1 << 31) - 1);
            ring.push(());
            let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ring.push(())));
            assert!(refused.is_err());
            assert_eq!(ring.len(), 1 << 31);
            assert_eq!((ring.pop(), ring.raw.head), (Some(()), 0));
            // To free it, item by item, takes seconds.
            ring.set_len(2);
        });
    }

    #[test]
    fn freeing_drops_what_is_left() {
        let witness = Rc::new(());
        with_ring(|ring| (0..9).for_each(|_| ring.push(witness.clone())));
        assert_eq!(Rc::strong_count(&witness), 1);
    }

    #[test]
    fn it_is_large_only_after_a_burst() {
        with_ring(|ring| {
            (0..1024).for_each(|i| ring.push(i));
            assert!(!ring.is_large());
            ring.push(1024);
            assert!(ring.is_large());
            ring.free();
            assert!(!ring.is_large());
            ring.push(7);
            assert_eq!(ring.pop(), Some(7));
        });
    }
}
