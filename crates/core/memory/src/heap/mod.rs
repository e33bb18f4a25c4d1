//! Blocks of a segment: an arena for each worker, and blocks that any thread may give back.
//!
//! An [`Arena`] belongs to one thread at a time (`&mut`), and allocates without a single atomic
//! access: from the free list of the block's size class, else from the class's newest run of pages,
//! else from a new run. Whoever drops a block gathers it with others of the same arena in a list
//! beside them and puts the whole batch into that arena's [`inbox`] by one compare-and-swap; the
//! arena empties its inbox when a free list is empty. So a block goes round between a producer and
//! a consumer for a fraction of an atomic access each way.
//!
//! A heap lives as long as the process ([`Heap::leak`]): blocks need no count of their heap, and
//! outlive whoever made it. Debug builds notice writes beyond a block's end and blocks that are
//! given back twice.

mod arena;
mod checks;
mod class;
mod exhausted;
mod give_back;
pub mod inbox;
mod page;
mod payload;
mod return_batch;
mod runs;
mod shared;
mod state;
mod unwritten;

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::{MemoryError, Segment};
use checks::Checks;
use inbox::Inbox;
use page::{Owner, PAGE_BYTES};
use return_batch::ReturnBatch;
use state::State;

pub use arena::{Arena, ArenaFigures};
pub use exhausted::Exhausted;
pub use give_back::flush;
pub use payload::Payload;
pub use shared::SharedArena;
pub use unwritten::Unwritten;

/// The memory that blocks lie in.
#[derive(Debug)]
enum Memory {
    /// Kept for its mapping, and asked where its pages are.
    Segment(Segment),
    /// Kept. A page's alignment, so that blocks have theirs.
    #[expect(dead_code, reason = "its end would free the blocks")]
    Plain(Vec<Page>),
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(65536))]
struct Page([u8; PAGE_BYTES]);

/// Memory divided into arenas.
#[derive(Debug)]
pub struct Heap {
    memory: Memory,
    start: NonNull<u8>,
    /// The arena and class of each page: see [`Owner`].
    pages: Box<[AtomicU32]>,
    /// How long the run is that begins at a page, for blocks that are runs.
    run_pages: Box<[AtomicU32]>,
    arenas: Box<[ArenaEntry]>,
    checks: Checks,
}

// SAFETY: `start` is only used to make pointers to blocks, each of which belongs to one holder at a
// time; everything else is atomic, not changed after `leak`, or a state that the arena's one owner
// has.
unsafe impl Sync for Heap {}
// SAFETY: likewise.
unsafe impl Send for Heap {}

/// One arena, and what others send it.
#[derive(Debug)]
struct ArenaEntry {
    /// The pages.
    pages: Range<usize>,
    /// The NUMA node that these are on, if they were to be on one.
    node: Option<u32>,
    inbox: Inbox<ReturnBatch>,
    /// How many batches were put there.
    batches: AtomicU64,
    /// Whether somebody has the arena, who then is the only one to touch the state.
    is_taken: AtomicBool,
    state: UnsafeCell<State>,
}

/// All heaps there are: what finds leaks sees that these are meant to stay.
static HEAPS: Mutex<Vec<&'static Heap>> = Mutex::new(Vec::new());

impl Heap {
    /// A heap in this segment, with one arena for each of the segment's. It stays until the process
    /// ends.
    ///
    /// # Errors
    /// If the segment lives in a file (others would have to agree on its blocks), or has an arena
    /// without a whole page of 64 KiB.
    pub fn leak(mut segment: Segment) -> Result<&'static Heap, MemoryError> {
        let wrong = |value: &str, allowed: &str| MemoryError::Setting {
            setting: "heap",
            value: value.to_owned(),
            allowed: allowed.to_owned(),
        };
        let arenas: Vec<_> = segment
            .arenas()
            .iter()
            .map(|part| {
                (part.range.start.div_ceil(PAGE_BYTES)..part.range.end / PAGE_BYTES, part.node)
            })
            .collect();
        let Some(bytes) = segment.bytes() else {
            return Err(wrong("a segment in a file", "private segments"));
        };
        let start = NonNull::from(bytes).cast();
        if arenas.iter().any(|(pages, _)| pages.is_empty()) {
            return Err(wrong("a small segment", "at least 64 KiB for each arena"));
        }
        segment.stays();
        Self::make(Memory::Segment(segment), start, arenas)
    }

    /// A heap in ordinary memory: so many arenas of so many pages of 64 KiB each. For tests, and
    /// where there are no segments.
    ///
    /// # Errors
    /// If there are no arenas, or they have no pages.
    pub fn leak_plain(arenas: usize, pages: usize) -> Result<&'static Heap, MemoryError> {
        if arenas == 0 || pages == 0 {
            return Err(MemoryError::Setting {
                setting: "heap",
                value: format!("{arenas} arenas of {pages} pages"),
                allowed: "at least one of each".to_owned(),
            });
        }
        let mut memory = vec![Page([0; PAGE_BYTES]); arenas * pages];
        let start = NonNull::from(memory.as_mut_slice()).cast();
        let ranges = (0..arenas).map(|at| (at * pages..(at + 1) * pages, None)).collect();
        Self::make(Memory::Plain(memory), start, ranges)
    }

    fn make(
        memory: Memory,
        start: NonNull<u8>,
        arenas: Vec<(Range<usize>, Option<u32>)>,
    ) -> Result<&'static Heap, MemoryError> {
        // An owner's word has 24 bits for the arena.
        if arenas.len() > 1 << 24 {
            return Err(MemoryError::Setting {
                setting: "heap",
                value: format!("{} arenas", arenas.len()),
                allowed: "2^24 at most".to_owned(),
            });
        }
        let pages = arenas.last().map_or(0, |(pages, _)| pages.end);
        let too_large = |_| MemoryError::Setting {
            setting: "heap",
            value: format!("{pages} pages of 64 KiB"),
            allowed: "less than 2^32".to_owned(),
        };
        let entries: Result<Vec<ArenaEntry>, MemoryError> = arenas
            .into_iter()
            .map(|(range, node)| {
                let (from, to) = (u32::try_from(range.start), u32::try_from(range.end));
                let pages = from.map_err(too_large)?..to.map_err(too_large)?;
                Ok(ArenaEntry {
                    pages: range,
                    node,
                    inbox: Inbox::new(),
                    batches: AtomicU64::new(0),
                    is_taken: AtomicBool::new(false),
                    state: UnsafeCell::new(State::new(pages)),
                })
            })
            .collect();
        let heap: &'static Heap = Box::leak(Box::new(Heap {
            memory,
            start,
            pages: (0..pages).map(|_| AtomicU32::new(0)).collect(),
            run_pages: (0..pages).map(|_| AtomicU32::new(0)).collect(),
            arenas: entries?.into_boxed_slice(),
            checks: Checks::new(pages * PAGE_BYTES),
        }));
        HEAPS.lock().unwrap_or_else(PoisonError::into_inner).push(heap);
        Ok(heap)
    }

    /// How many arenas there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arenas.len()
    }

    /// Never: there is at least one arena.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The NUMA node that this arena was to be on; None if it was to be on none, or there is no
    /// such arena.
    #[must_use]
    pub fn node(&self, number: usize) -> Option<u32> {
        self.arenas.get(number)?.node
    }

    /// The arena that this lies in, wherever it came from; None for what is not of this heap.
    #[must_use]
    pub fn arena_of<T: ?Sized>(&self, it: &T) -> Option<usize> {
        let start = self.start.as_ptr() as usize;
        let offset = (std::ptr::from_ref(it).cast::<u8>() as usize).checked_sub(start)?;
        self.arenas.iter().position(|entry| entry.pages.contains(&(offset / PAGE_BYTES)))
    }

    /// How many bytes of an arena are on which NUMA node, asked of the kernel now; pages that
    /// nobody has used or faulted in are left out. None if it can not be asked, in ordinary memory,
    /// or if there is no such arena.
    #[must_use]
    pub fn places(&self, number: usize) -> Option<BTreeMap<u32, u64>> {
        let pages = &self.arenas.get(number)?.pages;
        match &self.memory {
            Memory::Segment(segment) => {
                segment.places(pages.start * PAGE_BYTES..pages.end * PAGE_BYTES)
            }
            Memory::Plain(_) => None,
        }
    }

    /// Where its memory begins, and how many bytes it has: for whoever registers it. Blocks lie
    /// nowhere else.
    #[must_use]
    pub fn memory(&self) -> (NonNull<u8>, usize) {
        (self.start, self.pages.len() * PAGE_BYTES)
    }

    /// Where a page begins.
    fn page(&self, page: u32) -> NonNull<u8> {
        debug_assert!((page as usize) < self.pages.len());
        // SAFETY: the page is one of the heap's, whose memory has so many bytes behind `start`.
        unsafe { self.start.add(page as usize * PAGE_BYTES) }
    }

    /// The page that a block lies in, or begins in.
    fn page_of(&self, block: NonNull<u8>) -> usize {
        (block.as_ptr() as usize - self.start.as_ptr() as usize) / PAGE_BYTES
    }

    /// Takes blocks of the arena with this number back, for its owner to collect.
    fn take_back(&self, number: u32, batch: Box<ReturnBatch>) {
        let entry = &self.arenas[number as usize];
        // Relaxed: a statistic.
        entry.batches.fetch_add(1, Ordering::Relaxed);
        let batch = Box::into_raw(batch);
        // SAFETY: the batch is ours, given away, and freed by nobody but who takes it.
        unsafe { entry.inbox.push(batch, batch) };
    }

    fn owner_of(&self, block: NonNull<u8>) -> Owner {
        // Relaxed: the arena wrote it before it gave the first block of the page away, and whoever
        // has a block got it by a synchronising way.
        Owner::of_word(self.pages[self.page_of(block)].load(Ordering::Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
