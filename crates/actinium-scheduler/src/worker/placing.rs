//! Where what a turn makes is placed.

use super::Worker;
use crate::runnable::Header;
use std::cell::Cell;

/// Who made something last, and how many in a row.
#[derive(Debug)]
pub(super) struct Flood {
    maker: Cell<*const Header>,
    made: Cell<usize>,
}

impl Flood {
    pub(super) fn new() -> Self {
        Flood { maker: Cell::new(std::ptr::null()), made: Cell::new(0) }
    }

    /// It makes one more: the how manieth in a row, from 0.
    fn count(&self, maker: *const Header) -> usize {
        let n = if self.maker.replace(maker) == maker { self.made.get() } else { 0 };
        self.made.set(n + 1);
        n
    }
}

impl Worker {
    /// The home of something that the running turn makes: here, unless it makes very many.
    ///
    /// It begins here all the same, where its memory is warm, and goes home after its first turn: many are made to do one thing and end.
    pub fn place(&self) -> usize {
        let Some(maker) = self.running() else { return self.index };
        let working = self.shared.working();
        let n = self.flood.count(maker.0.as_ptr());
        let steps = self.shared.settings.policy.place_spawned(n, working);
        let others = self.shared.neighbours[self.index].iter().map(|&(other, _)| other);
        let mut others = others.filter(|&other| other < working);
        match steps.checked_sub(1) {
            None => self.index,
            Some(before) => others.nth(before).unwrap_or(self.index),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_row_ends_when_another_makes_something() {
        let flood = Flood::new();
        let [a, b] = [1, 2].map(std::ptr::without_provenance);
        assert_eq!([a, a, b, a, a].map(|maker| flood.count(maker)), [0, 1, 0, 0, 1]);
    }
}
