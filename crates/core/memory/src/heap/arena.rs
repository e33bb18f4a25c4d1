//! One worker's part of a heap.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::Heap;
use super::checks::MORE;
use super::class::{RUN, class_of, size_of};
use super::exhausted::Exhausted;
use super::give_back::give_back;
use super::page::{Owner, PAGE_BYTES};
use super::state::{Free, State};

/// How many pages a class takes at a time, so that a run has eight blocks at least.
fn run_pages(size: usize) -> u32 {
    if size <= PAGE_BYTES / 8 { 1 } else { 4 }
}

/// One worker's part of a heap: it allocates for its owner, who may be any thread, one at a time.
/// Dropped, it can be had again.
#[derive(Debug)]
pub struct Arena {
    heap: &'static Heap,
    number: usize,
}

/// Figures of an arena so far, whoever owned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaFigures {
    /// Bytes copied into payloads ([`Arena::payload`]); those written in place are not.
    pub copied_bytes: u64,
    /// Blocks that came home.
    pub returned: u64,
    /// The number of batches in which they came: each cost one compare-and-swap.
    pub batches: u64,
}

impl Drop for Arena {
    fn drop(&mut self) {
        // Release pairs with the acquire in `Heap::arena`: the next owner sees all that this one
        // did.
        self.heap.arenas[self.number].is_taken.store(false, Ordering::Release);
    }
}

impl Heap {
    /// This arena; None if there is no such, or somebody has it.
    #[must_use]
    pub fn arena(&'static self, number: usize) -> Option<Arena> {
        let entry = self.arenas.get(number)?;
        // Acquire pairs with the release in `Arena::drop`: what the last owner left in the arena is
        // seen. Nothing is to be released.
        let was_taken = entry.is_taken.swap(true, Ordering::Acquire);
        (!was_taken).then(|| Arena::new(self, number))
    }

    /// An arena on this NUMA node that nobody has: of a segment with
    /// [`Placement::Local`](crate::Placement::Local), which has one for each worker.
    #[must_use]
    pub fn arena_on(&'static self, node: u32) -> Option<Arena> {
        let on_it = self.arenas.iter().enumerate().filter(|(_, entry)| entry.node == Some(node));
        on_it.into_iter().find_map(|(number, _)| self.arena(number))
    }
}

impl Arena {
    /// The caller has marked it taken.
    fn new(heap: &'static Heap, number: usize) -> Self {
        Arena { heap, number }
    }

    #[inline]
    fn state(&mut self) -> &mut State {
        // SAFETY: there is one `Arena` of this number, because it is marked taken until that is
        // dropped, and `&mut self` says that nobody else uses it now.
        unsafe { &mut *self.heap.arenas[self.number].state.get() }
    }

    /// The arena's number.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// The heap that the arena belongs to.
    #[must_use]
    pub fn heap(&self) -> &'static Heap {
        self.heap
    }

    /// The arena's figures so far. Blocks that have come back by now are put where they belong
    /// first.
    #[must_use]
    pub fn figures(&mut self) -> ArenaFigures {
        self.collect();
        // Relaxed: a statistic.
        let batches = self.heap.arenas[self.number].batches.load(Ordering::Relaxed);
        let State { copied_bytes, returned, .. } = *self.state();
        ArenaFigures { copied_bytes, returned, batches }
    }

    /// Counts bytes that are copied into a payload.
    pub(super) fn count_copied(&mut self, bytes: u64) {
        self.state().copied_bytes += bytes;
    }

    /// A block; it has to be given back by [`Arena::free`] on whichever thread.
    ///
    /// # Errors
    /// If the arena is full, or no block is aligned so.
    pub fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, Exhausted> {
        let (size, align) = (layout.size(), layout.align());
        let exhausted = Exhausted { size_bytes: size, arena: self.number };
        let needed = size.checked_add(MORE).ok_or(exhausted)?;
        let block = match class_of(needed, align) {
            Some(class) => self.small(class),
            None if align <= PAGE_BYTES => self.large(needed),
            None => None,
        };
        let block = block.ok_or(exhausted)?;
        // SAFETY: the block is new, has `needed` bytes, and is ours.
        unsafe { self.heap.checks.allocated(self.heap.start, block, size) };
        Ok(block)
    }

    /// Gives a block back to whichever arena it came from.
    ///
    /// # Safety
    /// The block is of `heap`, was allocated with this layout, and nobody uses it any more.
    pub unsafe fn free(heap: &'static Heap, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller says so.
        unsafe { give_back(heap, block, layout.size()) };
    }

    #[inline]
    fn small(&mut self, class: usize) -> Option<NonNull<u8>> {
        let own = &mut self.state().classes[class];
        match NonNull::new(own.free) {
            Some(block) => {
                // SAFETY: blocks on the free list are ours alone.
                own.free = unsafe { block.as_ref() }.next;
                Some(block.cast())
            }
            None => self.small_slowly(class),
        }
    }

    #[cold]
    fn small_slowly(&mut self, class: usize) -> Option<NonNull<u8>> {
        let size = size_of(class);
        // What others have given back first: it is in somebody's cache, and it keeps the arena
        // small.
        if self.collect() && !self.state().classes[class].free.is_null() {
            return self.small(class);
        }
        if self.state().classes[class].fresh_len < size {
            let runs = &mut self.state().runs;
            let mut lengths = [run_pages(size), 1].into_iter();
            let (page, pages) = lengths.find_map(|pages| Some((runs.take(pages)?, pages)))?;
            self.mark(page, pages, class as u8);
            let fresh = self.heap.page(page).as_ptr();
            let own = &mut self.state().classes[class];
            (own.fresh, own.fresh_len) = (fresh, pages as usize * PAGE_BYTES);
        }
        let own = &mut self.state().classes[class];
        let block = NonNull::new(own.fresh)?;
        // SAFETY: the run has so many bytes left.
        own.fresh = unsafe { own.fresh.add(size) };
        own.fresh_len -= size;
        Some(block)
    }

    #[cold]
    fn large(&mut self, size: usize) -> Option<NonNull<u8>> {
        // What has no bytes has a page nevertheless: a run of none would stay free, and be handed
        // out again.
        let pages = u32::try_from(size.div_ceil(PAGE_BYTES)).ok()?.max(1);
        // What others have given back first: it is in somebody's cache, and it keeps the arena
        // small.
        self.collect();
        let page = self.state().runs.take(pages)?;
        self.mark(page, 1, RUN);
        // Relaxed: read by this arena only.
        self.heap.run_pages[page as usize].store(pages, Ordering::Relaxed);
        Some(self.heap.page(page))
    }

    fn mark(&self, page: u32, pages: u32, class: u8) {
        let owner = Owner { arena: self.number as u32, class };
        for page in page..page + pages {
            // Relaxed: see `Heap::owner_of`.
            self.heap.pages[page as usize].store(owner.to_word(), Ordering::Relaxed);
        }
    }

    /// Puts what others have given back to where it belongs; false if there was nothing.
    fn collect(&mut self) -> bool {
        let heap = self.heap;
        let mut batch = heap.arenas[self.number].inbox.take();
        let any = !batch.is_null();
        while !batch.is_null() {
            // SAFETY: what was taken is ours alone; `Heap::take_back` made it of a box.
            let own = unsafe { Box::from_raw(batch) };
            batch = own.next;
            self.state().returned += own.blocks().len() as u64;
            for &block in own.blocks() {
                self.put(block);
            }
        }
        any
    }

    /// Puts a block that is ours again to where it belongs.
    fn put(&mut self, block: NonNull<u8>) {
        let heap = self.heap;
        let owner = heap.owner_of(block);
        debug_assert_eq!(owner.arena as usize, self.number);
        if owner.class == RUN {
            let page = heap.page_of(block);
            // Relaxed: written by this arena.
            let pages = heap.run_pages[page].load(Ordering::Relaxed);
            self.state().runs.give(page as u32, pages);
            return;
        }
        let class = &mut self.state().classes[usize::from(owner.class)];
        let free = block.cast::<Free>();
        // SAFETY: the block is ours alone, at least 16 bytes large, and so aligned.
        unsafe { free.write(Free { next: class.free }) };
        class.free = free.as_ptr();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // Debug builds add a guard to each block, so that none is empty there: the layer below it is
    // asked here.
    #[test]
    fn runs_for_no_bytes_are_not_handed_out_twice() {
        let mut arena = Heap::leak_plain(1, 3).unwrap().arena(0).unwrap();
        let runs: Vec<_> = (0..4).map(|_| arena.large(0)).collect();
        assert!(runs[..3].iter().all(Option::is_some) && runs[3].is_none());
        assert!(runs[0] != runs[1] && runs[1] != runs[2] && runs[0] != runs[2]);
    }
}
