//! Real time: how long faulting in takes is what is measured.

use std::time::Instant;

/// A stopwatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        // tidy: clock: the kernel's speed is the result here, and nothing is decided by it.
        Stopwatch(Instant::now())
    }

    pub(crate) fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
