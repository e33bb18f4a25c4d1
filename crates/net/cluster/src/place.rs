//! Placement: rules that choose a node for an actor among those that are up.

use crate::fabric::NodeId;
use actinium_scheduler::mixing;
use actinium_wire::fnv1a;

/// Where to start an actor: see [`NodeHandle::spawn_placed`](crate::NodeHandle::spawn_placed).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// Each node in turn, this one included.
    RoundRobin,
    /// This node while fewer than so many actors live in its system; then the others in turn.
    LocalFirst {
        /// The number of actors at this node from which on the other nodes are used.
        most: usize,
    },
    /// The node that a key belongs to: [`Placement::by_key`].
    ByKey(u64),
}

impl Placement {
    /// Places at the node that a key belongs to: all nodes that see the same nodes agree on it.
    #[must_use]
    pub fn by_key(key: impl AsRef<[u8]>) -> Self {
        Placement::ByKey(key_hash(key.as_ref()))
    }
}

/// A key's number: the same on every node and in every version (FNV-1a).
pub(crate) fn key_hash(key: &[u8]) -> u64 {
    fnv1a(key)
}

/// The node that a key belongs to: see [`mixing::rendezvous`].
pub(crate) fn rendezvous(key: u64, nodes: impl IntoIterator<Item = NodeId>) -> Option<NodeId> {
    mixing::rendezvous(key, nodes.into_iter().map(|node| node.0)).map(NodeId)
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
            let node = rendezvous(key_hash(&key.to_le_bytes()), nodes.clone()).unwrap();
            keys[node.0 as usize] += 1;
        }
        // Binomial: 1,000 each, with a deviation of 30.
        assert!(keys.iter().all(|keys| (850..1_150).contains(keys)), "{keys:?}");
        assert_eq!(rendezvous(1, []), None);
    }

    proptest! {
        #[test]
        fn when_a_node_goes_only_its_keys_move(key: u64, nodes in 2_u32..20, gone in 0_u32..20) {
            let all: Vec<NodeId> = (0..nodes).map(NodeId).collect();
            let gone = NodeId(gone % nodes);
            let left: Vec<NodeId> = all.iter().copied().filter(|&node| node != gone).collect();
            let (before, after) = (rendezvous(key, all).unwrap(), rendezvous(key, left).unwrap());
            prop_assert!(before == gone || before == after);
            prop_assert_ne!(after, gone);
        }
    }
}
