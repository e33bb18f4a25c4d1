//! `--sweep`: one run for each number of slots.

use super::outcome::{Ideal, Outcome};
use super::{SCHEMA_VERSION, Settings};
use actinium_observe::number::{decimal, nanoseconds, percent};
use actinium_report::{Column, Table};
use actinium_workload::SweepPoint;
use serde::Serialize;

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Events in flight.
    pub slots: u64,
    /// The outcome of the run with this number of slots.
    pub outcome: Outcome,
    /// The ideal to compare the outcome with.
    pub ideal: Option<Ideal>,
}

impl Point {
    /// Returns what a sweep compares.
    pub fn of_sweep(&self) -> SweepPoint {
        SweepPoint {
            slots: usize::try_from(self.slots).unwrap_or(usize::MAX),
            events_per_s: self.outcome.run.events_per_s(),
            range: None,
            perfect_per_s: self.ideal.map(|ideal| ideal.events_per_s),
        }
    }
}

#[derive(Debug, Serialize)]
struct PointReport {
    slots: u64,
    events: u64,
    failed: u64,
    interrupted: bool,
    elapsed_s: f64,
    events_per_s: f64,
    cpu_s: f64,
    threads_max: u64,
    memory_max_bytes: u64,
    /// Against the first point's rate in proportion to the slots.
    of_perfect: f64,
    ideal: Option<Ideal>,
    wall_by_ideal: Option<f64>,
    checksum: Option<String>,
}

/// All points. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    schema_version: u32,
    actinium_version: &'static str,
    settings: &'a Settings,
    sweep: &'static str,
    points: Vec<PointReport>,
}

impl<'a> Report<'a> {
    /// Creates the report of a sweep.
    pub fn new(settings: &'a Settings, points: &[Point]) -> Self {
        let first = points.first().map(Point::of_sweep).unwrap_or_default();
        let point = |point: &Point| {
            let outcome = &point.outcome.run;
            PointReport {
                slots: point.slots,
                events: outcome.summary.events,
                failed: outcome.summary.failed,
                interrupted: outcome.summary.stopped,
                elapsed_s: outcome.elapsed_s(),
                events_per_s: outcome.events_per_s(),
                cpu_s: outcome.cpu_s,
                threads_max: outcome.threads_max,
                memory_max_bytes: outcome.memory_max_bytes,
                of_perfect: point.of_sweep().of_perfect(&first),
                ideal: point.ideal,
                wall_by_ideal: point.ideal.map(|ideal| ideal.wall_by_ideal(outcome.elapsed_s())),
                checksum: point.outcome.checksum.map(|sum| format!("{sum:016x}")),
            }
        };
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            settings,
            sweep: "slots",
            points: points.iter().map(point).collect(),
        }
    }

    /// Returns the sweep as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new([
            Column::right("slots"),
            Column::right("events"),
            Column::right("elapsed"),
            Column::right("events/s"),
            Column::right("of perfect"),
            Column::right("ideal events/s"),
            Column::right("of ideal"),
            Column::right("CPU time"),
            Column::right("threads"),
        ]);
        for point in &self.points {
            table.row([
                point.slots.into(),
                point.events.into(),
                nanoseconds(point.elapsed_s * 1e9).into(),
                decimal(point.events_per_s, 2).into(),
                percent(point.of_perfect).into(),
                point.ideal.map(|ideal| decimal(ideal.events_per_s, 2)).into(),
                point.ideal.map(|ideal| percent(ideal.share(point.events_per_s))).into(),
                nanoseconds(point.cpu_s * 1e9).into(),
                point.threads_max.into(),
            ]);
        }
        table
    }
}
