//! An allocator that counts, once it is asked to. Until then it costs a load of a flag that never
//! changes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The memory that all threads have asked for since counting began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allocations {
    /// Calls that got memory: allocations, and reallocations.
    pub(crate) calls: u64,
    /// Bytes that they asked for; of a reallocation, the new size.
    pub(crate) bytes: u64,
}

/// Counts from now on, in this process, for good.
pub(crate) fn count() {
    // Relaxed: a statistic; the threads that matter are started afterwards.
    COUNTS.store(true, Ordering::Relaxed);
}

/// Returns the counts so far.
pub(crate) fn so_far() -> Allocations {
    // Relaxed: a statistic; it is read when what it counts has ended, which the channel that says
    // so orders.
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Allocations { calls: read(&CALLS), bytes: read(&BYTES) }
}

struct Counting;

impl Counting {
    #[inline(always)]
    fn note(bytes: usize) {
        // Relaxed: a statistic.
        if COUNTS.load(Ordering::Relaxed) {
            CALLS.fetch_add(1, Ordering::Relaxed);
            BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

// SAFETY: every call goes to the system's allocator as it is; counting touches atomics only and
// never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counting::note(layout.size());
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Counting::note(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Counting::note(size);
        // SAFETY: as in `alloc`; all memory comes from the system's allocator.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_is_counted() {
        count();
        let before = so_far();
        let boxes: Vec<Box<u64>> = (0..1_000).map(Box::new).collect();
        let after = so_far();
        assert_eq!(boxes.len(), 1_000);
        // Other tests allocate at the same time.
        assert!(after.calls - before.calls >= 1_001, "{before:?} {after:?}");
        assert!(after.bytes - before.bytes >= 16_000, "{before:?} {after:?}");
    }
}
