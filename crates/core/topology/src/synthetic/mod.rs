//! Machines written down in hwloc's synthetic syntax.

mod indexes;
mod parse;

use crate::assemble::Parts;
use crate::error::SyntheticError;
use crate::{Cache, Core, CpuSet, NumaNode, Package, PuId, Source, Topology, TopologyError};
use parse::{Description, Kind, Level};

/// hwloc's defaults.
const NODE_MEMORY_BYTES: u64 = 1 << 30;
const LINE_BYTES: u32 = 64;

impl Topology {
    /// A machine written down in hwloc's synthetic syntax: levels from the outside in, each with
    /// how many of it each of the level before has.
    ///
    /// | part | meaning |
    /// |---|---|
    /// | `package:2` | also `pack`, `socket`; without one, all is one package |
    /// | `numa:2` | also `node`, `numanode`; without one, all is one node |
    /// | `[numa(memory=4GiB)]` | a NUMA node attached to each of the level before: so `package:2 [numa] l3:1 ..` |
    /// | `l3:2` | caches `l5` to `l1`, also `l1d`, `l1i`, `l3cache` |
    /// | `core:4`, `pu:2` | the last level is `pu`; without `core`, each PU is a core |
    /// | `die:2`, `group:2` | multiply, but are not kept |
    /// | `(memory=64GB)` | of a node; default 1 GiB |
    /// | `(size=32MiB)` | of a cache; defaults are hwloc's: L1 32 KiB, L2 4 MiB, L3 16 MiB |
    /// | `(indexes=0,2,1,3)` | operating system's numbers of packages, nodes, cores or PUs; also hwloc's `2*2:1*2`, `core:package` |
    ///
    /// Names may be in either case. At most [`crate::MAX_PUS`] PUs. All are allowed, and there is
    /// no quota.
    ///
    /// # Errors
    /// [`TopologyError::Synthetic`] says where, and what is allowed there.
    ///
    /// ```
    /// use actinium_topology::Topology;
    ///
    /// let machine = Topology::synthetic("node:2(memory=64GiB) pack:1 l3:2(size=32MiB) l2:4 core:1 pu:2")?;
    /// assert_eq!(machine.numa_nodes()[1].memory_bytes, Some(64 << 30));
    /// assert_eq!(machine.cores().len(), 16);
    ///
    /// // Numbered as Linux does it: first a PU of every core, then the siblings.
    /// let machine = Topology::synthetic("core:4 pu:2(indexes=2*4:1*2)")?;
    /// assert_eq!(machine.cores()[1].pus.to_string(), "1,5");
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    pub fn synthetic(description: &str) -> Result<Topology, TopologyError> {
        let parts = build(&parse::parse(description)?)?;
        parts.assemble(Source::Synthetic(description.to_owned()))
    }
}

fn build(description: &Description) -> Result<Parts, SyntheticError> {
    let total = description.width();
    let numbers: Vec<Option<Vec<u32>>> = (0..description.levels.len())
        .map(|at| indexes::numbers(description, at))
        .collect::<Result<_, _>>()?;
    let os_of_pu = |at: usize| match numbers.last() {
        Some(Some(numbers)) => PuId(numbers[at]),
        _ => PuId(at as u32),
    };
    // The PUs of the n-th of `width` equal parts of the machine.
    let share = |n: usize, width: usize| -> CpuSet {
        let span = total / width;
        (n * span..(n + 1) * span).map(os_of_pu).collect()
    };

    let mut parts = Parts { pus: share(0, 1), ..Parts::default() };
    for (level, numbers) in description.levels.iter().zip(&numbers) {
        for n in 0..level.width {
            let os_index = numbers.as_ref().map_or(n as u32, |numbers| numbers[n]);
            add(&mut parts, level, os_index, share(n, level.width));
        }
    }
    add_attached(&mut parts, description, &share)?;
    if parts.numa_nodes.is_empty() {
        parts.numa_nodes.push(NumaNode {
            os_index: 0,
            memory_bytes: Some(NODE_MEMORY_BYTES),
            pus: parts.pus.clone(),
        });
    }
    Ok(parts)
}

fn add(parts: &mut Parts, level: &Level, os_index: u32, pus: CpuSet) {
    match level.kind {
        Kind::Package => parts.packages.push(Package { os_index, pus }),
        Kind::NumaNode => parts.numa_nodes.push(NumaNode {
            os_index,
            memory_bytes: level.memory_bytes.or(Some(NODE_MEMORY_BYTES)),
            pus,
        }),
        Kind::Cache(level_number, kind) => parts.caches.push(Cache {
            level: level_number,
            kind,
            size_bytes: level.size_bytes.or(Some(default_size(level_number))),
            line_bytes: Some(LINE_BYTES),
            pus,
        }),
        Kind::Core => parts.cores.push(Core { os_index, pus }),
        Kind::Die | Kind::Group | Kind::Pu => {}
    }
}

/// hwloc numbers attached nodes from the inside out: those of the first package, those of the next,
/// those of the machine.
fn add_attached(
    parts: &mut Parts,
    description: &Description,
    share: &dyn Fn(usize, usize) -> CpuSet,
) -> Result<(), SyntheticError> {
    let total = description.width();
    let mut nodes = Vec::new();
    for (order, node) in description.attached.iter().enumerate() {
        let span = total / node.width;
        nodes.extend((0..node.width).map(|n| ((n + 1) * span, span, order, n)));
    }
    nodes.sort_unstable();
    let numbers = indexes::numbers_of_attached(description)?;
    for (position, (_, _, order, n)) in nodes.into_iter().enumerate() {
        let node = &description.attached[order];
        let os_index = numbers.as_ref().map_or(position as u32, |numbers| numbers[position]);
        add(parts, node, os_index, share(n, node.width));
    }
    Ok(())
}

fn default_size(level: u8) -> u64 {
    if level == 1 { 32 << 10 } else { (256 << 10) << (2 * level) }
}

#[cfg(test)]
mod tests;
