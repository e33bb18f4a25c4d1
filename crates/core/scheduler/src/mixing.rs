//! Numbers that look random and never change: files, checksums, seeds and pinned results rest on
//! them.
//!
//! A library's generator may change with its version; these may not. All of it is SplitMix64 (G.
//! Steele, D. Lea and C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).

use std::hash::Hasher;
use std::hint::select_unpredictable as select;

/// The step by which SplitMix64 counts: 2⁶⁴ divided by the golden ratio.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scrambles all bits: the finish of SplitMix64.
#[inline]
pub const fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Mixes a value into a sum, in whose order it counts.
#[inline]
pub const fn mix(sum: u64, value: u64) -> u64 {
    scramble(sum.rotate_left(5) ^ value.wrapping_add(STEP))
}

/// The member with the greatest weight for a key; no two members have the same. When one goes, its
/// keys go to all others alike, and no other key moves; when one comes, it takes its share from all
/// (rendezvous hashing: D. Thaler and C. Ravishankar, "A Name-Based Mapping Scheme for Rendezvous",
/// 1996). O(members).
pub fn rendezvous(key: u64, members: impl IntoIterator<Item = u32>) -> Option<u32> {
    // Every bit of key and member counts. Each step can be undone, so that weights differ.
    let weight = |member: u32| scramble(key ^ u64::from(member).wrapping_add(1).wrapping_mul(STEP));
    let weighed = members.into_iter().map(|member| (weight(member), member));
    // Which is greater is random: a branch would be mispredicted again and again.
    let best = weighed.reduce(|best, it| {
        let is_more = it.0 > best.0;
        (select(is_more, it.0, best.0), select(is_more, it.1, best.1))
    });
    best.map(|(_, member)| member)
}

/// The hash of keys by which they are spread: FNV-1a with 64 bits (G. Fowler, L. Noll, P. Vo), of
/// integers in little-endian order. Lengths count as 64 bits.
#[derive(Clone, Debug)]
pub struct KeyHasher(u64);

impl Default for KeyHasher {
    fn default() -> Self {
        KeyHasher(0xcbf2_9ce4_8422_2325)
    }
}

macro_rules! little_endian {
    ($($write:ident($int:ty) as $as:ty;)+) => {$(
        #[inline]
        fn $write(&mut self, number: $int) {
            self.write(&(number as $as).to_le_bytes());
        }
    )+};
}

impl Hasher for KeyHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    little_endian! {
        write_u16(u16) as u16;
        write_u32(u32) as u32;
        write_u64(u64) as u64;
        write_u128(u128) as u128;
        write_usize(usize) as u64;
        write_i16(i16) as i16;
        write_i32(i32) as i32;
        write_i64(i64) as i64;
        write_i128(i128) as i128;
        write_isize(isize) as i64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The generator SplitMix64.
#[derive(Clone, Copy, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator of this seed.
    pub const fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next number.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scramble(self.0)
    }

    /// A number below `n`, which is at least 1. The bias is below `n` / 2^64.
    #[inline]
    pub const fn below(&mut self, n: u64) -> u64 {
        // The high half of the product: no division.
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }

    /// A number from 0 up to 1, 1 excluded.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_never_change() {
        let mut random = SplitMix64::new(1_234_567);
        // The reference implementation's first values for this seed.
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
        let mut random = SplitMix64::new(42);
        assert_eq!(random.next_u64(), 13_679_457_532_755_275_413);
        assert!((0..1_000).all(|_| random.below(7) < 7));
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.unit())));
    }

    #[test]
    fn every_choice_comes_up_and_none_beyond() {
        let mut random = SplitMix64::new(7);
        let mut seen = [0_u32; 5];
        (0..5_000).for_each(|_| seen[random.below(5) as usize] += 1);
        assert!(seen.iter().all(|&n| (800..1_200).contains(&n)), "{seen:?}");
    }
}
