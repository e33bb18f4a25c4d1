//! A placement worked out: which parts of a segment get which policy, and who faults in what.

use std::ops::Range;

use actinium_topology::{CpuSet, NumaNode, Topology};

use crate::nodes::Nodes;
use crate::sys::Mode;
use crate::{MemoryError, NodeSet, Placement, Warning};

/// A part of a segment with one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) range: Range<usize>,
    pub(crate) policy: Option<(Mode, NodeSet)>,
    pub(crate) owner: Owner,
}

/// The threads that fault a part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Any thread.
    Anyone,
    /// The threads on this node first, then any: the policy says where pages go.
    Node(u32),
    /// This thread alone: its node is where pages go.
    Worker(usize),
}

/// A thread that faults in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// Where it may run; anywhere if that is not known.
    pub(crate) pus: Option<CpuSet>,
    /// The node of those.
    pub(crate) node: Option<u32>,
}

/// The parts of a segment of `len` bytes. `align` is what parts begin at multiples of.
pub(crate) fn parts(
    placement: &Placement,
    len: usize,
    align: usize,
    nodes: &Nodes,
    threads: impl FnOnce() -> usize,
    machine: impl FnOnce() -> Result<Topology, MemoryError>,
    warn: impl Fn(Warning),
) -> Result<Vec<Part>, MemoryError> {
    let whole = |mode, nodes| {
        vec![Part { range: 0..len, policy: Some((mode, nodes)), owner: Owner::Anyone }]
    };
    Ok(match placement {
        Placement::Interleave => whole(Mode::Interleave, nodes.usable.clone()),
        Placement::WeightedInterleave => whole(Mode::WeightedInterleave, nodes.usable.clone()),
        Placement::InterleaveOver(asked) => whole(Mode::Interleave, among(asked, nodes, warn)?),
        Placement::Bind(asked) => whole(Mode::Bind, among(asked, nodes, warn)?),
        Placement::FirstTouch => equal(len, threads(), align)
            .enumerate()
            .map(|(worker, range)| Part { range, policy: None, owner: Owner::Worker(worker) })
            .collect(),
        Placement::Local(pus) => {
            let machine = machine()?;
            let chosen = match pus.is_empty() {
                true => machine.choose_pus(machine.usable_workers().workers).unwrap_or_default(),
                false => pus.clone(),
            };
            let homes: Result<Vec<u32>, MemoryError> = chosen
                .iter()
                .map(|&pu| {
                    let known = machine.pu(pu).ok_or_else(|| MemoryError::Setting {
                        setting: "placement",
                        value: format!("PU {pu}"),
                        allowed: format!("PUs of this machine: {}", machine.allowed()),
                    })?;
                    Ok(home(&machine, known.numa_node, nodes))
                })
                .collect();
            let homes = homes?;
            equal(len, homes.len(), align)
                .zip(homes)
                .map(|(range, node)| Part {
                    range,
                    policy: Some((Mode::Preferred, [node].into_iter().collect())),
                    owner: Owner::Node(node),
                })
                .collect()
        }
    })
}

/// The nodes that were asked for, as far as they have memory.
fn among(asked: &NodeSet, nodes: &Nodes, warn: impl Fn(Warning)) -> Result<NodeSet, MemoryError> {
    let wrong = |why: &str| MemoryError::Setting {
        setting: "placement",
        value: format!("nodes {asked}"),
        allowed: format!("{why}; this process may use the nodes {}", nodes.usable),
    };
    let empty = asked.intersection(&nodes.without_memory);
    let usable = asked.intersection(&nodes.usable);
    if asked.is_empty() || usable.len() + empty.len() < asked.len() {
        return Err(wrong("nodes have to be online and in the process's cpuset"));
    }
    if usable.is_empty() {
        return Err(wrong("nodes have to have memory"));
    }
    if !empty.is_empty() {
        warn(Warning::NoMemoryOn { nodes: empty });
    }
    Ok(usable)
}

/// The node of a PU, or the nearest to it that has memory.
fn home(machine: &Topology, node: Option<usize>, nodes: &Nodes) -> u32 {
    let first = nodes.usable.iter().next().unwrap_or(0);
    let Some(own) = node.and_then(|index| Some((index, machine.numa_nodes().get(index)?))) else {
        return first;
    };
    if nodes.usable.contains(own.1.os_index) {
        return own.1.os_index;
    }
    let row = machine.numa_distances().and_then(|rows| rows.get(own.0));
    let usable = machine
        .numa_nodes()
        .iter()
        .enumerate()
        .filter(|(_, node)| nodes.usable.contains(node.os_index));
    usable
        .min_by_key(|&(index, _)| row.and_then(|row| row.get(index)).copied())
        .map_or(first, |(_, node)| node.os_index)
}

/// Splits `len` bytes into `parts` parts of about the same size, each a multiple of `align` but for
/// the last.
fn equal(len: usize, parts: usize, align: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = parts.max(1);
    let at = move |part: usize| match part == parts {
        true => len,
        // No overflow for any size that can be mapped and any number of PUs.
        false => (len as u128 * part as u128 / parts as u128) as usize / align * align,
    };
    (0..parts).map(move |part| at(part)..at(part + 1))
}

/// The places of `threads` threads, spread over the nodes in turn. For parts that have a worker
/// each, they are on the nodes where the runtime puts its workers. The threads of a node are not
/// bound to a PU each: two programs that start at once would choose the same PUs.
pub(crate) fn workers(machine: Option<&Topology>, threads: usize, parts: &[Part]) -> Vec<Bound> {
    let anywhere = Bound { pus: None, node: None };
    let Some(machine) = machine else { return vec![anywhere; threads] };
    if parts.iter().any(|part| matches!(part.owner, Owner::Worker(_)))
        && let Some(pus) = machine.choose_pus(threads)
    {
        let bound = |pu| {
            let node = machine.pu(pu).and_then(|pu| machine.numa_nodes().get(pu.numa_node?));
            let near = |node: &NumaNode| node.pus.intersection(machine.allowed());
            Bound { pus: node.map(near), node: node.map(|node| node.os_index) }
        };
        return pus.into_iter().map(bound).collect();
    }
    let of_node = machine.numa_nodes().iter().map(|node| Bound {
        pus: Some(node.pus.intersection(machine.allowed())),
        node: Some(node.os_index),
    });
    let mut places: Vec<Bound> =
        of_node.filter(|bound| bound.pus.as_ref().is_some_and(|pus| !pus.is_empty())).collect();
    // Where pages are bound to some nodes, the threads of those nodes write them.
    if let [Part { policy: Some((Mode::Bind, nodes)), .. }] = parts {
        let near = |bound: &Bound| bound.node.is_some_and(|node| nodes.contains(node));
        if places.iter().any(near) {
            places.retain(near);
        }
    }
    if places.is_empty() {
        places.push(anywhere);
    }
    places.into_iter().cycle().take(threads).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_topology::PuId;
    use std::cell::RefCell;

    fn machine() -> Topology {
        Topology::synthetic("package:2 numa:2 core:2 pu:1").unwrap()
    }

    fn nodes(usable: &str, without: &str) -> Nodes {
        let without_memory = without.parse().unwrap_or_default();
        Nodes { usable: usable.parse().unwrap(), without_memory }
    }

    fn planned(placement: &str, nodes: &Nodes) -> (Result<Vec<Part>, MemoryError>, Vec<Warning>) {
        let warnings = RefCell::new(Vec::new());
        let warn = |warning| warnings.borrow_mut().push(warning);
        let placement = placement.parse().unwrap();
        let parts = parts(&placement, 100, 8, nodes, || 3, || Ok(machine()), warn);
        (parts, warnings.into_inner())
    }

    #[test]
    fn interleaving_covers_all_that_may_be_used() {
        let (parts, warnings) = planned("interleave", &nodes("0,2-3", "1"));
        let nodes = "0,2-3".parse().unwrap();
        let policy = Some((Mode::Interleave, nodes));
        assert_eq!(parts, Ok(vec![Part { range: 0..100, policy, owner: Owner::Anyone }]));
        assert_eq!(warnings, []);
    }

    #[test]
    fn nodes_that_cannot_be_used() {
        let (error, _) = planned("bind:0,4", &nodes("0-1", ""));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("'nodes 0,4' is not allowed") && error.contains("the nodes 0-1"));
        let (error, _) = planned("bind:2", &nodes("0-1", "2"));
        assert!(error.unwrap_err().to_string().contains("have to have memory"));
        let (parts, warnings) = planned("bind:1-2", &nodes("0-1", "2"));
        assert_eq!(parts.unwrap()[0].policy, Some((Mode::Bind, "1".parse().unwrap())));
        assert_eq!(warnings, [Warning::NoMemoryOn { nodes: "2".parse().unwrap() }]);
    }

    #[test]
    fn first_touch_has_a_part_for_each_worker() {
        let (parts, _) = planned("first-touch", &nodes("0-3", ""));
        let parts = parts.unwrap();
        let ranges: Vec<_> = parts.iter().map(|part| part.range.clone()).collect();
        assert_eq!(ranges, [0..32, 32..64, 64..100]);
        let bound = workers(Some(&machine()), 3, &parts);
        for (bound, pu) in bound.iter().zip(machine().choose_pus(3).unwrap()) {
            let machine = machine();
            let node = machine.numa_nodes().iter().find(|node| node.pus.contains(pu)).unwrap();
            assert_eq!((bound.node, &bound.pus), (Some(node.os_index), &Some(node.pus.clone())));
            assert!(node.pus.len() > 1, "or it would be bound to a PU");
        }
    }

    #[test]
    fn each_worker_s_arena_is_on_its_node_or_the_nearest_with_memory() {
        let pus = vec![PuId(0), PuId(3), PuId(7)];
        let placed = |nodes: &Nodes| {
            let placement = Placement::Local(pus.clone());
            let parts = parts(&placement, 90, 10, nodes, || 1, || Ok(machine()), |_| ());
            parts.unwrap().into_iter().map(|part| part.owner).collect::<Vec<_>>()
        };
        assert_eq!(placed(&nodes("0-3", "")), [0, 1, 3].map(Owner::Node));
        assert_eq!(placed(&nodes("0,2", "1,3"))[0], Owner::Node(0));
        assert!(placed(&nodes("0,2", "1,3")).iter().all(|&owner| owner != Owner::Node(3)));
        let wrong = Placement::Local(vec![PuId(99)]);
        let error = parts(&wrong, 90, 10, &nodes("0", ""), || 1, || Ok(machine()), |_| ());
        assert!(error.unwrap_err().to_string().contains("PU 99"));
    }

    #[test]
    fn threads_go_round_the_nodes() {
        let (parts, _) = planned("interleave", &nodes("0-3", ""));
        let of = |machine: Option<&Topology>, threads, parts: &[Part]| {
            workers(machine, threads, parts).iter().map(|bound| bound.node).collect::<Vec<_>>()
        };
        let all = of(Some(&machine()), 6, &parts.unwrap());
        assert_eq!(all, [0, 1, 2, 3, 0, 1].map(Some));
        let (bound, _) = planned("bind:2", &nodes("0-3", ""));
        assert_eq!(of(Some(&machine()), 2, &bound.unwrap()), [Some(2), Some(2)]);
        assert_eq!(of(None, 2, &[]), [None, None]);
        let few = machine().with_allowed(&"6-7".parse().unwrap());
        assert_eq!(of(Some(&few), 2, &[]), [Some(3), Some(3)]);
    }
}
