//! Counts the runnables that one runnable makes in a row.

use crate::runnable::Header;
use std::cell::Cell;

/// The last maker of a runnable at this worker, and how many it made in a row.
#[derive(Debug)]
pub(super) struct SpawnBurst {
    maker: Cell<*const Header>,
    made: Cell<usize>,
}

impl SpawnBurst {
    pub(super) fn new() -> Self {
        SpawnBurst { maker: Cell::new(std::ptr::null()), made: Cell::new(0) }
    }

    /// Counts one more: the how manieth in a row it is, from 0.
    pub(super) fn count(&self, maker: *const Header) -> usize {
        let n = if self.maker.replace(maker) == maker { self.made.get() } else { 0 };
        self.made.set(n + 1);
        n
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_burst_ends_when_another_makes_something() {
        let burst = SpawnBurst::new();
        let [a, b] = [1, 2].map(std::ptr::without_provenance);
        assert_eq!([a, a, b, a, a].map(|maker| burst.count(maker)), [0, 1, 0, 0, 1]);
    }
}
