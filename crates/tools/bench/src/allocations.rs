//! An allocator that counts, once it is asked to. Until then it costs a load of a flag that never
//! changes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
/// Bytes that are in use, less those that were when counting began.
static LIVE: AtomicI64 = AtomicI64::new(0);
/// The most of them at a time.
static PEAK: AtomicI64 = AtomicI64::new(0);

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

/// Measures the most bytes in use from now on; returns those that are in use now.
pub(crate) fn restart_peak() -> i64 {
    // Relaxed: a statistic.
    let live = LIVE.load(Ordering::Relaxed);
    PEAK.store(live, Ordering::Relaxed);
    live
}

/// The most bytes in use since [`restart_peak`].
pub(crate) fn peak() -> i64 {
    // Relaxed: a statistic, as in `so_far`.
    PEAK.load(Ordering::Relaxed)
}

struct Counting;

impl Counting {
    /// So many bytes are asked for, in place of so many others.
    #[inline(always)]
    fn note(bytes: usize, instead_of: usize) {
        // Relaxed, all: statistics.
        if COUNTS.load(Ordering::Relaxed) {
            CALLS.fetch_add(1, Ordering::Relaxed);
            BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
            let more = bytes as i64 - instead_of as i64;
            let live = LIVE.fetch_add(more, Ordering::Relaxed) + more;
            PEAK.fetch_max(live, Ordering::Relaxed);
        }
    }
}

// SAFETY: every call goes to the system's allocator as it is; counting touches atomics only and
// never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counting::note(layout.size(), 0);
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Counting::note(layout.size(), 0);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Counting::note(size, layout.size());
        // SAFETY: as in `alloc`; all memory comes from the system's allocator.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // Relaxed, both: statistics.
        if COUNTS.load(Ordering::Relaxed) {
            LIVE.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        }
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_bytes_in_use_are_known() {
        count();
        let before = restart_peak();
        drop(vec![0_u8; 10_000_000]);
        drop(vec![0_u8; 10_000_000]);
        let most = peak() - before;
        // Other tests allocate at the same time, but not that much.
        assert!((9_000_000..19_000_000).contains(&most), "{most}");
    }

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
