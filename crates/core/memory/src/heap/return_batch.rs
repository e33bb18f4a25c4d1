//! Blocks that travel together on their way back.

use std::ptr::{self, NonNull};

use super::inbox::Link;

/// How many blocks travel together: so many a thread may hold back.
const BATCH: usize = 32;

/// Blocks on their way. They are listed here rather than linked through their own memory: who gives
/// a block back then does not write to it, and the arena need not wait for one block's cache line
/// to learn where the next is.
#[derive(Debug)]
pub(super) struct ReturnBatch {
    pub(super) next: *mut ReturnBatch,
    len: usize,
    blocks: [NonNull<u8>; BATCH],
}

impl ReturnBatch {
    pub(super) fn new() -> Box<Self> {
        Box::new(ReturnBatch {
            next: ptr::null_mut(),
            len: 0,
            blocks: [NonNull::dangling(); BATCH],
        })
    }

    /// Adds a block; the batch must not be full. True if it is full then.
    pub(super) fn add(&mut self, block: NonNull<u8>) -> bool {
        self.blocks[self.len] = block;
        self.len += 1;
        self.len == BATCH
    }

    pub(super) fn blocks(&self) -> &[NonNull<u8>] {
        &self.blocks[..self.len]
    }
}

// SAFETY: a pointer is stored and read.
unsafe impl Link for ReturnBatch {
    unsafe fn set_next(this: *mut Self, next: *mut Self) {
        // SAFETY: the caller alone has the batch.
        unsafe { (*this).next = next }
    }

    unsafe fn next(this: *mut Self) -> *mut Self {
        // SAFETY: as above.
        unsafe { (*this).next }
    }
}
