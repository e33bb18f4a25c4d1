//! To whom a worker may have sent what lies in its lanes.

use crate::runnable::Runnable;

/// Bits of the set, in words of 64.
const WORDS: usize = 16;

/// A set of runnables that may contain more than were put in: a Bloom filter (B. Bloom, 1970) with
/// one hash. What it does not contain was not put in.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    bits: [u64; WORDS],
    /// Many messages in a row are often for the same.
    last: Option<Runnable>,
}

impl Receivers {
    #[inline(always)]
    pub(super) fn insert(&mut self, runnable: Runnable) {
        if self.last != Some(runnable) {
            self.last = Some(runnable);
            let (word, bit) = place(runnable);
            self.bits[word] |= bit;
        }
    }

    pub(super) fn may_contain(&self, runnable: Runnable) -> bool {
        let (word, bit) = place(runnable);
        self.bits[word] & bit != 0
    }
}

/// The word and the bit of a runnable: the upper bits of its address times 2^64 over the golden
/// ratio (Fibonacci hashing; D. Knuth, The Art of Computer Programming, volume 3, 6.4).
#[inline(always)]
fn place(runnable: Runnable) -> (usize, u64) {
    let hash = (runnable.0.addr().get() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((hash >> 60) as usize % WORDS, 1 << (hash >> 54 & 63))
}
