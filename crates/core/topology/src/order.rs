//! The levels of a machine, outermost first, and its PUs in that order.

use std::collections::BTreeSet;

use crate::{Pu, Topology};

/// A level that groups PUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Package,
    NumaNode,
    L3,
    L2,
    Core,
}

impl Level {
    /// The position of the group that holds this PU, in the list of its kind.
    pub(crate) fn group(self, pu: &Pu) -> Option<usize> {
        match self {
            Level::Package => Some(pu.package),
            Level::NumaNode => pu.numa_node,
            Level::L3 => pu.l3,
            Level::L2 => pu.l2,
            Level::Core => Some(pu.core),
        }
    }
}

impl Topology {
    /// The levels that this machine has, outermost first. Usually in the order above; but a NUMA
    /// node may hold packages, or an L3 NUMA nodes, so what has fewer groups is further out.
    pub(crate) fn levels(&self) -> Vec<Level> {
        let mut levels = vec![Level::Package, Level::NumaNode, Level::L3, Level::L2, Level::Core];
        let groups = |level: Level| -> usize {
            let groups = self.pus.iter().filter_map(|pu| level.group(pu));
            groups.collect::<BTreeSet<_>>().len()
        };
        levels.retain(|&level| groups(level) > 0);
        levels.sort_by_cached_key(|&level| groups(level));
        levels
    }

    /// The PUs in logical order: those that share most stand together.
    pub(crate) fn logical_order(&self) -> Vec<&Pu> {
        let levels = self.levels();
        let mut pus: Vec<&Pu> = self.pus.iter().collect();
        // Stable: within a core, by number.
        let place = |pu: &&Pu| -> Vec<Option<usize>> {
            levels.iter().map(|level| level.group(pu)).collect()
        };
        pus.sort_by_cached_key(place);
        pus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_more_is_further_out() {
        let levels = |text: &str| Topology::synthetic(text).unwrap().levels();
        use Level::*;
        for (text, expected) in [
            ("package:2 numa:2 l3:2 l2:2 core:2 pu:2", &[Package, NumaNode, L3, L2, Core][..]),
            ("numa:2 package:2 l2:4 core:1 pu:1", &[NumaNode, Package, L2, Core]),
            ("package:2 l3:1 numa:2 core:2 pu:1", &[Package, L3, NumaNode, Core]),
        ] {
            assert_eq!(levels(text), expected, "{text}");
        }
    }
}
