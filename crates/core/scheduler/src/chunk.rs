//! Chunks of a lane: stretches of memory that entries are written into, one behind the other.
//!
//! An entry, in words of 8 bytes: the receiver's address; if a mark in its lowest bits says so, the
//! time of sending, or how many messages follow; the message, or so many, as they lie in memory, at
//! whatever alignment that comes to. Receivers are of type `R`; their addresses are never followed
//! here.
//!
//! What a message costs here is its share of the cache lines that go from core to core. So messages
//! in a row to one receiver have its address in front of them once: the first is an entry of its
//! own, for it may be the only one, and the second begins the row.
//!
//! The chunks of a lane form a chain, in the order in which they are filled; `lanes` says who may
//! touch which of them.

use crate::sync::OwnerCell;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::{MaybeUninit, size_of};
use std::ptr::NonNull;

/// Words of a chunk, with its head, unless one entry needs more: large enough that publishing it
/// costs little per entry, small enough that two for each pair of 64 workers are a few tens of MiB
/// at most.
const WORDS: usize = if cfg!(any(loom, shuttle)) { 6 } else { 512 - HEAD_WORDS };
/// Words of a head.
const HEAD_WORDS: usize = size_of::<Head<()>>().div_ceil(8);
/// Where chunks begin: at a cache line of their own.
const ALIGNMENT: usize = 64;
/// How many words ahead cache lines are asked for.
const AHEAD: usize = 96;
/// Mark on the address: the time of sending follows.
const STAMPED: usize = 1;
/// Mark on the address: the number of messages in a row follows.
const ROW: usize = 2;
const MARKS: usize = STAMPED | ROW;

/// Words that an entry with a message of this type takes at most.
pub(crate) const fn entry_words<M>() -> usize {
    2 + message_words::<M>()
}

const fn message_words<M>() -> usize {
    size_of::<M>().div_ceil(8)
}

/// What stands before a chunk's entries.
#[derive(Debug)]
struct Head<R> {
    link: OwnerCell<Link<R>>,
    /// Words for entries.
    capacity: usize,
}

#[derive(Debug)]
struct Link<R> {
    /// The chunk that is filled after this one; `None`: this one is not full yet.
    next: Option<Chunk<R>>,
    /// Words of the entries in it.
    len: usize,
}

/// A chunk: a name for it, that keeps nothing alive. Entries that are in it when it is freed are
/// forgotten: their messages are not dropped.
#[derive(Debug)]
pub(crate) struct Chunk<R>(NonNull<Head<R>>);

impl<R> Clone for Chunk<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Chunk<R> {}

// SAFETY: its memory is only reached by unsafe functions, whose callers see to that one thread does
// so at a time; messages are Send (those who put them in see to that), and receivers' addresses are
// only compared.
unsafe impl<R> Send for Chunk<R> {}

/// Where entries are written: the rest of a chunk.
#[derive(Debug)]
pub(crate) struct Writer<R> {
    at: *mut u64,
    /// As `at` where nothing can be written.
    end: *mut u64,
    start: *mut u64,
    /// To whom the last message went that has no time, marked with [`ROW`] if it is one of a row;
    /// else 0.
    last: usize,
    /// The number of messages in the row, while there is one.
    row: *mut u64,
    receivers: PhantomData<*const R>,
}

/// The entries of a chunk, taken out in their order.
#[derive(Debug)]
pub struct Entries<'a, R> {
    at: *const u64,
    end: *const u64,
    /// Of the row that is being taken out: to whom it goes, and how many messages are left.
    to: *mut R,
    left: u64,
    chunk: PhantomData<&'a Chunk<R>>,
}

/// Asks for the cache line there, soon to be read. Each line of a chunk comes from another core:
/// fetched one after the other, they would cost more than all else that is done with an entry.
#[inline(always)]
fn prefetch_to_read<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint; any address will do.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

/// Asks for the cache line there, soon to be written: it comes from the core that has read it.
#[inline(always)]
fn prefetch_to_write<T>(place: *mut T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint; any address will do. (The intrinsic asks for the line to read, where the
    // target's features do not promise this instruction; processors without it do nothing.)
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

impl<R> Chunk<R> {
    const ADDRESS_BITS_ARE_FREE: () =
        assert!(align_of::<R>() > MARKS, "the lowest bits of a receiver's address are free");

    /// An empty chunk with room for at least so many words, which nothing follows.
    pub(crate) fn new(at_least: usize) -> Self {
        let () = Self::ADDRESS_BITS_ARE_FREE;
        let capacity = at_least.max(WORDS);
        let layout = layout(capacity);
        // SAFETY: the size is not 0.
        let head = NonNull::new(unsafe { alloc(layout) }.cast::<Head<R>>());
        let head = head.unwrap_or_else(|| handle_alloc_error(layout));
        let link = OwnerCell::new(Link { next: None, len: 0 });
        // SAFETY: a head fits there.
        unsafe { head.write(Head { link, capacity }) };
        Chunk(head)
    }

    /// The chunk at this address, which [`Chunk::as_ptr`] gave away.
    pub(crate) fn from_ptr(address: *mut ()) -> Option<Self> {
        NonNull::new(address.cast()).map(Chunk)
    }

    /// Where it is.
    pub(crate) fn as_ptr(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    /// Gives its memory back.
    ///
    /// # Safety
    /// It is alive, and nobody uses it any more.
    pub(crate) unsafe fn free(self) {
        // SAFETY: by contract; allocated in `new` with this layout.
        unsafe {
            let layout = layout(self.capacity());
            self.0.drop_in_place();
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }

    /// Words for entries.
    ///
    /// # Safety
    /// It is alive.
    pub(crate) unsafe fn capacity(self) -> usize {
        // SAFETY: by contract. Nobody ever writes it.
        unsafe { (*self.0.as_ptr()).capacity }
    }

    /// # Safety
    /// It is alive, and the caller is the only one who uses it.
    unsafe fn link<T>(self, f: impl FnOnce(&mut Link<R>) -> T) -> T {
        // SAFETY: by contract.
        unsafe { self.0.as_ref().link.with(f) }
    }

    fn start(self) -> *mut u64 {
        self.0.as_ptr().cast::<u64>().wrapping_add(HEAD_WORDS)
    }

    /// A writer into all of it, which was taken out or is new.
    ///
    /// # Safety
    /// It is alive, and the caller is the only one who uses it, for as long as the writer is used.
    pub(crate) unsafe fn writer(self) -> Writer<R> {
        let start = self.start();
        // SAFETY: by contract.
        let end = start.wrapping_add(unsafe { self.capacity() });
        Writer { at: start, end, start, ..Writer::closed() }
    }

    /// Asks for its first lines, in which so many words will be written soon.
    pub(crate) fn prefetch(self, words: usize) {
        let lines = self.0.as_ptr().cast::<u64>();
        for ahead in (0..(HEAD_WORDS + words).min(AHEAD)).step_by(8) {
            prefetch_to_write(lines.wrapping_add(ahead));
        }
    }

    /// Notes what was written into it, and what is filled after it.
    ///
    /// # Safety
    /// It is alive, and the caller is the only one who uses it; the writer was made for it, and
    /// `next` is alive while this is.
    pub(crate) unsafe fn seal(self, writer: &Writer<R>, next: Self) {
        // SAFETY: by contract.
        unsafe { self.link(|link| *link = Link { next: Some(next), len: writer.len() }) }
    }

    /// What is filled after it.
    ///
    /// # Safety
    /// It is alive, and the caller is the only one who uses it.
    pub(crate) unsafe fn next(self) -> Option<Self> {
        // SAFETY: by contract.
        unsafe { self.link(|link| link.next) }
    }

    /// Makes it an empty one that nothing follows.
    ///
    /// # Safety
    /// It is alive, and the caller is the only one who uses it.
    pub(crate) unsafe fn clear(self) {
        // SAFETY: by contract.
        unsafe { self.link(|link| *link = Link { next: None, len: 0 }) }
    }

    /// The entries of a sealed chunk, and what is filled after it.
    ///
    /// # Safety
    /// It is alive, sealed, and the caller is the only one who uses it for as long as the entries
    /// are used.
    pub(crate) unsafe fn open<'a>(self) -> (Entries<'a, R>, Option<Self>) {
        // Before the length is here: the lines come together then.
        for ahead in (0..AHEAD).step_by(8) {
            prefetch_to_read(self.start().wrapping_add(ahead));
        }
        // SAFETY: by contract.
        let (len, next) = unsafe { self.link(|link| (link.len, link.next)) };
        let at = self.start();
        (Entries::between(at, at.wrapping_add(len)), next)
    }
}

/// The layout of a chunk with so many words for entries.
fn layout(capacity: usize) -> Layout {
    let words = Layout::array::<u64>(HEAD_WORDS.saturating_add(capacity));
    let layout = words.and_then(|words| words.align_to(ALIGNMENT));
    layout.expect("a message beyond the address space")
}

impl<R> Writer<R> {
    /// One by which nothing can be written.
    pub(crate) fn closed() -> Self {
        let [at, end, start, row] = [std::ptr::null_mut(); 4];
        Writer { at, end, start, last: 0, row, receivers: PhantomData }
    }

    /// Whether something could be written.
    pub(crate) fn is_open(&self) -> bool {
        !self.start.is_null()
    }

    /// Words written.
    pub(crate) fn len(&self) -> usize {
        (self.at.addr() - self.start.addr()) / size_of::<u64>()
    }

    /// Whether so many more words fit.
    #[inline(always)]
    pub(crate) fn fits(&self, words: usize) -> bool {
        self.end.addr() - self.at.addr() >= words * size_of::<u64>()
    }

    /// Puts an entry last.
    ///
    /// # Panics
    /// If there is no room (checked: it costs nothing measurable beside the store).
    #[inline(always)]
    pub(crate) fn push<M: Send>(&mut self, to: NonNull<R>, stamp_ns: u64, message: M) {
        assert!(self.fits(entry_words::<M>()), "no room for an entry");
        // SAFETY: the words written are before the end, by the assertion, in a chunk that nobody
        // else uses.
        unsafe {
            if const { message_words::<M>() == 0 } {
                // A row of these would never fill a chunk.
                self.last = 0;
            }
            let place = self.begin_entry(to, stamp_ns);
            self.at = place.add(message_words::<M>());
            place.cast::<M>().write_unaligned(message);
        }
    }

    /// Writes what stands before a message; returns the message's place.
    ///
    /// # Safety
    /// There is room for an entry, and nobody else uses the chunk.
    #[inline(always)]
    unsafe fn begin_entry(&mut self, to: NonNull<R>, stamp_ns: u64) -> *mut u64 {
        let (place, address) = (self.at, to.as_ptr());
        let head = |mark: usize| address.map_addr(|address| address | mark);
        // SAFETY: two words at most; a row's number was written in this chunk.
        unsafe {
            if stamp_ns != 0 {
                self.last = 0;
                place.cast::<*mut R>().write(head(STAMPED));
                place.add(1).write(stamp_ns);
                return place.add(2);
            }
            if self.last & !ROW != address.addr() {
                self.last = address.addr();
                place.cast::<*mut R>().write(address);
                return place.add(1);
            }
            if self.last & ROW != 0 {
                *self.row += 1;
                return place;
            }
            self.last |= ROW;
            self.row = place.add(1);
            place.cast::<*mut R>().write(head(ROW));
            self.row.write(1);
            place.add(2)
        }
    }

    /// Takes out what was written, and closes.
    ///
    /// # Safety
    /// The caller is the only one who uses the chunk for as long as the entries are used.
    pub(crate) unsafe fn take<'a>(&mut self) -> Entries<'a, R> {
        let Writer { at, start, .. } = std::mem::replace(self, Writer::closed());
        Entries::between(start, at)
    }
}

impl<R> Entries<'_, R> {
    fn between(at: *const u64, end: *const u64) -> Self {
        Entries { at, end, to: std::ptr::null_mut(), left: 0, chunk: PhantomData }
    }

    /// Words of those that are left.
    pub fn words(&self) -> usize {
        (self.end.addr() - self.at.addr()) / size_of::<u64>()
    }

    /// The runnable to which the next entry is sent.
    #[inline(always)]
    pub fn next_to(&self) -> Option<NonNull<R>> {
        if self.left > 0 {
            return NonNull::new(self.to);
        }
        if self.at == self.end {
            return None;
        }
        // SAFETY: an entry begins here.
        let marked = unsafe { self.at.cast::<*mut R>().read() };
        NonNull::new(marked.map_addr(|address| address & !MARKS))
    }

    /// Takes the next one out: when it was sent (0: not known), and the message.
    ///
    /// # Safety
    /// There is one, and its message is of this type.
    #[inline(always)]
    pub unsafe fn take<M>(&mut self) -> (u64, M) {
        let mut message = MaybeUninit::uninit();
        // SAFETY: by contract; it is written before it is read.
        unsafe {
            let stamp_ns = self.take_to(message.as_mut_ptr());
            (stamp_ns, message.assume_init())
        }
    }

    /// Takes the next one out, and moves its message to a place; returns when it was sent (0: not
    /// known). The bytes go there as a whole: taken out as a value, an `enum` would go by the
    /// stack, in pieces, and the processor waits for pieces that it then reads as one.
    ///
    /// # Safety
    /// There is one, and its message is of this type; the place is good for it.
    #[inline(always)]
    pub unsafe fn take_to<M>(&mut self, to: *mut M) -> u64 {
        prefetch_to_read(self.at.wrapping_add(AHEAD));
        // SAFETY: a message of this type comes next, behind its head if it has one.
        unsafe {
            let (stamp_ns, message) = self.take_head();
            self.at = message.add(message_words::<M>());
            message.cast::<u8>().copy_to_nonoverlapping(to.cast::<u8>(), size_of::<M>());
            stamp_ns
        }
    }

    /// Takes what stands before the next message: when that was sent, and where it is.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn take_head(&mut self) -> (u64, *const u64) {
        let place = self.at;
        if self.left > 0 {
            self.left -= 1;
            return (0, place);
        }
        // SAFETY: an entry begins here; its mark says what follows.
        unsafe {
            let marked = place.cast::<*mut R>().read();
            match marked.addr() & MARKS {
                0 => (0, place.add(1)),
                STAMPED => (place.add(1).read(), place.add(2)),
                _ => {
                    self.to = marked.map_addr(|address| address & !MARKS);
                    self.left = place.add(1).read() - 1;
                    (0, place.add(2))
                }
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_come_out_as_they_went_in() {
        let chunk = Chunk::new(0);
        // SAFETY: nobody else has it.
        let mut writer = unsafe { chunk.writer() };
        let receivers: Vec<u64> = vec![0; 3];
        let to = |i: usize| NonNull::from(&receivers[i]);
        writer.push(to(0), 0, 7u8);
        writer.push(to(1), 99, ());
        writer.push(to(2), 5, (1u64, Box::new(2u32)));
        writer.push(to(0), 0, u128::MAX);
        // SAFETY: each message is taken as what it is; receivers are not touched.
        unsafe {
            let after = Chunk::new(0);
            chunk.seal(&writer, after);
            let (mut entries, next) = chunk.open();
            assert_eq!(next.map(Chunk::as_ptr), Some(after.as_ptr()));
            assert_eq!(entries.next_to(), Some(to(0)));
            assert_eq!(entries.take::<u8>(), (0, 7));
            assert_eq!(entries.next_to(), Some(to(1)));
            assert_eq!(entries.take::<()>(), (99, ()));
            assert_eq!(entries.take::<(u64, Box<u32>)>(), (5, (1, Box::new(2))));
            assert_eq!(entries.next_to(), Some(to(0)));
            assert_eq!(entries.take::<u128>(), (0, u128::MAX));
            assert_eq!((entries.next_to(), entries.words()), (None, 0));
            chunk.free();
            after.free();
        }
    }

    /// Writes entries of `u64` into a chunk that was used before, and takes them out again; returns
    /// how many words they took.
    fn through_a_chunk(sent: &[(usize, u64, u64)]) -> usize {
        let receivers = [0u64; 3];
        let to = |i: usize| NonNull::from(&receivers[i]);
        let chunk = Chunk::new(sent.len() * entry_words::<u64>());
        let put_in = || {
            // SAFETY: nobody else has it.
            let mut writer = unsafe { chunk.writer() };
            sent.iter().for_each(|&(i, stamp_ns, message)| writer.push(to(i), stamp_ns, message));
            writer
        };
        put_in();
        // SAFETY: as above.
        let mut entries = unsafe { put_in().take() };
        let words = entries.words();
        for &(i, stamp_ns, message) in sent {
            assert_eq!(entries.next_to(), Some(to(i)));
            // SAFETY: there is one, and it is a u64.
            assert_eq!(unsafe { entries.take::<u64>() }, (stamp_ns, message));
        }
        assert_eq!((entries.next_to(), entries.words()), (None, 0));
        // SAFETY: as above.
        unsafe { chunk.free() };
        words
    }

    #[test]
    fn messages_in_a_row_to_one_receiver_take_their_own_words_only() {
        let row: Vec<_> = (0..100).map(|i| (0, 0, i)).collect();
        assert_eq!(through_a_chunk(&row[..2]), 2 + 3);
        assert_eq!(through_a_chunk(&row), 2 + 3 + 98);
        let mixed: Vec<_> = (0..100).map(|i| (i as usize % 2, 0, i)).collect();
        assert_eq!(through_a_chunk(&mixed), 100 * 2);
    }

    #[test]
    fn messages_of_no_size_fill_a_chunk_too() {
        let (chunk, receiver) = (Chunk::new(0), 0u64);
        // SAFETY: nobody else has it; what is taken is what was put in.
        unsafe {
            let mut writer = chunk.writer();
            let mut put_in = 0;
            while writer.fits(entry_words::<()>()) {
                writer.push(NonNull::from(&receiver), 0, ());
                put_in += 1;
            }
            assert!(put_in <= WORDS);
            let mut entries = writer.take();
            while entries.next_to().is_some() {
                assert_eq!(entries.take::<()>(), (0, ()));
                put_in -= 1;
            }
            assert_eq!(put_in, 0);
            chunk.free();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

        #[test]
        fn any_entries_come_out_as_they_went_in(
            sent in prop::collection::vec((0usize..3, 0u64..2, any::<u64>()), 0..60),
        ) {
            through_a_chunk(&sent);
        }
    }

    #[test]
    fn a_large_entry_gets_a_chunk_of_its_size() {
        let words = entry_words::<[u64; 5000]>();
        let chunk = Chunk::new(words);
        // SAFETY: nobody else has it.
        let mut writer = unsafe { chunk.writer() };
        assert!(writer.fits(words));
        let receiver = 0u64;
        writer.push(NonNull::from(&receiver), 1, [3u64; 5000]);
        assert!(!writer.fits(1) && writer.is_open());
        // SAFETY: as above.
        assert_eq!(unsafe { writer.take().words() }, words);
        assert!(!writer.is_open() && !writer.fits(1));
        // SAFETY: as above.
        unsafe { chunk.free() };
    }
}
