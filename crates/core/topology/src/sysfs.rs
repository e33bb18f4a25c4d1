//! Reads a machine from `/sys/devices/system/{cpu,node}`, or from a recorded tree of it.
//!
//! Whatever is missing or makes no sense is left out, with a warning that says what is assumed
//! instead.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::assemble::Parts;
use crate::{
    Cache, CacheKind, Core, CpuSet, MAX_PUS, NumaNode, Package, PuId, Source, Topology,
    TopologyError,
};

impl Topology {
    /// Reads a recorded tree: a folder that stands for `/`, `/sys` or `/sys/devices/system`.
    ///
    /// All online PUs are allowed and there is no quota, since those belong to a process. To record
    /// a machine, copy the text files: `cd / && tar -czhf machine.tar.gz --ignore-failed-read
    /// sys/devices/system/{cpu,node}` (GNU tar may complain about files that change size;
    /// `hwloc-gather-topology` makes such a tree as well).
    ///
    /// # Errors
    /// If the folder holds no such tree, no PU is online, or there are more than [`MAX_PUS`].
    ///
    /// ```
    /// use actinium_topology::{Topology, TopologyError};
    ///
    /// let error = Topology::from_sysfs("/nowhere").unwrap_err();
    /// assert!(matches!(error, TopologyError::NoTree { .. }));
    /// ```
    pub fn from_sysfs(root: impl AsRef<Path>) -> Result<Topology, TopologyError> {
        let root = root.as_ref();
        let source = Source::Sysfs(root.to_owned());
        read(root)?.assemble(source)
    }
}

/// Reads what there is; the set of PUs may be empty.
pub(crate) fn read(root: &Path) -> Result<Parts, TopologyError> {
    let folders = ["", "devices/system", "sys/devices/system"];
    let system = folders.iter().map(|folder| root.join(folder));
    let Some(system) = system.into_iter().find(|path| path.join("cpu").is_dir()) else {
        return Err(TopologyError::NoTree { path: root.to_owned() });
    };
    let mut tree = Tree { system, parts: Parts::default(), missing: BTreeMap::new() };
    tree.read_online();
    if tree.parts.pus.len() > MAX_PUS {
        return Err(TopologyError::TooManyPus { count: tree.parts.pus.len() });
    }
    tree.read_cores();
    tree.read_caches();
    tree.read_nodes();
    Ok(tree.finish())
}

/// A core's identity: its package and its smallest PU.
type CoreKey = (u32, PuId);
/// Level, kind, and the smallest PU that shares it.
type CacheKey = (u8, CacheKind, PuId);

struct Tree {
    system: PathBuf,
    parts: Parts,
    /// A warning: what is missing, and what is assumed instead, for which PUs.
    missing: BTreeMap<&'static str, Vec<PuId>>,
}

impl Tree {
    fn read_online(&mut self) {
        let cpu = self.system.join("cpu");
        let present = numbered(&cpu, "cpu").into_iter().map(PuId);
        let present: CpuSet = present.collect();
        let online = list(&cpu.join("online")).filter(|online| !online.is_empty());
        let pus = online.unwrap_or_else(|| {
            if !present.is_empty() {
                self.warn("cpu/online", "every PU with a folder counts as online");
            }
            let is_on =
                |pu: &PuId| text(&cpu.join(format!("cpu{pu}/online"))).as_deref() != Some("0");
            present.iter().filter(is_on).collect()
        });
        let present = list(&cpu.join("present")).unwrap_or(present);
        self.parts.offline = present.difference(&pus);
        self.parts.pus = pus;
    }

    fn read_cores(&mut self) {
        let mut packages: BTreeMap<u32, Vec<PuId>> = BTreeMap::new();
        let mut cores: BTreeMap<CoreKey, (u32, Vec<PuId>)> = BTreeMap::new();
        for pu in self.ids() {
            let folder = self.system.join(format!("cpu/cpu{pu}/topology"));
            // -1, which firmware that knows no packages leads to, is no number either.
            let package = number(&folder.join("physical_package_id"));
            match package {
                Some(package) => packages.entry(package).or_default().push(pu),
                None => self
                    .miss(pu, "topology/physical_package_id is missing: they count as one package"),
            }
            let siblings = list(&folder.join("core_cpus_list"))
                .or_else(|| list(&folder.join("thread_siblings_list")))
                .or_else(|| mask(&folder.join("thread_siblings")));
            let siblings = siblings.unwrap_or_else(|| {
                self.miss(pu, "topology/core_cpus_list is missing: each counts as a core");
                pu.into()
            });
            let first = self.first_of(&siblings, pu);
            let os_index = number(&folder.join("core_id")).unwrap_or(first.0);
            let key = (package.unwrap_or(u32::MAX), first);
            let core = cores.entry(key).or_insert((os_index, Vec::new()));
            core.1.push(pu);
        }
        self.parts.packages = packages
            .into_iter()
            .map(|(os_index, pus)| Package { os_index, pus: pus.into_iter().collect() })
            .collect();
        self.parts.cores = cores
            .into_values()
            .map(|(os_index, pus)| Core { os_index, pus: pus.into_iter().collect() })
            .collect();
    }

    fn read_caches(&mut self) {
        let mut caches: BTreeMap<CacheKey, (PathBuf, Vec<PuId>)> = BTreeMap::new();
        for pu in self.ids() {
            let folder = self.system.join(format!("cpu/cpu{pu}/cache"));
            let indices = numbered(&folder, "index");
            if indices.is_empty() {
                self.miss(pu, "cache is missing: their caches are unknown");
            }
            for index in indices {
                let folder = folder.join(format!("index{index}"));
                let level = number(&folder.join("level"));
                let (Some(level @ 1_u8..), Some(kind)) = (level, kind(&folder.join("type"))) else {
                    self.miss(pu, "a cache's level or type is missing: that cache is left out");
                    continue;
                };
                let shared = list(&folder.join("shared_cpu_list"))
                    .or_else(|| mask(&folder.join("shared_cpu_map")));
                let Some(shared) = shared else {
                    self.miss(pu, "a cache's shared_cpu_list is missing: that cache is left out");
                    continue;
                };
                let key = (level, kind, self.first_of(&shared, pu));
                let cache = caches.entry(key).or_insert((folder, Vec::new()));
                cache.1.push(pu);
            }
        }
        let caches = caches.into_iter();
        self.parts.caches = caches
            .map(|((level, kind, _), (folder, pus))| Cache {
                level,
                kind,
                size_bytes: text(&folder.join("size")).and_then(|size| bytes(&size)),
                line_bytes: number(&folder.join("coherency_line_size")).filter(|&line| line > 0),
                pus: pus.into_iter().collect(),
            })
            .collect();
    }

    fn read_nodes(&mut self) {
        let folder = self.system.join("node");
        let numbers = match list(&folder.join("online")) {
            Some(online) if online.len() <= MAX_PUS => online.iter().map(|node| node.0).collect(),
            _ => numbered(&folder, "node"),
        };
        let mut distances = Vec::new();
        for &os_index in &numbers {
            let folder = folder.join(format!("node{os_index}"));
            let pus = list(&folder.join("cpulist")).or_else(|| mask(&folder.join("cpumap")));
            if pus.is_none() {
                let what = format!("node/node{os_index}/cpulist");
                self.warn(&what, "the node counts as memory only");
            }
            self.parts.numa_nodes.push(NumaNode {
                os_index,
                memory_bytes: text(&folder.join("meminfo")).and_then(|text| total_memory(&text)),
                pus: pus.unwrap_or_default(),
            });
            distances.push(row(&folder.join("distance")));
        }
        let claimed = self.parts.numa_nodes.iter();
        let claimed = claimed.fold(CpuSet::new(), |all, node| all.union(&node.pus));
        if numbers.is_empty() {
            self.warn("node", "one NUMA node with all PUs is assumed");
        } else if claimed.intersection(&self.parts.pus).is_empty() {
            self.warn("node/node*/cpulist", "no PU is in a NUMA node");
        } else {
            for pu in self.parts.pus.difference(&claimed).iter() {
                self.miss(pu, "no NUMA node claims them");
            }
        }
        if distances.iter().all(|row| row.as_ref().is_some_and(|row| row.len() == numbers.len())) {
            self.parts.numa_distances = distances.into_iter().collect();
        } else {
            self.warn("node/node*/distance", "distances of NUMA nodes are unknown");
        }
        self.parts.numa_distances.take_if(|rows| rows.is_empty());
    }

    fn finish(mut self) -> Parts {
        for (what, pus) in self.missing {
            let pus: CpuSet = pus.into_iter().collect();
            self.parts.warnings.push(format!("PUs {pus}: {what}"));
        }
        self.parts
    }

    fn ids(&self) -> Vec<PuId> {
        self.parts.pus.iter().collect()
    }

    /// The smallest online PU of a set that must hold this one: it stands for the set.
    fn first_of(&self, set: &CpuSet, pu: PuId) -> PuId {
        let there = set.intersection(&self.parts.pus);
        there.first().map_or(pu, |first| first.min(pu))
    }

    fn miss(&mut self, pu: PuId, what: &'static str) {
        self.missing.entry(what).or_default().push(pu);
    }

    fn warn(&mut self, what: &str, assumed: &str) {
        let path = self.system.join(what);
        let warning = format!("{} is missing or unreadable: {assumed}", path.display());
        self.parts.warnings.push(warning);
    }
}

/// The numbers of the folders `cpu0`, `cpu1` and so on, rising.
fn numbered(folder: &Path, prefix: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let digits = name.to_str()?.strip_prefix(prefix)?;
            digits.parse().ok()
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn text(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned())
}

fn number<T: FromStr>(file: &Path) -> Option<T> {
    text(file)?.parse().ok()
}

fn list(file: &Path) -> Option<CpuSet> {
    text(file)?.parse().ok()
}

fn mask(file: &Path) -> Option<CpuSet> {
    CpuSet::from_mask(&text(file)?)
}

fn row(file: &Path) -> Option<Vec<u32>> {
    let text = text(file)?;
    text.split_whitespace().map(|number| number.parse().ok()).collect()
}

fn kind(file: &Path) -> Option<CacheKind> {
    match text(file)?.as_str() {
        "Unified" => Some(CacheKind::Unified),
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        _ => None,
    }
}

/// `512K`, `32M`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    let bytes: u64 = digits.parse().ok()?;
    // 0 is what a virtual machine says that does not know.
    bytes.checked_mul(unit).filter(|&bytes| bytes > 0)
}

/// `MemTotal:  8087768 kB` in `meminfo`, a node's (`Node 0 MemTotal: ..`) or the machine's.
pub(crate) fn total_memory(meminfo: &str) -> Option<u64> {
    let (_, rest) = meminfo.split_once("MemTotal:")?;
    let mut words = rest.split_whitespace();
    let kib: u64 = words.next()?.parse().ok()?;
    kib.checked_mul(1024).filter(|_| words.next() == Some("kB"))
}

#[cfg(test)]
mod tests;
