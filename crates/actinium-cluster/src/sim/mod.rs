//! Clusters that nobody has at hand, simulated with what the runtime decides by: when a frame leaves (`pace`), where a message goes
//! next ([`crate::route`]), the tree of a [`Team`](crate::Team), and real [`Link`](crate::link::Link)s for finding out who is dead.
//!
//! The network is LogGP: see [`Links`]. One seed gives one run: there is no clock and no thread.

mod failure;
mod flood;
mod tree;

pub use failure::{Detection, detection};
pub use flood::{Figures, Flood, flood};
pub use tree::all_reduce_ns;

/// What links and nodes cost: LogGP, and what a message costs beside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// L: how long a frame is under way, beside what follows.
    pub latency_ns: u64,
    /// o: what a frame costs the thread of its sender, and that of its receiver.
    pub overhead_ns: u64,
    /// g: the least time between two frames of a node.
    pub gap_ns: u64,
    /// G: time per 1,024 bytes of a frame.
    pub gap_per_kib_ns: u64,
    /// What sending, handing on or handling a message costs a worker.
    pub message_ns: u64,
}

impl Default for Links {
    /// As measured through actors on shared memory of one machine (a message about 80 ns, a frame some µs), with the latency and the bandwidth of a
    /// network of 100 Gbit/s: assumptions, to be replaced by what was measured where it is to run.
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
