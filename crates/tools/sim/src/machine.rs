//! The machine as its workers see it: caches, distances, siblings.

use crate::costs::Costs;
use actinium_scheduler::policy::Domains;
use actinium_topology::{CacheKind, PuId, Topology};
use std::fmt;

/// Most workers that are simulated.
pub const WORKERS_MAX: usize = 1_024;
/// A cache line, in bytes.
pub const LINE_BYTES: u64 = 64;
/// Cache levels that are simulated.
pub const LEVELS: usize = 3;
/// Used where the topology does not say: bytes of a first-, second- and third-level cache.
const DEFAULT_BYTES: [u64; LEVELS] = [32 << 10, 256 << 10, 16 << 20];

/// Why there is no such machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MachineError {
    /// The machine's PUs do not allow the number of workers that is asked for.
    Workers {
        /// The number asked for.
        asked: usize,
        /// Most that are allowed: a worker for each PU.
        most: usize,
    },
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineError::Workers { asked, most } => {
                write!(f, "{asked} workers on this machine: allowed are 1 to {most}")
            }
        }
    }
}

impl std::error::Error for MachineError {}

/// The caches of one level.
#[derive(Clone, Debug)]
pub struct Level {
    /// Lines that each holds.
    pub lines: Vec<f64>,
    /// For each worker, which of them is its own.
    pub of_worker: Vec<usize>,
}

/// A machine with workers, each on a PU of its own.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The costs of operations on the machine.
    pub costs: Costs,
    /// First to third level.
    pub levels: [Level; LEVELS],
    /// For each worker, its NUMA node.
    pub node: Vec<usize>,
    /// For each worker, the others by rising distance, with the distance's rank: as the runtime
    /// orders them.
    pub neighbours: Vec<Vec<(usize, u32)>>,
    /// For each worker, the others on the same core.
    pub siblings: Vec<Vec<usize>>,
    /// The workers that are near each other: as the runtime groups them.
    pub domains: Domains,
    ranks: Vec<u8>,
}

impl Machine {
    /// This machine with so many workers, bound where the runtime would bind them.
    ///
    /// # Errors
    /// If it has fewer PUs than workers, or more workers are asked for than are simulated.
    pub fn new(topology: &Topology, workers: usize, costs: Costs) -> Result<Self, MachineError> {
        let most = topology.pus().len().min(WORKERS_MAX);
        let chosen = (1..=most).contains(&workers).then(|| topology.choose_pus(workers)).flatten();
        let pus = chosen.ok_or(MachineError::Workers { asked: workers, most })?;
        let rank = |a: usize, b: usize| topology.distance(pus[a], pus[b]).rank();
        let ranks = (0..workers * workers).map(|at| rank(at / workers, at % workers) as u8);
        let neighbours = (0..workers).map(|worker| {
            let others = (1..workers).map(|step| (worker + step) % workers);
            let mut order: Vec<(usize, u32)> =
                others.map(|other| (other, rank(worker, other))).collect();
            order.sort_by_key(|&(_, rank)| rank);
            order
        });
        let core = |worker: usize| topology.pu(pus[worker]).map(|pu| pu.core);
        let siblings = (0..workers).map(|worker| {
            let others = (0..workers).filter(|&other| other != worker);
            others.filter(|&other| core(other) == core(worker)).collect()
        });
        let node = pus.iter().map(|&pu| topology.pu(pu).and_then(|pu| pu.numa_node).unwrap_or(0));
        Ok(Machine {
            costs,
            levels: [1, 2, 3].map(|level| Level::new(topology, &pus, level)),
            node: node.collect(),
            neighbours: neighbours.collect(),
            siblings: siblings.collect(),
            domains: Domains::new(workers, rank),
            ranks: ranks.collect(),
        })
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.node.len()
    }

    /// Rank of the distance between two workers.
    pub fn rank(&self, a: usize, b: usize) -> u32 {
        self.ranks[a * self.workers() + b].into()
    }

    /// The cost for worker `to` of a line that worker `from` has written last.
    pub fn transfer_ns(&self, from: usize, to: usize) -> f64 {
        self.costs.transfer_ns[self.rank(from, to) as usize]
    }

    /// The cost of a message that crosses from one worker to the other, for both together, beyond
    /// that of one that stays.
    pub fn crossing_ns(&self, from: usize, to: usize) -> f64 {
        self.costs.remote_send_ns + self.costs.remote_receive_ns + self.transfer_ns(from, to)
    }
}

impl Level {
    /// Caches that the topology does not know are each core's own, or the package's on the third
    /// level.
    fn new(topology: &Topology, pus: &[PuId], level: u8) -> Self {
        let mut keys: Vec<(bool, usize)> = Vec::new();
        let mut lines = Vec::new();
        let of_worker = pus.iter().map(|&id| {
            let known = topology.caches().iter().position(|cache| {
                cache.level == level
                    && cache.kind != CacheKind::Instruction
                    && cache.pus.contains(id)
            });
            let place =
                topology.pu(id).map_or(0, |pu| if level < 3 { pu.core } else { pu.package });
            let key = known.map_or((false, place), |at| (true, at));
            keys.iter().position(|&other| other == key).unwrap_or_else(|| {
                let bytes = known.and_then(|at| topology.caches()[at].size_bytes);
                let bytes = bytes.unwrap_or(DEFAULT_BYTES[usize::from(level) - 1]);
                lines.push((bytes / LINE_BYTES).max(1) as f64);
                keys.push(key);
                keys.len() - 1
            })
        });
        let of_worker = of_worker.collect();
        Level { lines, of_worker }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(description: &str, workers: usize) -> Machine {
        let topology = Topology::synthetic(description).unwrap();
        Machine::new(&topology, workers, Costs::PUBLISHED).unwrap()
    }

    #[test]
    fn caches_are_shared_as_the_topology_says() {
        let machine = machine("package:2 l3:1(size=1MiB) l2:2 l1d:1 core:1 pu:2", 8);
        assert_eq!(machine.levels[2].lines, [16_384.0, 16_384.0]);
        assert_eq!(machine.levels[1].lines.len(), 4);
        let core_of_first = machine.levels[0].of_worker[0];
        let same = machine.levels[0].of_worker.iter().filter(|&&at| at == core_of_first).count();
        assert_eq!(same, 2, "SMT siblings share a first-level cache");
        assert_eq!(machine.siblings[0].len(), 1);
    }

    #[test]
    fn caches_that_nobody_names_are_there_all_the_same() {
        let machine = machine("package:2 core:2 pu:1", 4);
        assert_eq!(machine.levels.each_ref().map(|level| level.lines.len()), [4, 4, 2]);
    }

    #[test]
    fn as_many_workers_as_pus_at_most() {
        let topology = Topology::synthetic("core:4 pu:1").unwrap();
        for asked in [0, 5] {
            let error = Machine::new(&topology, asked, Costs::PUBLISHED).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{asked} workers on this machine: allowed are 1 to 4")
            );
        }
    }
}
