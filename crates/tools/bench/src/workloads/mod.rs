//! The benchmarks themselves. All runtimes do the same, each in its own way.

mod actinium;
mod minimal;
mod parts;
mod tokio;

use crate::host::Host;
use crate::runtime::{Runtime, Setup};

pub(crate) use actinium::policies;

/// Builds a runtime.
pub(crate) fn host(setup: &Setup) -> Result<Box<dyn Host>, String> {
    Ok(match setup.runtime {
        Runtime::Actinium => Box::new(actinium::Actinium::new(setup.workers, &setup.policy)?),
        Runtime::Tokio => Box::new(tokio::Tokio::new(setup.workers)?),
        Runtime::Minimal => Box::new(minimal::Minimal),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::Benchmark;

    fn every_benchmark_runs(runtime: Runtime, workers: usize, policy: &str) {
        let setup = Setup { runtime, workers, policy: policy.to_owned() };
        let mut host = host(&setup).expect("it can be built");
        // Twice: what one run leaves behind must not be in the way of the next.
        let all = Benchmark::ALL;
        let all = all.into_iter().rev().chain(all);
        for benchmark in all.filter(|b| runtime == Runtime::Actinium || b.runs_on(runtime)) {
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
    fn on_the_minimal_one() {
        every_benchmark_runs(Runtime::Minimal, 1, "");
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
}
