//! The results: measured here, shown by `tables` for people, by `json` for programs.

mod json;
mod tables;

use crate::benchmark::{Benchmark, Target};
use crate::callgrind::{self, Counted};
use crate::harness::{self, Cost, Outcome};
use crate::machine::Circumstances;
use crate::options::Options;
use crate::runtime::Runtime;
use crate::runtime::Setup;
use crate::workloads;
use actinium_observe::number::{decimal, percent, rate};
use actinium_observe::{Ratio, Repeat};
use actinium_report::Progress;
use std::cmp::Ordering;

/// Everything that one run of the program finds out.
#[derive(Debug)]
pub(crate) struct Report {
    circumstances: Circumstances,
    /// Whether the problems were too small to say anything about speed.
    quick: bool,
    workers: usize,
    times: Option<Comparison>,
    policies: Option<Comparison>,
    allocations: Option<Costs<Cost>>,
    instructions: Option<Costs<Counted>>,
}

/// Benchmarks on several setups.
#[derive(Debug)]
struct Comparison {
    setups: Vec<Setup>,
    rows: Vec<(Benchmark, Vec<Outcome>)>,
}

/// Costs per message on several setups, or why they were not counted.
type Costs<T> = Result<CostTable<T>, String>;

#[derive(Debug)]
struct CostTable<T> {
    setups: Vec<Setup>,
    rows: Vec<(Benchmark, Vec<Result<T, String>>)>,
}

/// A result against its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Short,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Short => "short",
        }
    }
}

/// The policy of a system unless it is told otherwise.
pub(crate) const DEFAULT_POLICY: &str = "affine";

fn setup(runtime: Runtime, workers: usize, policy: &str) -> Setup {
    Setup { runtime, workers, policy: policy.to_owned() }
}

impl Report {
    /// Measures what is asked for, and says on stderr how far it is.
    pub(crate) fn make(options: &Options, args: &[String]) -> Self {
        let program = harness::program();
        let times = options.times.then(|| {
            let mut setups = Vec::new();
            for runtime in [Runtime::Actinium, Runtime::Tokio] {
                setups.push(setup(runtime, options.workers, DEFAULT_POLICY));
                if options.workers > 1 {
                    setups.push(setup(runtime, 1, DEFAULT_POLICY));
                }
            }
            // Last: few benchmarks run on it.
            setups.push(setup(Runtime::Minimal, 1, DEFAULT_POLICY));
            compare(options, setups, "times")
        });
        let policies = options.policies.then(|| {
            let of = |policy: &String| setup(Runtime::Actinium, options.workers, policy);
            compare(options, workloads::policies().iter().map(of).collect(), "policies")
        });
        let allocations = options.allocations.then(|| {
            let count = |benchmark, setup: &Setup| {
                let size = options.size(benchmark);
                harness::allocations(&program, benchmark, setup, size, options.limit)
            };
            Ok(costs(options, options.workers, "allocations", count))
        });
        let instructions = options.instructions.then(|| match callgrind::missing() {
            Some(reason) => Err(reason),
            // valgrind runs one thread at a time, so a second worker would be seen waiting.
            None => Ok(costs(options, 1, "instructions", |benchmark, setup| {
                let size = options.size(benchmark);
                harness::instructions(&program, benchmark, setup, size, options.limit)
            })),
        });
        Report {
            circumstances: Circumstances::now(args),
            quick: options.quick,
            workers: options.workers,
            times,
            policies,
            allocations,
            instructions,
        }
    }

    /// How many measurements have no result.
    pub(crate) fn failures(&self) -> usize {
        let comparisons = [&self.times, &self.policies].into_iter().flatten();
        let comparisons = comparisons.flat_map(|comparison| &comparison.rows);
        comparisons.map(|(_, outcomes)| failures(outcomes)).sum::<usize>()
            + failures_of_costs(self.allocations.as_ref())
            + failures_of_costs(self.instructions.as_ref())
    }
}

fn failures<T>(outcomes: &[Result<T, String>]) -> usize {
    outcomes.iter().filter(|outcome| outcome.is_err()).count()
}

fn failures_of_costs<T>(costs: Option<&Costs<T>>) -> usize {
    let rows = costs.and_then(|costs| costs.as_ref().ok()).map(|table| &table.rows);
    rows.into_iter().flatten().map(|(_, outcomes)| failures(outcomes)).sum()
}

/// How many of these setups, from the first on, can run it.
fn able(benchmark: Benchmark, setups: &[Setup]) -> usize {
    setups.iter().take_while(|setup| benchmark.runs_on(setup.runtime)).count()
}

fn compare(options: &Options, setups: Vec<Setup>, what: &str) -> Comparison {
    let benchmarks = options.with_peers();
    let processes: usize = benchmarks
        .iter()
        .map(|&benchmark| harness::rounds_of(benchmark, options.reps) * able(benchmark, &setups))
        .sum();
    let progress = Progress::new(processes as u64, what);
    let mut rows = Vec::new();
    for benchmark in benchmarks {
        progress.message(benchmark.name());
        let size = options.size(benchmark);
        let ran = |_: &Setup| progress.add(1);
        let setups = &setups[..able(benchmark, &setups)];
        let outcomes = harness::rates(benchmark, setups, size, options.reps, options.limit, ran);
        for (setup, outcome) in setups.iter().zip(&outcomes) {
            let result = outcome.as_ref().map_or_else(Clone::clone, |runs| spread(benchmark, runs));
            progress.line(&format!("# {} on {}: {result}", benchmark.name(), setup.title()));
        }
        rows.push((benchmark, outcomes));
    }
    Comparison { setups, rows }
}

/// "12.3 M/s (11.9 M/s to 12.5 M/s, spread 4.9 %, 6 runs)".
fn spread(benchmark: Benchmark, runs: &Repeat) -> String {
    let [median, min, max] =
        [runs.median(), runs.min(), runs.max()].map(|value| benchmark.show(value));
    match runs.runs() {
        1 => format!("{median} (1 run)"),
        n => format!("{median} ({min} to {max}, spread {}, {n} runs)", percent(runs.spread())),
    }
}

fn costs<T>(
    options: &Options,
    workers: usize,
    what: &str,
    count: impl Fn(Benchmark, &Setup) -> Result<T, String>,
) -> CostTable<T> {
    let setups: Vec<Setup> = [Runtime::Actinium, Runtime::Tokio]
        .map(|runtime| setup(runtime, workers, DEFAULT_POLICY))
        .to_vec();
    // Idle actors cost what spawning them does.
    let benchmarks: Vec<Benchmark> =
        options.with_peers().into_iter().filter(|benchmark| benchmark.is_rate()).collect();
    let progress = Progress::new((benchmarks.len() * setups.len()) as u64, what);
    let mut rows = Vec::new();
    for benchmark in benchmarks {
        progress.message(benchmark.name());
        let mut outcomes = Vec::new();
        for setup in &setups {
            let outcome = count(benchmark, setup);
            if let Err(error) = &outcome {
                progress.line(&format!("# {} on {}: {error}", benchmark.name(), setup.title()));
            }
            outcomes.push(outcome);
            progress.add(1);
        }
        rows.push((benchmark, outcomes));
    }
    CostTable { setups, rows }
}

impl Benchmark {
    /// A result with its unit.
    fn show(self, value: f64) -> String {
        match self.target() {
            Target::Ratio(_) | Target::None => rate(value),
            Target::Bytes(_) => format!("{} B", decimal(value, 0)),
        }
    }
}

impl Setup {
    /// "Actinium ×2".
    fn title(&self) -> String {
        let policy = match self.policy.as_str() {
            DEFAULT_POLICY => String::new(),
            other => format!(" {other}"),
        };
        format!("{}{policy} ×{}", self.runtime.title(), self.workers)
    }
}

impl Comparison {
    fn result<'a>(
        &self,
        outcomes: &'a [Outcome],
        runtime: Runtime,
        workers: usize,
    ) -> Option<&'a Repeat> {
        let mut pairs = self.setups.iter().zip(outcomes);
        let wanted = |setup: &Setup| setup.runtime == runtime && setup.workers == workers;
        pairs.find(|(setup, _)| wanted(setup))?.1.as_ref().ok()
    }

    /// The best of tokio's results: the highest rate, or the lowest use of memory.
    fn best_of_tokio<'a>(
        &self,
        benchmark: Benchmark,
        outcomes: &'a [Outcome],
    ) -> Option<&'a Repeat> {
        let of_tokio = self.setups.iter().zip(outcomes);
        let of_tokio = of_tokio.filter(|(setup, _)| setup.runtime == Runtime::Tokio);
        // It is not the better of two if one has failed.
        let results: Option<Vec<&Repeat>> =
            of_tokio.map(|(_, outcome)| outcome.as_ref().ok()).collect();
        let by_median = |a: &&Repeat, b: &&Repeat| match benchmark.is_rate() {
            true => a.median().total_cmp(&b.median()),
            false => b.median().total_cmp(&a.median()),
        };
        results?.into_iter().max_by(by_median)
    }

    /// Actinium to the better tokio.
    fn ratio(&self, benchmark: Benchmark, outcomes: &[Outcome], workers: usize) -> Option<Ratio> {
        let ours = self.result(outcomes, Runtime::Actinium, workers)?;
        Ratio::new(ours, self.best_of_tokio(benchmark, outcomes)?)
    }

    /// The same of the best runs: what else the machine does only ever makes a run slower.
    fn ratio_of_best(
        &self,
        benchmark: Benchmark,
        outcomes: &[Outcome],
        workers: usize,
    ) -> Option<f64> {
        let best = |runs: &Repeat| match benchmark.is_rate() {
            true => runs.max(),
            false => runs.min(),
        };
        let of = |runtime| {
            let pairs = self.setups.iter().zip(outcomes);
            let pairs = pairs.filter(|(setup, _)| match runtime {
                Runtime::Actinium => setup.runtime == runtime && setup.workers == workers,
                Runtime::Tokio | Runtime::Minimal => setup.runtime == runtime,
            });
            let best = pairs.map(|(_, outcome)| outcome.as_ref().ok().map(best));
            let best: Option<Vec<f64>> = best.collect();
            best?.into_iter().reduce(match benchmark.is_rate() {
                true => f64::max,
                false => f64::min,
            })
        };
        Some(of(Runtime::Actinium)? / of(Runtime::Tokio)?)
    }

    /// One worker of Actinium to the minimal runtime.
    fn to_minimal(&self, outcomes: &[Outcome]) -> Option<Ratio> {
        let ours = self.result(outcomes, Runtime::Actinium, 1)?;
        Ratio::new(ours, self.result(outcomes, Runtime::Minimal, 1)?)
    }

    /// Many workers to one; of memory, which should not depend on it, none.
    fn scaling(&self, benchmark: Benchmark, outcomes: &[Outcome], workers: usize) -> Option<Ratio> {
        if workers == 1 || benchmark == Benchmark::Memory {
            return None;
        }
        let many = self.result(outcomes, Runtime::Actinium, workers)?;
        Ratio::new(many, self.result(outcomes, Runtime::Actinium, 1)?)
    }

    fn verdict(
        &self,
        benchmark: Benchmark,
        outcomes: &[Outcome],
        workers: usize,
    ) -> Option<Verdict> {
        let reached = match benchmark.target() {
            Target::Ratio(least) => {
                self.ratio(benchmark, outcomes, workers)?.median.total_cmp(&least)
            }
            Target::Bytes(most) => {
                let ours = self.result(outcomes, Runtime::Actinium, workers)?;
                most.total_cmp(&ours.median())
            }
            Target::None => return None,
        };
        Some(if reached == Ordering::Less { Verdict::Short } else { Verdict::Pass })
    }

    /// The setup that did best.
    fn best(&self, benchmark: Benchmark, outcomes: &[Outcome]) -> Option<usize> {
        let medians = outcomes.iter().enumerate();
        let medians =
            medians.filter_map(|(index, outcome)| Some((index, outcome.as_ref().ok()?.median())));
        let better = |a: &(usize, f64), b: &(usize, f64)| match benchmark.is_rate() {
            true => a.1.total_cmp(&b.1),
            false => b.1.total_cmp(&a.1),
        };
        medians.max_by(better).map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(median: f64) -> Outcome {
        Ok(Repeat::new([median * 0.9, median, median * 1.1]).expect("they are numbers"))
    }

    /// Results in M/s: Actinium with 2 workers and with 1, tokio with 2 and with 1.
    pub(super) fn report(results: &[(Benchmark, [Outcome; 4])]) -> Report {
        let setups = [
            (Runtime::Actinium, 2),
            (Runtime::Actinium, 1),
            (Runtime::Tokio, 2),
            (Runtime::Tokio, 1),
        ];
        let setups = setups.map(|(runtime, workers)| setup(runtime, workers, DEFAULT_POLICY));
        let rows = results.iter().map(|(benchmark, outcomes)| (*benchmark, outcomes.to_vec()));
        Report {
            circumstances: Circumstances {
                date: "2025-01-31".to_owned(),
                command: "cargo bench -p actinium-bench".to_owned(),
                commit: Some("abc1234+".to_owned()),
                processor: "Abacus".to_owned(),
                pus: 2,
            },
            quick: false,
            workers: 2,
            times: Some(Comparison { setups: setups.to_vec(), rows: rows.collect() }),
            policies: None,
            allocations: None,
            instructions: None,
        }
    }

    pub(super) fn example() -> Report {
        report(&[
            (Benchmark::Ring, [runs(30e6), runs(40e6), runs(5e6), runs(10e6)]),
            (Benchmark::Count, [runs(20e6), runs(10e6), runs(10e6), runs(9e6)]),
            (Benchmark::Memory, [runs(200.0), runs(190.0), runs(400.0), runs(410.0)]),
        ])
    }

    #[test]
    fn the_better_tokio_counts() {
        let report = example();
        let times = report.times.expect("it was measured");
        let [(_, ring), (_, count), (_, memory)] = &times.rows[..] else { panic!("three rows") };
        let close = |ratio: Option<Ratio>, expected: f64| {
            assert!((ratio.expect("there is one").median - expected).abs() < 1e-9);
        };
        close(times.ratio(Benchmark::Ring, ring, 2), 3.0);
        close(times.ratio(Benchmark::Count, count, 2), 2.0);
        close(times.ratio(Benchmark::Memory, memory, 2), 0.5);
        let best = |benchmark, outcomes| times.ratio_of_best(benchmark, outcomes, 2);
        assert!((best(Benchmark::Ring, ring).expect("there is one") - 3.0).abs() < 1e-9);
        assert!((best(Benchmark::Memory, memory).expect("there is one") - 0.5).abs() < 1e-9);
        close(times.scaling(Benchmark::Ring, ring, 2), 0.75);
        assert_eq!(times.verdict(Benchmark::Ring, ring, 2), Some(Verdict::Pass));
        assert_eq!(times.verdict(Benchmark::Count, count, 2), Some(Verdict::Short));
        assert_eq!(times.verdict(Benchmark::Memory, memory, 2), Some(Verdict::Pass));
        assert_eq!(times.scaling(Benchmark::Memory, memory, 2), None);
        assert_eq!(times.best(Benchmark::Ring, ring), Some(1));
        assert_eq!(times.best(Benchmark::Memory, memory), Some(1));
    }

    #[test]
    fn on_the_minimal_runtime_runs_what_it_can_do() {
        let setups = [Runtime::Actinium, Runtime::Minimal];
        let setups = setups.map(|runtime| setup(runtime, 1, DEFAULT_POLICY));
        let abilities = [Benchmark::Ring, Benchmark::Memory].map(|it| able(it, &setups));
        assert_eq!(abilities, [2, 1]);
        let (ring, memory) = (vec![runs(30e6), runs(40e6)], vec![runs(200.0)]);
        let times = Comparison { setups: setups.to_vec(), rows: Vec::new() };
        let ratio = times.to_minimal(&ring).expect("both have run");
        assert!((ratio.median - 0.75).abs() < 1e-9);
        assert_eq!(times.to_minimal(&memory), None);
        let rows = vec![(Benchmark::Ring, ring), (Benchmark::Memory, memory)];
        let text =
            Report { workers: 1, times: Some(Comparison { rows, ..times }), ..example() }.text();
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).expect("a line");
        assert!(line("ring ").contains("0.75 ×") && line("ring ").contains("≥ 0.9 ×"), "{text}");
        assert!(line("memory ").trim_end().ends_with('-'), "{text}");
    }

    #[test]
    fn a_failure_leaves_no_verdict() {
        let failed = || Err("given up".to_owned());
        let report = report(&[
            (Benchmark::Ring, [failed(), runs(1.0), runs(1.0), runs(1.0)]),
            (Benchmark::Count, [runs(1.0), runs(1.0), runs(1.0), failed()]),
        ]);
        assert_eq!(report.failures(), 2);
        let times = report.times.expect("it was measured");
        for (benchmark, outcomes) in &times.rows {
            assert_eq!(times.verdict(*benchmark, outcomes, 2), None, "{benchmark:?}");
        }
    }
}
