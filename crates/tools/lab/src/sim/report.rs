//! The report of a simulation: tables, or JSON.

use super::run::CellFigures;
use super::settings::Grid;
use super::{SCHEMA_VERSION, Settings};
use crate::Failure;
use actinium_observe::number::{count, decimal, nanoseconds, percent};
use actinium_report::{Column, Table};
use actinium_sim::coverage::{Gap, gaps};
use actinium_sim::grid::{Cell, Published};
use actinium_sim::{Costs, Figures, Shape, Workload, figures::geometric_mean};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The policies in the order of the results; `affine` is the last.
const POLICIES: [&str; 4] = ["pinned", "pool", "stealing", "affine"];
const AFFINE: usize = 3;

/// All that came of it. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    machine: String,
    pu_count: usize,
    grid: Grid,
    messages_per_worker: u32,
    batch: u32,
    seed: u64,
    /// Whether the number of workers changed under affine.
    elastic: bool,
    affine_constants: BTreeMap<&'static str, u64>,
    costs: Costs,
    cells: Vec<CellReport>,
    /// Geometric means over all cells of affine's time by that of each other policy, and of the
    /// best other in each cell.
    affine_to: Ratios,
    /// Cells in which affine takes more than 1.00 times as long as the best other.
    short: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CellReport {
    group: String,
    row: String,
    workers: usize,
    workload: Workload,
    published: Option<Published>,
    published_pool_to_best: Option<f64>,
    pool_to_best: f64,
    #[serde(serialize_with = "by_policy")]
    policies: CellFigures,
    best: &'static str,
    affine_to_best: f64,
    /// Why times of this cell may be far from real ones.
    not_covered: Vec<Gap>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Ratios {
    pinned: f64,
    pool: f64,
    stealing: f64,
    best: f64,
}

fn by_policy<S: Serializer>(figures: &CellFigures, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(POLICIES.iter().zip(figures))
}

impl CellReport {
    fn new(cell: &Cell, figures: CellFigures, not_covered: Vec<Gap>) -> Self {
        let times: Vec<f64> = figures.iter().map(|one| one.elapsed_ns.max(1) as f64).collect();
        let least = |of: &[usize]| of.iter().map(|&at| times[at]).fold(f64::INFINITY, f64::min);
        let first = (0..times.len()).min_by(|&a, &b| times[a].total_cmp(&times[b])).unwrap_or(0);
        CellReport {
            group: cell.group.clone(),
            row: cell.row.clone(),
            workers: cell.workers,
            workload: cell.workload.clone(),
            published: cell.published,
            published_pool_to_best: cell.published.map(|published| published.pool_to_best()),
            pool_to_best: times[1] / least(&[0, 2]),
            best: POLICIES[first],
            affine_to_best: times[AFFINE] / least(&[0, 1, 2]),
            policies: figures,
            not_covered,
        }
    }

    /// Whether it is there to see how near those come that talk.
    fn is_of_talk(&self) -> bool {
        matches!(self.workload.shape, Shape::Graph { .. })
    }

    /// Nanoseconds of a worker's time per message.
    fn message_ns(&self, policy: usize) -> f64 {
        let figures = &self.policies[policy];
        figures.elapsed_ns as f64 * self.workers as f64 / figures.handled.max(1) as f64
    }

    fn affine(&self) -> &Figures {
        &self.policies[AFFINE]
    }

    /// Third-level misses of affine by those of another policy; none where that has next to none.
    fn misses_to(&self, other: usize) -> Option<f64> {
        let other = &self.policies[other];
        let few = other.handled / 100;
        (other.l3_misses > few).then(|| self.affine().l3_misses as f64 / other.l3_misses as f64)
    }
}

impl Report {
    /// Creates the report of these cells' figures.
    ///
    /// # Errors
    /// If the machine has too few PUs for a cell.
    pub fn new(
        settings: &Settings,
        cells: &[Cell],
        figures: Vec<CellFigures>,
    ) -> Result<Self, Failure> {
        let of_cell = |(cell, figures): (&Cell, CellFigures)| {
            let gaps = gaps(&settings.machine(cell.workers)?, &cell.workload);
            Ok(CellReport::new(cell, figures, gaps))
        };
        let cells: Result<Vec<CellReport>, Failure> =
            cells.iter().zip(figures).map(of_cell).collect();
        let cells = cells?;
        let short = cells.iter().filter(|cell| cell.affine_to_best > 1.0).map(|cell| {
            format!("{}, {}: {} of {}", cell.group, cell.row, times(cell.affine_to_best), cell.best)
        });
        Ok(Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            machine: settings.machine.clone(),
            pu_count: settings.topology.pus().len(),
            grid: settings.grid,
            messages_per_worker: settings.messages,
            batch: settings.batch,
            seed: settings.seed,
            elastic: settings.elastic,
            affine_constants: settings.affine.constants().into_iter().collect(),
            costs: settings.costs,
            affine_to: ratios(&cells.iter().collect::<Vec<_>>()),
            short: short.collect(),
            cells,
        })
    }

    /// Returns the report as text: a table for each group; remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = String::new();
        let mut groups: Vec<&str> = self.cells.iter().map(|cell| cell.group.as_str()).collect();
        groups.dedup();
        for group in groups {
            let cells: Vec<&CellReport> =
                self.cells.iter().filter(|cell| cell.group == group).collect();
            let (table, of) = (table(&cells), ratios(&cells));
            writeln!(text, "{group}\n{table}").expect("a String takes all");
            writeln!(text, "geometric means: {}\n", of.text()).expect("a String takes all");
            if cells.iter().all(|cell| cell.is_of_talk()) {
                writeln!(text, "{}", crossings(&cells)).expect("a String takes all");
            }
        }
        if !quiet {
            text.push_str(&self.remarks());
        }
        text
    }

    fn remarks(&self) -> String {
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all");
        line(format!("all cells  {}", self.affine_to.text()));
        line(format!(
            "machine    {}: {} PUs; seed {}, batch {}, {} messages per worker, after as many to warm up",
            self.machine,
            self.pu_count,
            self.seed,
            self.batch,
            count(self.messages_per_worker.into())
        ));
        line("times      nanoseconds of a worker's time per message, waiting included".to_owned());
        line(
            "best       of the other three policies; affine / best below 1: affine wins".to_owned(),
        );
        line(
            "first done when the first actor has handled all its messages, as a share of the run: 100 % is fair"
                .to_owned(),
        );
        line("moved      homes that moved, of all turns".to_owned());
        line(
            "misses     affine's third-level misses by those of stealing and of the pool"
                .to_owned(),
        );
        line(
            "working    workers that were given work under affine, on average; --elastic changes it"
                .to_owned(),
        );
        if self.cells.iter().any(|cell| cell.published.is_some()) {
            line(
                "pool/best  the pool's time by the smaller of pinned and stealing: simulated, and published"
                    .to_owned(),
            );
        }
        for gap in Gap::ALL {
            let rows = self.cells.iter().filter(|cell| cell.not_covered.contains(&gap));
            let rows: Vec<String> =
                rows.map(|cell| format!("{}, {}", cell.group, cell.row)).collect();
            if !rows.is_empty() {
                line(format!(
                    "uncovered  {} of {} cells: {}: {}",
                    rows.len(),
                    self.cells.len(),
                    gap.reason(),
                    rows.join("; ")
                ));
            }
        }
        match self.short.as_slice() {
            [] => line(
                "short      no cell: affine is at least as good as the best other everywhere"
                    .to_owned(),
            ),
            short => line(format!(
                "short      {} of {} cells: {}",
                short.len(),
                self.cells.len(),
                short.join("; ")
            )),
        }
        text
    }
}

impl Ratios {
    fn text(self) -> String {
        let Ratios { pinned, pool, stealing, best } = self;
        format!(
            "affine / pinned {}, / pool {}, / stealing {}, / best of these {}",
            times(pinned),
            times(pool),
            times(stealing),
            times(best)
        )
    }
}

fn ratios(cells: &[&CellReport]) -> Ratios {
    let mean = |of: &dyn Fn(&CellReport) -> f64| {
        geometric_mean(cells.iter().map(|cell| of(cell))).unwrap_or(f64::NAN)
    };
    let to = |other: usize| mean(&|cell| cell.message_ns(AFFINE) / cell.message_ns(other));
    Ratios { pinned: to(0), pool: to(1), stealing: to(2), best: mean(&|cell| cell.affine_to_best) }
}

fn times(ratio: f64) -> String {
    decimal(ratio, 3)
}

fn table(cells: &[&CellReport]) -> Table {
    let mut columns = vec![Column::left("")];
    columns.extend(POLICIES.iter().map(|&name| Column::right(name).unit("ns")));
    let rest = [
        "affine / best",
        "pool/best",
        "published",
        "first done",
        "longest wait",
        "moved",
        "misses/stealing",
        "misses/pool",
        "working",
    ];
    columns.extend(rest.into_iter().map(Column::right));
    let mut table = Table::new(columns);
    for cell in cells {
        let affine = cell.affine();
        let moved = (affine.rehomed + affine.pushed) as f64 / affine.turns.max(1) as f64;
        let mut row = vec![cell.row.as_str().into()];
        row.extend((0..POLICIES.len()).map(|policy| decimal(cell.message_ns(policy), 1).into()));
        row.extend([
            times(cell.affine_to_best).into(),
            decimal(cell.pool_to_best, 2).into(),
            cell.published_pool_to_best.map(|ratio| decimal(ratio, 2)).into(),
            affine.first_done.map(percent).into(),
            nanoseconds(affine.wait_max_ns as f64).into(),
            percent(moved).into(),
            cell.misses_to(2).map(|ratio| decimal(ratio, 2)).into(),
            cell.misses_to(1).map(|ratio| decimal(ratio, 2)).into(),
            decimal(affine.working, 1).into(),
        ]);
        table.row(row);
    }
    table
}

/// The shares of the messages that go to other workers, third-level caches and NUMA nodes.
fn crossings(cells: &[&CellReport]) -> Table {
    let mut columns = vec![Column::left("messages to other")];
    let places = ["workers", "caches", "nodes"];
    columns.extend(places.map(|place| Column::right(format!("{place}, pinned"))));
    columns.extend(places.map(|place| Column::right(format!("{place}, affine"))));
    let mut table = Table::new(columns);
    for cell in cells {
        let mut row = vec![cell.row.as_str().into()];
        for policy in [0, AFFINE] {
            let of = &cell.policies[policy];
            let share = |crossed: u64| percent(crossed as f64 / of.handled.max(1) as f64).into();
            row.extend([of.crossed_workers, of.crossed_caches, of.crossed_nodes].map(share));
        }
        table.row(row);
    }
    table
}
