//! An arena for collections: an `allocator_api2` allocator.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use allocator_api2::alloc::{AllocError, Allocator};

use super::Heap;
use super::arena::{Arena, ArenaFigures};

/// An arena that collections on several threads allocate from, one at a time. Exhaustion is their
/// `AllocError`: use `try_reserve` and the like, where they have it.
///
/// ```
/// use actinium_memory::heap::{Heap, SharedArena};
/// use allocator_api2::vec::Vec;
///
/// let heap = Heap::leak_plain(1, 16)?;
/// let arena = SharedArena::new(heap.arena(0).expect("nobody has it"));
/// let mut numbers = Vec::new_in(arena.clone());
/// numbers.extend(0..1000);
/// assert_eq!(numbers.iter().sum::<i32>(), 499_500);
/// // There are 16 pages of 64 KiB.
/// assert!(numbers.try_reserve(1 << 20).is_err());
/// # Ok::<(), actinium_memory::MemoryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SharedArena {
    heap: &'static Heap,
    arena: Arc<Mutex<Arena>>,
}

impl SharedArena {
    /// Shares an arena.
    #[must_use]
    pub fn new(arena: Arena) -> Self {
        SharedArena { heap: arena.heap(), arena: Arc::new(Mutex::new(arena)) }
    }

    /// The arena's figures so far: see [`Arena::figures`].
    #[must_use]
    pub fn figures(&self) -> ArenaFigures {
        self.arena.lock().unwrap_or_else(PoisonError::into_inner).figures()
    }
}

// SAFETY: blocks stay where they are until they are given back: the heap lives for ever, whatever
// becomes of this handle, and all clones allocate from the same arena.
unsafe impl Allocator for SharedArena {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        // What panics under the lock are the checks of debug builds, after which the arena is
        // whole.
        let mut arena = self.arena.lock().unwrap_or_else(PoisonError::into_inner);
        let block = arena.alloc(layout).map_err(|_| AllocError)?;
        Ok(NonNull::slice_from_raw_parts(block, layout.size()))
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller says that the block is one of `allocate`, with this layout, and
        // unused.
        unsafe { Arena::free(self.heap, block, layout) };
    }
}
