//! The random numbers that choose what runs next: small, fast, and the same on every machine.

use actinium_scheduler::mixing::SplitMix64;
use std::cell::Cell;

/// A generator that can be used by a shared reference.
#[derive(Debug)]
pub(super) struct Random(Cell<SplitMix64>);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(Cell::new(SplitMix64::new(seed)))
    }

    /// One of 0 to `n - 1`.
    pub(super) fn below(&self, n: usize) -> usize {
        let mut generator = self.0.get();
        let number = generator.below(n as u64) as usize;
        self.0.set(generator);
        number
    }
}
