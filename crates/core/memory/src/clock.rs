//! Real time: how long faulting in takes is what is measured, and what pauses follow.

use std::time::{Duration, Instant};

/// A stopwatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        // tidy: clock: the kernel's speed is the result here; of what is done, only when depends on
        // it.
        Stopwatch(Instant::now())
    }

    pub(crate) fn passed(self) -> Duration {
        self.0.elapsed()
    }

    pub(crate) fn seconds(self) -> f64 {
        self.passed().as_secs_f64()
    }
}
