//! `--calibrate`: this machine's costs, and the simulation held against the real thing.

use super::measure::{self, Loop};
use super::{SCHEMA_VERSION, Settings};
use crate::Failure;
use actinium::Policy;
use actinium::topology::Topology;
use actinium_observe::number::{decimal, percent};
use actinium_report::{Column, Table};
use actinium_sim::{Costs, Machine, Workload, simulate};
use serde::Serialize;

/// Actors per worker, as in the published experiments.
const ACTORS: u32 = 3;
/// Accesses per message, likewise.
const ACCESSES: u32 = 20;
/// States at which the simulation is held against the real run, in bytes.
const STATES: [u64; 5] = [64, 4_000, 32_000, 320_000, 3_200_000];
/// Real runs of each cell; the median counts.
const RUNS: usize = 5;

/// All that came of it. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    workers: usize,
    batch: u32,
    seed: u64,
    costs: Costs,
    cells: Vec<Cell>,
    /// Mean of the errors' sizes.
    error_mean: f64,
    error_max: f64,
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
}

/// Measures, simulates, runs, compares.
///
/// # Errors
/// If this machine can not be looked at, or a run fails.
pub fn calibrate(settings: &Settings) -> Result<Report, Failure> {
    let topology = Topology::detect().map_err(|error| Failure::Failed(error.to_string()))?;
    let workers = topology.usable_workers().workers;
    let costs = costs(&topology, settings.messages)?;
    let machine = Machine::new(&topology, workers, costs)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let mut cells = Vec::new();
    for state_bytes in STATES {
        // Large states take longer, and say as much with fewer.
        let each = settings.messages.div_ceil(ACTORS);
        let messages = if state_bytes > 1_000_000 { each.div_ceil(4) } else { each };
        let actors = ACTORS * workers as u32;
        for policy in settings.policies() {
            let batch = settings.batch;
            let how =
                Loop { policy, workers, actors, accesses: ACCESSES, state_bytes, messages, batch };
            let mut runs = Vec::new();
            for _ in 0..RUNS {
                runs.push(measure::run(&how)?);
            }
            let mut workload = Workload::closed_loop(actors, ACCESSES, state_bytes, messages);
            workload.warm_up = messages;
            let simulated = actinium_sim::Settings::new(policy).batch(batch).seed(settings.seed);
            let figures = simulate(&machine, &workload, &simulated)
                .map_err(|error| Failure::Failed(error.to_string()))?;
            let per_message = workers as f64 / (f64::from(actors) * f64::from(messages));
            let measured_ns = measure::median(&mut runs) * per_message;
            let predicted_ns = figures.elapsed_ns as f64 * per_message;
            let error = predicted_ns / measured_ns - 1.0;
            let policy = policy.name();
            cells.push(Cell { policy, state_bytes, measured_ns, predicted_ns, error });
        }
    }
    let sizes: Vec<f64> = cells.iter().map(|cell| cell.error.abs()).collect();
    Ok(Report {
        schema_version: SCHEMA_VERSION,
        actinium_version: env!("CARGO_PKG_VERSION"),
        workers,
        batch: settings.batch,
        seed: settings.seed,
        costs,
        error_mean: sizes.iter().sum::<f64>() / sizes.len() as f64,
        error_max: sizes.iter().copied().fold(0.0, f64::max),
        cells,
    })
}

/// This machine's costs. What is not measured is as in the published experiments.
fn costs(topology: &Topology, messages: u32) -> Result<Costs, Failure> {
    let mut costs = Costs::PUBLISHED;
    // Sizes as one worker sees them.
    let one =
        Machine::new(topology, 1, costs).map_err(|error| Failure::Failed(error.to_string()))?;
    let line = actinium_sim::machine::LINE_BYTES as f64;
    let [l1, l2, l3] = one.levels.each_ref().map(|level| level.lines[0] * line);
    // Of random accesses to so much memory, a cache of that size misses this share.
    let misses = |cache: f64, bytes: f64| (1.0 - cache / bytes).max(0.0);
    // Each step solves for the one cost that the steps before do not know.
    let small = measure::access_ns((l1 / 4.0) as u64);
    // A few times the second level: of a large third level, others may use the most.
    let (in_l2, in_l3) = (l2 / 2.0, 4.0 * l2);
    let in_memory = (4.0 * l3).min(f64::from(1 << 28)).max(2.0 * l3);
    let rest = |bytes: f64, known: f64| (measure::access_ns(bytes as u64) - known).max(0.0);
    costs.access_ns = small;
    costs.l2_ns = rest(in_l2, small) / misses(l1, in_l2).max(0.1);
    let known = small + misses(l1, in_l3) * costs.l2_ns;
    costs.l3_ns = rest(in_l3, known) / misses(l2, in_l3).max(0.1);
    let known = small + misses(l1, in_memory) * costs.l2_ns + misses(l2, in_memory) * costs.l3_ns;
    costs.memory_ns = rest(in_memory, known) / misses(l3, in_memory).max(0.1);
    costs.clock_ns = measure::clock_ns();
    costs.lock_ns = measure::lock_ns();
    if topology.usable_workers().workers > 1 {
        let transfer_ns = measure::transfer_ns();
        costs.transfer_ns = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(|near| near * transfer_ns);
        (costs.wake_ns, costs.wake_latency_ns) = measure::wake_ns();
    }
    // One worker: no contention, no misses. Turns of one message and of many tell a turn's cost
    // from a message's.
    let single = |policy, batch| -> Result<f64, Failure> {
        let actors = 3;
        let (workers, accesses, state_bytes) = (1, 0, 64);
        let how = Loop { policy, workers, actors, accesses, state_bytes, messages, batch };
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            runs.push(measure::run(&how)?);
        }
        // The least: whatever disturbs makes it longer.
        let least = runs.into_iter().fold(f64::INFINITY, f64::min);
        Ok(least / (f64::from(actors) * f64::from(messages)))
    };
    let (one, many) = (single(Policy::pinned(), 1)?, single(Policy::pinned(), 64)?);
    costs.turn_ns = ((one - many) * 64.0 / 63.0).max(0.0);
    costs.message_ns = (one - costs.turn_ns).max(0.0);
    let (shared_one, shared_many) =
        (single(Policy::stealing(), 1)?, single(Policy::stealing(), 64)?);
    let queueing = 2.0 * costs.lock_ns + costs.clock_ns + costs.tick_ns;
    let shared_turn = (shared_one - shared_many) * 64.0 / 63.0;
    costs.shared_turn_ns = (shared_turn - costs.turn_ns - queueing).max(0.0);
    costs.shared_message_ns = (shared_many - many - (shared_turn - costs.turn_ns) / 64.0).max(0.0);
    Ok(costs)
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
        ]);
        for cell in &self.cells {
            table.row([
                cell.state_bytes.into(),
                cell.policy.into(),
                decimal(cell.predicted_ns, 1).into(),
                decimal(cell.measured_ns, 1).into(),
                percent(cell.error).into(),
            ]);
        }
        if quiet {
            return table.to_string();
        }
        let costs: Vec<String> =
            self.costs.pairs().iter().map(|(name, value)| format!("{name} {value:.1}")).collect();
        format!(
            "{table}\nerror      {} on average, {} at most\nworkers    {} with {ACTORS} actors each, {ACCESSES} accesses per message, batch {}\ncosts      {}\n",
            percent(self.error_mean),
            percent(self.error_max),
            self.workers,
            self.batch,
            costs.join(", ")
        )
    }
}
