//! Sampling and counting of a worker's sends.

use crate::policy::tuning::{self, SAMPLED};
use std::cell::Cell;

/// Samples that come faster than this, in nanoseconds, come about half as often from then on: a
/// sample costs some 100 ns, which then is below 2 % of the time between two.
const TOO_CLOSE_NS: u64 = 5_000;
/// Samples that come slower than this, in nanoseconds, come about twice as often: a turn that takes
/// too long is noticed by them.
const TOO_FAR_NS: u64 = 20_000;

/// A countdown to the next send that is sampled. It also tells how many sends there were.
#[derive(Debug)]
pub(super) struct Sampler {
    /// Sends left until one is sampled.
    left: Cell<u32>,
    /// How many sends lie between two samples, and when the last one was taken: nanoseconds.
    every: Cell<u32>,
    sampled_ns: Cell<u64>,
    /// The value of `left` when the counters were last brought up to date.
    flushed: Cell<u32>,
    /// The turn in which a send was sampled last: round of housekeeping, and turns left in it.
    turn: Cell<(u64, u32)>,
}

impl Sampler {
    pub(super) fn new() -> Self {
        Sampler {
            left: Cell::new(SAMPLED),
            every: Cell::new(SAMPLED),
            sampled_ns: Cell::new(0),
            flushed: Cell::new(SAMPLED),
            turn: Cell::new((0, 0)),
        }
    }

    /// Counts a send; true if this one is to be sampled.
    #[inline(always)]
    pub(super) fn count(&self) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        left == 0
    }

    /// How many sends were counted since this was asked last.
    pub(super) fn take_count(&self) -> u32 {
        let left = self.left.get();
        let count = self.flushed.get() - left;
        // The countdown to the next sample goes on: a short round must not put it off.
        let left = if left == 0 { self.every.get() } else { left };
        self.left.set(left);
        self.flushed.set(left);
        count
    }

    /// Makes the next send one that is sampled; returns how many there were to be until then.
    pub(super) fn hurry(&self) -> u32 {
        let left = self.left.get();
        self.set_left(1);
        left
    }

    /// Lets so many sends be the next ones, the last of which is sampled: at least one.
    pub(super) fn set_left(&self, left: u32) {
        let count = self.flushed.get() - self.left.get();
        self.left.set(left.max(1));
        self.flushed.set(left.max(1) + count);
    }

    /// One in how many sends is sampled.
    pub(super) fn every(&self) -> u32 {
        self.every.get()
    }

    /// Notes the time of a sample, and adapts how often they come.
    pub(super) fn sampled_at(&self, now_ns: u64) {
        let apart_ns = now_ns.saturating_sub(self.sampled_ns.replace(now_ns));
        let every = self.every.get();
        if apart_ns < TOO_CLOSE_NS {
            self.every.set(tuning::sampled_less(every));
        } else if apart_ns > TOO_FAR_NS {
            self.every.set(tuning::sampled_more(every));
        }
    }

    /// Notes the turn of a sample: the round of housekeeping, and turns left in it. True if the
    /// last sample was in the same turn.
    pub(super) fn sampled_in(&self, turn: (u64, u32)) -> bool {
        self.turn.replace(turn) == turn
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_countdown_that_was_hurried_counts_right_and_goes_on_where_it_was() {
        let sampler = Sampler::new();
        (0..3).for_each(|_| assert!(!sampler.count()));
        let left = sampler.hurry();
        for _ in 0..5 {
            assert!(sampler.count(), "each is a sample");
            sampler.take_count();
            sampler.set_left(1);
        }
        sampler.set_left(left);
        let until = (1..).find(|_| sampler.count()).unwrap();
        assert_eq!(until, SAMPLED - 3);
        // Three before, which were told with the first of the five.
        assert_eq!(sampler.take_count(), until);
    }
}
