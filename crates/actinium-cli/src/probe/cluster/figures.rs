//! What one node has measured; it travels to all others.

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeFigures {
    /// Which node.
    pub node: u32,
    /// Whether it is the one that looks at it.
    #[serde(skip)]
    pub is_own: bool,
    /// From the barrier before the round to its last reply.
    pub elapsed_ns: u64,
    /// From its last reply until it knew that all nodes were done.
    pub termination_ns: u64,
    /// Pings and replies that it handled.
    pub messages: u64,
    /// Payloads that did not arrive as they were sent.
    pub corrupted: u64,
    /// Round trips: nanoseconds, and how many.
    pub round_trips: Vec<(u64, u64)>,
    /// Messages that left for other nodes, start-up and warm-up and those that were handed on included, the frames that they left in, and why each of these left.
    pub remote_messages: u64,
    /// See above.
    pub frames: u64,
    /// See above.
    pub full: u64,
    /// See above.
    pub free: u64,
    /// See above.
    pub idle: u64,
    /// See above.
    pub due: u64,
    /// See above.
    pub urgent: u64,
    /// How long the oldest message of each frame waited, in sum.
    pub waited_ns: u64,
    /// Messages of other nodes that it has handed on.
    pub handed_on: u64,
    /// Nodes for which it has gathered messages.
    pub destinations: u64,
    /// Messages that had to be sent again, because too much waited.
    pub refused: u64,
    /// Whether the node's ledger of messages is balanced.
    pub balanced: bool,
}
