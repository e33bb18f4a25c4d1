//! Reads a machine through the hwloc library (feature `hwloc`).

use hwlocality::Topology as Hwloc;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::distance::{Distances, DistancesKind};
use hwlocality::object::types::{CacheType, ObjectType};
use hwlocality::object::{TopologyObject, TopologyObjectID};
use hwlocality::topology::builder::{BuildFlags, TypeFilter};

use crate::assemble::Parts;
use crate::{
    Cache, CacheKind, Core, CpuSet, NumaNode, Package, PuId, Source, Topology, TopologyError,
};

impl Topology {
    /// Does what [`Topology::detect`] does, but asks the hwloc library about the machine: it knows
    /// quirks of hardware and firmware, and obeys hwloc's environment variables (`HWLOC_XMLFILE`,
    /// `HWLOC_SYNTHETIC`; of such a machine all PUs are allowed). Only with feature `hwloc`, which
    /// needs the library's development files (Debian: `libhwloc-dev` and `libudev-dev`).
    ///
    /// # Errors
    /// If hwloc fails, or there are more PUs than [`crate::MAX_PUS`].
    ///
    /// ```
    /// use actinium_topology::Topology;
    ///
    /// let machine = Topology::from_hwloc()?;
    /// println!("{}", machine.to_tree());
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    pub fn from_hwloc() -> Result<Topology, TopologyError> {
        let hwloc = load().map_err(TopologyError::Hwloc)?;
        let with_type = |kind| hwloc.objects_with_type(kind);
        let parts = Parts {
            pus: with_type(ObjectType::PU)
                .flat_map(|pu| set(pu).iter().collect::<Vec<_>>())
                .collect(),
            packages: with_type(ObjectType::Package)
                .map(|package| Package { os_index: os_index(package), pus: set(package) })
                .collect(),
            numa_nodes: with_type(ObjectType::NUMANode).map(numa_node).collect(),
            caches: hwloc.objects().filter_map(cache).collect(),
            cores: with_type(ObjectType::Core)
                .map(|core| Core { os_index: os_index(core), pus: set(core) })
                .collect(),
            numa_distances: numa_distances(&hwloc),
            ..Parts::default()
        };
        let machine = parts.assemble(Source::Hwloc)?;
        if hwloc.is_this_system() { machine.seen_by_this_process() } else { Ok(machine) }
    }
}

/// All of the machine, not only what is allowed; and all caches.
fn load() -> Result<Hwloc, String> {
    let builder = Hwloc::builder();
    let builder = builder.with_flags(BuildFlags::INCLUDE_DISALLOWED);
    let builder = builder.map_err(|error| error.to_string())?;
    let builder = builder.with_cpu_cache_type_filter(TypeFilter::KeepAll);
    let builder = builder.map_err(|error| error.to_string())?;
    builder.build().map_err(|error| error.to_string())
}

fn os_index(object: &TopologyObject) -> u32 {
    let index = object.os_index().unwrap_or(object.logical_index());
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn set(object: &TopologyObject) -> CpuSet {
    let Some(set) = object.cpuset().filter(|set| set.weight().is_some()) else {
        // No set, or an infinite one.
        return CpuSet::new();
    };
    let numbers = set.iter_set().map(usize::from);
    let numbers = numbers.filter_map(|number| u32::try_from(number).ok());
    numbers.map(PuId).collect()
}

fn numa_node(node: &TopologyObject) -> NumaNode {
    let memory = match node.attributes() {
        Some(ObjectAttributes::NUMANode(node)) => node.local_memory(),
        _ => None,
    };
    NumaNode {
        os_index: os_index(node),
        // hwloc says 0 for both: has none, and unknown.
        memory_bytes: memory.map(u64::from),
        pus: set(node),
    }
}

fn cache(object: &TopologyObject) -> Option<Cache> {
    let Some(ObjectAttributes::Cache(cache)) = object.attributes() else {
        return None;
    };
    if !object.object_type().is_cpu_cache() {
        return None;
    }
    Some(Cache {
        level: u8::try_from(cache.depth()).ok()?,
        kind: match cache.cache_type() {
            CacheType::Data => CacheKind::Data,
            CacheType::Instruction => CacheKind::Instruction,
            _ => CacheKind::Unified,
        },
        size_bytes: cache.size().map(u64::from),
        line_bytes: cache.line_size().and_then(|line| u32::try_from(line.get()).ok()),
        pus: set(object),
    })
}

/// The first matrix of latencies that the system knows for all NUMA nodes.
fn numa_distances(hwloc: &Hwloc) -> Option<Vec<Vec<u32>>> {
    let id = TopologyObject::global_persistent_index;
    let nodes = hwloc.objects_with_type(ObjectType::NUMANode);
    let nodes: Vec<TopologyObjectID> = nodes.map(id).collect();
    let matrices = hwloc.distances(Some(DistancesKind::FROM_OS)).ok()?;
    matrices.iter().find_map(|matrix| in_order(matrix, &nodes))
}

/// The matrix with its rows and columns in the order of these nodes, if it is about them.
fn in_order(matrix: &Distances<'_>, nodes: &[TopologyObjectID]) -> Option<Vec<Vec<u32>>> {
    let ids = matrix.objects().map(|object| object.map(TopologyObject::global_persistent_index));
    let ids: Vec<Option<TopologyObjectID>> = ids.collect();
    let place = |node: &TopologyObjectID| ids.iter().position(|id| *id == Some(*node));
    let places: Vec<usize> = nodes.iter().map(place).collect::<Option<_>>()?;
    let values = matrix.distances();
    let row = |&from: &usize| {
        let value = |&to: &usize| u32::try_from(*values.get(from * ids.len() + to)?).ok();
        places.iter().map(value).collect()
    };
    places.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hwloc_and_sys_agree_about_this_machine() {
        let ours = Topology::detect().unwrap();
        let theirs = Topology::from_hwloc().unwrap();
        let ids = |machine: &Topology| machine.pus().iter().map(|pu| pu.id).collect::<CpuSet>();
        assert_eq!(ids(&ours), ids(&theirs));
        assert_eq!(ours.allowed(), theirs.allowed());
        let nodes = |machine: &Topology| {
            let nodes = machine.numa_nodes().iter();
            let mut nodes: Vec<_> =
                nodes.map(|node| (node.os_index, node.pus.to_string())).collect();
            nodes.sort();
            nodes
        };
        assert_eq!(nodes(&ours), nodes(&theirs));
        let caches = |machine: &Topology| {
            let caches = machine.caches().iter();
            let looks = caches.map(|cache| (cache.name(), cache.size_bytes, cache.pus.to_string()));
            let mut looks: Vec<_> = looks.collect();
            looks.sort();
            looks
        };
        // Where /sys has no caches, hwloc asks the processor.
        if !ours.caches().is_empty() {
            assert_eq!(caches(&ours), caches(&theirs));
        }
        // One node's distance to itself is no matrix to hwloc.
        if ours.numa_nodes().len() > 1 {
            assert_eq!(ours.numa_distances().is_some(), theirs.numa_distances().is_some());
        }
    }
}
