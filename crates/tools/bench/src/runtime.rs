//! The runtimes that are compared, and what each has to do.

use crate::benchmark::Benchmark;

/// The runtime whose actors are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    Actinium,
    Tokio,
    /// What a message costs at the least: see `workloads/minimal.rs`.
    Minimal,
}

impl Runtime {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Runtime::Actinium => "actinium",
            Runtime::Tokio => "tokio",
            Runtime::Minimal => "minimal",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        let all = [Runtime::Actinium, Runtime::Tokio, Runtime::Minimal];
        all.into_iter().find(|runtime| runtime.name() == name)
    }

    /// The runtime's name for people to read.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Runtime::Actinium => "Actinium",
            Runtime::Tokio => "tokio",
            Runtime::Minimal => "minimal",
        }
    }
}

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
}

/// A runtime, ready to be built.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    pub(crate) runtime: Runtime,
    pub(crate) workers: usize,
    /// The name of Actinium's policy.
    pub(crate) policy: String,
}
