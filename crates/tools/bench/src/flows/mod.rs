//! The event processor beside other schedulers of graphs: a workload's modules and times as a
//! oneTBB flow graph and as Taskflow programs (`cpp/`), in pairs of runs.
//!
//! | file | concern |
//! |---|---|
//! | `graph.rs` | a workload as a text that the other programs read |
//! | `programs.rs` | the other programs: compiled, if there is what that takes |
//! | `cpp/` | their sources |

mod graph;
mod programs;

use crate::baseline::Interval;
use crate::grid::{Grid, NONE};
use crate::replays;
use actinium_events::{Figures, Settings};
use actinium_observe::number::{decimal, rate};
use actinium_workload::{Workload, replay};
use programs::Peer;
use std::path::Path;

/// Worker threads of each.
const WORKERS: usize = 2;
/// Events in flight of each.
const SLOTS: usize = 4;

/// By how much times are multiplied, for how many events, and the ratio that we want.
const SCALES: [(f64, u64, &str); 4] =
    [(0.01, 40, "≥ 1"), (0.001, 400, "≥ 1"), (0.0001, 4_000, "≥ 2"), (0.0, 10_000, "≥ 4")];

/// The table of a workload.
pub(crate) fn compare(workload: &Workload, pairs: usize) -> Result<Grid, String> {
    let folder = std::env::temp_dir().join(format!("actinium-flows-{}", std::process::id()));
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("can not make {}: {error}", folder.display()))?;
    let grid = compare_in(workload, pairs, &folder);
    // Nothing is lost if it stays.
    let _ = std::fs::remove_dir_all(&folder);
    grid
}

fn compare_in(workload: &Workload, pairs: usize, folder: &Path) -> Result<Grid, String> {
    let mut rows = Vec::new();
    for peer in Peer::ALL {
        let program = match peer.build(folder) {
            Ok(program) => program,
            Err(why) => {
                rows.push([peer.name(), NONE, NONE, NONE, &why, NONE].map(str::to_owned).to_vec());
                continue;
            }
        };
        for (scale, events, wanted) in SCALES {
            let case = Case::new(workload, scale, events, folder)?;
            let what = format!("{}, times × {scale}", peer.name());
            rows.push(row(what, &case.pairs(&program, pairs)?, wanted));
        }
    }
    let title = format!(
        "Events per second of `{}` with {WORKERS} threads and {SLOTS} events in flight, and of the\n\
         same graph under other schedulers: medians of {pairs} pairs. None of them takes times.",
        workload.name
    );
    let headings =
        ["beside", "Actinium", "the other", "Actinium : other", "95 % interval", "wanted"];
    Ok(Grid { title, headings: headings.map(str::to_owned).to_vec(), rows, notes: Vec::new() })
}

/// The rates of Actinium and of a peer, pair by pair.
type Rates = Vec<(f64, f64)>;

fn row(what: String, rates: &Rates, wanted: &str) -> Vec<String> {
    let of =
        |value: fn(&(f64, f64)) -> f64| Interval::of(&rates.iter().map(value).collect::<Vec<_>>());
    let median = |interval: Option<Interval>| interval.map_or(f64::NAN, |it| it.median);
    let ratio = of(|(own, other)| own / other);
    let interval = ratio
        .as_ref()
        .map_or(NONE.to_owned(), |it| format!("{} to {}", decimal(it.low, 3), decimal(it.high, 3)));
    vec![
        what,
        rate(median(of(|(own, _)| *own))),
        rate(median(of(|(_, other)| *other))),
        format!("{} ×", decimal(median(ratio), 3)),
        interval,
        wanted.to_owned(),
    ]
}

/// A workload at a scale, for so many events.
struct Case {
    workload: Workload,
    events: u64,
    graph: std::path::PathBuf,
    checksum: u64,
}

impl Case {
    fn new(workload: &Workload, scale: f64, events: u64, folder: &Path) -> Result<Self, String> {
        let mut workload = workload.clone();
        workload.scale_times(scale);
        let graph = folder.join(format!("{scale}.graph"));
        let text = graph::text(&workload, WORKERS, SLOTS, events)?;
        std::fs::write(&graph, text)
            .map_err(|error| format!("can not write {}: {error}", graph.display()))?;
        let checksum = replay::expected_total(&workload, events);
        Ok(Case { workload, events, graph, checksum })
    }

    /// Runs both in turns; which is first changes from pair to pair.
    fn pairs(&self, program: &Path, pairs: usize) -> Result<Rates, String> {
        let pair = |nth: usize| match nth.is_multiple_of(2) {
            true => Ok((self.own()?, self.other(program)?)),
            false => self.other(program).and_then(|other| Ok((self.own()?, other))),
        };
        (0..pairs).map(pair).collect()
    }

    fn own(&self) -> Result<f64, String> {
        // As the others, which take no times.
        let settings = Settings::default().workers(WORKERS).slots(SLOTS).figures(Figures::Counts);
        let summary = replays::run(&self.workload, self.events, &settings)?;
        Ok(self.events as f64 / (summary.elapsed_ns as f64 * 1e-9))
    }

    fn other(&self, program: &Path) -> Result<f64, String> {
        let said = programs::run(program, &self.graph)?;
        if said.checksum != self.checksum {
            return Err(format!("{}: it has computed something else", program.display()));
        }
        Ok(self.events as f64 / (said.elapsed_ns as f64 * 1e-9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_medians_and_the_interval_of_the_ratios() {
        let rates = vec![(10.0, 5.0), (30.0, 10.0), (16.0, 8.0)];
        let row = row("it".to_owned(), &rates, "≥ 1");
        assert_eq!((&*row[0], &*row[3], &*row[5]), ("it", "2.000 ×", "≥ 1"));
        assert_eq!(row[4], "2.000 to 3.000");
    }
}
