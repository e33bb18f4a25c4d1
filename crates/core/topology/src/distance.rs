//! The distance between two PUs.

use std::fmt;

use serde::Serialize;

use crate::{PuId, Topology};

/// The distance between two PUs: the smallest thing that holds both.
///
/// ```
/// use actinium_topology::Distance;
///
/// assert!(Distance::L3 < Distance::NumaNode);
/// assert_eq!(Distance::SamePu.rank(), 0);
/// assert_eq!(Distance::Machine.to_string(), "machine");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    /// The same PU.
    SamePu,
    /// The same core: SMT siblings, which share its L1.
    Core,
    /// The same L2.
    L2,
    /// The same L3.
    L3,
    /// The same NUMA node, so the same memory.
    NumaNode,
    /// The same package.
    Package,
    /// Nothing smaller than the machine.
    Machine,
}

impl Distance {
    /// Every distance, nearest first.
    pub const ALL: [Distance; 7] = [
        Distance::SamePu,
        Distance::Core,
        Distance::L2,
        Distance::L3,
        Distance::NumaNode,
        Distance::Package,
        Distance::Machine,
    ];

    /// The number of steps up from the PU, 0 to 6: a cost that grows with distance. It ranks; it is
    /// no latency.
    #[must_use]
    pub fn rank(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Distance::SamePu => "same PU",
            Distance::Core => "core",
            Distance::L2 => "L2",
            Distance::L3 => "L3",
            Distance::NumaNode => "NUMA node",
            Distance::Package => "package",
            Distance::Machine => "machine",
        })
    }
}

impl Topology {
    /// The smallest thing that holds both PUs.
    ///
    /// A NUMA node that spans packages (the firmware interleaves memory, or the kernel knows no
    /// NUMA) brings its packages no nearer: PUs in different packages without a common cache are a
    /// [`Distance::Machine`] apart. So are PUs that are not there.
    ///
    /// ```
    /// # use actinium_topology::{Distance, PuId, Topology};
    /// let machine = Topology::synthetic("package:2 numa:2 l3:2 l2:2 core:1 pu:2")?;
    /// let from_0 = |pu| machine.distance(PuId(0), PuId(pu));
    /// assert_eq!(from_0(0), Distance::SamePu);
    /// assert_eq!(from_0(1), Distance::Core);
    /// assert_eq!(from_0(2), Distance::L3);
    /// assert_eq!(from_0(4), Distance::NumaNode);
    /// assert_eq!(from_0(8), Distance::Package);
    /// assert_eq!(from_0(16), Distance::Machine);
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn distance(&self, a: PuId, b: PuId) -> Distance {
        if a == b {
            return Distance::SamePu;
        }
        let (Some(a), Some(b)) = (self.pu(a), self.pu(b)) else {
            return Distance::Machine;
        };
        let same = |a: Option<usize>, b: Option<usize>| a.is_some() && a == b;
        if a.core == b.core {
            Distance::Core
        } else if same(a.l2, b.l2) {
            Distance::L2
        } else if same(a.l3, b.l3) {
            Distance::L3
        } else if a.package != b.package {
            Distance::Machine
        } else if same(a.numa_node, b.numa_node) {
            Distance::NumaNode
        } else {
            Distance::Package
        }
    }

    /// All other PUs, nearest first: the order in which to look for work.
    ///
    /// Those at the same distance come in the order of their numbers, beginning after this PU's and
    /// going round, so that PUs that look for work at the same time begin at different places.
    /// Empty for a PU that is not there.
    ///
    /// ```
    /// # use actinium_topology::{PuId, Topology};
    /// let machine = Topology::synthetic("core:4 pu:1")?;
    /// let order = |pu| machine.neighbours(PuId(pu)).iter().map(|(pu, _)| pu.0).collect::<Vec<_>>();
    /// assert_eq!(order(0), [1, 2, 3]);
    /// assert_eq!(order(2), [3, 0, 1]);
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn neighbours(&self, pu: PuId) -> Vec<(PuId, Distance)> {
        let Ok(at) = self.pus.binary_search_by_key(&pu, |pu| pu.id) else {
            return Vec::new();
        };
        let others = self.pus[at + 1..].iter().chain(&self.pus[..at]);
        let mut order: Vec<(PuId, Distance)> =
            others.map(|other| (other.id, self.distance(pu, other.id))).collect();
        // Stable: keeps the rotation among equals.
        order.sort_by_key(|&(_, distance)| distance);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(machine: &str, from: u32) -> Vec<Distance> {
        let machine = Topology::synthetic(machine).unwrap();
        let to = machine.pus().iter();
        to.map(|to| machine.distance(PuId(from), to.id)).collect()
    }

    #[test]
    fn the_smallest_that_holds_both() {
        use Distance::*;
        assert_eq!(distances("package:2 l3:1 l2:1 core:2 pu:1", 0), [SamePu, L2, Machine, Machine]);
        // Sub-NUMA clusters under one L3: the cache is nearer than memory.
        assert_eq!(distances("package:1 l3:1 numa:2 core:2 pu:1", 0), [SamePu, L3, L3, L3]);
        // One node for all packages tells nothing.
        assert_eq!(
            distances("numa:1 package:2 core:2 pu:1", 0),
            [SamePu, NumaNode, Machine, Machine]
        );
        assert_eq!(
            distances("package:2 numa:2 core:1 pu:1", 3),
            [Machine, Machine, Package, SamePu]
        );
    }

    #[test]
    fn it_is_symmetric_and_ranks() {
        let machine = Topology::synthetic("package:2 numa:2 l3:2 l2:2 core:2 pu:2").unwrap();
        for a in machine.pus() {
            for b in machine.pus() {
                assert_eq!(machine.distance(a.id, b.id), machine.distance(b.id, a.id));
            }
        }
        let ranks: Vec<u32> = Distance::ALL.iter().map(|distance| distance.rank()).collect();
        assert_eq!(ranks, [0, 1, 2, 3, 4, 5, 6]);
        assert!(Distance::ALL.is_sorted());
    }

    #[test]
    fn a_pu_that_is_not_there_is_far_away() {
        let machine = Topology::synthetic("core:2 pu:1").unwrap();
        assert_eq!(machine.distance(PuId(0), PuId(9)), Distance::Machine);
        assert_eq!(machine.distance(PuId(9), PuId(9)), Distance::SamePu);
        assert_eq!(machine.neighbours(PuId(9)), []);
    }

    #[test]
    fn neighbours_come_nearest_first_and_thieves_spread() {
        let machine = Topology::synthetic("package:2 core:3 pu:1").unwrap();
        let order = |pu| -> Vec<u32> {
            let neighbours = machine.neighbours(PuId(pu));
            assert!(neighbours.is_sorted_by_key(|&(_, distance)| distance));
            neighbours.iter().map(|(pu, _)| pu.0).collect()
        };
        assert_eq!(order(0), [1, 2, 3, 4, 5]);
        assert_eq!(order(1), [2, 0, 3, 4, 5]);
        assert_eq!(order(4), [5, 3, 0, 1, 2]);
    }
}
