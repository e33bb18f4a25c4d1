//! This tree against another commit: `cargo bench -p actinium-bench -- --baseline COMMIT`.
//!
//! | file | concern |
//! |---|---|
//! | `programs.rs` | both commits as programs, built in one place in the same way |
//! | `measure.rs` | the two in turns, process by process; what each counts |
//! | `verdict.rs` | the interval of paired ratios, and what it says |
//!
//! *No worse* means: instructions per item at most 1.005 times the baseline's, as many allocations,
//! and no interval that lies wholly below 0.98.

mod measure;
mod programs;
mod verdict;

pub(crate) use measure::{allocations, instructions};
pub(crate) use programs::target;
pub(crate) use verdict::Interval;

use crate::benchmark::Benchmark;
use crate::callgrind;
use crate::grid::{Grid, NONE};
use crate::machine::Circumstances;
use crate::options::{Options, Output};
use actinium_observe::number::decimal;
use actinium_report::Progress;
use measure::{Costs, Pair, Timed};
use serde_json::{Value, json};
use verdict::{INSTRUCTIONS_BAND, Verdict};

/// Fewer allocations per item than this are of the start or the end.
const ALLOCATION: f64 = 0.001;

/// The results of a comparison.
struct Comparison {
    circumstances: Circumstances,
    baseline: String,
    times: Vec<Timed>,
    /// The same in every row of a benchmark.
    costs: Vec<(Benchmark, Costs)>,
    /// Why instructions were not counted.
    uncounted: Option<String>,
}

/// Compares, and returns the report.
pub(crate) fn run(commit: &str, options: &Options, args: &[String]) -> Result<String, String> {
    let programs = programs::build(commit)?;
    let progress = Progress::new(options.benchmarks.len() as u64, "counters");
    let costs = options.benchmarks.iter().filter(|benchmark| benchmark.is_rate());
    let costs = costs.map(|&benchmark| {
        progress.message(benchmark.name());
        let costs = measure::costs(&programs, benchmark, options);
        progress.add(1);
        (benchmark, costs)
    });
    let costs: Vec<_> = costs.collect();
    progress.finish();
    let worse = |benchmark| {
        let costs = costs.iter().find(|(of, _)| *of == benchmark);
        costs.and_then(|(_, costs)| costs.verdict()) == Some(Verdict::Worse)
    };
    let comparison = Comparison {
        circumstances: Circumstances::now(args),
        baseline: programs.baseline.clone(),
        times: measure::times(&programs, options, worse),
        costs,
        uncounted: callgrind::missing(),
    };
    Ok(match options.output {
        Output::Text => comparison.grid().text(),
        Output::Markdown => comparison.grid().markdown(),
        Output::Json => format!("{:#}\n", comparison.json()),
    })
}

impl Costs {
    /// Instructions decide, and allocations; what crosses is there to explain.
    fn verdict(&self) -> Option<Verdict> {
        let by_instructions = match self.instructions {
            (Some(before), Some(after)) => Some(Verdict::of_cost(before, after, INSTRUCTIONS_BAND)),
            _ => None,
        };
        let by_allocations = match self.allocations {
            (Some(before), Some(after)) if (after - before).abs() > ALLOCATION => {
                Some(Verdict::of_cost(before, after, 0.0))
            }
            (Some(_), Some(_)) => Some(Verdict::Same),
            _ => None,
        };
        overall([by_instructions, by_allocations])
    }
}

/// The worst that is sure; one that is better only if nothing is worse.
fn overall(verdicts: [Option<Verdict>; 2]) -> Option<Verdict> {
    let known = verdicts.into_iter().flatten();
    known.min_by_key(|verdict| match verdict {
        Verdict::Worse => 0,
        Verdict::Better => 1,
        Verdict::CannotTell => 2,
        Verdict::Same => 3,
    })
}

impl Comparison {
    fn costs(&self, benchmark: Benchmark) -> Option<&Costs> {
        self.costs.iter().find(|(of, _)| *of == benchmark).map(|(_, costs)| costs)
    }

    fn verdict(&self, timed: &Timed) -> Verdict {
        let by_costs = self.costs(timed.benchmark).and_then(Costs::verdict);
        overall([Some(timed.verdict), by_costs]).unwrap_or(Verdict::CannotTell)
    }

    /// The rows that are worse.
    fn worse(&self) -> Vec<String> {
        let worse = self.times.iter().filter(|timed| self.verdict(timed) == Verdict::Worse);
        worse.map(|timed| format!("{} ×{}", timed.benchmark.name(), timed.workers)).collect()
    }

    fn grid(&self) -> Grid {
        let headings = [
            "benchmark",
            "verdict",
            "speed",
            "95 % interval",
            "by time",
            "instructions",
            "atomics",
            "allocations",
            "crossings",
            "wake-ups",
            "publishes",
        ];
        let rows = self.times.iter().map(|timed| self.row(timed)).collect();
        let mut notes = vec![
            "speed: this tree's to the baseline's, the median of paired processes. The costs are per item, before → now, on one worker; \
             crossings (messages from worker to worker), wake-ups and publishes (of chunks of messages) on all workers."
                .to_owned(),
        ];
        match &self.uncounted {
            Some(why) => notes.push(format!("Instructions were not counted: {why}.")),
            None => notes.extend(self.costs.iter().flat_map(|(_, costs)| costs.errors.clone())),
        }
        notes.push(match self.worse().as_slice() {
            [] => "No worse than the baseline.".to_owned(),
            rows => format!("WORSE than the baseline: {}.", rows.join(", ")),
        });
        let title = format!("{}; baseline {}", self.circumstances, self.baseline);
        Grid { title, headings: headings.map(str::to_owned).to_vec(), rows, notes }
    }

    fn row(&self, timed: &Timed) -> Vec<String> {
        let costs = self.costs(timed.benchmark).cloned().unwrap_or_default();
        let (speed, interval) = match &timed.speed {
            Ok(speed) => (
                decimal(speed.median, 3),
                format!(
                    "{} to {}, {} pairs",
                    decimal(speed.low, 3),
                    decimal(speed.high, 3),
                    speed.pairs
                ),
            ),
            Err(error) => (NONE.to_owned(), error.clone()),
        };
        vec![
            format!("{} ×{}", timed.benchmark.name(), timed.workers),
            self.verdict(timed).words().to_owned(),
            speed,
            interval,
            timed.verdict.words().to_owned(),
            shown(costs.instructions, 1),
            shown(costs.atomics, 2),
            shown(costs.allocations, 3),
            shown(costs.crossings, 3),
            shown(costs.wake_ups, 3),
            shown(costs.publishes, 3),
        ]
    }

    fn json(&self) -> Value {
        let row = |timed: &Timed| {
            let costs = self.costs(timed.benchmark).cloned().unwrap_or_default();
            let cost = |(before, now): Pair| json!({ "before": before, "now": now });
            json!({
                "benchmark": timed.benchmark.name(),
                "workers": timed.workers,
                "verdict": self.verdict(timed),
                "verdict_by_time": timed.verdict,
                "speed": timed.speed.as_ref().ok(),
                "error": timed.speed.as_ref().err(),
                "instructions": cost(costs.instructions),
                "atomics": cost(costs.atomics),
                "allocations": cost(costs.allocations),
                "crossings": cost(costs.crossings),
                "wake_ups": cost(costs.wake_ups),
                "publishes": cost(costs.publishes),
                "uncounted": costs.errors,
            })
        };
        json!({
            "schema_version": 1,
            "circumstances": self.circumstances,
            "baseline": self.baseline,
            "no_worse": self.worse().is_empty(),
            "uncounted": self.uncounted,
            "rows": self.times.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

fn shown((before, now): Pair, digits: usize) -> String {
    // What noise makes of zero is zero.
    let text = |value: Option<f64>| {
        value.map_or(NONE.to_owned(), |value| {
            decimal(if value.abs() < 0.0005 { 0.0 } else { value }, digits)
        })
    };
    let (before, now) = (text(before), text(now));
    if before == now { now } else { format!("{before} → {now}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(verdict: Verdict) -> Timed {
        let speed = Interval::of(&[1.0; 15]).ok_or_else(String::new);
        Timed { benchmark: Benchmark::Ring, workers: 2, speed, verdict }
    }

    fn comparison(time: Verdict, instructions: Pair, allocations: Pair) -> Comparison {
        let costs = Costs { instructions, allocations, ..Costs::default() };
        Comparison {
            circumstances: Circumstances {
                date: "2025-01-31".to_owned(),
                command: "cargo bench -p actinium-bench -- --baseline HEAD~1".to_owned(),
                commit: None,
                processor: "Abacus".to_owned(),
                pus: 2,
            },
            baseline: "abc1234 Count beads".to_owned(),
            times: vec![timed(time)],
            costs: vec![(Benchmark::Ring, costs)],
            uncounted: None,
        }
    }

    #[test]
    fn instructions_say_worse_where_time_can_not_tell() {
        let verdict = |time, instructions, allocations| {
            let comparison = comparison(time, instructions, allocations);
            comparison.verdict(&comparison.times[0])
        };
        let (same, none) = ((Some(185.0), Some(185.1)), (Some(0.0), Some(0.0)));
        let slower = (Some(185.0), Some(205.0));
        assert_eq!(verdict(Verdict::CannotTell, slower, none), Verdict::Worse);
        assert_eq!(verdict(Verdict::Better, slower, none), Verdict::Worse);
        assert_eq!(verdict(Verdict::CannotTell, same, none), Verdict::CannotTell);
        assert_eq!(verdict(Verdict::Same, same, none), Verdict::Same);
        assert_eq!(verdict(Verdict::Same, (None, None), (None, None)), Verdict::Same);
        assert_eq!(verdict(Verdict::Same, same, (Some(0.0), Some(1.0))), Verdict::Worse);
        assert_eq!(verdict(Verdict::Same, same, (Some(3.0), Some(2.0))), Verdict::Better);
    }

    #[test]
    fn the_report_says_what_is_worse() {
        let report = comparison(Verdict::CannotTell, (Some(185.0), Some(205.0)), (None, Some(0.0)));
        let text = report.grid().text();
        for part in [
            "ring ×2",
            "worse",
            "cannot tell",
            "185.0 → 205.0",
            "- → 0.000",
            "WORSE than the baseline: ring ×2.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(report.json()["no_worse"], false);
        assert_eq!(report.json()["rows"][0]["speed"]["pairs"], 15);
        let same = comparison(Verdict::Same, (Some(185.0), Some(185.0)), (None, None));
        assert!(same.grid().text().contains("No worse than the baseline."));
    }
}
