//! Blocks on their way back: each thread gathers those of one arena, and sends them together.

use std::cell::RefCell;
use std::ptr::{self, NonNull};

use super::Heap;
use super::class::RUN;
use super::return_batch::ReturnBatch;

/// Blocks of one arena.
#[derive(Debug)]
struct PendingReturns {
    to: Option<(&'static Heap, u32)>,
    batch: Option<Box<ReturnBatch>>,
}

impl PendingReturns {
    #[inline]
    fn add(&mut self, heap: &'static Heap, arena: u32, block: NonNull<u8>) {
        let is_same = self.to.is_some_and(|(own, number)| ptr::eq(own, heap) && number == arena);
        if !is_same {
            self.send();
            self.to = Some((heap, arena));
        }
        if self.batch.get_or_insert_with(ReturnBatch::new).add(block) {
            self.send();
        }
    }

    fn send(&mut self) {
        if let Some((heap, arena)) = self.to
            && let Some(batch) = self.batch.take()
        {
            heap.take_back(arena, batch);
        }
    }
}

impl Drop for PendingReturns {
    fn drop(&mut self) {
        self.send();
    }
}

thread_local! {
    static PENDING: RefCell<PendingReturns> = const {
        RefCell::new(PendingReturns { to: None, batch: None })
    };
}

/// Sends the blocks home that the calling thread holds back, up to 31 of one arena: for a thread
/// that is about to sleep. A thread that ends does so by itself.
pub fn flush() {
    // A thread at its very end has sent them already.
    let _ = PENDING.try_with(|own| own.borrow_mut().send());
}

/// Gives a block back.
///
/// # Safety
/// The block is of this heap, its size was `size`, and nobody uses it any more.
pub(super) unsafe fn give_back(heap: &'static Heap, block: NonNull<u8>, size: usize) {
    // SAFETY: the block is of this heap and has that size.
    unsafe { heap.checks.freed(heap.start, block, size) };
    let owner = heap.owner_of(block);
    if owner.class == RUN {
        // A large one: held back, it would be missed, and it costs more to fill than to send.
        let mut batch = ReturnBatch::new();
        batch.add(block);
        return heap.take_back(owner.arena, batch);
    }
    let pending = PENDING.try_with(|own| own.borrow_mut().add(heap, owner.arena, block));
    if pending.is_err() {
        // The thread is at its very end: alone, then.
        let mut batch = ReturnBatch::new();
        batch.add(block);
        heap.take_back(owner.arena, batch);
    }
}
