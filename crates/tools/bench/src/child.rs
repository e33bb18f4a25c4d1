//! The work of a process of its own: some runs of one benchmark on one runtime, one line of results
//! each.
//!
//! Parent and child may be of different commits (`--baseline`): what passes between them only ever
//! grows. A kind of result that an older child does not know is then missing from the comparison,
//! and the rest still stands.

use crate::allocations::{self, Allocations};
use crate::benchmark::Benchmark;
use crate::host::Crossings;
use crate::runtime::{Runtime, Setup};
use crate::workloads;
use actinium_scheduler::Clock;
use std::process::ExitCode;

/// The order that a child is given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    pub(crate) benchmark: Benchmark,
    pub(crate) setup: Setup,
    pub(crate) what: What,
    /// The size of a first run that does not count; 0: none.
    pub(crate) warm_up: u64,
    /// The sizes of the runs that do.
    pub(crate) sizes: Vec<u64>,
}

/// The content of a line of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Items per second, or bytes.
    Value,
    /// Allocations, and bytes that they asked for.
    Allocations,
    /// Items per second by a clock that ticks, which says nothing: the process is run for its
    /// instructions.
    Ticking,
    /// Messages that crossed from worker to worker, sleeping workers woken, and chunks published.
    Crossings,
}

impl What {
    const ALL: [What; 4] = [What::Value, What::Allocations, What::Ticking, What::Crossings];

    fn name(self) -> &'static str {
        match self {
            What::Value => "value",
            What::Allocations => "allocations",
            What::Ticking => "ticking",
            What::Crossings => "crossings",
        }
    }
}

impl Order {
    pub(crate) fn args(&self) -> Vec<String> {
        let mut args: Vec<String> = ["--child", self.benchmark.name(), self.setup.runtime.name()]
            .map(str::to_owned)
            .to_vec();
        args.push(self.setup.workers.to_string());
        args.push(self.setup.policy.clone());
        args.push(self.what.name().to_owned());
        args.push(self.warm_up.to_string());
        args.extend(self.sizes.iter().map(u64::to_string));
        args
    }

    /// Understands what [`Order::args`] makes, `--child` aside.
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let order = || {
            let [benchmark, runtime, workers, policy, what, warm_up, sizes @ ..] = args else {
                return None;
            };
            let what = What::ALL.into_iter().find(|known| known.name() == what)?;
            Some(Order {
                benchmark: Benchmark::by_name(benchmark)?,
                setup: Setup {
                    runtime: Runtime::by_name(runtime)?,
                    workers: workers.parse().ok()?,
                    policy: policy.clone(),
                },
                what,
                warm_up: warm_up.parse().ok()?,
                sizes: sizes.iter().map(|size| size.parse().ok()).collect::<Option<_>>()?,
            })
        };
        order().ok_or_else(|| {
            format!(
                "--child {}: this program starts itself with --child, and nobody else does",
                args.join(" ")
            )
        })
    }
}

/// Does as it is told, and writes the results to stdout.
pub(crate) fn run(order: &Order) -> ExitCode {
    if order.what == What::Allocations {
        allocations::count();
    }
    if order.what == What::Ticking {
        Clock::tick_from_now_on();
    }
    let mut host = match workloads::host(&order.setup) {
        Ok(host) => host,
        Err(error) => {
            eprintln!("peers: {error}");
            return ExitCode::FAILURE;
        }
    };
    if order.warm_up > 0 {
        host.run(order.benchmark, order.warm_up);
    }
    for &size in &order.sizes {
        let before = (allocations::so_far(), host.crossings());
        let value = host.run(order.benchmark, size);
        let Allocations { calls, bytes } = allocations::so_far();
        match order.what {
            What::Value | What::Ticking => println!("{value}"),
            What::Allocations => println!("{} {}", calls - before.0.calls, bytes - before.0.bytes),
            What::Crossings => {
                let Crossings { messages, woken, published } = host.crossings();
                let (messages, woken) = (messages - before.1.messages, woken - before.1.woken);
                println!("{messages} {woken} {}", published - before.1.published);
            }
        }
    }
    // The results are out, and the process ends: taking a million actors apart first would only
    // keep the parent waiting.
    std::mem::forget(host);
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_arrives_as_it_was_given() {
        let order = Order {
            benchmark: Benchmark::Probe,
            setup: Setup { runtime: Runtime::Tokio, workers: 3, policy: "affine".to_owned() },
            what: What::Crossings,
            warm_up: 7,
            sizes: vec![8, 9],
        };
        assert_eq!(Order::parse(&order.args()[1..]), Ok(order));
    }

    #[test]
    fn an_order_that_makes_no_sense_is_refused() {
        for args in
            ["", "probe tokio 2", "probe tokio 2 affine speed 0 1", "x tokio 2 affine value 0"]
        {
            let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
            assert!(Order::parse(&args).is_err(), "{args:?}");
        }
    }
}
