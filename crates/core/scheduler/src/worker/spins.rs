//! The number of rounds for which a worker looks for work before it goes to sleep.

use crate::policy::tuning;
use std::cell::Cell;

/// Most rounds of looking for work before a worker goes to sleep.
const MOST: u32 = if cfg!(any(loom, shuttle, miri)) { 1 } else { tuning::SPINS };
/// Fewest rounds.
const LEAST: u32 = if MOST < tuning::SPINS_LEAST { MOST } else { tuning::SPINS_LEAST };
/// Pauses of the processor in each of these rounds.
pub(super) const PAUSES: u32 = if cfg!(any(loom, shuttle, miri)) { 1 } else { 16 };

/// Rounds of looking for work before the worker sleeps next: the less it was worth lately, the
/// fewer.
#[derive(Debug)]
pub(super) struct Spins(Cell<u32>);

impl Spins {
    pub(super) fn new() -> Self {
        Spins(Cell::new(MOST))
    }

    pub(super) fn rounds(&self) -> u32 {
        self.0.get()
    }

    /// Notes that looking was worth it: next time it looks for longer.
    pub(super) fn lengthen(&self) {
        self.0.set((self.0.get() * 2).min(MOST));
    }

    /// Notes that looking was not worth it: next time it looks for less long.
    pub(super) fn shorten(&self) {
        self.0.set((self.0.get() / 2).max(LEAST));
    }
}
