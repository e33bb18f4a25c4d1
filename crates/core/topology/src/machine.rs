//! The machine's objects, and [`Topology`], which holds them.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::{CpuSet, PuId, Quota};

/// A package: what sits in a socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Package {
    /// The operating system's number.
    pub os_index: u32,
    /// The PUs of the package.
    pub pus: CpuSet,
}

/// A NUMA node: memory, and the PUs that are next to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NumaNode {
    /// The operating system's number.
    pub os_index: u32,
    /// The node's memory; `None` if unknown, 0 if the node has none.
    pub memory_bytes: Option<u64>,
    /// The node's PUs; none if the node is memory only.
    pub pus: CpuSet,
}

/// The contents of a cache: instructions, data or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data and instructions.
    Unified,
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
}

/// A cache, and the PUs that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Cache {
    /// 1 is next to the core.
    pub level: u8,
    /// The contents of the cache.
    pub kind: CacheKind,
    /// The size of the cache, if known.
    pub size_bytes: Option<u64>,
    /// The size of a line, if known.
    pub line_bytes: Option<u32>,
    /// The PUs that share it.
    pub pus: CpuSet,
}

impl Cache {
    /// `L1d`, `L2`, as usual.
    ///
    /// ```
    /// # use actinium_topology::Topology;
    /// let machine = Topology::synthetic("l2:1 l1d:2 pu:1")?;
    /// let names: Vec<String> = machine.caches().iter().map(|cache| cache.name()).collect();
    /// assert_eq!(names, ["L2", "L1d", "L1d"]);
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> String {
        let kind = match self.kind {
            CacheKind::Unified => "",
            CacheKind::Data => "d",
            CacheKind::Instruction => "i",
        };
        format!("L{}{kind}", self.level)
    }
}

/// A core, with one PU or, where it runs several threads at once, more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Core {
    /// The operating system's number: unique in its package at best.
    pub os_index: u32,
    /// The PUs.
    pub pus: CpuSet,
}

/// A PU, and where it is: positions in the topology's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pu {
    /// The operating system's number.
    #[serde(rename = "os_index")]
    pub id: PuId,
    /// Position in [`Topology::packages`].
    pub package: usize,
    /// Position in [`Topology::numa_nodes`], if a node claims the PU.
    pub numa_node: Option<usize>,
    /// Position of its L3 in [`Topology::caches`], if known.
    pub l3: Option<usize>,
    /// Position of its L2 in [`Topology::caches`], if known.
    pub l2: Option<usize>,
    /// Position in [`Topology::cores`].
    pub core: usize,
}

/// Where a topology comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// This machine's `/sys`.
    Detected,
    /// A recorded tree.
    Sysfs(PathBuf),
    /// A synthetic description.
    Synthetic(String),
    /// The hwloc library: this machine, unless hwloc's environment variables say otherwise.
    Hwloc,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Detected => write!(f, "this machine, from /sys"),
            Source::Sysfs(path) => write!(f, "recorded in {}", path.display()),
            Source::Synthetic(text) => write!(f, "synthetic '{text}'"),
            Source::Hwloc => write!(f, "from hwloc"),
        }
    }
}

/// A machine's topology, and the part of it that this process may use.
///
/// [`Topology::detect`], [`Topology::from_sysfs`] and [`Topology::synthetic`] make one. The lists
/// are in logical order: neighbours in a list are neighbours in the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub(crate) source: Source,
    pub(crate) packages: Vec<Package>,
    pub(crate) numa_nodes: Vec<NumaNode>,
    pub(crate) caches: Vec<Cache>,
    pub(crate) cores: Vec<Core>,
    /// Sorted by number; never empty.
    pub(crate) pus: Vec<Pu>,
    pub(crate) offline: CpuSet,
    /// Distances, with as many rows and columns as there are NUMA nodes.
    pub(crate) numa_distances: Option<Vec<Vec<u32>>>,
    /// Some of `pus`; never empty.
    pub(crate) allowed: CpuSet,
    pub(crate) quota: Option<Quota>,
    pub(crate) warnings: Vec<String>,
}

impl Topology {
    /// Where this topology comes from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The packages; at least one.
    #[must_use]
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// The NUMA nodes; at least one. Some may have no PU, some no memory.
    #[must_use]
    pub fn numa_nodes(&self) -> &[NumaNode] {
        &self.numa_nodes
    }

    /// All caches, the highest level first. None if unknown.
    #[must_use]
    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    /// The cores; at least one.
    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The PUs that are online, by rising number; at least one. Numbers may have gaps.
    #[must_use]
    pub fn pus(&self) -> &[Pu] {
        &self.pus
    }

    /// One PU, if it is there and online.
    ///
    /// ```
    /// # use actinium_topology::{PuId, Topology};
    /// let machine = Topology::synthetic("core:2 pu:2")?;
    /// assert_eq!(machine.pu(PuId(3)).map(|pu| pu.core), Some(1));
    /// assert_eq!(machine.pu(PuId(4)), None);
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn pu(&self, id: PuId) -> Option<&Pu> {
        let at = self.pus.binary_search_by_key(&id, |pu| pu.id);
        at.ok().map(|at| &self.pus[at])
    }

    /// PUs that are there but offline.
    #[must_use]
    pub fn offline(&self) -> &CpuSet {
        &self.offline
    }

    /// How far memory is: one row and one column per NUMA node, 10 for local (as the firmware
    /// says), if known.
    #[must_use]
    pub fn numa_distances(&self) -> Option<&[Vec<u32>]> {
        self.numa_distances.as_deref()
    }

    /// The PUs that this process may run on: its affinity mask, which its cgroup's cpuset has cut
    /// already. Never empty.
    #[must_use]
    pub fn allowed(&self) -> &CpuSet {
        &self.allowed
    }

    /// The CPU time that this process's cgroup grants, if it is limited.
    #[must_use]
    pub fn quota(&self) -> Option<&Quota> {
        self.quota.as_ref()
    }

    /// Warnings about missing or unreadable information, and what was assumed instead: one sentence
    /// each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The same machine for a process that may run on these PUs only. PUs that are not there do not
    /// count; if none is left, all are allowed and a warning says so.
    ///
    /// ```
    /// # use actinium_topology::{PuId, Topology};
    /// let half = Topology::synthetic("core:4 pu:1")?.with_allowed(&"2-9".parse().unwrap());
    /// assert_eq!(half.allowed().to_string(), "2-3");
    /// assert_eq!(half.choose_pus(1), Some(vec![PuId(2)]));
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn with_allowed(mut self, allowed: &CpuSet) -> Topology {
        let there: CpuSet = self.pus.iter().map(|pu| pu.id).collect();
        self.allowed = there.intersection(allowed);
        if self.allowed.is_empty() {
            self.warnings.push(format!(
                "none of the allowed PUs ({allowed}) is among those of the machine ({there}): all are taken as allowed"
            ));
            self.allowed = there;
        }
        self
    }

    /// The same machine for a process with this CPU quota.
    ///
    /// ```
    /// # use actinium_topology::{Quota, Topology};
    /// let quota = Quota::new(150_000, 100_000);
    /// let machine = Topology::synthetic("core:8 pu:1")?.with_quota(quota);
    /// assert_eq!(machine.usable_workers().workers, 2);
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn with_quota(mut self, quota: impl Into<Option<Quota>>) -> Topology {
        self.quota = quota.into();
        self
    }
}
