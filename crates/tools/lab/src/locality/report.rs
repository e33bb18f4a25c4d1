//! The report of the experiment: tables, or JSON.

use super::counts::Misses;
use super::grid::{Measured, Row, geometric_mean};
use super::round::Run;
use super::settings::{Cell, Settings};
use crate::Failure;
use actinium::Policy;
use actinium_observe::Repeat;
use actinium_observe::number::{bytes, count, decimal, nanoseconds, percent};
use actinium_report::{Column, Table};
use serde::Serialize;
use std::fmt::Write;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 2;

/// All figures of the experiment. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    settings: Settings,
    workers_bound: bool,
    rows: Vec<RowReport>,
    /// Geometric means over all rows, in the order of the policies.
    means: Vec<Mean>,
    /// The figures by which `affine` is judged, if it was measured beside another policy.
    affine: Option<Judged>,
    left_out: Vec<LeftOut>,
    /// Why there are no cache misses, if there are none.
    cache_misses_missing: Option<String>,
    #[serde(skip)]
    measured: Vec<Row>,
}

#[derive(Clone, Debug, Serialize)]
struct RowReport {
    #[serde(flatten)]
    cell: Cell,
    best: String,
    /// Affine's time by that of the best other policy: the median of neighbouring runs.
    affine_to_best_other: Option<f64>,
    /// The interval in which that lies by 95 %, and the other policy.
    affine_to_best_other_interval: Option<(f64, f64)>,
    best_other: Option<String>,
    /// Whether that is faster because it starves actors: the first of them is done much sooner than
    /// under affine.
    best_other_starves: bool,
    policies: Vec<Figures>,
}

/// How `affine` does beside the others.
#[derive(Clone, Debug, Serialize)]
struct Judged {
    /// Geometric mean of its time by that of the best other in each row.
    to_best_other: f64,
    /// The other policy that does best over all rows, and the geometric mean of affine's time by
    /// its.
    best_single: String,
    to_best_single: f64,
    /// Rows in which it takes more than `NOISE` times as long as the best other.
    rows_short: usize,
    /// The greatest of these ratios.
    worst: f64,
    /// Rows in which the whole interval of the ratio lies above `NOISE`.
    rows_surely_short: usize,
    /// Those of them in which the other policy starves actors.
    rows_surely_short_starved: usize,
}

/// `affine` beside the best other policy of a row.
struct Beside {
    other: String,
    ratios: Repeat,
    /// Whether the other one starves actors.
    starves: bool,
}

impl Beside {
    fn new(row: &Row) -> Option<Self> {
        let (affine, others) = affine_and_others(row)?;
        let best = others.into_iter().min_by(|a, b| a.seconds().total_cmp(&b.seconds()))?;
        Some(Beside {
            other: best.policy.to_string(),
            ratios: affine.ratios_to(best)?,
            starves: best.median(first_done) < FAIR * affine.median(first_done),
        })
    }

    fn is_surely_short(&self) -> bool {
        self.ratios.interval().0 > NOISE
    }
}

#[derive(Clone, Debug, Serialize)]
struct Figures {
    policy: String,
    elapsed_s: Option<Repeat>,
    runs_s: Vec<f64>,
    ratio_to_best: f64,
    message_count: u64,
    first_done_share: f64,
    longest_wait_ns: f64,
    turns: f64,
    rehomed: f64,
    pushed: f64,
    home_changes_per_turn: f64,
    stolen: f64,
    context_switches: Option<f64>,
    cache_misses: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct Mean {
    policy: String,
    elapsed_s: f64,
    ratio_to_best: f64,
}

#[derive(Clone, Debug, Serialize)]
struct LeftOut {
    #[serde(flatten)]
    cell: Cell,
    needs_bytes: u64,
}

/// The ratio of times up to which two policies count as equally fast: runs of the same thing differ
/// by as much.
const NOISE: f64 = 1.03;
/// A policy whose first actor is done before this part of the time after which affine's is starves
/// the others meanwhile: a worker runs few actors again and again, whose states stay in its caches.
const FAIR: f64 = 0.75;

/// A row's column of `affine`, and those of the others.
fn affine_and_others(row: &Row) -> Option<(&Measured, Vec<&Measured>)> {
    let is_affine = |column: &&Measured| matches!(column.policy, Policy::Affine(_));
    let (affine, others): (Vec<_>, Vec<_>) = row.columns.iter().partition(is_affine);
    (!others.is_empty()).then_some((*affine.first()?, others))
}

impl Judged {
    fn new(rows: &[Row]) -> Option<Self> {
        let beside: Vec<Beside> = rows.iter().map(Beside::new).collect::<Option<_>>()?;
        let ratios: Vec<f64> = beside.iter().map(|it| it.ratios.median()).collect();
        let all: Vec<_> = rows.iter().map(affine_and_others).collect::<Option<_>>()?;
        let single = |at: usize| {
            let ratios = all.iter().map(|(affine, others)| affine.seconds() / others[at].seconds());
            (all[0].1[at].policy.to_string(), geometric_mean(ratios))
        };
        // The better the other, the greater the ratio.
        let singles = (0..all.first()?.1.len()).map(single);
        let (best_single, to_best_single) = singles.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Judged {
            to_best_other: geometric_mean(ratios.iter().copied()),
            best_single,
            to_best_single,
            rows_short: ratios.iter().filter(|&&ratio| ratio > NOISE).count(),
            worst: ratios.into_iter().fold(0.0, f64::max),
            rows_surely_short: beside.iter().filter(|it| it.is_surely_short()).count(),
            rows_surely_short_starved: beside
                .iter()
                .filter(|it| it.is_surely_short() && it.starves)
                .count(),
        })
    }
}

/// Returns the time at which the first actor was done, as a share of the run: small if some actors
/// had more than their turn.
pub(super) fn first_done(run: &Run) -> f64 {
    run.first_done.as_secs_f64() / run.elapsed.as_secs_f64()
}

/// How often a home moved, for each turn: near 0 once work is where it belongs.
fn home_changes(run: &Run) -> f64 {
    (run.rehomed + run.pushed) as f64 / run.turns.max(1) as f64
}

fn figures(measured: &Measured, row: &Row) -> Figures {
    Figures {
        policy: measured.policy.to_string(),
        elapsed_s: measured.repeat(|run| run.elapsed.as_secs_f64()),
        runs_s: measured.runs.iter().map(|run| run.elapsed.as_secs_f64()).collect(),
        ratio_to_best: measured.ratio_to(row.best()),
        message_count: measured.runs.first().map_or(0, |run| run.handled),
        first_done_share: measured.median(first_done),
        longest_wait_ns: measured
            .median(|run| run.longest_wait.map_or(f64::NAN, |wait| wait.as_nanos() as f64)),
        turns: measured.median(|run| run.turns as f64),
        rehomed: measured.median(|run| run.rehomed as f64),
        pushed: measured.median(|run| run.pushed as f64),
        home_changes_per_turn: measured.median(home_changes),
        stolen: measured.median(|run| run.stolen as f64),
        context_switches: measured.median_known(|run| run.switches),
        cache_misses: measured.median_known(|run| run.misses),
    }
}

impl Report {
    /// Creates the report of these measurements.
    pub fn new(settings: Settings, measured: Vec<Row>) -> Self {
        let rows = measured.iter().map(|row| {
            let beside = Beside::new(row);
            RowReport {
                cell: row.cell,
                best: row.best().policy.to_string(),
                affine_to_best_other: beside.as_ref().map(|it| it.ratios.median()),
                affine_to_best_other_interval: beside.as_ref().map(|it| it.ratios.interval()),
                best_other: beside.as_ref().map(|it| it.other.clone()),
                best_other_starves: beside.as_ref().is_some_and(|it| it.starves),
                policies: row.columns.iter().map(|column| figures(column, row)).collect(),
            }
        });
        let rows: Vec<RowReport> = rows.collect();
        let mean = |(at, policy): (usize, &Policy)| Mean {
            policy: policy.to_string(),
            elapsed_s: geometric_mean(measured.iter().map(|row| row.columns[at].seconds())),
            ratio_to_best: geometric_mean(rows.iter().map(|row| row.policies[at].ratio_to_best)),
        };
        let means = settings.policies.value.iter().enumerate().map(mean).collect();
        let left_out = settings.cells().1.into_iter();
        let left_out = left_out.map(|cell| LeftOut { cell, needs_bytes: settings.bytes_of(&cell) });
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            rows,
            means,
            affine: Judged::new(&measured),
            left_out: left_out.collect(),
            cache_misses_missing: Misses::new().err(),
            workers_bound: crate::seats::is_bound(&settings.seats),
            settings,
            measured,
        }
    }

    /// Returns the settings of the measurement.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the measurements, one row for each cell.
    pub fn measured(&self) -> &[Row] {
        &self.measured
    }

    /// Why there are no cache misses, if there are none.
    pub fn cache_misses_missing(&self) -> Option<&str> {
        self.cache_misses_missing.as_deref()
    }

    /// Geometric means: policy, seconds, ratio to the best.
    pub fn means(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        self.means.iter().map(|mean| (mean.policy.as_str(), mean.elapsed_s, mean.ratio_to_best))
    }

    /// Returns the report as text: the table, and unless `quiet` the details and remarks.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = self.table().to_string();
        if !quiet {
            let _ = write!(text, "\n{}", self.details());
            if self.affine.is_some() {
                let _ = write!(text, "\n{}", self.judgement());
            }
            text.push_str(&self.remarks());
        }
        text
    }

    /// Policy by state: milliseconds, and the ratio to the best of the row.
    fn table(&self) -> Table {
        let mut columns = vec![
            Column::right("actors"),
            Column::right("accesses"),
            Column::right("state").unit(self.settings.state_unit()),
        ];
        for policy in &self.settings.policies.value {
            columns.push(Column::right(policy.to_string()).unit("ms"));
            columns.push(Column::right("× best"));
        }
        let mut table = Table::new(columns);
        for row in &self.rows {
            let mut cells = vec![
                row.cell.actors.into(),
                row.cell.accesses.into(),
                self.settings.show_state(row.cell.state).into(),
            ];
            for figures in &row.policies {
                let median = figures.elapsed_s.as_ref().map_or(f64::NAN, Repeat::median);
                cells.push(decimal(median * 1e3, 2).into());
                cells.push(decimal(figures.ratio_to_best, 2).into());
            }
            table.row(cells);
        }
        let mut cells = vec!["".into(), "".into(), "geometric mean".into()];
        for mean in &self.means {
            cells.push(decimal(mean.elapsed_s * 1e3, 2).into());
            cells.push(decimal(mean.ratio_to_best, 2).into());
        }
        table.row(cells);
        table
    }

    /// Returns a table with one line for each policy in each cell.
    fn details(&self) -> Table {
        let mut table = Table::new([
            Column::right("actors"),
            Column::right("accesses"),
            Column::right("state").unit(self.settings.state_unit()),
            Column::left("policy"),
            Column::right("spread"),
            Column::right("first done"),
            Column::right("longest wait"),
            Column::right("turns"),
            Column::right("stolen"),
            Column::right("re-homed"),
            Column::right("pushed"),
            Column::right("moves"),
            Column::right("switches"),
            Column::right("misses per message"),
        ]);
        for row in &self.rows {
            for figures in &row.policies {
                let whole = |value: f64| count(value.round() as u64).into();
                let each = figures.cache_misses.map(|misses| misses / figures.message_count as f64);
                table.row([
                    row.cell.actors.into(),
                    row.cell.accesses.into(),
                    self.settings.show_state(row.cell.state).into(),
                    figures.policy.as_str().into(),
                    percent(figures.elapsed_s.as_ref().map_or(f64::NAN, Repeat::spread)).into(),
                    percent(figures.first_done_share).into(),
                    nanoseconds(figures.longest_wait_ns).into(),
                    whole(figures.turns),
                    whole(figures.stolen),
                    whole(figures.rehomed),
                    whole(figures.pushed),
                    percent(figures.home_changes_per_turn).into(),
                    figures.context_switches.map_or_else(|| "-".into(), whole),
                    each.map_or_else(|| "-".to_owned(), |each| decimal(each, 2)).into(),
                ]);
            }
        }
        table
    }

    /// Returns a table with affine beside the best other policy of each cell.
    fn judgement(&self) -> Table {
        let mut table = Table::new([
            Column::right("actors"),
            Column::right("accesses"),
            Column::right("state").unit(self.settings.state_unit()),
            Column::left("best other"),
            Column::right("affine / best other"),
            Column::right("95 % interval"),
            Column::left(""),
        ]);
        for row in &self.rows {
            let (low, high) = row.affine_to_best_other_interval.unwrap_or((f64::NAN, f64::NAN));
            let remark = match (low > NOISE, row.best_other_starves) {
                (false, false) => String::new(),
                (false, true) => "the other starves actors".to_owned(),
                (true, false) => format!("wholly above {NOISE}"),
                (true, true) => format!("wholly above {NOISE}; the other starves actors"),
            };
            table.row([
                row.cell.actors.into(),
                row.cell.accesses.into(),
                self.settings.show_state(row.cell.state).into(),
                row.best_other.as_deref().unwrap_or_default().into(),
                decimal(row.affine_to_best_other.unwrap_or(f64::NAN), 3).into(),
                format!("{} to {}", decimal(low, 3), decimal(high, 3)).into(),
                remark.into(),
            ]);
        }
        table
    }

    fn remarks(&self) -> String {
        let mut text = String::from("\n");
        let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all");
        let settings = &self.settings;
        line(format!(
            "runs          medians of {} of each policy, taking turns; {} messages after {} to warm up; workers {}, batch {}, seed {}",
            settings.repeat.value,
            count(settings.messages.value),
            count(settings.warm_up.value),
            settings.workers.value,
            settings.batch.value,
            settings.seed.value,
        ));
        line(
            "× best        median of the ratios of runs that were made one after the other"
                .to_owned(),
        );
        if let Some(affine) = &self.affine {
            line(format!(
                "affine        {} × the best other of each row, {} × {}, which does best of the others over all rows (geometric means); more than {NOISE} × in {} of {} rows, in {} the whole interval ({} where the other starves actors); {} × at worst",
                decimal(affine.to_best_other, 3),
                decimal(affine.to_best_single, 3),
                affine.best_single,
                affine.rows_short,
                self.rows.len(),
                affine.rows_surely_short,
                affine.rows_surely_short_starved,
                decimal(affine.worst, 2),
            ));
        }
        if settings.receivers.value.0.is_some() {
            line(format!(
                "receivers     {}: {} messages travel from actor to actor; first done is one of them",
                settings.receivers.value,
                count(settings.in_flight.value)
            ));
        }
        line("first done    when the first actor had done all its messages, as share of the run: how fair the policy was".to_owned());
        line("longest wait  the longest time in which an actor that was ready all along handled 16 messages".to_owned());
        line(
            "moves         how often an actor's home moved (re-homed or pushed to another worker), per turn"
                .to_owned(),
        );
        for remark in &settings.seats.remarks {
            line(format!("workers       {remark}"));
        }
        if settings.packed.value {
            line("packed        arrays lie where the allocator puts them, and small ones share cache lines".to_owned());
        }
        if let Some(reason) = &self.cache_misses_missing {
            line(format!("misses        not counted: {reason}"));
        }
        for out in &self.left_out {
            line(format!(
                "left out      {} actors, {} {}: needs {}, and --memory allows {}",
                count(out.cell.actors),
                settings.show_state(out.cell.state),
                settings.state_unit(),
                bytes(out.needs_bytes),
                bytes(settings.memory.value),
            ));
        }
        text
    }

    /// Whether the figures may be believed.
    ///
    /// # Errors
    /// If a run handled more or fewer messages than were due.
    pub fn verdict(&self) -> Result<(), Failure> {
        for row in &self.measured {
            let shares = self.settings.shares(&row.cell);
            let due = self.settings.messages.value / shares * shares;
            for column in &row.columns {
                if let Some(run) = column.runs.iter().find(|run| run.handled != due) {
                    return Err(Failure::Failed(format!(
                        "{} handled {} messages, and {due} were due",
                        column.policy, run.handled
                    )));
                }
            }
        }
        Ok(())
    }
}
