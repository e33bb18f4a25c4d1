//! A chunk of a lane: a stretch of memory that entries are written into, one behind the other.
//!
//! An entry, in words of 8 bytes: the receiver's address, with a mark in its lowest bit if the time
//! of sending follows; that time, if so; the message, as it lies in memory, at whatever alignment
//! that comes to. Receivers are of type `R`; their addresses are never followed here.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::NonNull;

/// Words of a chunk, unless one entry needs more: large enough that publishing it costs little per
/// entry, small enough that one for each pair of 64 workers is a few tens of MiB at most.
const WORDS: usize = if cfg!(any(loom, shuttle)) { 6 } else { 512 };
/// How many words ahead cache lines are asked for.
const AHEAD: usize = 96;
/// Mark on the address: the time of sending follows.
const STAMPED: usize = 1;

/// Words that an entry with a message of this type takes at most.
pub(crate) const fn entry_words<M>() -> usize {
    2 + message_words::<M>()
}

const fn message_words<M>() -> usize {
    size_of::<M>().div_ceil(8)
}

/// Memory for entries, with those in it. Entries that are in it when it is dropped are forgotten:
/// their messages are not dropped.
#[derive(Debug)]
pub struct Chunk<R> {
    words: NonNull<u64>,
    capacity: usize,
    len: usize,
    _receivers: PhantomData<*const R>,
}

// SAFETY: it owns its memory; messages are Send (those who put them in see to that), and receivers'
// addresses are only compared.
unsafe impl<R> Send for Chunk<R> {}

/// The entries of a chunk, taken out in their order.
#[derive(Debug)]
pub struct Entries<'a, R> {
    chunk: &'a Chunk<R>,
    at: usize,
    len: usize,
}

/// Asks for the cache line there, soon to be read. Each line of a chunk comes from another core:
/// fetched one after the other, they would cost more than all else that is done with an entry.
#[inline(always)]
fn prefetch_to_read(place: *const u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint; any address will do.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

impl<R> Chunk<R> {
    const ADDRESS_BIT_IS_FREE: () =
        assert!(align_of::<R>() >= 8, "the lowest bit of a receiver's address is free");

    /// An empty chunk with room for at least so many words.
    pub fn new(at_least: usize) -> Self {
        let () = Self::ADDRESS_BIT_IS_FREE;
        let capacity = at_least.max(WORDS);
        let layout = Layout::array::<u64>(capacity).expect("a message beyond the address space");
        // SAFETY: the size is not 0.
        let words = unsafe { alloc(layout) }.cast::<u64>();
        let words = NonNull::new(words).unwrap_or_else(|| handle_alloc_error(layout));
        Chunk { words, capacity, len: 0, _receivers: PhantomData }
    }

    /// Words in it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether so many more words fit.
    #[inline(always)]
    pub fn fits(&self, words: usize) -> bool {
        self.capacity - self.len >= words
    }

    /// Puts an entry last.
    ///
    /// # Panics
    /// If there is no room (checked: it costs nothing measurable beside the store).
    #[inline(always)]
    pub fn push<M: Send>(&mut self, to: NonNull<R>, stamp_ns: u64, message: M) {
        assert!(self.fits(entry_words::<M>()), "no room for an entry");
        // SAFETY: the words written are within the capacity, by the assertion.
        unsafe {
            let mut place = self.words.add(self.len);
            if stamp_ns == 0 {
                place.cast::<*mut R>().write(to.as_ptr());
            } else {
                let marked = to.as_ptr().map_addr(|address| address | STAMPED);
                place.cast::<*mut R>().write(marked);
                place = place.add(1);
                place.write(stamp_ns);
                self.len += 1;
            }
            place.add(1).cast::<M>().write_unaligned(message);
        }
        self.len += 1 + message_words::<M>();
    }

    /// Takes all entries out of the chunk, which forgets them.
    pub fn take(&mut self) -> Entries<'_, R> {
        let len = std::mem::take(&mut self.len);
        for ahead in (0..AHEAD.min(len)).step_by(8) {
            prefetch_to_read(self.words.as_ptr().wrapping_add(ahead));
        }
        Entries { chunk: self, at: 0, len }
    }
}

impl<R> Entries<'_, R> {
    /// The runnable to which the next entry is sent.
    #[inline(always)]
    pub fn next_to(&self) -> Option<NonNull<R>> {
        if self.at >= self.len {
            return None;
        }
        // SAFETY: an entry begins here.
        let marked = unsafe { self.chunk.words.add(self.at).cast::<*mut R>().read() };
        NonNull::new(marked.map_addr(|address| address & !STAMPED))
    }

    /// Takes the next one out: when it was sent (0: not known), and the message.
    ///
    /// # Safety
    /// There is one, and its message is of this type.
    #[inline(always)]
    pub unsafe fn take<M>(&mut self) -> (u64, M) {
        let words = self.chunk.words.as_ptr();
        prefetch_to_read(words.wrapping_add((self.at + AHEAD).min(self.len - 1)));
        // SAFETY: an entry begins here, which was written for a message of this type.
        unsafe {
            let place = words.add(self.at);
            let stamped = place.cast::<*mut R>().read().addr() & STAMPED;
            let stamp_ns = if stamped == 0 { 0 } else { place.add(1).read() };
            self.at += 1 + stamped + message_words::<M>();
            (stamp_ns, place.add(1 + stamped).cast::<M>().read_unaligned())
        }
    }
}

impl<R> Drop for Chunk<R> {
    fn drop(&mut self) {
        let layout =
            Layout::array::<u64>(self.capacity).expect("it was allocated with this layout");
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.words.as_ptr().cast(), layout) }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_as_they_went_in() {
        let mut chunk = Chunk::new(0);
        let receivers: Vec<u64> = vec![0; 3];
        let to = |i: usize| NonNull::from(&receivers[i]);
        chunk.push(to(0), 0, 7u8);
        chunk.push(to(1), 99, ());
        chunk.push(to(2), 5, (1u64, Box::new(2u32)));
        chunk.push(to(0), 0, u128::MAX);
        let mut entries = chunk.take();
        // SAFETY: each message is taken as what it is; receivers are not touched.
        unsafe {
            assert_eq!(entries.next_to(), Some(to(0)));
            assert_eq!(entries.take::<u8>(), (0, 7));
            assert_eq!(entries.next_to(), Some(to(1)));
            assert_eq!(entries.take::<()>(), (99, ()));
            assert_eq!(entries.take::<(u64, Box<u32>)>(), (5, (1, Box::new(2))));
            assert_eq!(entries.next_to(), Some(to(0)));
            assert_eq!(entries.take::<u128>(), (0, u128::MAX));
        }
        assert_eq!(entries.next_to(), None);
        assert!(chunk.is_empty());
    }

    #[test]
    fn a_large_entry_gets_a_chunk_of_its_size() {
        let words = entry_words::<[u64; 5000]>();
        let mut chunk = Chunk::new(words);
        assert!(chunk.fits(words));
        let receiver = 0u64;
        chunk.push(NonNull::from(&receiver), 1, [3u64; 5000]);
        assert!(!chunk.fits(1));
    }
}
