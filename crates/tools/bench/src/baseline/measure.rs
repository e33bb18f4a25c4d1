//! The two programs in turns, process by process, and what each counts.

use super::programs::Programs;
use super::verdict::{Interval, Verdict};
use crate::benchmark::Benchmark;
use crate::callgrind::Counted;
use crate::child::{Order, What};
use crate::harness;
use crate::options::Options;
use crate::run::Limit;
use crate::runtime::Runtime;
use crate::runtime::Setup;
use actinium_report::Progress;
use std::path::Path;

/// Measured runs of one process, of which the best counts: what else the machine does only ever
/// makes a run slower.
const RUNS: usize = 2;
/// The number of sets of pairs that each have to show a change, by themselves, before it counts:
/// one interval of twenty that hold nothing says that something has changed.
const SETS: usize = 3;

/// One benchmark on so many workers.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) benchmark: Benchmark,
    pub(crate) workers: usize,
    /// This tree's speed to the baseline's: more is better.
    pub(crate) speed: Result<Interval, String>,
    pub(crate) verdict: Verdict,
}

/// A cost per item, before and after. What the baseline does not know how to count is `None` there.
pub(crate) type Pair = (Option<f64>, Option<f64>);

/// The costs of a benchmark that do not depend on what else the host does. They are counted on one
/// worker, but crossings, wake-ups and publishes on all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    pub(crate) instructions: Pair,
    pub(crate) atomics: Pair,
    pub(crate) allocations: Pair,
    pub(crate) crossings: Pair,
    pub(crate) wake_ups: Pair,
    pub(crate) publishes: Pair,
    /// The reasons why some costs could not be counted.
    pub(crate) errors: Vec<String>,
}

/// Times every benchmark on one worker and on all, in sets of pairs, until no change is in doubt.
/// One set is enough where the costs are `worse` already.
pub(crate) fn times(
    programs: &Programs,
    options: &Options,
    worse: impl Fn(Benchmark) -> bool,
) -> Vec<Timed> {
    let mut counts = vec![1];
    counts.extend((options.workers > 1).then_some(options.workers));
    let mut rows: Vec<Row> = options
        .benchmarks
        .iter()
        .flat_map(|&benchmark| counts.iter().map(move |&workers| Row::new(benchmark, workers)))
        .collect();
    for set in 0..SETS {
        let is_open = |row: &&mut Row| set == 0 || row.is_open() && !worse(row.benchmark);
        let open: Vec<&mut Row> = rows.iter_mut().filter(is_open).collect();
        if !open.is_empty() {
            measure(open, programs, options, set);
        }
    }
    rows.into_iter().map(Row::judged).collect()
}

/// One more set of pairs of each row. A row's pairs are as far apart as can be; the two of a pair
/// follow each other.
fn measure(mut rows: Vec<&mut Row>, programs: &Programs, options: &Options, set: usize) {
    let title = if set == 0 { "pairs" } else { "pairs, once more" };
    let progress = Progress::new((options.pairs * rows.len()) as u64, title);
    rows.iter_mut().for_each(|row| row.sets.push(Vec::new()));
    for pair in 0..options.pairs {
        for (index, row) in rows.iter_mut().enumerate() {
            progress.message(row.benchmark.name());
            // Neither always goes first.
            let ratio = row.ratio(programs, options, (pair + index) % 2 == 0);
            row.add(ratio);
            progress.add(1);
        }
    }
}

struct Row {
    benchmark: Benchmark,
    workers: usize,
    sets: Vec<Vec<f64>>,
    error: Option<String>,
}

impl Row {
    fn new(benchmark: Benchmark, workers: usize) -> Self {
        Row { benchmark, workers, sets: Vec::new(), error: None }
    }

    /// Whether all sets so far say the same change.
    fn is_open(&self) -> bool {
        self.error.is_none() && self.confirmed().is_some()
    }

    fn confirmed(&self) -> Option<Verdict> {
        let mut verdicts = self.sets.iter().map(|set| Interval::of(set).map(|i| i.verdict()));
        let first = verdicts.next()??;
        (first.is_change() && verdicts.all(|verdict| verdict == Some(first))).then_some(first)
    }

    fn add(&mut self, ratio: Result<f64, String>) {
        match (ratio, self.sets.last_mut()) {
            (Ok(ratio), Some(set)) => set.push(ratio),
            (Ok(_), None) => {}
            (Err(error), _) => self.error = Some(error),
        }
    }

    fn judged(self) -> Timed {
        let all: Vec<f64> = self.sets.concat();
        let speed = match &self.error {
            Some(error) => Err(error.clone()),
            None => Interval::of(&all).ok_or_else(|| "no pairs".to_owned()),
        };
        // One set decides that nothing has changed; a change needs all of them.
        let verdict = match (&speed, self.confirmed()) {
            (Ok(_), Some(change)) => change,
            (Ok(interval), None) if !interval.verdict().is_change() => interval.verdict(),
            _ => Verdict::CannotTell,
        };
        Timed { benchmark: self.benchmark, workers: self.workers, speed, verdict }
    }

    /// This tree's speed to the baseline's, in one pair of processes.
    fn ratio(
        &self,
        programs: &Programs,
        options: &Options,
        before_first: bool,
    ) -> Result<f64, String> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let size = self.benchmark.size();
        let is_rate = self.benchmark.is_rate();
        let order = Order {
            benchmark: self.benchmark,
            setup: setup(self.workers),
            what: What::Value,
            warm_up: if is_rate { size } else { 0 },
            sizes: vec![size; if is_rate { RUNS } else { 1 }],
        };
        let best = |program: &Path| {
            let lines = harness::lines(program, &order, options.limit)?;
            let values = lines.iter().map(|line| line[0]);
            Ok::<_, String>(values.fold(0.0, f64::max))
        };
        let (before, after) = if before_first {
            let before = best(&programs.before)?;
            (before, best(&programs.after)?)
        } else {
            let after = best(&programs.after)?;
            (best(&programs.before)?, after)
        };
        let ratio = if is_rate { after / before } else { before / after };
        if ratio.is_finite() { Ok(ratio) } else { Err(format!("{after} to {before} is no ratio")) }
    }
}

/// Counts what a benchmark costs in both programs.
pub(crate) fn costs(programs: &Programs, benchmark: Benchmark, options: &Options) -> Costs {
    let mut errors = Vec::new();
    let [before, after] =
        [("baseline", &programs.before), ("now", &programs.after)].map(|(which, program)| {
            let counted = instructions(program, benchmark, options.limit);
            let allocations = allocations(program, benchmark, options.limit);
            let exchanged = exchanged(program, benchmark, options);
            let failed =
                [counted.as_ref().err(), allocations.as_ref().err(), exchanged.as_ref().err()];
            let said = |error: &String| format!("{}, {which}: {error}", benchmark.name());
            errors.extend(failed.into_iter().flatten().map(said));
            let [crossings, wake_ups, publishes] = exchanged.unwrap_or_default();
            [
                counted.as_ref().ok().map(|counted| counted.instructions),
                counted.as_ref().ok().map(|counted| counted.atomics),
                allocations.ok(),
                crossings,
                wake_ups,
                publishes,
            ]
        });
    let pair = |index: usize| (before[index], after[index]);
    Costs {
        instructions: pair(0),
        atomics: pair(1),
        allocations: pair(2),
        crossings: pair(3),
        wake_ups: pair(4),
        publishes: pair(5),
        errors,
    }
}

fn setup(workers: usize) -> Setup {
    Setup { runtime: Runtime::Actinium, workers, policy: crate::report::DEFAULT_POLICY.to_owned() }
}

/// On one worker: valgrind runs one thread at a time, so that a second one would be seen waiting.
pub(crate) fn instructions(
    program: &Path,
    benchmark: Benchmark,
    limit: Limit,
) -> Result<Counted, String> {
    harness::instructions(program, benchmark, &setup(1), benchmark.size(), limit)
}

/// On one worker, once everything is warm.
pub(crate) fn allocations(
    program: &Path,
    benchmark: Benchmark,
    limit: Limit,
) -> Result<f64, String> {
    let cost = harness::allocations(program, benchmark, &setup(1), benchmark.size(), limit)?;
    Ok(cost.calls.median())
}

/// Messages that cross, wake-ups and published chunks, per item on all workers: means over a few
/// runs. An older program knows the first two only.
fn exchanged(
    program: &Path,
    benchmark: Benchmark,
    options: &Options,
) -> Result<[Option<f64>; 3], String> {
    const RUNS: usize = 5;
    let size = benchmark.size();
    let order = Order {
        benchmark,
        setup: setup(options.workers),
        what: What::Crossings,
        warm_up: size,
        sizes: vec![size; RUNS],
    };
    let lines = harness::lines(program, &order, options.limit)?;
    let items = (RUNS as u64 * benchmark.parts(size)) as f64;
    let mean = |column: usize| {
        let sum = lines.iter().map(|line| line.get(column).copied()).sum::<Option<f64>>();
        sum.map(|sum| sum / items)
    };
    Ok([0, 1, 2].map(mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(sets: &[f64]) -> Timed {
        let sets = sets.iter().map(|&middle| vec![middle; 15]).collect();
        Row { benchmark: Benchmark::Ring, workers: 1, sets, error: None }.judged()
    }

    #[test]
    fn a_change_has_to_come_again() {
        assert_eq!(judged(&[0.9, 0.9, 0.9]).verdict, Verdict::Worse);
        assert_eq!(judged(&[1.1, 1.2, 1.1]).verdict, Verdict::Better);
        assert_eq!(judged(&[0.9, 1.0]).verdict, Verdict::CannotTell);
        assert_eq!(judged(&[0.9, 0.9, 1.1]).verdict, Verdict::CannotTell);
        assert_eq!(judged(&[1.0]).verdict, Verdict::Same);
    }

    #[test]
    fn what_failed_has_no_verdict() {
        let mut row = Row::new(Benchmark::Ring, 1);
        row.sets.push(vec![0.5; 15]);
        row.add(Err("given up".to_owned()));
        let judged = row.judged();
        assert_eq!(
            (judged.speed, judged.verdict),
            (Err("given up".to_owned()), Verdict::CannotTell)
        );
    }
}
