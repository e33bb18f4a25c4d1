//! One worker's part of a heap.

use std::alloc::Layout;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use super::batch::{Free, give_back};
use super::checks::MORE;
use super::class::{CLASSES, RUN, class_of, size_of};
use super::runs::Runs;
use super::{Exhausted, Heap, Owner, PAGE_BYTES, Payload, Unwritten};

/// How many pages a class takes at a time, so that a run has eight blocks at least.
fn run_pages(size: usize) -> u32 {
    if size <= PAGE_BYTES / 8 { 1 } else { 4 }
}

/// One worker's part of a heap: it allocates for its owner, who may be any thread, one at a time. Dropped, it can be had again.
#[derive(Debug)]
pub struct Arena {
    heap: &'static Heap,
    number: usize,
}

/// What an arena has seen so far, whoever owned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaFigures {
    /// Bytes copied into payloads ([`Arena::payload`]); those written in place are not.
    pub copied_bytes: u64,
    /// Blocks that came home.
    pub returned: u64,
    /// In so many batches: each cost one compare-and-swap.
    pub batches: u64,
}

/// What only an arena's owner touches.
#[derive(Debug)]
pub(super) struct State {
    classes: [Class; CLASSES],
    runs: Runs,
    copied_bytes: u64,
    returned: u64,
}

/// The blocks of one size.
#[derive(Clone, Copy, Debug)]
struct Class {
    free: *mut Free,
    /// What of the newest run was never handed out.
    fresh: *mut u8,
    fresh_len: usize,
}

impl State {
    pub(super) fn new(pages: std::ops::Range<u32>) -> Self {
        let empty = Class { free: ptr::null_mut(), fresh: ptr::null_mut(), fresh_len: 0 };
        State { classes: [empty; CLASSES], runs: Runs::new(pages), copied_bytes: 0, returned: 0 }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // Release pairs with the acquire in `Heap::arena`: the next owner sees all that this one did.
        self.heap.arenas[self.number].is_taken.store(false, Ordering::Release);
    }
}

impl Arena {
    /// The caller has marked it taken.
    pub(super) fn new(heap: &'static Heap, number: usize) -> Self {
        Arena { heap, number }
    }

    #[inline]
    fn state(&mut self) -> &mut State {
        // SAFETY: there is one `Arena` of this number, because it is marked taken until that is dropped, and `&mut self` says that nobody
        // else uses it now.
        unsafe { &mut *self.heap.arenas[self.number].state.get() }
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Its heap.
    #[must_use]
    pub fn heap(&self) -> &'static Heap {
        self.heap
    }

    /// What it has seen so far. What has come back by now is put where it belongs first.
    #[must_use]
    pub fn figures(&mut self) -> ArenaFigures {
        self.collect();
        // Relaxed: a statistic.
        let batches = self.heap.arenas[self.number].batches.load(Ordering::Relaxed);
        let State { copied_bytes, returned, .. } = *self.state();
        ArenaFigures { copied_bytes, returned, batches }
    }

    /// A payload that holds these bytes: the one copy, unless [`Arena::payload_with`] writes them in place.
    ///
    /// # Errors
    /// If there is no room.
    pub fn payload(&mut self, bytes: &[u8]) -> Result<Payload, Exhausted> {
        self.state().copied_bytes += bytes.len() as u64;
        self.payload_with(bytes.len(), |into| into.copy_from_slice(bytes))
    }

    /// A payload of so many bytes, all zero, that this writes to before it is shared.
    ///
    /// # Errors
    /// If there is no room.
    pub fn payload_with(
        &mut self,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<Payload, Exhausted> {
        Payload::new(self, len, write)
    }

    /// Room for a payload of so many bytes, which are written later.
    ///
    /// # Errors
    /// If there is no room.
    pub fn unwritten(&mut self, len: usize) -> Result<Unwritten, Exhausted> {
        Unwritten::new(self, len)
    }

    /// A block; it has to be given back by [`Arena::free`] on whichever thread.
    ///
    /// # Errors
    /// If there is no room, or no block is aligned so.
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
        unsafe { self.heap.checks.allocated(self.heap, block, size) };
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
        // What others have given back first: it is in somebody's cache, and it keeps the arena small.
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
        let pages = u32::try_from(size.div_ceil(PAGE_BYTES)).ok()?;
        // What others have given back first: it is in somebody's cache, and it keeps the arena small.
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
        let mut parcel = heap.arenas[self.number].inbox.take();
        let any = !parcel.is_null();
        while !parcel.is_null() {
            // SAFETY: what was taken is ours alone; `Parcel::send` made it of a box.
            let own = unsafe { Box::from_raw(parcel) };
            parcel = own.next;
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
