//! Checks of debug builds: a block given back twice, a write beyond its end. Release builds have
//! none of it.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Behind each block in debug builds.
const GUARD: [u8; 16] = *b"\xfdend of a block\xfd";

/// The bytes that a block needs beyond its own.
pub(super) const MORE: usize = if cfg!(debug_assertions) { GUARD.len() } else { 0 };

/// One bit for each 16 bytes: whether a block that is in use begins there.
#[derive(Debug)]
pub(super) struct Checks {
    begins: Box<[AtomicU64]>,
}

impl Checks {
    pub(super) fn new(bytes: usize) -> Self {
        let words = if cfg!(debug_assertions) { bytes / 16 / 64 } else { 0 };
        Checks { begins: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    fn bit(&self, start: NonNull<u8>, block: NonNull<u8>) -> Option<(&AtomicU64, u64)> {
        let granule = (block.as_ptr() as usize - start.as_ptr() as usize) / 16;
        Some((self.begins.get(granule / 64)?, 1 << (granule % 64)))
    }

    /// # Safety
    /// The block is of the heap that begins at `start`, and has `size + MORE` bytes, which the
    /// caller alone has.
    #[inline]
    pub(super) unsafe fn allocated(&self, start: NonNull<u8>, block: NonNull<u8>, size: usize) {
        if cfg!(debug_assertions)
            && let Some((word, bit)) = self.bit(start, block)
        {
            // Relaxed: who gets the block afterwards got it by a synchronising way.
            let before = word.fetch_or(bit, Ordering::Relaxed);
            assert_eq!(before & bit, 0, "a block was handed out twice: {block:p}");
            // SAFETY: the block has so many bytes, and the caller alone has them.
            unsafe { block.add(size).cast::<[u8; 16]>().write_unaligned(GUARD) };
        }
    }

    /// # Safety
    /// The block is of the heap that begins at `start`, was allocated with this size, and the
    /// caller alone has it.
    #[inline]
    pub(super) unsafe fn freed(&self, start: NonNull<u8>, block: NonNull<u8>, size: usize) {
        if cfg!(debug_assertions)
            && let Some((word, bit)) = self.bit(start, block)
        {
            // Relaxed: as above.
            let before = word.fetch_and(!bit, Ordering::Relaxed);
            assert_ne!(before & bit, 0, "a block was given back twice: {block:p}");
            // SAFETY: as above.
            let guard = unsafe { block.add(size).cast::<[u8; 16]>().read_unaligned() };
            assert_eq!(
                guard, GUARD,
                "somebody wrote beyond the {size} bytes of a block: {block:p}"
            );
        }
    }
}
