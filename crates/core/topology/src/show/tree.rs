//! The machine as a tree, as `lstopo -` shows it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{human_bytes, optional_bytes};
use crate::order::Level;
use crate::{Cache, Pu, PuId, Topology};

impl Topology {
    /// The machine as an indented tree, and below it what this process may use, distances and
    /// warnings.
    ///
    /// Objects with the same PUs stand on one line. The numbers are the operating system's.
    ///
    /// ```
    /// # use actinium_topology::Topology;
    /// let machine = Topology::synthetic("package:1 numa:1 l3:1 core:2 l1d:1 pu:2")?;
    /// let tree = machine.to_tree();
    /// assert!(tree.starts_with("\
    /// Machine: 1 package, 1 NUMA node, 2 cores, 4 PUs, memory 1 GiB (synthetic 'package:1 numa:1 l3:1 core:2 l1d:1 pu:2')
    ///   Package 0 + NUMA node 0 (1 GiB) + L3 (16 MiB)
    ///     Core 0 (L1d 32 KiB): PU 0, PU 1
    ///     Core 1 (L1d 32 KiB): PU 2, PU 3
    /// "));
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn to_tree(&self) -> String {
        let mut text = self.headline();
        self.write_levels(&mut text);
        for node in self.numa_nodes.iter().filter(|node| node.pus.is_empty()) {
            let memory = optional_bytes(node.memory_bytes);
            let _ = writeln!(text, "  NUMA node {} ({memory}, no PUs)", node.os_index);
        }
        text.push('\n');
        text.push_str(&self.footer());
        text
    }

    fn write_levels(&self, text: &mut String) {
        let levels = self.levels();
        let sizes: Vec<_> = levels.iter().map(|&level| self.group_sizes(level)).collect();
        let first_level = self.first_level_caches();
        let order = self.logical_order();
        let mut before: Option<&Pu> = None;
        for &pu in &order {
            let differs =
                |level: &Level| before.is_none_or(|before| level.group(before) != level.group(pu));
            let changed = levels.iter().position(differs);
            if changed.is_none() {
                let _ = write!(text, ", {}", self.pu_name(pu));
                before = Some(pu);
                continue;
            }
            if before.is_some() {
                text.push('\n');
            }
            // Depth counts lines, so it has to be followed through the levels that did not change.
            let (mut depth, mut size_above) = (0, usize::MAX);
            for (at, level) in levels.iter().enumerate() {
                let Some(group) = level.group(pu) else { continue };
                let size = sizes[at].get(&group).copied().unwrap_or(0);
                let same_line = size == size_above;
                depth += usize::from(!same_line);
                size_above = size;
                if Some(at) < changed {
                    continue;
                }
                let name = self.group_name(*level, group, pu, &first_level);
                if same_line && Some(at) > changed {
                    let _ = write!(text, " + {name}");
                } else {
                    let newline = if text.ends_with('\n') { "" } else { "\n" };
                    let _ = write!(text, "{newline}{:indent$}{name}", "", indent = 2 * depth);
                }
            }
            let _ = write!(text, ": {}", self.pu_name(pu));
            before = Some(pu);
        }
        text.push('\n');
    }

    /// How many PUs each group of a level has.
    fn group_sizes(&self, level: Level) -> BTreeMap<usize, usize> {
        let mut sizes = BTreeMap::new();
        for group in self.pus.iter().filter_map(|pu| level.group(pu)) {
            *sizes.entry(group).or_insert(0) += 1;
        }
        sizes
    }

    fn first_level_caches(&self) -> BTreeMap<PuId, Vec<&Cache>> {
        let mut caches: BTreeMap<PuId, Vec<&Cache>> = BTreeMap::new();
        for cache in self.caches.iter().filter(|cache| cache.level == 1) {
            for pu in cache.pus.iter() {
                caches.entry(pu).or_default().push(cache);
            }
        }
        caches
    }

    fn group_name(
        &self,
        level: Level,
        group: usize,
        pu: &Pu,
        first_level: &BTreeMap<PuId, Vec<&Cache>>,
    ) -> String {
        match level {
            Level::Package => format!("Package {}", self.packages[group].os_index),
            Level::NumaNode => {
                let node = &self.numa_nodes[group];
                format!("NUMA node {} ({})", node.os_index, optional_bytes(node.memory_bytes))
            }
            Level::L3 | Level::L2 => with_size(&self.caches[group], " (", ")"),
            Level::Core => {
                let caches = first_level.get(&pu.id).into_iter().flatten();
                let caches: Vec<String> = caches.map(|cache| with_size(cache, " ", "")).collect();
                let name = format!("Core {}", self.cores[group].os_index);
                match caches.is_empty() {
                    true => name,
                    false => format!("{name} ({})", caches.join(", ")),
                }
            }
        }
    }

    fn pu_name(&self, pu: &Pu) -> String {
        if self.allowed.contains(pu.id) {
            format!("PU {}", pu.id)
        } else {
            format!("PU {} (not allowed)", pu.id)
        }
    }
}

fn with_size(cache: &Cache, before: &str, after: &str) -> String {
    let size = cache.size_bytes.map(human_bytes);
    let size = size.map_or(String::new(), |size| format!("{before}{size}{after}"));
    cache.name() + &size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str, allowed: &str) -> String {
        let machine = Topology::synthetic(text).unwrap();
        let tree = machine.with_allowed(&allowed.parse().unwrap()).to_tree();
        let lines = tree.lines().skip(1).take_while(|line| !line.is_empty());
        lines.map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn nested() {
        assert_eq!(
            tree("package:2 numa:1 l3:2 l2:1 core:1 pu:2", "0-6"),
            "  Package 0 + NUMA node 0 (1 GiB)\n\
             \u{20}   L3 (16 MiB) + L2 (4 MiB) + Core 0: PU 0, PU 1\n\
             \u{20}   L3 (16 MiB) + L2 (4 MiB) + Core 1: PU 2, PU 3\n\
             \u{20} Package 1 + NUMA node 1 (1 GiB)\n\
             \u{20}   L3 (16 MiB) + L2 (4 MiB) + Core 2: PU 4, PU 5\n\
             \u{20}   L3 (16 MiB) + L2 (4 MiB) + Core 3: PU 6, PU 7 (not allowed)\n"
        );
    }

    #[test]
    fn what_holds_more_stands_further_out() {
        assert_eq!(
            tree("numa:1 package:2 core:2 pu:1", "0-3"),
            "  NUMA node 0 (1 GiB)\n\
             \u{20}   Package 0\n\
             \u{20}     Core 0: PU 0\n\
             \u{20}     Core 1: PU 1\n\
             \u{20}   Package 1\n\
             \u{20}     Core 2: PU 2\n\
             \u{20}     Core 3: PU 3\n"
        );
        assert_eq!(tree("pu:1", "0"), "  Package 0 + NUMA node 0 (1 GiB) + Core 0: PU 0\n");
    }
}
