//! NUMA nodes: sets of them, which of them the process may use, and how much memory they have left.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use actinium_topology::{CpuSet, PuId, read_text};
use serde::{Serialize, Serializer};

use crate::meminfo::Meminfo;

/// Linux itself stops at 1,024.
const NODE_MAX: u32 = 4095;

/// A set of NUMA nodes. Reads and writes the kernel's list format.
///
/// ```
/// use actinium_memory::NodeSet;
///
/// let nodes: NodeSet = "0-2,5".parse()?;
/// assert_eq!((nodes.len(), nodes.contains(5), nodes.to_string().as_str()), (4, true, "0-2,5"));
/// # Ok::<(), actinium_memory::NodeSetError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSet(CpuSet);

impl NodeSet {
    /// How many nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this node is in it.
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.0.contains(PuId(node))
    }

    /// The nodes' numbers, rising.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|node| node.0)
    }

    /// The nodes that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &NodeSet) -> NodeSet {
        NodeSet(self.0.intersection(&other.0))
    }

    /// The nodes of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &NodeSet) -> NodeSet {
        NodeSet(self.0.difference(&other.0))
    }
}

impl FromIterator<u32> for NodeSet {
    fn from_iter<I: IntoIterator<Item = u32>>(nodes: I) -> Self {
        NodeSet(nodes.into_iter().map(PuId).collect())
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for NodeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// A text that is no set of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeSetError {
    /// The text.
    pub text: String,
}

impl fmt::Display for NodeSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no list of NUMA nodes: allowed are lists like '0' or '0-2,5'", self.text)
    }
}

impl std::error::Error for NodeSetError {}

impl FromStr for NodeSet {
    type Err = NodeSetError;

    fn from_str(text: &str) -> Result<Self, NodeSetError> {
        let set = text.parse::<CpuSet>().ok();
        let set = set.filter(|set| set.last().is_some_and(|last| last.0 <= NODE_MAX));
        set.map(NodeSet).ok_or_else(|| NodeSetError { text: text.to_owned() })
    }
}

/// The nodes that this process may take memory from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nodes {
    /// The nodes with memory.
    pub(crate) usable: NodeSet,
    /// The nodes that the process may use, and that have no memory.
    pub(crate) without_memory: NodeSet,
}

impl Nodes {
    pub(crate) fn of_this_process() -> Self {
        Self::read(Path::new("/proc"), Path::new("/sys"))
    }

    fn read(proc: &Path, sys: &Path) -> Self {
        let list = |file: &str| {
            let text = read_text(sys.join("devices/system/node").join(file)).ok()?;
            text.trim().parse::<NodeSet>().ok()
        };
        // A kernel without NUMA has none of these files, and one node.
        let online = list("online").unwrap_or_else(|| [0].into_iter().collect());
        if online.len() == 1 {
            // It has memory, and the process may use it, or there would be no process.
            return Nodes { usable: online, without_memory: NodeSet::default() };
        }
        let status = read_text(proc.join("self/status")).unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:"));
        let allowed = allowed.and_then(|list| list.trim().parse::<NodeSet>().ok());
        let allowed = allowed.map_or(online.clone(), |allowed| allowed.intersection(&online));
        let with_memory = list("has_memory").unwrap_or(online);
        Nodes {
            usable: allowed.intersection(&with_memory),
            without_memory: allowed.difference(&with_memory),
        }
    }
}

/// How much memory each of these nodes could give now.
pub(crate) fn free_bytes(nodes: &NodeSet) -> BTreeMap<u32, u64> {
    nodes
        .iter()
        .filter_map(|node| Some((node, Meminfo::of_node(node)?.available_bytes())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn only_sets_of_nodes_are() {
        for text in ["", "a", "1-", "3-1", "-1", "4096", "0,,1", "0x1"] {
            let error = text.parse::<NodeSet>().unwrap_err();
            assert!(error.to_string().contains("allowed are"), "{text}");
        }
        let set: NodeSet = "4,0-1".parse().unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 1, 4]);
        let other = "1,4".parse().unwrap();
        assert_eq!(set.difference(&other).to_string(), "0");
        assert_eq!(set.intersection(&other).to_string(), "1,4");
    }

    #[test]
    fn nodes_of_the_cpuset_that_have_memory() {
        let folder = Folder::new();
        folder.write("proc/self/status", "Name:\tx\nMems_allowed_list:\t0-1,3-4\n");
        folder.write("sys/devices/system/node/online", "0-3\n");
        folder.write("sys/devices/system/node/has_memory", "0,2-3\n");
        let nodes = Nodes::read(&folder.path().join("proc"), &folder.path().join("sys"));
        assert_eq!(nodes.usable.to_string(), "0,3");
        assert_eq!(nodes.without_memory.to_string(), "1");
    }

    #[test]
    fn a_kernel_without_numa_has_one_node() {
        let nodes = Nodes::read(Path::new("/nowhere"), Path::new("/nowhere"));
        assert_eq!((nodes.usable.to_string().as_str(), nodes.without_memory.len()), ("0", 0));
    }
}
