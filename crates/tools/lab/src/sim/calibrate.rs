//! `--calibrate`: the simulation of this machine held against the real thing.

use super::costs::{ACCESSES, ACTORS, FITTED_BYTES, Own, RUNS};
use super::measure;
use super::{SCHEMA_VERSION, Settings};
use crate::Failure;
use actinium::Policy;
use actinium_observe::number::{bytes, decimal, percent};
use actinium_report::{Column, Table};
use actinium_sim::Costs;
use actinium_sim::coverage::gaps;
use actinium_sim::machine::LINE_BYTES;
use serde::Serialize;

/// States at which the simulation is held against the real run, in bytes.
const STATES: [u64; 5] = [FITTED_BYTES, 4_000, 32_000, 320_000, 3_200_000];
/// A cell that is further off than this is not covered.
const COVERED: f64 = 0.1;
/// The machine is another one if a line takes so many times as long as before to cross to another
/// core, or the other way round: of a virtual machine, the host has moved a processor.
const CHANGED: f64 = 1.5;

/// All that came of it. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    workers: usize,
    batch: u32,
    seed: u64,
    costs: Costs,
    /// As much of the third level as the workers seem to have.
    third_level_bytes: u64,
    cells: Vec<Cell>,
    /// Mean of the errors' sizes.
    error_mean: f64,
    error_max: f64,
    /// Cells that are off by no more than a tenth.
    covered: usize,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Cell {
    policy: &'static str,
    state_bytes: u64,
    /// Nanoseconds of a worker's time per message.
    measured_ns: f64,
    predicted_ns: f64,
    /// Predicted by measured, less 1.
    error: f64,
    /// Whether a cost was fitted to this cell: then it is no prediction.
    fitted: bool,
    covered: bool,
    /// The time that a line took to cross to another core meanwhile, where several workers run.
    transfer_ns: f64,
    /// Why the cell is not covered, if that is known.
    why: Option<&'static str>,
}

/// Measures, simulates, runs, compares.
///
/// # Errors
/// If this machine can not be looked at, or a run fails.
pub fn calibrate(settings: &Settings) -> Result<Report, Failure> {
    let own = Own::measure(settings.batch, settings.seed, settings.messages)?;
    let mut cells = Vec::new();
    for state_bytes in STATES {
        cells.extend(row(&own, &settings.policies(), state_bytes)?);
    }
    let sizes: Vec<f64> = cells.iter().map(|cell: &Cell| cell.error.abs()).collect();
    let lines: f64 = own.machine.levels[2].lines.iter().sum();
    Ok(Report {
        schema_version: SCHEMA_VERSION,
        actinium_version: env!("CARGO_PKG_VERSION"),
        workers: own.workers,
        batch: settings.batch,
        seed: settings.seed,
        costs: own.machine.costs,
        third_level_bytes: lines as u64 * LINE_BYTES,
        error_mean: sizes.iter().sum::<f64>() / sizes.len() as f64,
        error_max: sizes.iter().copied().fold(0.0, f64::max),
        covered: cells.iter().filter(|cell| cell.covered).count(),
        cells,
    })
}

/// The cells of one state: the policies take turns, so that what disturbs one disturbs all.
fn row(own: &Own, policies: &[Policy], state_bytes: u64) -> Result<Vec<Cell>, Failure> {
    let mut runs = vec![Vec::new(); policies.len()];
    let mut transfers = Vec::new();
    for _ in 0..RUNS {
        transfers.extend((own.workers > 1).then(measure::transfer_ns));
        for (&policy, runs) in policies.iter().zip(&mut runs) {
            runs.push(own.real_ns(policy, state_bytes)?);
        }
    }
    let transfer_ns = measure::median(&mut transfers);
    let cells = policies.iter().zip(&mut runs).map(|(&policy, runs)| {
        let measured_ns = measure::median(runs);
        let predicted_ns = own.simulated_ns(policy, state_bytes)?;
        let error = predicted_ns / measured_ns - 1.0;
        let is_shared = !policy.keeps_idle() && own.workers > 1;
        Ok(Cell {
            policy: policy.name(),
            state_bytes,
            measured_ns,
            predicted_ns,
            error,
            fitted: is_shared && state_bytes == FITTED_BYTES,
            covered: error.abs() <= COVERED,
            transfer_ns,
            why: (error.abs() > COVERED).then(|| own.why(transfer_ns, state_bytes)).flatten(),
        })
    });
    cells.collect()
}

impl Own {
    /// Why a cell is far off, as far as that is known.
    fn why(&self, transfer_ns: f64, state_bytes: u64) -> Option<&'static str> {
        let ratio = transfer_ns / self.machine.costs.transfer_ns[1];
        if !(1.0 / CHANGED..=CHANGED).contains(&ratio) {
            return Some("the machine has changed: lines cross between its cores in another time");
        }
        let gaps = gaps(&self.machine, &self.workload(state_bytes));
        gaps.first().map(|gap| gap.reason())
    }
}

impl Cell {
    fn remark(&self) -> &'static str {
        match (self.covered, self.fitted) {
            (false, _) => "not covered",
            (true, true) => "fitted",
            (true, false) => "",
        }
    }
}

impl Report {
    /// Returns the report as text.
    pub fn text(&self, quiet: bool) -> String {
        let mut table = Table::new([
            Column::right("state").unit("B"),
            Column::left("policy"),
            Column::right("predicted").unit("ns"),
            Column::right("measured").unit("ns"),
            Column::right("error"),
            Column::left(""),
        ]);
        for cell in &self.cells {
            table.row([
                cell.state_bytes.into(),
                cell.policy.into(),
                decimal(cell.predicted_ns, 1).into(),
                decimal(cell.measured_ns, 1).into(),
                percent(cell.error).into(),
                cell.remark().into(),
            ]);
        }
        if quiet {
            return table.to_string();
        }
        let costs: Vec<String> =
            self.costs.pairs().iter().map(|(name, value)| format!("{name} {value:.1}")).collect();
        let mut whys: Vec<&str> = self.cells.iter().filter_map(|cell| cell.why).collect();
        whys.dedup();
        let whys: Vec<String> = whys.iter().map(|why| format!("uncovered  {why}\n")).collect();
        format!(
            "{table}\nerror      {} on average, {} at most; {} of {} cells are covered: off by no more than {}\n{}workers    {} with {ACTORS} actors each, {ACCESSES} accesses per message, batch {}\nthird level {} of it, as far as these workers have it\ncosts      {}\n",
            percent(self.error_mean),
            percent(self.error_max),
            self.covered,
            self.cells.len(),
            percent(COVERED),
            whys.concat(),
            self.workers,
            self.batch,
            bytes(self.third_level_bytes),
            costs.join(", ")
        )
    }
}
