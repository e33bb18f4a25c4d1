//! The one source of time: the machine's monotonic clock, or a virtual one that a test advances.
//!
//! This is the only file of the runtime that calls `Instant::now` (STYLE: one seed, one run).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Nanoseconds since the clock was made.
#[derive(Debug)]
pub enum Clock {
    /// The machine's monotonic clock; the instant is the zero.
    Real(Instant),
    /// Stands still until [`Clock::advance`].
    Virtual(AtomicU64),
    /// The model checkers' real clock: each look at it is a microsecond later than the one before.
    Ticking(AtomicU64),
}

impl Clock {
    /// A clock that runs, starting at 0.
    pub fn real() -> Self {
        if cfg!(any(loom, shuttle)) {
            return Clock::Ticking(AtomicU64::new(0));
        }
        Clock::Real(Instant::now())
    }

    /// A clock that stands still at 0.
    pub fn virtual_time() -> Self {
        Clock::Virtual(AtomicU64::new(0))
    }

    /// Nanoseconds since the clock was made.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match self {
            Clock::Real(start) => start.elapsed().as_nanos() as u64,
            // Relaxed: only the test's own thread advances and reads virtual time.
            Clock::Virtual(now) => now.load(Ordering::Relaxed),
            // Relaxed: a count; model checkers run one thread at a time.
            Clock::Ticking(now) => now.fetch_add(1_000, Ordering::Relaxed),
        }
    }

    /// Moves virtual time forward by `ns`.
    ///
    /// # Panics
    /// On a real clock: nobody moves that.
    pub fn advance(&self, ns: u64) {
        match self {
            Clock::Real(_) | Clock::Ticking(_) => {
                panic!("Clock::advance on a real clock: build the system with virtual time")
            }
            // Relaxed: only the test's own thread advances and reads virtual time.
            Clock::Virtual(now) => {
                now.fetch_add(ns, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_moves_only_when_told() {
        let clock = Clock::virtual_time();
        assert_eq!(clock.now_ns(), 0);
        clock.advance(5);
        assert_eq!(clock.now_ns(), 5);
        assert_eq!(clock.now_ns(), 5);
    }

    #[test]
    fn real_time_never_runs_backwards() {
        let clock = Clock::real();
        let first = clock.now_ns();
        assert!(clock.now_ns() >= first);
    }
}
