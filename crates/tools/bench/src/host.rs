//! What a runtime that is measured has to do.

use crate::benchmark::Benchmark;

/// A runtime that runs benchmarks, one after the other.
pub(crate) trait Host {
    /// Runs a problem of this size; the result is its rate per second, or bytes.
    ///
    /// # Panics
    /// If the benchmark does not do what it is meant to.
    fn run(&mut self, benchmark: Benchmark, size: u64) -> f64;

    /// Returns what has passed between its workers so far; nothing if it does not count.
    fn crossings(&self) -> Crossings {
        Crossings::default()
    }
}

/// The messages and wake-ups that pass between workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crossings {
    /// Messages that came through a lane or a shared queue, not from the worker's own hand.
    pub(crate) messages: u64,
    /// Sleeping workers that were woken.
    pub(crate) woken: u64,
    /// Chunks of messages published for other workers.
    pub(crate) published: u64,
}
