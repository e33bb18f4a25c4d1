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
/// A ring of so many bytes is put into huge pages, where the system has them: two, so that it fills
/// at least one of them wherever it lies.
const HUGE: usize = 4 << 20;
/// The largest capacity: differences of the ends, and masks, are numbers with a sign.
const MOST: u32 = 1 << 30;

/// The memory of a ring: nothing is allocated until the first item comes.
#[derive(Debug)]
pub(crate) struct RawRing {
    items: NonNull<u8>,
}

/// The ends of a ring. They are atomics that the owner writes with plain stores, so that others may
/// look at the length.
#[derive(Debug)]
pub(crate) struct Ends {
    /// One less than the capacity, which is a power of two; less than 0 if nothing is allocated.
    mask: AtomicU32,
    /// The items lie from here up to `tail`, both counted round and round.
    head: AtomicU32,
    tail: AtomicU32,
}

// SAFETY: it holds Send items (its user sees to that: messages are Send) and is used by one thread
// at a time.
unsafe impl Send for RawRing {}

/// A ring whose items' type is known: a view of a [`RawRing`] and its [`Ends`].
pub(crate) struct Ring<'a, T> {
    raw: &'a mut RawRing,
    ends: &'a Ends,
    items: PhantomData<T>,
}

impl RawRing {
    pub(crate) const fn new() -> Self {
        RawRing { items: NonNull::dangling() }
    }

    /// Views it as a ring of `T`.
    ///
    /// # Safety
    /// Every view of this ring in its life is one of the same `T` with the same `ends`, which are
    /// new at first and which nobody else has; and whoever drops the ring calls [`Ring::free`]
    /// first.
    #[inline(always)]
    pub(crate) unsafe fn of<'a, T>(&'a mut self, ends: &'a Ends) -> Ring<'a, T> {
        Ring { raw: self, ends, items: PhantomData }
    }
}

impl Ends {
    /// Those of an empty ring.
    pub(crate) fn new() -> Self {
        let (mask, end) = (AtomicU32::new(u32::MAX), || AtomicU32::new(0));
        Ends { mask, head: end(), tail: end() }
    }

    /// The number of items: exact for a ring that nobody is using.
    pub(crate) fn len(&self) -> u32 {
        // Relaxed: an estimate. The tail first: what is put in and taken out in between makes the
        // difference too small, and not as large as if the ring had grown by 2^32.
        let tail = self.tail.load(Ordering::Relaxed);
        let len = tail.wrapping_sub(self.head.load(Ordering::Relaxed));
        if len.cast_signed() < 0 { 0 } else { len }
    }
}

impl<T> Ring<'_, T> {
    /// The number of items.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.tail().wrapping_sub(self.head())
    }

    #[inline(always)]
    fn mask(&self) -> u32 {
        // Relaxed: only this ring's user writes it.
        self.ends.mask.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn head(&self) -> u32 {
        // Relaxed: as above.
        self.ends.head.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn tail(&self) -> u32 {
        // Relaxed: as above.
        self.ends.tail.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set_head(&mut self, head: u32) {
        // Relaxed: others only want an estimate.
        self.ends.head.store(head, Ordering::Relaxed);
    }

    #[inline(always)]
    fn set_tail(&mut self, tail: u32) {
        // Relaxed: as above.
        self.ends.tail.store(tail, Ordering::Relaxed);
    }

    fn capacity(&self) -> u32 {
        self.mask().wrapping_add(1)
    }

    /// The place of what is so far round and round, by the mask.
    ///
    /// # Safety
    /// Something is allocated, and that is the mask.
    #[inline(always)]
    unsafe fn place(&self, at: u32, mask: u32) -> NonNull<T> {
        // SAFETY: below the capacity.
        unsafe { self.raw.items.cast::<T>().add((at & mask) as usize) }
    }

    /// Makes room for one more item; returns the tail and the mask. Each end is loaded once: the
    /// compiler does not know that it is still the same.
    #[inline(always)]
    fn with_room(&mut self) -> (u32, u32) {
        let (tail, mask) = (self.tail(), self.mask());
        // Nothing allocated is a mask below 0.
        if tail.wrapping_sub(self.head()).cast_signed() > mask.cast_signed() {
            Self::grow(self.raw, self.ends);
            return (self.tail(), self.mask());
        }
        (tail, mask)
    }

    /// Puts an item last. O(1), amortised.
    ///
    /// # Panics
    /// If it would hold 2^30 items.
    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        // SAFETY: written at once.
        unsafe { self.push_place().write(item) };
    }

    /// Makes a place for an item behind the others. O(1), amortised.
    ///
    /// # Safety
    /// An item is written there before the ring is used again.
    ///
    /// # Panics
    /// If it would hold 2^30 items.
    #[inline(always)]
    pub(crate) unsafe fn push_place(&mut self) -> NonNull<T> {
        let (tail, mask) = self.with_room();
        self.set_tail(tail.wrapping_add(1));
        // SAFETY: not among the items, for there was room.
        unsafe { self.place(tail, mask) }
    }

    /// Puts an item behind the first `behind`, of which there are so many. O(`behind`), amortised.
    ///
    /// # Panics
    /// If it would hold 2^30 items.
    pub(crate) fn insert(&mut self, behind: u32, item: T) {
        assert!(behind <= self.len(), "behind items that are not there");
        let (_, mask) = self.with_room();
        let head = self.head().wrapping_sub(1);
        self.set_head(head);
        // SAFETY: not among the items, for there was room.
        unsafe { self.place(head, mask).write(item) };
        for before in 0..behind {
            let at = head.wrapping_add(before);
            // SAFETY: both are among the items, for there are `behind` and the new one.
            unsafe { self.place(at, mask).swap(self.place(at.wrapping_add(1), mask)) };
        }
    }

    /// Takes the first item out, to be read from the place returned before the ring is used again.
    #[inline(always)]
    pub(crate) fn pop_place(&mut self) -> Option<NonNull<T>> {
        let head = self.head();
        if head == self.tail() {
            return None;
        }
        self.set_head(head.wrapping_add(1));
        // SAFETY: there is an item.
        Some(unsafe { self.place(head, self.mask()) })
    }

    /// Takes the first item.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        // SAFETY: the first item, which the head has left.
        self.pop_place().map(|place| unsafe { place.read() })
    }

    /// Doubles the capacity of a full ring. No method: where a ring is pushed to, it has no address
    /// then, and what it refers to stays in registers.
    #[cold]
    #[inline(never)]
    fn grow(raw: &mut RawRing, ends: &Ends) {
        let mut ring = Ring::<T> { raw, ends, items: PhantomData };
        let old = ring.capacity();
        let new = if old == 0 {
            // The power of two of items that fit.
            1 << (FIRST / size_of::<T>().max(1)).max(1).ilog2()
        } else {
            assert!(old < MOST, "{MOST} messages in a mailbox");
            old * 2
        };
        let layout = Layout::array::<T>(new as usize).expect("a mailbox beyond the address space");
        if layout.size() != 0 {
            let before = Layout::array::<T>(old as usize).expect("smaller than the new one");
            // Growing in place spares copying, and for large rings the page faults of a second
            // allocation.
            let items = if before.size() == 0 {
                // SAFETY: the size is not 0.
                unsafe { alloc(layout) }
            } else {
                // SAFETY: allocated here with the layout `before`; the new size is not 0 and was
                // checked by Layout.
                unsafe { realloc(ring.raw.items.as_ptr(), before, layout.size()) }
            };
            ring.raw.items = NonNull::new(items).unwrap_or_else(|| handle_alloc_error(layout));
            if layout.size() >= HUGE {
                prefer_huge_pages(ring.raw.items, layout.size());
            }
        }
        // The ring was full: what had wrapped around, before the head, now follows the rest.
        let (first, len) = (ring.head() & old.saturating_sub(1), ring.len());
        // SAFETY: the new capacity is at least twice the old one, so both stretches lie in it and
        // do not overlap.
        unsafe {
            let items = ring.raw.items.cast::<T>();
            items.add(old as usize).copy_from_nonoverlapping(items, first as usize);
        }
        // Relaxed: only this ring's user reads it.
        ring.ends.mask.store(new - 1, Ordering::Relaxed);
        ring.set_head(first);
        ring.set_tail(first + len);
    }

    fn dealloc(&mut self) {
        let layout = Layout::array::<T>(self.capacity() as usize)
            .expect("it was allocated with this layout");
        if layout.size() != 0 {
            // SAFETY: allocated by `grow` with this layout.
            unsafe { dealloc(self.raw.items.as_ptr(), layout) };
        }
    }

    /// Whether it holds much more memory than most mailboxes need.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        self.mask().cast_signed() >= KEPT.cast_signed()
    }

    /// Drops all items and gives the memory back.
    pub(crate) fn free(&mut self) {
        while self.pop().is_some() {}
        self.dealloc();
        *self.raw = RawRing::new();
        // Relaxed: only this ring's user reads it.
        self.ends.mask.store(u32::MAX, Ordering::Relaxed);
    }
}

/// Asks for huge pages in this memory. Most of what a long backlog costs is the first touch of its
/// pages, and there are 512 times fewer then. It is a hint: a system that has none, or a kind of
/// memory that can not be so, is no error.
#[cfg(all(target_os = "linux", not(miri)))]
fn prefer_huge_pages(memory: NonNull<u8>, bytes: usize) {
    use rustix::mm::{Advice, madvise};
    // Whole pages: with those at both ends, which an allocator gave nobody else, memory that is a
    // mapping of its own stays one, and can be moved to a larger place without being copied.
    let before = memory.addr().get() % rustix::param::page_size();
    let first = memory.as_ptr().wrapping_sub(before);
    // SAFETY: the call leaves the contents of pages as they are, and who owns them.
    let _ = unsafe { madvise(first.cast(), before + bytes, Advice::LinuxHugepage) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn prefer_huge_pages(_memory: NonNull<u8>, _bytes: usize) {}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::rc::Rc;

    fn with_ring<T, R>(f: impl FnOnce(&mut Ring<'_, T>) -> R) -> R {
        let (mut raw, ends) = (RawRing::new(), Ends::new());
        // SAFETY: only viewed as a ring of T, and freed.
        let mut ring = unsafe { raw.of::<T>(&ends) };
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
    fn a_ring_of_2_to_the_30_wraps_and_refuses_one_more_unharmed() {
        with_ring::<(), _>(|ring| {
            // Relaxed: one thread.
            ring.ends.mask.store(MOST - 1, Ordering::Relaxed);
            // As full as it gets, and about to be counted round.
            ring.set_head(u32::MAX);
            ring.set_tail(MOST - 2);
            ring.push(());
            let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ring.push(())));
            assert!(refused.is_err());
            assert_eq!(ring.len(), MOST);
            assert_eq!((ring.pop(), ring.head()), (Some(()), 0));
            // To free it, item by item, takes seconds.
            ring.set_tail(2);
        });
    }

    #[test]
    fn ends_that_are_looked_at_one_after_the_other_are_no_huge_length() {
        let ends = Ends::new();
        // Relaxed: one thread.
        ends.head.store(3, Ordering::Relaxed);
        ends.tail.store(2, Ordering::Relaxed);
        assert_eq!(ends.len(), 0);
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

    /// The range of the mapping that has this address, and whether it asks for huge pages.
    #[cfg(target_os = "linux")]
    fn mapping(address: usize) -> (std::ops::Range<usize>, bool) {
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("Linux has it");
        let range_of = |line: &str| {
            let (start, end) = line.split_once(' ')?.0.split_once('-')?;
            let at = |text| usize::from_str_radix(text, 16).ok();
            Some(at(start)?..at(end)?)
        };
        let mut lines = smaps.lines();
        let its = |line| range_of(line).filter(|range| range.contains(&address));
        let range = lines.find_map(its).expect("it is mapped");
        // The flags end what is said of a mapping.
        let flags = lines.find_map(|line| line.strip_prefix("VmFlags:")).expect("each has flags");
        (range, flags.split(' ').any(|flag| flag == "hg"))
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "the kernel's pages")]
    fn a_long_backlog_asks_for_huge_pages_and_stays_one_mapping() {
        if !std::fs::exists("/sys/kernel/mm/transparent_hugepage").expect("it can be looked for") {
            eprintln!("skipped: this kernel has no huge pages");
            return;
        }
        with_ring(|ring| {
            let items = (HUGE / size_of::<usize>()) as u32;
            let wants_huge = |ring: &Ring<'_, usize>, at| {
                // SAFETY: the ring has grown to so many.
                let place = unsafe { ring.place(at, ring.mask()) };
                mapping(place.addr().get())
            };
            (0..items as usize / 2).for_each(|i| ring.push(i));
            assert!(!wants_huge(ring, items / 4).1, "half as many are not worth it");
            // It grows twice: the second time, what has the hint already.
            (items as usize / 2..2 * items as usize).for_each(|i| ring.push(i));
            let ((range, first), (same, last)) =
                (wants_huge(ring, 0), wants_huge(ring, 2 * items - 1));
            assert!(first && last);
            assert_eq!(range, same, "a mapping that has been parted is copied when it grows");
            (0..2 * items as usize).for_each(|i| assert_eq!(ring.pop(), Some(i)));
        });
    }
}
