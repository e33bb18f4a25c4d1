//! Makes a [`Topology`] from what a reader found, however little that is.

use crate::{
    Cache, CacheKind, Core, CpuSet, MAX_PUS, NumaNode, Package, Pu, PuId, Source, Topology,
    TopologyError,
};

/// The parts of a machine that a reader found. Sets may name PUs that are not there, overlap, or
/// leave PUs out.
#[derive(Default)]
pub(crate) struct Parts {
    /// The PUs that are online.
    pub(crate) pus: CpuSet,
    pub(crate) offline: CpuSet,
    pub(crate) packages: Vec<Package>,
    pub(crate) numa_nodes: Vec<NumaNode>,
    pub(crate) caches: Vec<Cache>,
    pub(crate) cores: Vec<Core>,
    pub(crate) numa_distances: Option<Vec<Vec<u32>>>,
    pub(crate) warnings: Vec<String>,
}

impl Parts {
    /// Every PU ends up in exactly one package and one core, and in at most one NUMA node, L3 and
    /// L2. Of two claims the first wins; PUs that nobody claims share a package, have a core each,
    /// and, if there is no node at all, share a node.
    pub(crate) fn assemble(mut self, source: Source) -> Result<Topology, TopologyError> {
        if self.pus.is_empty() {
            return Err(TopologyError::NoPus { source: source.to_string() });
        }
        if self.pus.len() > MAX_PUS {
            return Err(TopologyError::TooManyPus { count: self.pus.len() });
        }
        self.keep_what_is_there();
        let ids: Vec<PuId> = self.pus.iter().collect();
        let lost = |places: &[Option<usize>]| -> CpuSet {
            let pairs = ids.iter().zip(places);
            let lost = pairs.filter(|(_, place)| place.is_none());
            lost.map(|(&id, _)| id).collect()
        };

        let packages = |parts: &Parts| places(&ids, parts.packages.iter().map(|x| &x.pus));
        let cores = |parts: &Parts| places(&ids, parts.cores.iter().map(|x| &x.pus));
        let homeless = lost(&packages(&self));
        if !homeless.is_empty() {
            let os_index = next_index(self.packages.iter().map(|package| package.os_index));
            self.packages.push(Package { os_index, pus: homeless });
        }
        for id in lost(&cores(&self)).iter() {
            self.cores.push(Core { os_index: id.0, pus: id.into() });
        }
        if self.numa_nodes.is_empty() {
            self.numa_nodes.push(NumaNode {
                os_index: 0,
                memory_bytes: None,
                pus: self.pus.clone(),
            });
        }

        let (package, core) = (packages(&self), cores(&self));
        let numa_node = places(&ids, self.numa_nodes.iter().map(|x| &x.pus));
        let (l3, l2) = (self.cache_places(&ids, 3), self.cache_places(&ids, 2));
        let pus = (0..ids.len()).map(|at| Pu {
            id: ids[at],
            package: package[at].unwrap_or(0),
            numa_node: numa_node[at],
            l3: l3[at],
            l2: l2[at],
            core: core[at].unwrap_or(0),
        });
        Ok(Topology {
            source,
            pus: pus.collect(),
            packages: self.packages,
            numa_nodes: self.numa_nodes,
            caches: self.caches,
            cores: self.cores,
            offline: self.offline,
            numa_distances: self.numa_distances,
            allowed: self.pus,
            quota: None,
            warnings: self.warnings,
        })
    }

    /// Cuts every set to the PUs that are online, and forgets what has none (NUMA nodes aside:
    /// memory is memory).
    fn keep_what_is_there(&mut self) {
        let there = &self.pus;
        let cut = |set: &mut CpuSet| {
            *set = set.intersection(there);
            !set.is_empty()
        };
        self.packages.retain_mut(|package| cut(&mut package.pus));
        self.caches.retain_mut(|cache| cut(&mut cache.pus));
        self.cores.retain_mut(|core| cut(&mut core.pus));
        for node in &mut self.numa_nodes {
            cut(&mut node.pus);
        }
        // Stable: within a level, the reader's order counts.
        self.caches.sort_by_key(|cache| (std::cmp::Reverse(cache.level), cache.kind));
        let count = self.numa_nodes.len();
        self.numa_distances
            .take_if(|rows| rows.len() != count || rows.iter().any(|row| row.len() != count));
    }

    fn cache_places(&self, ids: &[PuId], level: u8) -> Vec<Option<usize>> {
        let none = CpuSet::new();
        let of_level = |cache: &Cache| cache.level == level && cache.kind != CacheKind::Instruction;
        let sets = self.caches.iter();
        let sets = sets.map(|cache| if of_level(cache) { &cache.pus } else { &none });
        places(ids, sets)
    }
}

/// For each PU, the position of the first set that holds it.
fn places<'a>(ids: &[PuId], sets: impl Iterator<Item = &'a CpuSet>) -> Vec<Option<usize>> {
    let mut places = vec![None; ids.len()];
    for (position, set) in sets.enumerate() {
        for id in set.iter() {
            if let Ok(at) = ids.binary_search(&id) {
                places[at].get_or_insert(position);
            }
        }
    }
    places
}

fn next_index(taken: impl Iterator<Item = u32>) -> u32 {
    taken.max().map_or(0, |last| last.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[test]
    fn next_to_nothing_is_enough() {
        let parts = Parts { pus: set("3,7"), ..Parts::default() };
        let machine = parts.assemble(Source::Detected).unwrap();
        assert_eq!(machine.packages().len(), 1);
        assert_eq!(machine.numa_nodes().len(), 1);
        assert_eq!(machine.cores().len(), 2);
        assert_eq!(machine.allowed().to_string(), "3,7");
    }

    #[test]
    fn nothing_is_not() {
        let error = Parts::default().assemble(Source::Detected).unwrap_err();
        assert!(matches!(error, TopologyError::NoPus { .. }), "{error}");
        let parts = Parts { pus: set("0-65536"), ..Parts::default() };
        let error = parts.assemble(Source::Detected).unwrap_err();
        assert_eq!(error, TopologyError::TooManyPus { count: 65_537 });
    }

    #[test]
    fn contradictions_do_no_harm() {
        let package = |os_index, pus| Package { os_index, pus: set(pus) };
        let parts = Parts {
            pus: set("0-5"),
            packages: vec![package(4, "0-3,90"), package(6, "2-4"), package(8, "70")],
            cores: vec![Core { os_index: 0, pus: set("4-9") }],
            numa_distances: Some(vec![vec![10, 20], vec![20]]),
            ..Parts::default()
        };
        let machine = parts.assemble(Source::Detected).unwrap();
        let packages: Vec<usize> = machine.pus().iter().map(|pu| pu.package).collect();
        assert_eq!(packages, [0, 0, 0, 0, 1, 2]);
        assert_eq!(machine.packages()[2].os_index, 7);
        assert_eq!(machine.cores().len(), 5);
        assert_eq!(machine.numa_distances(), None);
    }
}
