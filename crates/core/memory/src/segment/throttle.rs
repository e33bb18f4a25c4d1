//! The throttle of a fault-in in the background, which keeps it out of the program's way.
//!
//! Threads that run only where nobody else wants to (`SCHED_IDLE`) still take from those that want
//! to: caches and the memory's bandwidth, and, where the program's threads sleep and wake all the
//! time, each gap. So while the program works, a thread that has faulted in a chunk pauses for
//! three times as long as that took; while it waits for something or has nothing to do, there are
//! no pauses. Whoever waits for the fault-in ends them.

use std::time::Duration;

/// Pauses for each unit of time worked: a quarter of a PU per thread.
const PAUSES: u32 = 3;
/// The program works if it has used more than this share of one PU, in percent.
const BUSY_PERCENT: u32 = 10;

/// Times that a thread has looked at after a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// Time that has passed.
    pub(super) passed: Duration,
    /// Time that all threads of the process have worked.
    pub(super) process: Duration,
    /// Time that all threads that fault in have worked.
    pub(super) faulting: Duration,
    /// Time that this thread has worked.
    pub(super) own: Duration,
}

/// One thread's.
#[derive(Debug)]
pub(super) struct Throttle {
    last: Times,
}

impl Throttle {
    /// Begins to measure now.
    pub(super) fn new(now: Times) -> Self {
        Throttle { last: now }
    }

    /// How long to pause after a chunk. Pauses are looked back on as well: what the program has
    /// done meanwhile counts.
    pub(super) fn pause(&mut self, now: Times) -> Duration {
        let since = |of: fn(&Times) -> Duration| of(&now).saturating_sub(of(&self.last));
        let passed = since(|times| times.passed);
        let program = since(|times| times.process).saturating_sub(since(|times| times.faulting));
        let worked = since(|times| times.own);
        self.last = now;
        match program * 100 > passed * BUSY_PERCENT {
            true => worked * PAUSES,
            false => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(passed: u64, process: u64, faulting: u64, own: u64) -> Times {
        let ms = Duration::from_millis;
        Times { passed: ms(passed), process: ms(process), faulting: ms(faulting), own: ms(own) }
    }

    #[test]
    fn there_are_pauses_while_the_program_works() {
        let mut throttle = Throttle::new(times(100, 50, 0, 0));
        // Two threads fault in, and nobody else works.
        assert_eq!(throttle.pause(times(110, 70, 20, 10)), Duration::ZERO);
        // One of the program's threads works as well.
        assert_eq!(throttle.pause(times(120, 100, 40, 20)), Duration::from_millis(30));
        // It has ended during the pause.
        assert_eq!(throttle.pause(times(170, 121, 60, 30)), Duration::ZERO);
        // A twentieth of a PU is not worth a pause.
        assert_eq!(throttle.pause(times(270, 146, 80, 40)), Duration::ZERO);
    }

    #[test]
    fn clocks_that_disagree_are_no_work() {
        let mut throttle = Throttle::new(times(100, 50, 20, 10));
        assert_eq!(throttle.pause(times(100, 50, 25, 15)), Duration::ZERO);
        assert_eq!(throttle.pause(times(90, 40, 25, 15)), Duration::ZERO);
    }
}
