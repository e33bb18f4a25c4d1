//! Simulations of clusters that nobody has at hand. They decide by the code of the runtime: when a
//! frame leaves (`policy`), where a message goes next ([`crate::route`]), the tree of a
//! [`Team`](crate::Team), and real [`Link`](crate::link::Link)s for finding out who is dead.
//!
//! The network is LogGP: see [`Links`]. One seed gives one run: there is no clock and no thread.

mod all_to_all;
mod cpus;
mod failure;
mod termination;
mod tree;

pub use all_to_all::{AllToAll, Figures, all_to_all};
pub use cpus::SharedCpus;
pub use failure::{Detection, detection};
pub use tree::all_reduce_ns;

/// The costs of links and nodes: LogGP's, and the cost of a message beside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// L: the time that a frame is under way, without the times below.
    pub latency_ns: u64,
    /// o: the time that a frame takes of its sender's worker, and again of its receiver's.
    pub overhead_ns: u64,
    /// g: the least time between two frames of a node.
    pub gap_ns: u64,
    /// G: time per 1,024 bytes of a frame.
    pub gap_per_kib_ns: u64,
    /// The time that a worker needs to send, hand on or handle a message.
    pub message_ns: u64,
}

impl Default for Links {
    /// The costs measured through actors on shared memory of one machine (a message about 80 ns, a
    /// frame some µs), with the latency and the bandwidth of a network of 100 Gbit/s. These are
    /// assumptions: replace them by measurements of the cluster in question.
    fn default() -> Self {
        Links {
            latency_ns: 1_500,
            overhead_ns: 1_000,
            gap_ns: 500,
            gap_per_kib_ns: 82,
            message_ns: 80,
        }
    }
}
