//! Queues that several workers use, each under a lock whose line travels.

use super::Sim;
use super::queue::Queue;
use super::time::{Ps, ps};

/// Which queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    /// A worker's public one.
    Public(usize),
    /// The one of the policy `pool`.
    Global,
}

impl Sim<'_> {
    pub(super) fn queue(&mut self, which: Which) -> &mut Queue {
        match which {
            Which::Public(worker) => &mut self.workers[worker].steal_queue,
            Which::Global => &mut self.global,
        }
    }

    /// A worker takes and releases the queue's lock; returns when it has.
    pub(super) fn lock(&mut self, which: Which, worker: usize, at_ps: Ps) -> Ps {
        let machine = self.machine;
        let queue = self.queue(which);
        let transfer_ns = queue.last.map_or(0.0, |last| machine.transfer_ns(last, worker));
        let contended = queue.free_ps > at_ps;
        let cost_ns = machine.costs.lock_ns
            + transfer_ns
            + if contended { machine.costs.contended_ns } else { 0.0 };
        let after_ps = queue.free_ps.max(at_ps) + ps(cost_ns);
        (queue.free_ps, queue.last) = (after_ps, Some(worker));
        after_ps
    }
}
