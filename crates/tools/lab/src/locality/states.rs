//! The states that actors work on: each is memory that no other actor touches.

use actinium_scheduler::mixing::SplitMix64;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

/// The memory of one actor.
pub trait State: Send + Default + 'static {
    /// A state with so many words (or entries), all of which have been written.
    fn new(size: usize) -> Self;

    /// Reads and writes so many places of it, chosen by `random`; returns something that depends on
    /// what was read.
    fn touch(&mut self, accesses: u32, random: &mut Random) -> u64;
}

/// A generator of numbers that look random: fast, for it runs once per access, and the same for the
/// same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Two seeds give two sequences.
    pub fn new(seed: u64) -> Self {
        Random(SplitMix64::new(seed).next_u64())
    }

    /// A number below `bound`.
    #[inline(always)]
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The upper bits are the good ones; a bound is below 2^32.
        (((self.0 >> 32) * bound as u64) >> 32) as usize
    }
}

const LINE_WORDS: usize = 16;

/// Two cache lines, because processors fetch them in pairs.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
struct Lines([u64; LINE_WORDS]);

/// An array on cache lines of its own.
#[derive(Debug, Default)]
pub struct Aligned {
    lines: Box<[Lines]>,
    words: usize,
}

impl State for Aligned {
    fn new(size: usize) -> Self {
        let lines = vec![Lines([1; LINE_WORDS]); size.div_ceil(LINE_WORDS)];
        Aligned { lines: lines.into_boxed_slice(), words: size }
    }

    #[inline]
    fn touch(&mut self, accesses: u32, random: &mut Random) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..accesses {
            let at = random.below(self.words);
            let word = &mut self.lines[at / LINE_WORDS].0[at % LINE_WORDS];
            sum = sum.wrapping_add(*word);
            *word = sum;
        }
        sum
    }
}

/// An array where the allocator puts it: small ones share cache lines with their neighbours.
#[derive(Debug, Default)]
pub struct Packed(Box<[u64]>);

impl State for Packed {
    fn new(size: usize) -> Self {
        Packed(vec![1; size].into_boxed_slice())
    }

    #[inline]
    fn touch(&mut self, accesses: u32, random: &mut Random) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..accesses {
            let at = random.below(self.0.len());
            sum = sum.wrapping_add(self.0[at]);
            self.0[at] = sum;
        }
        sum
    }
}

/// A hash map of small allocations, of which each message makes one anew.
#[derive(Debug, Default)]
pub struct Map(HashMap<u64, Box<[u64; 4]>, BuildHasherDefault<DefaultHasher>>);

impl State for Map {
    fn new(size: usize) -> Self {
        Map((0..size as u64).map(|key| (key, Box::new([key; 4]))).collect())
    }

    #[inline]
    fn touch(&mut self, accesses: u32, random: &mut Random) -> u64 {
        let (mut sum, mut key) = (0_u64, 0);
        for _ in 0..accesses {
            key = random.below(self.0.len()) as u64;
            if let Some(value) = self.0.get_mut(&key) {
                sum = sum.wrapping_add(value[0]);
                value[1] = sum;
            }
        }
        self.0.insert(key, Box::new([sum; 4]));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_arrays_do_the_same() {
        let (mut aligned, mut packed) = (Aligned::new(100), Packed::new(100));
        let (mut one, mut other) = (Random::new(7), Random::new(7));
        for accesses in [1, 20, 1_000] {
            assert_eq!(aligned.touch(accesses, &mut one), packed.touch(accesses, &mut other));
        }
        assert_eq!(std::mem::align_of::<Lines>(), 128);
    }

    #[test]
    fn all_of_a_state_is_touched_and_nothing_beside_it() {
        let mut packed = Packed::new(50);
        packed.touch(2_000, &mut Random::new(1));
        assert!(packed.0.iter().all(|&word| word != 1));
        let mut aligned = Aligned::new(50);
        aligned.touch(2_000, &mut Random::new(1));
        let words: Vec<u64> = aligned.lines.iter().flat_map(|line| line.0).collect();
        assert!(
            words[..50].iter().all(|&word| word != 1) && words[50..].iter().all(|&word| word == 1)
        );
    }

    #[test]
    fn a_map_keeps_its_size() {
        let mut map = Map::new(64);
        map.touch(500, &mut Random::new(3));
        assert_eq!(map.0.len(), 64);
    }
}
