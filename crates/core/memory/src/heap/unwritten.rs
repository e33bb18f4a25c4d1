//! A payload before it has its bytes.

use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::arena::Arena;
use super::exhausted::Exhausted;
use super::payload::Payload;

/// A payload under construction: written from its beginning to its end, in as many pieces as one
/// likes, and shared only then. Dropped before, its block goes back. Nothing is zeroed first: for
/// what comes from elsewhere, that would be a second pass over the memory.
///
/// ```
/// use actinium_memory::heap::Heap;
///
/// let heap = Heap::leak_plain(1, 16)?;
/// let mut arena = heap.arena(0).expect("nobody has it");
/// let mut frame = arena.unwritten(14).expect("there is room");
/// assert!(frame.append(b"detector"));
/// let mut frame = frame.finish().expect_err("six bytes are missing");
/// assert!(!frame.append(b" frames and more"), "that is more than there is room for");
/// assert!(frame.append(b" frame"));
/// assert_eq!(&frame.finish().expect("all is there")[..], b"detector frame");
/// # Ok::<(), actinium_memory::MemoryError>(())
/// ```
pub struct Unwritten {
    /// Not shared; its bytes are set up to `written`.
    payload: Payload,
    written: usize,
}

impl Arena {
    /// Space for a payload of so many bytes, which are written later.
    ///
    /// # Errors
    /// If the arena is full.
    pub fn unwritten(&mut self, len: usize) -> Result<Unwritten, Exhausted> {
        Unwritten::new(self, len)
    }
}

impl Unwritten {
    fn new(arena: &mut Arena, len: usize) -> Result<Self, Exhausted> {
        // SAFETY: nobody reads a payload's bytes through this type before they are all written.
        let payload = unsafe { Payload::without_bytes(arena, len) }?;
        Ok(Unwritten { payload, written: 0 })
    }

    /// How many bytes it is to have.
    #[must_use]
    pub fn len(&self) -> usize {
        self.payload.length()
    }

    /// Whether it is to have none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many it has.
    #[must_use]
    pub fn written(&self) -> usize {
        self.written
    }

    /// Writes the next bytes; false, and nothing is written, if they are more than are missing.
    #[must_use]
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        let Some(place) = self.missing().get_mut(..bytes.len()) else { return false };
        // SAFETY: the place is as long, and nobody else's.
        unsafe {
            place.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        };
        self.written += bytes.len();
        true
    }

    /// Where the missing bytes belong.
    pub fn missing(&mut self) -> &mut [MaybeUninit<u8>] {
        let (start, len, written) = (self.payload.bytes_at(), self.len(), self.written);
        // SAFETY: the block is ours alone and has `len` bytes from `start`, of which `written` are
        // no more than all.
        unsafe {
            let missing: NonNull<MaybeUninit<u8>> = start.add(written).cast();
            std::slice::from_raw_parts_mut(missing.as_ptr(), len - written)
        }
    }

    /// The bytes of [`Unwritten::missing`] are written: by a device, say.
    ///
    /// # Safety
    /// They are.
    pub unsafe fn assume_written(&mut self) {
        self.written = self.len();
    }

    /// The payload, if all bytes are there.
    ///
    /// # Errors
    /// Gives itself back if some are missing.
    pub fn finish(self) -> Result<Payload, Self> {
        if self.written == self.len() { Ok(self.payload) } else { Err(self) }
    }
}

impl fmt::Debug for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unwritten({} of {} bytes)", self.written, self.len())
    }
}
