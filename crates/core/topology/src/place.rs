//! The choice of a PU for each of n workers.

use crate::{CpuSet, PuId, Topology};

impl Topology {
    /// One PU for each of n workers, or `None` if there are fewer allowed PUs than workers.
    ///
    /// Only allowed PUs are taken; every core gets a worker before any gets a second one on an SMT
    /// sibling; and as far as that leaves a choice, workers are close together: one package, NUMA
    /// node and L3 after the other. So worker 0 and worker 1 are neighbours, and few workers share
    /// caches and memory.
    ///
    /// `None` means: bind no worker at all. Two threads bound to the same PU could not make way for
    /// each other while another PU idles, so with more workers than PUs it is the system that
    /// shares the PUs out.
    ///
    /// ```
    /// # use actinium_topology::{PuId, Topology};
    /// let machine = Topology::synthetic("package:2 core:2 pu:2")?;
    /// assert_eq!(machine.choose_pus(3), Some(vec![PuId(0), PuId(2), PuId(4)]));
    /// assert_eq!(machine.choose_pus(5).unwrap()[4], PuId(1)); // a sibling only when every core is busy
    /// assert_eq!(machine.choose_pus(9), None);
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn choose_pus(&self, n: usize) -> Option<Vec<PuId>> {
        (n <= self.allowed.len()).then(|| self.ranked_pus().into_iter().take(n).collect())
    }

    /// The allowed PUs, the best first: see [`Topology::choose_pus`].
    pub(crate) fn ranked_pus(&self) -> Vec<PuId> {
        let mut taken_of_core = vec![0_usize; self.cores.len()];
        let mut ranked = Vec::with_capacity(self.allowed.len());
        for pu in self.logical_order() {
            if self.allowed.contains(pu.id) {
                ranked.push((taken_of_core[pu.core], pu.id));
                taken_of_core[pu.core] += 1;
            }
        }
        // Stable: among first PUs of their cores, among second ones, and so on, logical order
        // stays.
        ranked.sort_by_key(|&(rank, _)| rank);
        ranked.into_iter().map(|(_, pu)| pu).collect()
    }

    /// The allowed PUs in `n` shares of one size for as many processes, or `None` if there are
    /// fewer PUs than shares. What is near each other comes into one share; what is left over is in
    /// none.
    ///
    /// ```
    /// # use actinium_topology::Topology;
    /// let machine = Topology::synthetic("package:2 core:3 pu:1")?;
    /// let shares = machine.divide_pus(4).unwrap();
    /// assert_eq!(shares.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    /// assert_eq!(machine.divide_pus(2).unwrap()[1].to_string(), "3-5");
    /// assert_eq!(machine.divide_pus(7), None);
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn divide_pus(&self, n: usize) -> Option<Vec<CpuSet>> {
        let near = self.logical_order().into_iter().map(|pu| pu.id);
        let near: Vec<PuId> = near.filter(|&pu| self.allowed.contains(pu)).collect();
        let each = near.len().checked_div(n).filter(|&each| each > 0)?;
        Some(near.chunks_exact(each).take(n).map(|share| share.iter().copied().collect()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(machine: &Topology, n: usize) -> Vec<u32> {
        let pus = machine.choose_pus(n).unwrap();
        pus.iter().map(|pu| pu.0).collect()
    }

    #[test]
    fn cores_before_siblings_and_close_together() {
        let machine = Topology::synthetic("package:2 numa:2 core:2 pu:2").unwrap();
        assert_eq!(machine.choose_pus(0), Some(Vec::new()));
        assert_eq!(chosen(&machine, 4), [0, 2, 4, 6]);
        assert_eq!(chosen(&machine, 8), [0, 2, 4, 6, 8, 10, 12, 14]);
        assert_eq!(chosen(&machine, 10)[8..], [1, 3]);
        assert_eq!(machine.choose_pus(17), None);
    }

    #[test]
    fn numbering_does_not_matter() {
        // As Linux numbers it: first all first siblings, packages alternating.
        let text = "package:2 core:2 pu:2(indexes=4*2:2*2:1*2)";
        let machine = Topology::synthetic(text).unwrap();
        assert_eq!(chosen(&machine, 4), [0, 2, 1, 3]);
        assert_eq!(chosen(&machine, 8), [0, 2, 1, 3, 4, 6, 5, 7]);
    }

    #[test]
    fn shares_are_disjoint_near_and_of_one_size() {
        let machine = Topology::synthetic("package:2 core:2 pu:2(indexes=2*4:4*1)").unwrap();
        let shares = machine.divide_pus(2).unwrap();
        for (share, package) in shares.iter().zip(machine.packages()) {
            assert_eq!(share, &package.pus);
        }
        let some = machine.with_allowed(&"0,2-3,5".parse().unwrap());
        let shares = some.divide_pus(3).unwrap();
        assert_eq!(shares.iter().map(CpuSet::len).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(shares.iter().fold(CpuSet::new(), |all, it| all.union(it)).len(), 3);
        assert_eq!((some.divide_pus(5), some.divide_pus(0)), (None, None));
    }

    #[test]
    fn only_allowed_pus() {
        let machine = Topology::synthetic("package:2 core:2 pu:2").unwrap();
        let machine = machine.with_allowed(&"1-3,6".parse().unwrap());
        assert_eq!(chosen(&machine, 3), [1, 2, 6]);
        assert_eq!(chosen(&machine, 4), [1, 2, 6, 3]);
        assert_eq!(machine.choose_pus(5), None);
    }
}
