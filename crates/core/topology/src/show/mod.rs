//! A topology for people (tree, table) and for programs (JSON, through `serde`).

mod json;
mod table;
mod tree;

use std::fmt::Write;

use crate::{CpuSet, Distance, PuId, Topology};

pub use json::SCHEMA_VERSION;

/// Up to this many PUs, distances are shown one by one.
const MATRIX_PUS_MAX: usize = 16;

/// Bytes as people read them, in powers of 1,024.
///
/// ```
/// use actinium_topology::human_bytes;
///
/// assert_eq!(human_bytes(512), "512 B");
/// assert_eq!(human_bytes(32 << 20), "32 MiB");
/// assert_eq!(human_bytes(8_281_874_432), "7.7 GiB");
/// ```
#[must_use]
pub fn human_bytes(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    // Counted in tenths, so that 1023.96 KiB becomes 1 MiB rather than 1024 KiB.
    let tenths = |unit: usize| {
        let size = 1_u128 << (10 * (unit + 1));
        (u128::from(bytes) * 10 + size / 2) / size
    };
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let unit = (0..units.len() - 1).find(|&unit| tenths(unit) < 10_240);
    let unit = unit.unwrap_or(units.len() - 1);
    let (whole, tenth) = (tenths(unit) / 10, tenths(unit) % 10);
    match tenth {
        0 => format!("{whole} {}", units[unit]),
        _ => format!("{whole}.{tenth} {}", units[unit]),
    }
}

/// `1 core`, `2 cores`.
fn count(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

fn optional_bytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "unknown".to_owned(), human_bytes)
}

/// Right-aligned columns, two blanks apart.
fn grid(rows: &[Vec<String>], indent: &str) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell =
        |row: &Vec<String>, column: usize| row.get(column).map_or(0, |text| text.chars().count());
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| cell(row, column)).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells.map(|(text, &width)| format!("{text:>width$}")).collect();
        format!("{indent}{}\n", cells.join("  "))
    };
    rows.iter().map(line).collect()
}

impl Topology {
    /// One line about the whole machine.
    fn headline(&self) -> String {
        let memory: Option<u64> = self.numa_nodes.iter().map(|node| node.memory_bytes).sum();
        format!(
            "Machine: {}, {}, {}, {}, memory {} ({})\n",
            count(self.packages.len(), "package"),
            count(self.numa_nodes.len(), "NUMA node"),
            count(self.cores.len(), "core"),
            count(self.pus.len(), "PU"),
            optional_bytes(memory),
            self.source
        )
    }

    /// The lines below both the tree and the table: what the process may use, distances, warnings.
    fn footer(&self) -> String {
        let mut text = String::new();
        let all = if self.allowed.len() == self.pus.len() {
            "all".to_owned()
        } else {
            format!("{} of {}", self.allowed.len(), self.pus.len())
        };
        let quota = self.quota.as_ref().map_or("none".to_owned(), ToString::to_string);
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<13} {value}");
        };
        line("Allowed PUs:", &format!("{} ({all})", self.allowed));
        if !self.offline.is_empty() {
            line("Offline PUs:", &self.offline.to_string());
        }
        line("CPU quota:", &quota);
        line("Usable:", &self.usable_workers().to_string());
        text.push_str(&self.show_numa_distances());
        text.push_str(&self.show_pu_distances());
        if !self.warnings.is_empty() {
            text.push_str("\nWarnings\n");
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "  {warning}");
        }
        text
    }

    fn show_numa_distances(&self) -> String {
        let Some(distances) = self.numa_distances().filter(|rows| rows.len() > 1) else {
            return String::new();
        };
        let names = || self.numa_nodes.iter().map(|node| node.os_index.to_string());
        let mut rows = vec![std::iter::once(String::new()).chain(names()).collect()];
        for (name, distances) in names().zip(distances) {
            let distances = distances.iter().map(ToString::to_string);
            rows.push(std::iter::once(name).chain(distances).collect());
        }
        format!("\nDistances of NUMA nodes\n{}", grid(&rows, "  "))
    }

    fn show_pu_distances(&self) -> String {
        let mut text = String::new();
        if self.pus.len() > MATRIX_PUS_MAX {
            text.push_str("\nDistances of PUs: the first of these that holds both\n");
            for (distance, groups) in self.distance_classes() {
                let sizes = groups.iter().map(CpuSet::len);
                let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
                let each =
                    if least == most { format!("{most}") } else { format!("{least} to {most}") };
                let groups = count(groups.len(), "group");
                let _ = writeln!(text, "  {distance:<9}  {groups} of {each} PUs");
            }
        } else if self.pus.len() > 1 {
            let short = |a: PuId, b: PuId| match self.distance(a, b) {
                Distance::SamePu => "-".to_owned(),
                Distance::NumaNode => "NUMA".to_owned(),
                distance => distance.to_string(),
            };
            let ids: Vec<PuId> = self.pus.iter().map(|pu| pu.id).collect();
            let names = ids.iter().map(|pu| pu.to_string());
            let mut rows = vec![std::iter::once(String::new()).chain(names).collect()];
            for &a in &ids {
                let distances = ids.iter().map(|&b| short(a, b));
                rows.push(std::iter::once(a.to_string()).chain(distances).collect());
            }
            let _ = write!(text, "\nDistances of PUs\n{}", grid(&rows, "  "));
        }
        text
    }

    /// All distances in short: two PUs are as far apart as the first of these classes in which one
    /// group holds both.
    fn distance_classes(&self) -> Vec<(Distance, Vec<CpuSet>)> {
        let mut classes: Vec<(Distance, Vec<CpuSet>)> = Vec::new();
        for &distance in &Distance::ALL[1..] {
            let mut groups = std::collections::BTreeMap::new();
            for pu in &self.pus {
                let key = match distance {
                    Distance::SamePu | Distance::Core => Some((pu.core, 0)),
                    Distance::L2 => pu.l2.map(|l2| (l2, 0)),
                    Distance::L3 => pu.l3.map(|l3| (l3, 0)),
                    Distance::NumaNode => pu.numa_node.map(|node| (pu.package, node)),
                    Distance::Package => Some((pu.package, 0)),
                    Distance::Machine => Some((0, 0)),
                };
                if let Some(key) = key {
                    groups.entry(key).or_insert_with(Vec::new).push(pu.id);
                }
            }
            let groups = groups.into_values().filter(|group| group.len() > 1);
            let groups: Vec<CpuSet> = groups.map(|group| group.into_iter().collect()).collect();
            // A class with the groups of the one before is never the first.
            let adds = classes.last().is_none_or(|(_, before)| *before != groups);
            if adds && !groups.is_empty() {
                classes.push((distance, groups));
            }
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_for_people() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1 MiB"),
            (10 << 40, "10 TiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(human_bytes(bytes), expected);
        }
    }

    #[test]
    fn classes_say_all_distances() {
        for text in [
            "package:2 numa:2 l3:2 core:1 pu:2",
            "numa:1 package:2 core:2 pu:1",
            "package:1 l3:1 numa:2 core:2 pu:1",
            "core:3 pu:1",
        ] {
            let machine = Topology::synthetic(text).unwrap();
            let classes = machine.distance_classes();
            for a in machine.pus().iter().map(|pu| pu.id) {
                for b in machine.neighbours(a) {
                    let holds = |group: &CpuSet| group.contains(a) && group.contains(b.0);
                    let mut of_pair = classes.iter().filter(|(_, groups)| groups.iter().any(holds));
                    assert_eq!(of_pair.next().unwrap().0, b.1, "{text}: {a} {b:?}");
                }
            }
        }
    }

    #[test]
    fn the_footer_says_what_may_be_used() {
        let machine = Topology::synthetic("core:4 pu:1")
            .unwrap()
            .with_allowed(&"0-2".parse().unwrap())
            .with_quota(crate::Quota::new(100_000, 100_000));
        assert_eq!(
            machine.footer(),
            "Allowed PUs:  0-2 (3 of 4)\n\
             CPU quota:    1 CPU\n\
             Usable:       1 worker: the CPU quota is 1 CPU, on 3 allowed PUs\n\
             \nDistances of PUs\n\
             \u{20}       0     1     2     3\n\
             \u{20} 0     -  NUMA  NUMA  NUMA\n\
             \u{20} 1  NUMA     -  NUMA  NUMA\n\
             \u{20} 2  NUMA  NUMA     -  NUMA\n\
             \u{20} 3  NUMA  NUMA  NUMA     -\n"
        );
        let machine = machine.with_allowed(&"9".parse().unwrap());
        assert!(machine.to_tree().contains("\nWarnings\n  none of the allowed PUs (9)"));
    }

    #[test]
    fn large_machines_are_shown_in_classes() {
        let machine = Topology::synthetic("package:2 l3:2 core:4 pu:2").unwrap();
        let footer = machine.footer();
        let (_, classes) = footer.split_once("holds both\n").unwrap();
        assert_eq!(
            classes,
            "  core       16 groups of 2 PUs\n  L3         4 groups of 8 PUs\n  NUMA node  2 groups of 16 PUs\n  machine    1 group of 32 PUs\n"
        );
    }
}
