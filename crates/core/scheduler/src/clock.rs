//! The one source of time: the machine's monotonic clock, or a virtual one that a test advances.
//!
//! This is the only file of the runtime that calls `Instant::now` (STYLE: one seed, one run).

#![expect(clippy::disallowed_methods, reason = "this is the clock")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds since the clock was made.
#[derive(Debug)]
pub enum Clock {
    /// The machine's monotonic clock; the instant is the zero.
    Real(Instant),
    /// Stands still until [`Clock::advance`].
    Virtual(AtomicU64),
    /// Each look at it is a little later than the one before, however long that was ago: see
    /// [`Clock::tick_from_now_on`].
    Ticking(AtomicU64),
}

/// Whether clocks that are made from now on tick.
static TICKS: AtomicBool = AtomicBool::new(cfg!(any(loom, shuttle)));

/// The time from one look at a ticking clock to the next. Model checkers see time-outs pass sooner
/// by larger steps.
const TICK_NS: u64 = if cfg!(any(loom, shuttle)) { 1_000 } else { 100 };

impl Clock {
    /// A clock that runs, starting at 0.
    pub fn real() -> Self {
        // Relaxed: a switch that is set before anything is started.
        if TICKS.load(Ordering::Relaxed) {
            return Clock::Ticking(AtomicU64::new(0));
        }
        Clock::Real(Instant::now())
    }

    /// Makes all clocks of this process that are made afterwards tick: each look at one is 100 ns
    /// later than the look before.
    ///
    /// For counting instructions. Under an emulator everything takes fifty times as long, and a
    /// scheduler that saw that would treat all handlers as heavy ones; with a clock that ticks it
    /// does what it does at full speed, and the same each time. Timers are due after so many looks,
    /// so measure nothing with it that waits.
    ///
    /// ```
    /// actinium_scheduler::Clock::tick_from_now_on();
    /// let clock = actinium_scheduler::Clock::real();
    /// assert_eq!((clock.now_ns(), clock.now_ns()), (0, 100));
    /// ```
    pub fn tick_from_now_on() {
        // Relaxed: as in `real`.
        TICKS.store(true, Ordering::Relaxed);
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
            // Relaxed, as a load and a store: two threads that look at once see the same time, and
            // the cost that is counted has no read-modify-write. Model checkers run one thread at a
            // time.
            Clock::Ticking(now) => {
                let now_ns = now.load(Ordering::Relaxed);
                now.store(now_ns + TICK_NS, Ordering::Relaxed);
                now_ns
            }
        }
    }

    /// When the clock was made, in nanoseconds since 1970; 0 if it is not the machine's.
    pub fn zero_unix_ns(&self) -> u64 {
        let Clock::Real(start) = self else { return 0 };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        now.saturating_sub(start.elapsed()).as_nanos() as u64
    }

    /// Whether it stands still until somebody moves it.
    pub fn is_virtual(&self) -> bool {
        matches!(self, Clock::Virtual(_))
    }

    /// Moves virtual time forward by `ns`, to `u64::MAX` at most: time never runs backwards.
    ///
    /// # Panics
    /// On a real clock: nobody moves that.
    pub fn advance(&self, ns: u64) {
        match self {
            Clock::Real(_) | Clock::Ticking(_) => {
                panic!("Clock::advance on a real clock: build the system with virtual time")
            }
            Clock::Virtual(now) => {
                let later = |now_ns: u64| Some(now_ns.saturating_add(ns));
                // Relaxed: only the test's own thread advances and reads virtual time.
                let _ = now.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
            }
        }
    }
}

/// A time span in whole nanoseconds, the unit of a [`Clock`]. Spans of more than 584 years become
/// `u64::MAX`.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(actinium_scheduler::nanoseconds(Duration::from_micros(3)), 3_000);
/// assert_eq!(actinium_scheduler::nanoseconds(Duration::MAX), u64::MAX);
/// ```
pub fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A moment of real time until which a thread waits, whatever a scheduler's own clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Until(Instant);

impl Until {
    /// The moment that lies `time` after now. `None` means never: the clock can not tell times so
    /// far away.
    pub fn after(time: Duration) -> Option<Self> {
        Instant::now().checked_add(time).map(Until)
    }

    /// This moment.
    pub fn now() -> Self {
        Until(Instant::now())
    }

    /// The moment that lies `by` after this one. `None` means never.
    pub fn later(self, by: Duration) -> Option<Self> {
        self.0.checked_add(by).map(Until)
    }

    /// How long that is from now; zero once it is past.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
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
        clock.advance(u64::MAX);
        clock.advance(7);
        assert_eq!(clock.now_ns(), u64::MAX, "it stops at its end");
    }

    #[test]
    fn real_time_never_runs_backwards() {
        let clock = Clock::real();
        let first = clock.now_ns();
        assert!(clock.now_ns() >= first);
    }
}
