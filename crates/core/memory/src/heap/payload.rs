//! Bytes that several share and none copies.

use std::alloc::Layout;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::Heap;
use super::arena::Arena;
use super::exhausted::Exhausted;

/// The header before the bytes.
#[derive(Debug)]
#[repr(C)]
struct Header {
    heap: &'static Heap,
    count: AtomicUsize,
    len: usize,
}

/// Where the bytes begin, so that they are aligned as blocks are.
const BYTES_AT: usize = 32;
const _: () = assert!(size_of::<Header>() <= BYTES_AT);

/// Bytes in a heap, counted: a message that carries them carries a pointer. A clone shares them;
/// the last to be dropped gives the block back to its arena, from whichever thread.
///
/// ```
/// use actinium_memory::heap::Heap;
///
/// let heap = Heap::leak_plain(1, 16)?;
/// let mut arena = heap.arena(0).expect("nobody has it");
/// let payload = arena.payload(b"detector frame").expect("there is room");
/// let same = payload.clone();
/// let reader = std::thread::spawn(move || same.len());
/// assert_eq!(&payload[..8], b"detector");
/// assert_eq!(reader.join().unwrap(), 14);
/// # Ok::<(), actinium_memory::MemoryError>(())
/// ```
pub struct Payload(NonNull<Header>);

// SAFETY: the bytes are not changed while they are shared, and the count is atomic.
unsafe impl Send for Payload {}
// SAFETY: likewise.
unsafe impl Sync for Payload {}

impl Arena {
    /// A payload that holds these bytes: the one copy, unless [`Arena::payload_with`] writes them
    /// in place.
    ///
    /// # Errors
    /// If the arena is full.
    pub fn payload(&mut self, bytes: &[u8]) -> Result<Payload, Exhausted> {
        self.count_copied(bytes.len() as u64);
        self.payload_with(bytes.len(), |into| into.copy_from_slice(bytes))
    }

    /// A payload of so many bytes, all zero, that this writes to before it is shared.
    ///
    /// # Errors
    /// If the arena is full.
    pub fn payload_with(
        &mut self,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<Payload, Exhausted> {
        Payload::new(self, len, write)
    }
}

impl Payload {
    fn new(
        arena: &mut Arena,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<Self, Exhausted> {
        // SAFETY: the bytes are set before they are lent.
        let payload = unsafe {
            let payload = Self::without_bytes(arena, len)?;
            payload.bytes_at().write_bytes(0, len);
            payload
        };
        // SAFETY: the block has so many bytes there, all set, and is ours alone.
        let bytes = unsafe { std::slice::from_raw_parts_mut(payload.bytes_at().as_ptr(), len) };
        // It is owned already, so that the block is given back if the caller's code panics.
        write(bytes);
        Ok(payload)
    }

    /// A payload whose bytes are not set.
    ///
    /// # Safety
    /// Nobody reads them before they are.
    pub(super) unsafe fn without_bytes(arena: &mut Arena, len: usize) -> Result<Self, Exhausted> {
        let too_large = Exhausted { size_bytes: len, arena: arena.number() };
        let layout = Self::layout(len).ok_or(too_large)?;
        let heap = arena.heap();
        let header = arena.alloc(layout)?.cast::<Header>();
        // SAFETY: the block is new, large enough for the header and the bytes behind it, and
        // aligned to 16 bytes.
        unsafe { header.write(Header { heap, count: AtomicUsize::new(1), len }) };
        Ok(Payload(header))
    }

    /// How many bytes there are, set or not.
    pub(super) fn length(&self) -> usize {
        self.header().len
    }

    /// Where they begin.
    pub(super) fn bytes_at(&self) -> NonNull<u8> {
        // SAFETY: the block goes on behind the header.
        unsafe { self.0.cast::<u8>().add(BYTES_AT) }
    }

    /// The heap that it lies in.
    #[must_use]
    pub fn heap(&self) -> &'static Heap {
        self.header().heap
    }

    fn layout(len: usize) -> Option<Layout> {
        Layout::from_size_align(len.checked_add(BYTES_AT)?, 16).ok()
    }

    fn header(&self) -> &Header {
        // SAFETY: the block is there as long as somebody counts in it, and this does.
        unsafe { self.0.as_ref() }
    }

    /// How many share it, at this moment.
    #[must_use]
    pub fn shares(&self) -> usize {
        // Relaxed: a statistic.
        self.header().count.load(Ordering::Relaxed)
    }

    /// The bytes, to be changed, if nobody else shares them.
    pub fn get_mut(&mut self) -> Option<&mut [u8]> {
        let header = self.header();
        // Acquire pairs with the release of the drops: what others did with the bytes has happened
        // before.
        if header.count.load(Ordering::Acquire) != 1 {
            return None;
        }
        let len = header.len;
        // SAFETY: nobody else has it, and `&mut self` says that nobody gets it meanwhile.
        Some(unsafe { std::slice::from_raw_parts_mut(self.bytes_at().as_ptr(), len) })
    }

    /// The pointer that it is, to be sent as a word; [`Payload::from_raw`] makes it a payload
    /// again.
    #[must_use]
    pub fn into_raw(self) -> NonNull<u8> {
        ManuallyDrop::new(self).0.cast()
    }

    /// Makes a payload of the pointer of [`Payload::into_raw`].
    ///
    /// # Safety
    /// The pointer came from there, and is used once.
    #[must_use]
    pub unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        Payload(raw.cast())
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes lie behind the header, are set, and nobody changes them while they are
        // shared.
        unsafe { std::slice::from_raw_parts(self.bytes_at().as_ptr(), self.length()) }
    }
}

impl Clone for Payload {
    fn clone(&self) -> Self {
        // Relaxed: whoever clones has it, so it is there; as in `Arc`.
        let before = self.header().count.fetch_add(1, Ordering::Relaxed);
        assert!(before <= isize::MAX as usize, "too many share a payload");
        Payload(self.0)
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        let header = self.header();
        // Release pairs with the fence below, in whichever thread is the last; nothing is to be
        // acquired here by the others.
        if header.count.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        // Acquire: pairs with the release of all other drops, so that their uses of the bytes have
        // happened before.
        fence(Ordering::Acquire);
        let (heap, len) = (header.heap, header.len);
        if let Some(layout) = Self::layout(len) {
            // SAFETY: the block was allocated with this layout, in this heap, and the last to use
            // it is this.
            unsafe { Arena::free(heap, self.0.cast(), layout) };
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").field("len", &self.len()).finish_non_exhaustive()
    }
}
