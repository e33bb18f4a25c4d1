//! What may be asked of a simulation.

use crate::Failure;
use crate::parse::from_to;
use actinium::Policy;
use actinium::topology::Topology;
use actinium_sim::grid::{self, Cell, MACHINES};
use actinium_sim::{Costs, Machine};
use clap::ValueEnum;
use serde::Serialize;

/// Most messages per worker: more would take hours.
const MESSAGES_MAX: u64 = 100_000_000;
/// As the runtime's: more is no batch.
const BATCH_MAX: u64 = 1_000_000;

/// The flags.
#[derive(Clone, Debug, clap::Args)]
pub struct SimArgs {
    /// The machine: 12, 16, 64, 256 or 512 PUs, or hwloc's synthetic syntax ("package:2 l3:2 core:8 pu:2"); at most 1,024 PUs
    #[arg(long, value_name = "MACHINE", default_value = "12")]
    machine: String,

    /// Which experiments: those that were published, scaled to the machine; skewed and bursty loads; all
    #[arg(long, value_name = "GRID", default_value = "all")]
    grid: Grid,

    /// Messages that each worker handles in a measured round (about); a warm-up of as many comes before
    #[arg(long, value_name = "N", default_value = "30000", value_parser = from_to::<100, MESSAGES_MAX>)]
    messages: u64,

    /// Most messages that an actor handles in one turn; in the published experiments it was 1
    #[arg(long, value_name = "N", default_value = "1", value_parser = from_to::<1, BATCH_MAX>)]
    batch: u64,

    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value = "42", value_parser = from_to::<0, { u64::MAX }>)]
    seed: u64,

    /// Sets a constant of the policy affine, for instance balance_every_ns=100000; may be given for several
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

/// Which experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Grid {
    /// Those that were published.
    Published,
    /// Skewed and bursty loads.
    Skewed,
    /// Both.
    All,
}

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Settings {
    /// As it was given.
    pub machine: String,
    /// The machine.
    pub topology: Topology,
    /// Which experiments.
    pub grid: Grid,
    /// Messages of each worker in the measured round.
    pub messages: u32,
    /// Most messages in a turn.
    pub batch: u32,
    /// Of everything random.
    pub seed: u64,
    /// The constants of `affine`.
    pub affine: actinium_scheduler::Affine,
    /// What things cost.
    pub costs: Costs,
}

impl Settings {
    /// The settings of this call.
    ///
    /// # Errors
    /// If the machine can not be read, or a constant can not be set.
    pub fn settle(args: &SimArgs) -> Result<Self, Failure> {
        let named = MACHINES.iter().find(|(name, _)| *name == args.machine);
        let description = named.map_or(args.machine.as_str(), |(_, description)| description);
        let topology = Topology::synthetic(description).map_err(|error| {
            Failure::Asked(format!("--machine: {error}; or 12, 16, 64, 256, 512"))
        })?;
        let pus = topology.pus().len();
        if pus > actinium_sim::machine::WORKERS_MAX {
            return Err(Failure::Asked(format!(
                "--machine: {pus} PUs: at most {} are simulated",
                actinium_sim::machine::WORKERS_MAX
            )));
        }
        let mut affine = actinium_scheduler::Affine::DEFAULT;
        for setting in &args.set {
            set(&mut affine, setting)?;
        }
        Ok(Settings {
            machine: args.machine.clone(),
            topology,
            grid: args.grid,
            messages: args.messages as u32,
            batch: args.batch as u32,
            seed: args.seed,
            affine,
            costs: Costs::PUBLISHED,
        })
    }

    /// The experiments.
    pub fn cells(&self) -> Vec<Cell> {
        let pus = self.topology.pus().len();
        let mut cells = Vec::new();
        if self.grid != Grid::Skewed {
            cells.extend(grid::published_grid(pus, self.messages));
        }
        if self.grid != Grid::Published {
            cells.extend(grid::skewed_grid(pus, self.messages));
        }
        cells
    }

    /// All policies, `affine` with its constants as set.
    pub fn policies(&self) -> [Policy; 4] {
        let affine = Policy::Affine(self.affine);
        [Policy::pinned(), Policy::pool(), Policy::stealing(), affine]
    }

    /// The machine with so many workers.
    ///
    /// # Errors
    /// If it has fewer PUs.
    pub fn machine(&self, workers: usize) -> Result<Machine, Failure> {
        Machine::new(&self.topology, workers, self.costs)
            .map_err(|error| Failure::Asked(format!("--machine: {error}")))
    }
}

fn set(affine: &mut actinium_scheduler::Affine, setting: &str) -> Result<(), Failure> {
    let asked = |problem: String| Failure::Asked(format!("--set: {problem}"));
    let Some((name, value)) = setting.split_once('=') else {
        return Err(asked(format!("'{setting}' is not allowed: NAME=VALUE")));
    };
    let value: u64 =
        value.parse().map_err(|_| asked(format!("{name}: '{value}' is no whole number")))?;
    affine.set(name, value).map_err(|error| asked(error.to_string()))
}
