//! The machine as tables.

use std::collections::BTreeMap;

use super::{grid, human_bytes, optional_bytes};
use crate::{CacheKind, Topology};

impl Topology {
    /// The machine as tables of PUs, caches and NUMA nodes, and below what this process may use,
    /// distances and warnings.
    ///
    /// Cores, L2 and L3 are counted from 0 over the whole machine; PUs, NUMA nodes and packages
    /// have the operating system's numbers.
    ///
    /// ```
    /// # use actinium_topology::Topology;
    /// let machine = Topology::synthetic("package:2 l3:1 core:1 pu:1")?;
    /// assert!(machine.to_table().contains("\
    /// PU  core  L2  L3  NUMA node  package  allowed
    ///  0     0   -   0          0        0      yes
    ///  1     1   -   1          0        1      yes
    /// "));
    /// # Ok::<(), actinium_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn to_table(&self) -> String {
        let parts = [
            self.headline(),
            grid(&self.pu_rows(), ""),
            grid(&self.cache_rows(), ""),
            grid(&self.node_rows(), ""),
            self.footer(),
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n")
    }

    fn pu_rows(&self) -> Vec<Vec<String>> {
        let cell = |position: Option<usize>| position.map_or("-".to_owned(), |n| n.to_string());
        let (l3, l2) = (self.ordinals(3), self.ordinals(2));
        let rows = self.pus.iter().map(|pu| {
            let node = pu.numa_node.map(|node| self.numa_nodes[node].os_index as usize);
            let allowed = self.allowed.contains(pu.id);
            vec![
                pu.id.to_string(),
                pu.core.to_string(),
                cell(pu.l2.and_then(|position| l2.get(&position).copied())),
                cell(pu.l3.and_then(|position| l3.get(&position).copied())),
                cell(node),
                self.packages[pu.package].os_index.to_string(),
                (if allowed { "yes" } else { "no" }).to_owned(),
            ]
        });
        with_head(&["PU", "core", "L2", "L3", "NUMA node", "package", "allowed"], rows)
    }

    /// Maps a position among all caches to one among the caches of a level.
    fn ordinals(&self, level: u8) -> BTreeMap<usize, usize> {
        let caches = self.caches.iter().enumerate();
        let of_level = caches
            .filter(|(_, cache)| cache.level == level && cache.kind != CacheKind::Instruction);
        of_level.map(|(at, _)| at).zip(0..).collect()
    }

    fn cache_rows(&self) -> Vec<Vec<String>> {
        // Alike caches together, in the order in which they first come.
        let mut alike: Vec<(Vec<String>, usize)> = Vec::new();
        for cache in &self.caches {
            let line = cache.line_bytes.map(u64::from);
            let looks = vec![
                cache.name(),
                optional_bytes(cache.size_bytes),
                line.map_or_else(|| "unknown".to_owned(), human_bytes),
                cache.pus.len().to_string(),
            ];
            match alike.iter_mut().find(|(other, _)| *other == looks) {
                Some((_, count)) => *count += 1,
                None => alike.push((looks, 1)),
            }
        }
        if alike.is_empty() {
            return Vec::new();
        }
        let rows = alike.into_iter().map(|(mut looks, count)| {
            looks.push(count.to_string());
            looks
        });
        with_head(&["cache", "size", "line", "PUs each", "count"], rows)
    }

    fn node_rows(&self) -> Vec<Vec<String>> {
        let rows = self.numa_nodes.iter().map(|node| {
            let pus = match node.pus.is_empty() {
                true => "none".to_owned(),
                false => node.pus.to_string(),
            };
            vec![node.os_index.to_string(), optional_bytes(node.memory_bytes), pus]
        });
        with_head(&["NUMA node", "memory", "PUs"], rows)
    }
}

fn with_head(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let head = head.iter().map(|&name| name.to_owned()).collect();
    std::iter::once(head).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables() {
        let machine = Topology::synthetic("package:2 numa:1 l2:2(size=1MiB) core:1 pu:1").unwrap();
        let table = machine.with_allowed(&"0-2".parse().unwrap()).to_table();
        let tables: Vec<&str> = table.split("\n\n").collect();
        assert_eq!(
            tables[1],
            "PU  core  L2  L3  NUMA node  package  allowed\n\
             \u{20}0     0   0   -          0        0      yes\n\
             \u{20}1     1   1   -          0        0      yes\n\
             \u{20}2     2   2   -          1        1      yes\n\
             \u{20}3     3   3   -          1        1       no"
        );
        assert_eq!(
            tables[2],
            "cache   size  line  PUs each  count\n   L2  1 MiB  64 B         1      4"
        );
        assert_eq!(
            tables[3],
            "NUMA node  memory  PUs\n        0   1 GiB  0-1\n        1   1 GiB  2-3"
        );
        assert!(tables[4].starts_with("Allowed PUs:  0-2 (3 of 4)\n"));
    }
}
