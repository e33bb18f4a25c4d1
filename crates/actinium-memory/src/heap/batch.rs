//! Blocks on their way back: each thread gathers those of one arena, and sends them together.

use std::cell::RefCell;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use super::Heap;
use super::class::RUN;
use super::inbox::Link;

/// How many blocks travel together: so many a thread may hold back.
const BATCH: usize = 32;

/// A block on its arena's free list: its first bytes are the link.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Free {
    pub(super) next: *mut Free,
}

/// Blocks on their way. They are listed here rather than linked through their own memory: who gives a block back then does not write to it, and
/// the arena need not wait for one block's cache line to learn where the next is.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) next: *mut Parcel,
    len: usize,
    blocks: [NonNull<u8>; BATCH],
}

impl Parcel {
    fn new() -> Box<Self> {
        Box::new(Parcel { next: ptr::null_mut(), len: 0, blocks: [NonNull::dangling(); BATCH] })
    }

    /// Adds a block; there has to be room. True if there is none left.
    fn add(&mut self, block: NonNull<u8>) -> bool {
        self.blocks[self.len] = block;
        self.len += 1;
        self.len == BATCH
    }

    pub(super) fn blocks(&self) -> &[NonNull<u8>] {
        &self.blocks[..self.len]
    }

    /// Sends it home.
    fn send(self: Box<Self>, heap: &'static Heap, arena: u32) {
        let room = &heap.arenas[arena as usize];
        // Relaxed: a statistic.
        room.batches.fetch_add(1, Ordering::Relaxed);
        let parcel = Box::into_raw(self);
        // SAFETY: the parcel is ours, given away, and freed by nobody but who takes it.
        unsafe { room.inbox.push(parcel, parcel) };
    }
}

// SAFETY: a pointer is stored and read.
unsafe impl Link for Parcel {
    unsafe fn set_next(this: *mut Self, next: *mut Self) {
        // SAFETY: the caller alone has the parcel.
        unsafe { (*this).next = next }
    }

    unsafe fn next(this: *mut Self) -> *mut Self {
        // SAFETY: as above.
        unsafe { (*this).next }
    }
}

/// Blocks of one arena.
#[derive(Debug)]
struct Batch {
    to: Option<(&'static Heap, u32)>,
    parcel: Option<Box<Parcel>>,
}

impl Batch {
    #[inline]
    fn add(&mut self, heap: &'static Heap, arena: u32, block: NonNull<u8>) {
        let is_same = self.to.is_some_and(|(own, number)| ptr::eq(own, heap) && number == arena);
        if !is_same {
            self.send();
            self.to = Some((heap, arena));
        }
        if self.parcel.get_or_insert_with(Parcel::new).add(block) {
            self.send();
        }
    }

    fn send(&mut self) {
        if let Some((heap, arena)) = self.to
            && let Some(parcel) = self.parcel.take()
        {
            parcel.send(heap, arena);
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.send();
    }
}

thread_local! {
    static BATCHED: RefCell<Batch> = const {
        RefCell::new(Batch { to: None, parcel: None })
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
    let owner = heap.owner_of(block);
    if owner.class == RUN {
        // A large one: held back, it would be missed, and it costs more to fill than to send.
        let mut parcel = Parcel::new();
        parcel.add(block);
        return parcel.send(heap, owner.arena);
    }
    let batched = BATCHED.try_with(|batch| batch.borrow_mut().add(heap, owner.arena, block));
    if batched.is_err() {
        // The thread is at its very end: alone, then.
        let mut parcel = Parcel::new();
        parcel.add(block);
        parcel.send(heap, owner.arena);
    }
}
