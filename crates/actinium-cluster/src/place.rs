//! Where an actor is to be: rules that choose among the nodes that are up.

use crate::fabric::NodeId;

/// Where to start an actor: see [`Node::spawn_placed`](crate::Node::spawn_placed).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// At each node in turn, this one included.
    RoundRobin,
    /// At this node while fewer than so many actors live in its system; then at the others in turn.
    LocalFirst {
        /// So many.
        most: usize,
    },
    /// At the node that a key belongs to: [`Placement::by_key`].
    ByKey(u64),
}

impl Placement {
    /// At the node that a key belongs to: all nodes that see the same nodes agree on it.
    #[must_use]
    pub fn by_key(key: impl AsRef<[u8]>) -> Self {
        Placement::ByKey(key_hash(key.as_ref()))
    }
}

/// A key's number: the same on every node and in every version (FNV-1a).
pub(crate) fn key_hash(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Rendezvous hashing: each node draws a lot from the key, and the highest has it. When a node comes or goes, only the keys that it gets or
/// had move, and they come from and go to all others alike.
pub(crate) fn rendezvous(key: u64, nodes: &[NodeId]) -> Option<NodeId> {
    let lot = |node: NodeId| {
        // The finalizer of SplitMix64: every bit of key and node counts.
        let mut bits = key ^ u64::from(node.0).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    };
    nodes.iter().copied().max_by_key(|&node| (lot(node), node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_spread_evenly() {
        let nodes: Vec<NodeId> = (0..8).map(NodeId).collect();
        let mut keys = [0_u32; 8];
        for key in 0..8_000_u32 {
            let node = rendezvous(key_hash(&key.to_le_bytes()), &nodes).unwrap();
            keys[node.0 as usize] += 1;
        }
        // Binomial: 1,000 each, with a deviation of 30.
        assert!(keys.iter().all(|keys| (850..1_150).contains(keys)), "{keys:?}");
        assert_eq!(rendezvous(1, &[]), None);
    }

    proptest! {
        #[test]
        fn when_a_node_goes_only_its_keys_move(key: u64, nodes in 2_u32..20, gone in 0_u32..20) {
            let all: Vec<NodeId> = (0..nodes).map(NodeId).collect();
            let gone = NodeId(gone % nodes);
            let left: Vec<NodeId> = all.iter().copied().filter(|&node| node != gone).collect();
            let (before, after) = (rendezvous(key, &all).unwrap(), rendezvous(key, &left).unwrap());
            prop_assert!(before == gone || before == after);
            prop_assert_ne!(after, gone);
        }
    }
}
