//! This machine, and what of it this process may use.

use std::fs;
use std::path::Path;
use std::process;
use std::thread;

use crate::assemble::Parts;
use crate::bind::affinity;
use crate::{CpuSet, PuId, Source, Topology, TopologyError, cgroup, sysfs};

impl Topology {
    /// Looks at this machine and this process: `/sys`, the affinity mask and the CPU quota.
    ///
    /// The mask is that of the process's main thread, so that a thread that is bound already sees
    /// what the process may use rather than its own PU. Where `/sys` says nothing (some
    /// containers), the PUs of the mask make a machine with one package and one NUMA node, and
    /// [`Topology::warnings`] says so.
    ///
    /// # Errors
    /// If there are more PUs than [`crate::MAX_PUS`].
    ///
    /// ```
    /// use actinium_topology::Topology;
    ///
    /// let machine = Topology::detect()?;
    /// assert!(machine.allowed().len() <= machine.pus().len());
    /// assert!(machine.usable_workers().workers >= 1);
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    pub fn detect() -> Result<Topology, TopologyError> {
        let parts = match sysfs::read(Path::new("/sys")) {
            Err(TopologyError::NoTree { .. }) => Parts::default(),
            read => read?,
        };
        detected(parts, process_affinity(), Path::new("/proc"))?.seen_by_this_process()
    }

    /// The part of the machine that this process may use.
    pub(crate) fn seen_by_this_process(mut self) -> Result<Topology, TopologyError> {
        match process_affinity() {
            Some(allowed) => {
                let there: CpuSet = self.pus.iter().map(|pu| pu.id).collect();
                let elsewhere = allowed.difference(&there);
                if !elsewhere.is_empty() && elsewhere != allowed {
                    self.warnings.push(format!(
                        "PUs {elsewhere} are allowed, but not among those of the machine ({there}): they are not used"
                    ));
                }
                self = self.with_allowed(&allowed);
            }
            None => self.warnings.push(
                "the process's affinity mask can not be read: all PUs are taken as allowed"
                    .to_owned(),
            ),
        }
        let found = cgroup::read(Path::new("/proc/self"), Path::new("/"));
        self.quota = found.quota;
        self.warnings.extend(found.warnings);
        Ok(self)
    }
}

/// The machine that was read, or the plainest one that explains the mask.
fn detected(
    mut parts: Parts,
    affinity: Option<CpuSet>,
    proc: &Path,
) -> Result<Topology, TopologyError> {
    if parts.pus.is_empty() {
        parts.pus = affinity.unwrap_or_else(|| {
            let count = thread::available_parallelism().map_or(1, usize::from);
            (0..count as u32).map(PuId).collect()
        });
        parts.warnings = vec![
            "/sys/devices/system/cpu says nothing: the PUs that the process may use, in one package and one NUMA node, are assumed"
                .to_owned(),
        ];
    }
    let mut machine = parts.assemble(Source::Detected)?;
    if let [only] = machine.numa_nodes.as_mut_slice() {
        // A kernel without NUMA has no file for a node's memory, but the machine's.
        let total = || sysfs::total_memory(&fs::read_to_string(proc.join("meminfo")).ok()?);
        only.memory_bytes = only.memory_bytes.or_else(total);
    }
    Ok(machine)
}

/// The mask of the main thread, or else of this one.
fn process_affinity() -> Option<CpuSet> {
    let mask = affinity(process::id()).or_else(|_| affinity(0)).ok()?;
    (!mask.is_empty()).then_some(mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use crate::{Distance, bind_current_thread};

    #[test]
    fn this_machine_makes_sense() {
        let machine = Topology::detect().unwrap();
        assert_eq!(machine.source(), &Source::Detected);
        for pu in machine.pus() {
            assert!(machine.packages()[pu.package].pus.contains(pu.id));
            assert!(machine.cores()[pu.core].pus.contains(pu.id));
        }
        assert!(machine.allowed().iter().all(|pu| machine.pu(pu).is_some()));
        let usable = machine.usable_workers();
        assert!((1..=machine.allowed().len()).contains(&usable.workers));
        assert_eq!(machine.choose_pus(usable.workers).unwrap().len(), usable.workers);
    }

    #[test]
    fn a_bound_thread_sees_the_same() {
        let machine = Topology::detect().unwrap();
        let first = machine.allowed().first().unwrap();
        let bound = thread::spawn(move || {
            let _ = bind_current_thread(first);
            Topology::detect()
        });
        assert_eq!(bound.join().unwrap().unwrap().allowed(), machine.allowed());
    }

    #[test]
    fn without_sys_the_mask_makes_the_machine() {
        let proc = Folder::new();
        proc.write("meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
        let mask = "3,5".parse().unwrap();
        let machine = detected(Parts::default(), Some(mask), proc.path()).unwrap();
        assert_eq!(machine.pus().len(), 2);
        assert_eq!(machine.distance(PuId(3), PuId(5)), Distance::NumaNode);
        assert_eq!(machine.numa_nodes()[0].memory_bytes, Some(2 << 20));
        assert_eq!(machine.warnings().len(), 1);
        let machine = detected(Parts::default(), None, proc.path()).unwrap();
        assert!(!machine.pus().is_empty());
    }
}
