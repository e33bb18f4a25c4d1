//! The benchmarks themselves. Both runtimes do the same, each in its own way.

mod actinium;
mod tokio;

use crate::benchmark::Benchmark;
use crate::child::Setup;
use std::time::Instant;

/// Whose actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    Actinium,
    Tokio,
}

impl Runtime {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Runtime::Actinium => "actinium",
            Runtime::Tokio => "tokio",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        [Runtime::Actinium, Runtime::Tokio].into_iter().find(|runtime| runtime.name() == name)
    }

    /// As people read it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Runtime::Actinium => "Actinium",
            Runtime::Tokio => "tokio",
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

    /// What has passed between its workers so far; nothing if it does not count.
    fn crossings(&self) -> Crossings {
        Crossings::default()
    }
}

/// What passes between workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crossings {
    /// Messages that came through a lane or a shared queue, not from the worker's own hand.
    pub(crate) messages: u64,
    /// Sleeping workers that were woken.
    pub(crate) woken: u64,
}

/// Builds a runtime.
pub(crate) use actinium::policies;

pub(crate) fn host(setup: &Setup) -> Result<Box<dyn Host>, String> {
    Ok(match setup.runtime {
        Runtime::Actinium => Box::new(actinium::Actinium::new(setup.workers, &setup.policy)?),
        Runtime::Tokio => Box::new(tokio::Tokio::new(setup.workers)?),
    })
}

/// So many since then, per second.
fn rate(items: u64, start: Instant) -> f64 {
    items as f64 / start.elapsed().as_secs_f64()
}

/// Bytes of this process's resident set.
fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("it is a number");
    kib * 1024.0
}

/// A small random number generator (xorshift): the same on every runtime.
struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Self {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    #[inline]
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32).wrapping_mul(n as u64) >> 32) as usize
    }

    /// One of `n` that is not `me`.
    #[inline]
    fn other(&mut self, n: usize, me: usize) -> usize {
        let other = self.below(n - 1);
        if other >= me { other + 1 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_benchmark_runs(runtime: Runtime, workers: usize, policy: &str) {
        let setup = Setup { runtime, workers, policy: policy.to_owned() };
        let mut host = host(&setup).expect("it can be built");
        // Twice: what one run leaves behind must not be in the way of the next.
        let all = Benchmark::ALL;
        let all = all.into_iter().rev().chain(all);
        for benchmark in all.filter(|b| runtime == Runtime::Actinium || b.has_peer()) {
            let value = host.run(benchmark, 100);
            // A hundred actors may fit into memory that the process has already.
            assert!(value > 0.0 || benchmark == Benchmark::Memory, "{benchmark:?}: {value}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads /proc, takes minutes")]
    fn on_tokio() {
        every_benchmark_runs(Runtime::Tokio, 1, "");
        every_benchmark_runs(Runtime::Tokio, 2, "");
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads /proc, takes minutes")]
    fn on_actinium() {
        for policy in actinium::policies() {
            every_benchmark_runs(Runtime::Actinium, 1, &policy);
            every_benchmark_runs(Runtime::Actinium, 2, &policy);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn what_crosses_is_counted() {
        let setup = Setup { runtime: Runtime::Actinium, workers: 1, policy: "pool".to_owned() };
        let mut host = host(&setup).expect("it can be built");
        let before = host.crossings();
        host.run(Benchmark::Ring, 1_000);
        // Under `pool` every message goes through a shared queue.
        assert!(host.crossings().messages >= before.messages + 1_000, "{:?}", host.crossings());
    }

    #[test]
    fn others_are_others() {
        let mut rng = Rng::new(1);
        let mut seen = [0; 5];
        (0..1_000).for_each(|_| seen[rng.other(5, 2)] += 1);
        assert_eq!(seen[2], 0);
        assert!([0, 1, 3, 4].iter().all(|&other| seen[other] > 100), "{seen:?}");
    }
}
