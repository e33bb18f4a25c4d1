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

/// The costs of links and nodes: LogGP's, and those of a frame and of a message at a node beside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// L: the time that a frame is under way, without the times below.
    pub latency_ns: u64,
    /// o: the time that the fabric takes of a worker to send a frame, and again to receive it.
    pub overhead_ns: u64,
    /// g: the least time between two frames of a node.
    pub gap_ns: u64,
    /// G: time per 1,024 bytes of a frame.
    pub gap_per_kib_ns: u64,
    /// The time that a worker needs for a frame besides that, at either end: the link, and the turn
    /// of the frame receiver.
    pub frame_ns: u64,
    /// The time that a worker needs to send, hand on or handle a message.
    pub message_ns: u64,
}

impl Default for Links {
    /// The costs measured through actors on shared memory of one machine (a message about 80 ns, a
    /// frame some 2 µs), with the latency and the bandwidth of a network of 100 Gbit/s. Of these
    /// 2 µs, 0.7 are `frame_ns`, half at either end: the example `against --stages` has 0.50 to
    /// 0.56 µs for the link, and the turn of the frame receiver is put at 0.2. The rest is o.
    /// These are assumptions: replace them by measurements of the cluster in question.
    fn default() -> Self {
        Links {
            latency_ns: 1_500,
            overhead_ns: 650,
            gap_ns: 500,
            gap_per_kib_ns: 82,
            frame_ns: 350,
            message_ns: 80,
        }
    }
}

impl Links {
    /// The time that a frame takes of the worker at either end.
    fn end_ns(&self) -> u64 {
        self.frame_ns + self.overhead_ns
    }

    /// The time from when a worker begins to send a short frame until another has received it.
    fn hop_ns(&self) -> u64 {
        self.latency_ns + 2 * self.end_ns()
    }

    /// The time from one frame that a worker sends to the next, if its bytes take this long.
    fn between_ns(&self, wire_ns: u64) -> u64 {
        self.frame_ns + self.overhead_ns.max(self.gap_ns + wire_ns)
    }
}
