//! Limits of memory, asked before anything is touched: a process that takes more than a cgroup or a
//! bound node has is not refused but killed.

use actinium_topology::{MemoryLimit, read_text};

use crate::meminfo::Meminfo;
use crate::nodes::free_bytes;
use crate::{MemoryError, NodeSet, sys};

/// Ordinary memory that a segment is about to take.
#[derive(Debug)]
pub(crate) struct Demand<'a> {
    pub(crate) size_bytes: u64,
    /// Soon, rather than perhaps.
    pub(crate) is_soon: bool,
    /// The only nodes that the memory may come from.
    pub(crate) nodes: Option<&'a NodeSet>,
}

/// One limit, and what it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Limit {
    left_bytes: u64,
    name: String,
}

/// Whether it fits.
pub(crate) fn check(demand: &Demand<'_>) -> Result<(), MemoryError> {
    // What is free without anybody giving way is there, whatever else could be had; some of it the
    // kernel keeps for emergencies.
    let unused_bytes = sys::unused_bytes();
    let machine = match demand.size_bytes < unused_bytes - unused_bytes / 16 {
        true => None,
        false => Meminfo::of_machine(),
    };
    let limits = [
        cgroup(demand.is_soon),
        machine.as_ref().and_then(|machine| memory(machine, demand.is_soon)),
        demand.nodes.filter(|_| demand.is_soon).and_then(of_nodes),
    ];
    smallest(limits, demand.size_bytes)
}

fn smallest(
    limits: impl IntoIterator<Item = Option<Limit>>,
    size_bytes: u64,
) -> Result<(), MemoryError> {
    match limits.into_iter().flatten().min_by_key(|limit| limit.left_bytes) {
        Some(Limit { left_bytes, name }) if left_bytes < size_bytes => {
            Err(MemoryError::TooLarge { size_bytes, left_bytes, limit: name })
        }
        _ => Ok(()),
    }
}

fn cgroup(is_soon: bool) -> Option<Limit> {
    let limit = MemoryLimit::of_this_process()?;
    // What will be touched perhaps has to fit at all.
    let left_bytes = if is_soon { limit.left_bytes() } else { limit.limit_bytes };
    Some(Limit { left_bytes, name: format!("cgroup, {}", limit.file.display()) })
}

/// Why it could not be reserved, if that is because the kernel promises no more than it has. Asked
/// only then: most kernels promise more.
pub(crate) fn check_promised(size_bytes: u64) -> Result<(), MemoryError> {
    smallest([Meminfo::of_machine().as_ref().and_then(committed)], size_bytes)
}

fn committed(machine: &Meminfo) -> Option<Limit> {
    let mode = read_text("/proc/sys/vm/overcommit_memory").ok()?;
    (mode.trim() == "2").then(|| {
        let bytes = |name| machine.bytes(name).unwrap_or(0);
        let left_bytes = bytes("CommitLimit").saturating_sub(bytes("Committed_AS"));
        Limit { left_bytes, name: "vm.overcommit_memory is 2: CommitLimit".to_owned() }
    })
}

fn memory(machine: &Meminfo, is_soon: bool) -> Option<Limit> {
    match is_soon {
        true => Some(Limit {
            left_bytes: machine.available_bytes(),
            name: "MemAvailable in /proc/meminfo".to_owned(),
        }),
        false => {
            let left_bytes =
                machine.bytes("MemTotal")?.saturating_add(machine.bytes("SwapTotal").unwrap_or(0));
            Some(Limit { left_bytes, name: "memory and swap in /proc/meminfo".to_owned() })
        }
    }
}

fn of_nodes(nodes: &NodeSet) -> Option<Limit> {
    let free = free_bytes(nodes);
    // What is not known limits nothing.
    (free.len() == nodes.len())
        .then(|| Limit { left_bytes: free.values().sum(), name: format!("free on nodes {nodes}") })
}

/// All the memory that this process may use: what a share is a share of.
pub(crate) fn all_bytes(nodes: &NodeSet) -> Option<u64> {
    let of_nodes = nodes.iter().map(|node| Meminfo::of_node(node)?.bytes("MemTotal")).sum();
    let machine = Meminfo::of_machine().and_then(|machine| machine.bytes("MemTotal"));
    let cgroup = MemoryLimit::of_this_process().map(|limit| limit.limit_bytes);
    [of_nodes, machine, cgroup].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_is_named() {
        let limit = |left_bytes, name: &str| Some(Limit { left_bytes, name: name.to_owned() });
        let limits = || [limit(10, "a"), None, limit(5, "b")];
        assert_eq!(smallest(limits(), 5), Ok(()));
        let error = smallest(limits(), 6).unwrap_err().to_string();
        assert_eq!(error, "a segment of 6 bytes does not fit: 5 bytes can be had (b)");
        assert_eq!(smallest([None], u64::MAX), Ok(()));
    }

    #[test]
    fn this_machine_has_not_everything() {
        for is_soon in [true, false] {
            let demand = Demand { size_bytes: 1 << 60, is_soon, nodes: None };
            let error = check(&demand).unwrap_err();
            assert!(matches!(error, MemoryError::TooLarge { .. }), "{error}");
            assert_eq!(check(&Demand { size_bytes: 4096, ..demand }), Ok(()));
        }
        let all = all_bytes(&[0].into_iter().collect()).expect("Linux says so");
        assert!(all > 0 && all < 1 << 60);
    }
}
