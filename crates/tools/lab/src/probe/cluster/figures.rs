//! The measurements of one node, which it sends to the first node.

use actinium_cluster::NodeStats;
use actinium_observe::process::ProcessFigures;
use serde::{Deserialize, Serialize};
use std::iter::Sum;

/// The measurements of one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeFigures {
    /// The number of the node.
    pub node: u32,
    /// The time from the barrier before the round to its last reply.
    pub elapsed_ns: u64,
    /// The time from its last reply until it knew that all nodes were done.
    pub termination_ns: u64,
    /// Pings and replies that it handled.
    pub messages: u64,
    /// Payloads that did not arrive as they were sent.
    pub corrupted: u64,
    /// Round trips: nanoseconds, and how many.
    pub round_trips: Vec<(u64, u64)>,
    /// Frames that left for other nodes.
    pub frames: Frames,
    /// Nodes for which it has aggregated messages.
    pub destinations: u64,
    /// Whether the node's ledger of messages is balanced.
    pub balanced: bool,
    /// Figures of its process, of the round. None: another node is in the same, and has them.
    pub process: Option<ProcessFigures>,
}

/// Messages that left for other nodes, start-up and warm-up and those that were handed on included,
/// the frames that they left in, and why each of these left.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Frames {
    /// The number of messages.
    pub messages: u64,
    /// The number of those messages that the node handed on for other nodes.
    pub handed_on: u64,
    /// The number of frames.
    pub frames: u64,
    /// They were full.
    pub full: u64,
    /// The sender was free.
    pub free: u64,
    /// A worker had nothing else to do.
    pub idle: u64,
    /// The oldest message was due.
    pub due: u64,
    /// A message was urgent.
    pub urgent: u64,
    /// How long the oldest message of each frame waited, in sum.
    pub waited_ns: u64,
    /// Messages that had to be sent again, because too much waited.
    pub refused: u64,
}

impl Frames {
    /// Sums the frames of a node for all other nodes.
    pub fn of(stats: &NodeStats) -> Self {
        let all = stats.peers.iter().map(|peer| &peer.aggregator);
        let all = all.map(|all| Frames {
            messages: all.messages,
            handed_on: 0,
            frames: all.frames,
            full: all.full,
            free: all.free,
            idle: all.idle,
            due: all.due,
            urgent: all.urgent,
            waited_ns: all.waited_ns,
            refused: all.refused,
        });
        Frames { handed_on: stats.handed_on, ..all.sum() }
    }

    /// Why they left, and how many did.
    pub fn why(&self) -> [(&'static str, u64); 5] {
        let Frames { full, free, idle, due, urgent, .. } = *self;
        [("full", full), ("free", free), ("idle", idle), ("due", due), ("urgent", urgent)]
    }
}

impl Sum for Frames {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Frames::default(), |a, b| Frames {
            messages: a.messages + b.messages,
            handed_on: a.handed_on + b.handed_on,
            frames: a.frames + b.frames,
            full: a.full + b.full,
            free: a.free + b.free,
            idle: a.idle + b.idle,
            due: a.due + b.due,
            urgent: a.urgent + b.urgent,
            waited_ns: a.waited_ns + b.waited_ns,
            refused: a.refused + b.refused,
        })
    }
}
