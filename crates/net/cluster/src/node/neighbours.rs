//! Reports of neighbours in a grid: the nodes they reach, and how ready they are to leave.

use crate::fabric::NodeId;
use std::collections::BTreeMap;

/// The latest reports of all neighbours.
#[derive(Default)]
pub(super) struct Heard {
    /// The nodes that each neighbour reaches, one bit per node.
    pub(super) reach: BTreeMap<NodeId, Vec<u8>>,
    pub(super) levels: BTreeMap<NodeId, u32>,
    pub(super) is_new: bool,
}

impl Heard {
    pub(super) fn reach(&mut self, from: NodeId, nodes: Vec<u8>) {
        self.reach.insert(from, nodes);
        self.is_new = true;
    }

    pub(super) fn leaving(&mut self, from: NodeId, level: u32) {
        self.levels.insert(from, level);
    }

    pub(super) fn forget(&mut self, node: NodeId) {
        self.reach.remove(&node);
        self.levels.remove(&node);
        self.is_new = true;
    }

    pub(super) fn reaches(&self, neighbour: NodeId, node: NodeId) -> bool {
        let byte = self.reach.get(&neighbour).and_then(|bits| bits.get(node.0 as usize / 8));
        byte.is_some_and(|byte| byte >> (node.0 % 8) & 1 == 1)
    }
}
