//! Blocks on their way back: each thread gathers those of one arena, and sends them together.

use std::cell::RefCell;
use std::ptr::{self, NonNull};

use super::Heap;
use super::inbox::Link;

/// How many blocks travel together: so many a thread may hold back.
const BATCH: usize = 32;

/// A block that nobody uses: its first bytes are the link.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Free {
    next: *mut Free,
}

// SAFETY: a pointer is stored in the block and read from there.
unsafe impl Link for Free {
    unsafe fn set_next(this: *mut Self, next: *mut Self) {
        // SAFETY: the caller alone has the block, which is at least 16 bytes large and so aligned.
        unsafe { this.write(Free { next }) }
    }

    unsafe fn next(this: *mut Self) -> *mut Self {
        // SAFETY: as above, and `set_next` has written it.
        unsafe { (*this).next }
    }
}

/// Blocks of one arena.
#[derive(Debug)]
struct Batch {
    to: Option<(&'static Heap, u32)>,
    first: *mut Free,
    last: *mut Free,
    len: usize,
}

impl Batch {
    fn add(&mut self, heap: &'static Heap, arena: u32, block: *mut Free) {
        let is_same = self.to.is_some_and(|(own, number)| ptr::eq(own, heap) && number == arena);
        if !is_same {
            self.send();
            self.to = Some((heap, arena));
        }
        // SAFETY: the block is ours: its last user gave it back.
        unsafe { Free::set_next(block, self.first) };
        if self.first.is_null() {
            self.last = block;
        }
        self.first = block;
        self.len += 1;
        if self.len >= BATCH {
            self.send();
        }
    }

    fn send(&mut self) {
        if let Some((heap, arena)) = self.to
            && !self.first.is_null()
        {
            // SAFETY: the chain is ours, from `first` to `last`, of blocks of this arena, whose memory stays for ever.
            unsafe { heap.arenas[arena as usize].inbox.push(self.first, self.last) };
        }
        (self.first, self.last, self.len) = (ptr::null_mut(), ptr::null_mut(), 0);
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.send();
    }
}

thread_local! {
    static BATCHED: RefCell<Batch> = const {
        RefCell::new(Batch { to: None, first: ptr::null_mut(), last: ptr::null_mut(), len: 0 })
    };
}

/// Sends the blocks home that the calling thread holds back, up to 31 of one arena: for a thread that is about to sleep. A
/// thread that ends does so by itself.
pub fn flush() {
    // A thread at its very end has sent them already.
    let _ = BATCHED.try_with(|batch| batch.borrow_mut().send());
}

/// Gives a block back.
///
/// # Safety
/// The block is of this heap, its size was `size`, and nobody uses it any more.
pub(super) unsafe fn give_back(heap: &'static Heap, block: NonNull<u8>, size: usize) {
    // SAFETY: the block is of this heap and has that size.
    unsafe { heap.checks.freed(heap, block, size) };
    let (owner, block) = (heap.owner_of(block), block.cast::<Free>().as_ptr());
    let batched = BATCHED.try_with(|batch| batch.borrow_mut().add(heap, owner.arena, block));
    if batched.is_err() {
        // The thread is at its very end: alone, then.
        // SAFETY: as in `send`, for a chain of one.
        unsafe { heap.arenas[owner.arena as usize].inbox.push(block, block) };
    }
}
