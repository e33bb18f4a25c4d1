//! Memory for actors that lie next to each other and run on different workers.
//!
//! A thread outside the workers spawns one actor after the other, and the policy spreads them over
//! the workers. The allocator puts neighbours on the same cache lines: then each message to the one
//! takes a line away from the worker of the other. Two workers whose actors never talk to each
//! other did little more than one, for this alone.

use crate::options::Memory;
use actinium_scheduler::guard::Guarded;
use allocator_api2::alloc::{AllocError, Allocator, Global};
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock};

/// Bytes at which blocks begin and end. Processors fetch lines of 64 bytes in pairs.
const PAIR_OF_LINES: usize = 128;

/// The global allocator's memory, in blocks of whole pairs of cache lines.
struct Apart;

/// The layout of a block for something of this layout.
fn spaced(layout: Layout) -> Result<Layout, AllocError> {
    let aligned = layout.align_to(PAIR_OF_LINES).map_err(|_| AllocError)?;
    Ok(aligned.pad_to_align())
}

// SAFETY: all is the global allocator's, which gets the same layout for a block each time.
unsafe impl Allocator for Apart {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        Global.allocate(spaced(layout)?)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if let Ok(layout) = spaced(layout) {
            // SAFETY: allocated above, for this layout, which was found then, too.
            unsafe { Global.deallocate(block, layout) }
        }
    }
}

/// Memory that shares no cache line with other memory.
pub(crate) fn apart() -> Memory {
    static APART: LazyLock<Memory> =
        LazyLock::new(|| Memory(Arc::new(Guarded::new(Box::new(Apart)))));
    APART.clone()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn two_blocks_have_no_cache_line_in_common() {
        let layout = Layout::from_size_align(216, 8).expect("a layout");
        let blocks = [(); 2].map(|()| Apart.allocate(layout).expect("memory"));
        for block in blocks {
            assert!(block.addr().get().is_multiple_of(PAIR_OF_LINES));
            assert_eq!(block.len() % PAIR_OF_LINES, 0);
            // SAFETY: allocated above with this layout, and given back once.
            unsafe { Apart.deallocate(block.cast(), layout) };
        }
    }
}
