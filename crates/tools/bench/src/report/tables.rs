//! The report as tables: plain ones for a terminal, Markdown for `BENCHMARKS.md`.

use super::{Comparison, CostTable, Costs, Report};
use crate::benchmark::{Benchmark, Target};
use crate::callgrind::Counted;
use crate::grid::{Grid, NONE};
use crate::harness::{Cost, Outcome};
use crate::runtime::Runtime;
use actinium_observe::number::decimal;

impl Report {
    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let grids: String = self.grids().iter().map(Grid::text).collect();
        grids + &self.circumstances_line() + "\n"
    }

    /// For a page.
    pub(crate) fn markdown(&self) -> String {
        let grids: String = self.grids().iter().map(Grid::markdown).collect();
        self.circumstances_line() + "\n" + &grids
    }

    fn circumstances_line(&self) -> String {
        let quick = if self.quick { "; QUICK: too small to say how fast it is" } else { "" };
        format!("{}{quick}.", self.circumstances)
    }

    /// All tables.
    pub(crate) fn grids(&self) -> Vec<Grid> {
        let times = self.times.as_ref().map(|times| compared(times, self.workers));
        let policies = self.policies.as_ref().map(policies);
        let allocations = self.allocations.as_ref().map(|costs| match costs {
            Ok(table) => allocations(table),
            Err(reason) => skipped("Allocations", reason),
        });
        let instructions = self.instructions.as_ref().map(instructions);
        [times, policies, allocations, instructions].into_iter().flatten().collect()
    }
}

fn compared(times: &Comparison, workers: usize) -> Grid {
    let mut headings = vec!["benchmark".to_owned()];
    headings.extend(times.setups.iter().map(|setup| setup.title()));
    headings.extend(
        ["ratio to the better tokio", "of best runs", "target", "verdict"].map(str::to_owned),
    );
    if workers > 1 {
        headings.push(format!("Actinium ×{workers} : ×1"));
    }
    headings.extend(["Actinium ×1 : minimal", "wanted"].map(str::to_owned));
    let row = |(benchmark, outcomes): &(Benchmark, Vec<Outcome>)| {
        let benchmark = *benchmark;
        let mut row = vec![benchmark.name().to_owned()];
        let results = times.setups.iter().enumerate();
        let results = results.map(|(at, _)| outcomes.get(at).map(|it| value(benchmark, it)));
        row.extend(results.map(|result| result.unwrap_or(NONE.to_owned())));
        let ratio = times.ratio(benchmark, outcomes, workers);
        row.push(ratio.map_or(NONE.to_owned(), |ratio| ratio.to_string()));
        let best = times.ratio_of_best(benchmark, outcomes, workers);
        row.push(best.map_or(NONE.to_owned(), |ratio| format!("{} ×", decimal(ratio, 2))));
        row.push(match benchmark.target() {
            Target::Ratio(least) => format!("≥ {least} ×"),
            Target::Bytes(most) => format!("≤ {most} B"),
            Target::None => NONE.to_owned(),
        });
        let verdict = times.verdict(benchmark, outcomes, workers);
        row.push(verdict.map_or(NONE, |verdict| verdict.name()).to_owned());
        if workers > 1 {
            let scaling = times.scaling(benchmark, outcomes, workers);
            row.push(scaling.map_or(NONE.to_owned(), |scaling| scaling.to_string()));
        }
        let to_minimal = times.to_minimal(outcomes);
        row.push(to_minimal.map_or(NONE.to_owned(), |ratio| ratio.to_string()));
        row.push(benchmark.floor().map_or(NONE.to_owned(), |least| format!("≥ {least} ×")));
        row
    };
    let rows = times.rows.iter().map(row).collect();
    let runs = times.rows.iter().flat_map(|(_, outcomes)| outcomes).flatten();
    let runs = runs.map(|runs| runs.runs()).max().unwrap_or(0);
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("medians of {runs} runs") };
    let title = format!("Rates per second and bytes per idle actor: {runs}");
    Grid { title, headings, rows, notes: Vec::new() }
}

fn policies(policies: &Comparison) -> Grid {
    let mut headings = vec!["benchmark".to_owned()];
    headings.extend(policies.setups.iter().map(|setup| setup.policy.clone()));
    headings.push("best".to_owned());
    let row = |(benchmark, outcomes): &(Benchmark, Vec<Outcome>)| {
        let mut row = vec![benchmark.name().to_owned()];
        row.extend(outcomes.iter().map(|outcome| value(*benchmark, outcome)));
        let best = policies.best(*benchmark, outcomes);
        row.push(best.map_or(NONE.to_owned(), |best| policies.setups[best].policy.clone()));
        row
    };
    let workers = policies.setups.first().map_or(0, |setup| setup.workers);
    let title = format!("Actinium under each policy, {workers} workers: rates per second, bytes");
    Grid { title, headings, rows: policies.rows.iter().map(row).collect(), notes: Vec::new() }
}

fn allocations(table: &CostTable<Cost>) -> Grid {
    let mut headings = vec!["benchmark".to_owned(), "per".to_owned()];
    for setup in &table.setups {
        headings.extend([setup.title(), "bytes".to_owned()]);
    }
    let row = |(benchmark, outcomes): &(Benchmark, Vec<Result<Cost, String>>)| {
        let mut row = vec![benchmark.name().to_owned(), benchmark.part().to_owned()];
        for outcome in outcomes {
            match outcome {
                Ok(cost) => row.extend([cents(cost.calls.median()), cents(cost.bytes.median())]),
                Err(_) => row.extend([NONE, NONE].map(str::to_owned)),
            }
        }
        row
    };
    let title = "Allocations and allocated bytes, after warm-up".to_owned();
    Grid { title, headings, rows: table.rows.iter().map(row).collect(), notes: Vec::new() }
}

fn instructions(costs: &Costs<Counted>) -> Grid {
    let table = match costs {
        Ok(table) => table,
        Err(reason) => return skipped("Instructions", reason),
    };
    let mut headings = vec!["benchmark".to_owned(), "per".to_owned()];
    headings.extend(table.setups.iter().map(|setup| setup.runtime.title().to_owned()));
    headings.push(format!("{} : {}", Runtime::Tokio.title(), Runtime::Actinium.title()));
    let row = |(benchmark, outcomes): &(Benchmark, Vec<Result<Counted, String>>)| {
        let mut row = vec![benchmark.name().to_owned(), benchmark.part().to_owned()];
        let none = || NONE.to_owned();
        let text = |cost: &Result<Counted, String>| {
            cost.as_ref().map_or(none(), |cost| decimal(cost.instructions, 1))
        };
        row.extend(outcomes.iter().map(text));
        row.push(match &outcomes[..] {
            [Ok(ours), Ok(theirs)] => {
                format!("{} ×", decimal(theirs.instructions / ours.instructions, 2))
            }
            _ => none(),
        });
        row
    };
    // For valgrind slows everything down about fifty times.
    let title = "Instructions, on 1 worker, counted by callgrind; Actinium's clock advances 100 ns per reading";
    let rows = table.rows.iter().map(row).collect();
    Grid { title: title.to_owned(), headings, rows, notes: Vec::new() }
}

fn skipped(what: &str, reason: &str) -> Grid {
    let title = format!("{what}: skipped");
    Grid {
        title,
        headings: vec!["why".to_owned()],
        rows: vec![vec![reason.to_owned()]],
        notes: Vec::new(),
    }
}

fn value(benchmark: Benchmark, outcome: &Outcome) -> String {
    outcome.as_ref().map_or_else(|_| "failed".to_owned(), |runs| benchmark.show(runs.median()))
}

/// Two digits; what noise makes of zero is zero.
fn cents(value: f64) -> String {
    decimal(value.max(0.0), 2)
}

#[cfg(test)]
mod tests {
    use crate::report::tests::example;

    #[test]
    fn tables_are_for_terminals() {
        let text = example().text();
        let line = |start: &str| text.lines().find(|line| line.starts_with(start));
        let ring = line("ring ").expect("it has a line");
        for part in
            ["30.0 M/s", "40.0 M/s", "5.00 M/s", "10.0 M/s", "3.00 ×", "≥ 3 ×", "pass", "0.75 ×"]
        {
            assert!(ring.contains(part), "{part}: {ring}");
        }
        let memory = line("memory ").expect("it has a line");
        assert!(memory.contains("200 B") && memory.contains("≤ 256 B"), "{memory}");
    }

    #[test]
    fn markdown_is_for_the_book() {
        let text = example().markdown();
        let first = text.lines().next().expect("it has lines");
        assert_eq!(
            first,
            "2025-01-31, `cargo bench -p actinium-bench`, commit abc1234+; 2 PUs of Abacus."
        );
        assert!(text.contains("\n| count | 20.0 M/s | 10.0 M/s | 10.0 M/s | 9.00 M/s |"), "{text}");
        assert!(text.contains("| short |"), "{text}");
    }
}
