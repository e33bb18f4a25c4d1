//! Settings of a simulation.

use crate::Failure;
use actinium::Policy;
use actinium::topology::Topology;
use actinium_sim::grid::{self, Cell, MACHINES};
use actinium_sim::{Costs, Machine};
use serde::Serialize;
use std::str::FromStr;

/// The choice of experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grid {
    /// The published experiments.
    Published,
    /// Skewed and bursty loads.
    Skewed,
    /// Both kinds of experiments.
    All,
    /// Actors that talk with those that a graph says.
    Talking,
}

impl FromStr for Grid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "published" => Ok(Grid::Published),
            "skewed" => Ok(Grid::Skewed),
            "all" => Ok(Grid::All),
            "talking" => Ok(Grid::Talking),
            _ => Err(format!("'{text}' is not allowed: published, skewed, all, talking")),
        }
    }
}

/// The settings of the simulation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The machine's name or synthetic description, as the user gave it.
    pub machine: String,
    /// The machine.
    pub topology: Topology,
    /// The choice of experiments.
    pub grid: Grid,
    /// Messages of each worker in the measured round.
    pub messages: u32,
    /// Most messages in a turn.
    pub batch: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Whether the number of workers changes under `affine`.
    pub elastic: bool,
    /// The constants of `affine`.
    pub affine: actinium_scheduler::Affine,
    /// The costs of single operations.
    pub costs: Costs,
}

impl Settings {
    /// The defaults, on the machine of this name or of hwloc's synthetic syntax.
    ///
    /// # Errors
    /// If the machine can not be read, or has too many PUs.
    pub fn new(machine: &str) -> Result<Self, Failure> {
        let named = MACHINES.iter().find(|(name, _)| *name == machine);
        let description = named.map_or(machine, |(_, description)| description);
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
        Ok(Settings {
            machine: machine.to_owned(),
            topology,
            grid: Grid::All,
            messages: 30_000,
            batch: 1,
            seed: 42,
            elastic: false,
            affine: actinium_scheduler::Affine::DEFAULT,
            costs: Costs::PUBLISHED,
        })
    }

    /// Sets a constant of `affine`, given as "NAME=VALUE".
    ///
    /// # Errors
    /// If there is no such constant, or the value is not allowed.
    pub fn set(&mut self, setting: &str) -> Result<(), Failure> {
        self.affine.assign(setting).map_err(|error| Failure::Asked(format!("--set: {error}")))
    }

    /// Returns the experiments.
    pub fn cells(&self) -> Vec<Cell> {
        let pus = self.topology.pus().len();
        let published = || grid::published_grid(pus, self.messages);
        let skewed = || grid::skewed_grid(pus, self.messages);
        match self.grid {
            Grid::Published => published(),
            Grid::Skewed => skewed(),
            Grid::All => [published(), skewed()].concat(),
            Grid::Talking => grid::talking_grid(pus, self.messages),
        }
    }

    /// Returns all policies, `affine` with its constants as set.
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
