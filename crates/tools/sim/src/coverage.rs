//! What the model does not cover: where nobody has held it against a real machine, or where it was
//! far off. Times are computed there all the same, and whoever shows them says so.

use crate::machine::Machine;
use crate::workload::Workload;
use serde::Serialize;

/// The states of all actors may take this part of the third-level caches. Beyond it, real times
/// were up to three times the predicted ones: `actinium sim --calibrate` shows it.
const THIRD_LEVEL_PART: f64 = 0.5;
/// Most workers at one lock whose times are known: those of the published experiments.
const CONTENDERS_MOST: usize = 8;

/// Why a predicted time may be far from a real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Gap {
    /// The states of the actors use most of the third-level caches, or more.
    ThirdLevel,
    /// Messages allocate.
    Allocator,
    /// More workers than in the published experiments want one lock.
    Contention,
}

impl Gap {
    /// All of them.
    pub const ALL: [Gap; 3] = [Gap::ThirdLevel, Gap::Allocator, Gap::Contention];

    /// The reason, for people.
    pub fn reason(self) -> &'static str {
        match self {
            Gap::ThirdLevel => {
                "states take more than half of the third-level caches: what others leave of these, page walks and the bandwidth of memory are not modelled"
            }
            Gap::Allocator => "messages allocate: the allocator is no more than a price per block",
            Gap::Contention => {
                "more than 8 workers: what the queues of pool and stealing cost them is extrapolated, and times of pinned and affine are not"
            }
        }
    }
}

/// What is not covered of a workload on a machine.
pub fn gaps(machine: &Machine, workload: &Workload) -> Vec<Gap> {
    let third_level: f64 = machine.levels[2].lines.iter().sum();
    let states = workload.lines() * f64::from(workload.actors);
    let is_in = |gap: &Gap| match gap {
        Gap::ThirdLevel => states > THIRD_LEVEL_PART * third_level,
        Gap::Allocator => workload.allocations > 0,
        Gap::Contention => machine.workers() > CONTENDERS_MOST,
    };
    Gap::ALL.into_iter().filter(is_in).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Costs;
    use actinium_topology::Topology;

    #[test]
    fn what_is_not_covered_has_its_reasons() {
        let topology = Topology::synthetic("package:1 l3:2(size=1MiB) core:8 pu:1").unwrap();
        let of = |workers, workload: &Workload| {
            gaps(&Machine::new(&topology, workers, Costs::PUBLISHED).unwrap(), workload)
        };
        let small = Workload::closed_loop(24, 20, 4_000, 10);
        assert_eq!(of(8, &small), []);
        assert_eq!(of(9, &small), [Gap::Contention]);
        // Half of the caches that these workers have.
        let large = Workload::closed_loop(17, 20, 64 << 10, 10);
        assert_eq!(of(16, &large), [Gap::ThirdLevel, Gap::Contention]);
        assert_eq!(of(8, &Workload::closed_loop(8, 20, 64 << 10, 10)), []);
        assert_eq!(of(8, &Workload::hash_map(4, 64, 10)), [Gap::Allocator]);
        assert!(Gap::ALL.iter().all(|gap| !gap.reason().is_empty()));
    }
}
