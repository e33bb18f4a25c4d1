//! `--sweep`: which constants of `affine` do best.
//!
//! One constant at a time is set to a quarter, half, twice and four times its value, and all cells
//! are simulated under `affine`. What is compared is the geometric mean of the cells' times.

use super::{SCHEMA_VERSION, Settings, run};
use crate::Failure;
use actinium::Policy;
use actinium_observe::number::{count, decimal};
use actinium_report::{Column, Table};
use actinium_sim::figures::geometric_mean;
use actinium_sim::grid::Cell;
use serde::Serialize;

/// The quarters of its present value to which a constant is set.
const QUARTERS: [u64; 4] = [1, 2, 8, 16];

/// All that came of it. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    machine: String,
    seed: u64,
    batch: u32,
    cells: usize,
    points: Vec<Point>,
}

#[derive(Clone, Debug, Serialize)]
struct Point {
    constant: &'static str,
    value: u64,
    /// Times of all cells by those with the present constants, as a geometric mean.
    to_present: f64,
    /// The worst of these.
    worst: f64,
}

/// Simulates all cells with varied constants of `affine`, and compares with the present ones.
///
/// # Errors
/// If a run comes to no end, which is a defect.
pub fn sweep(settings: &Settings, quiet: bool) -> Result<Report, Failure> {
    let cells = settings.cells();
    let mut constants = Vec::new();
    let mut policies = vec![Policy::Affine(settings.affine)];
    for (name, present) in settings.affine.constants() {
        for quarters in QUARTERS {
            let value = present.saturating_mul(quarters) / 4;
            let mut affine = settings.affine;
            // Too large for its type, or the present value again where that is small: nothing to
            // try.
            if value != present && affine.set(name, value).is_ok() {
                constants.push((name, value));
                policies.push(Policy::Affine(affine));
            }
        }
    }
    let figures = run::run(settings, &cells, &policies, quiet)?;
    let time = |cell: usize, policy: usize| figures[cell][policy].elapsed_ns.max(1) as f64;
    let points = constants.into_iter().enumerate().map(|(at, (constant, value))| {
        let ratios: Vec<f64> =
            (0..cells.len()).map(|cell| time(cell, at + 1) / time(cell, 0)).collect();
        let to_present = geometric_mean(ratios.iter().copied()).unwrap_or(f64::NAN);
        Point { constant, value, to_present, worst: ratios.into_iter().fold(0.0, f64::max) }
    });
    let points = points.collect();
    Ok(Report::new(settings, &cells, points))
}

impl Report {
    fn new(settings: &Settings, cells: &[Cell], points: Vec<Point>) -> Self {
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            machine: settings.machine.clone(),
            seed: settings.seed,
            batch: settings.batch,
            cells: cells.len(),
            points,
        }
    }

    /// Returns the report as text.
    pub fn text(&self, quiet: bool) -> String {
        let mut table = Table::new([
            Column::left("constant"),
            Column::right("value"),
            Column::right("time / present"),
            Column::right("worst cell"),
        ]);
        for point in &self.points {
            table.row([
                point.constant.into(),
                count(point.value).into(),
                decimal(point.to_present, 4).into(),
                decimal(point.worst, 3).into(),
            ]);
        }
        let best = self.points.iter().min_by(|a, b| a.to_present.total_cmp(&b.to_present));
        let remark = match best {
            Some(best) if best.to_present < 0.995 => format!(
                "better     {} = {}: {} of the present time over {} cells\n",
                best.constant,
                count(best.value),
                decimal(best.to_present, 4),
                self.cells
            ),
            _ => format!("better     none by more than 0.5 % over {} cells\n", self.cells),
        };
        if quiet { table.to_string() } else { format!("{table}\n{remark}") }
    }
}
