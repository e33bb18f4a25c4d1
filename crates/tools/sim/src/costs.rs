//! The costs of a machine's operations.

use serde::Serialize;

/// The costs of a machine's operations, in nanoseconds. [`Costs::PUBLISHED`] says where the
/// defaults come from; `actinium sim --calibrate` measures those of the machine at hand.
///
/// Costs of accesses are *effective* ones: of random accesses in a loop, of which the processor has
/// several under way at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Costs {
    /// One access to an actor's state, drawing the place included, when it hits the first cache.
    pub access_ns: f64,
    /// The cost that a miss in the first-level cache adds, when the second level has the line.
    pub l2_ns: f64,
    /// The cost that a miss in the second-level cache adds, when the third level has the line.
    pub l3_ns: f64,
    /// The cost that a miss in the third-level cache adds.
    pub memory_ns: f64,
    /// The cost that such a miss adds more when the memory belongs to another NUMA node.
    pub far_memory_ns: f64,
    /// The cost of a line that another core has written last, by the rank of the distance between
    /// the PUs (`Distance::rank`).
    pub transfer_ns: [f64; 7],
    /// The part of that which each line of an actor's state costs: several are under way at a time.
    pub fetch_part: f64,
    /// One message: taken from the mailbox, handled, the next one sent, by plain loads and stores.
    pub message_ns: f64,
    /// The additional cost of a message through the shared queue of a mailbox (`pool`, `stealing`):
    /// atomic operations, but no contention.
    pub shared_message_ns: f64,
    /// The additional cost of a turn under those policies, beside the locks of the queues.
    pub shared_turn_ns: f64,
    /// The sender's cost of a message to another worker's actor.
    pub remote_send_ns: f64,
    /// The receiver's cost of a message from another worker, beside the transfer of a line.
    pub remote_receive_ns: f64,
    /// One turn, beside its messages.
    pub turn_ns: f64,
    /// A reading of the clock.
    pub clock_ns: f64,
    /// One round of housekeeping, beside the clock.
    pub tick_ns: f64,
    /// The cost of taking and releasing a lock that nobody else holds, beside the transfer of its
    /// line.
    pub lock_ns: f64,
    /// The additional cost of a lock that somebody else holds.
    pub contended_ns: f64,
    /// The cost of looking whether one other worker sleeps.
    pub look_ns: f64,
    /// One round of looking for work.
    pub spin_ns: f64,
    /// The waker's cost of waking a sleeper.
    pub wake_ns: f64,
    /// The time from then until the sleeper runs.
    pub wake_latency_ns: f64,
    /// The cost of allocating a block and freeing it again on the same worker.
    pub allocate_ns: f64,
    /// The additional cost of freeing a block that another worker has allocated.
    pub far_free_ns: f64,
    /// A turn takes so many times as long while the other PU of the core is busy, too.
    pub smt_slowdown: f64,
    /// Turns take up to so much longer, as a share, at random: what else happens on a machine.
    /// Without it, workers march in step.
    pub jitter: f64,
}

impl Costs {
    /// Found by fitting the model to the published experiments: two packages of six cores without
    /// SMT, Java.
    ///
    /// Of the rows for fixed assignment, the difference between 100 and 20 accesses per message
    /// gives 6 ns per access while state fits the first cache, some nanoseconds more in the second
    /// and third, and about 20 ns at 3.2 MB; what is left is 45 ns per message. The pool hands one
    /// lock on every 83 ns, twice per message in a queue with one lock. Wake-ups take what Linux
    /// takes.
    pub const PUBLISHED: Costs = Costs {
        access_ns: 6.0,
        l2_ns: 2.5,
        l3_ns: 3.0,
        memory_ns: 14.0,
        far_memory_ns: 8.0,
        transfer_ns: [0.0, 6.0, 15.0, 22.0, 55.0, 65.0, 75.0],
        fetch_part: 1.0,
        message_ns: 20.0,
        shared_message_ns: 12.0,
        shared_turn_ns: 0.0,
        remote_send_ns: 15.0,
        remote_receive_ns: 15.0,
        turn_ns: 20.0,
        clock_ns: 20.0,
        tick_ns: 10.0,
        lock_ns: 12.0,
        contended_ns: 8.0,
        look_ns: 0.5,
        spin_ns: 100.0,
        wake_ns: 1_500.0,
        wake_latency_ns: 5_000.0,
        allocate_ns: 20.0,
        far_free_ns: 60.0,
        smt_slowdown: 1.6,
        jitter: 0.05,
    };

    /// Name and value of each, as reports show them.
    pub fn pairs(&self) -> Vec<(&'static str, f64)> {
        let mut pairs = vec![
            ("access_ns", self.access_ns),
            ("l2_ns", self.l2_ns),
            ("l3_ns", self.l3_ns),
            ("memory_ns", self.memory_ns),
            ("far_memory_ns", self.far_memory_ns),
            ("fetch_part", self.fetch_part),
            ("message_ns", self.message_ns),
            ("shared_message_ns", self.shared_message_ns),
            ("shared_turn_ns", self.shared_turn_ns),
            ("remote_send_ns", self.remote_send_ns),
            ("remote_receive_ns", self.remote_receive_ns),
            ("turn_ns", self.turn_ns),
            ("clock_ns", self.clock_ns),
            ("tick_ns", self.tick_ns),
            ("lock_ns", self.lock_ns),
            ("contended_ns", self.contended_ns),
            ("look_ns", self.look_ns),
            ("spin_ns", self.spin_ns),
            ("wake_ns", self.wake_ns),
            ("wake_latency_ns", self.wake_latency_ns),
            ("allocate_ns", self.allocate_ns),
            ("far_free_ns", self.far_free_ns),
            ("smt_slowdown", self.smt_slowdown),
            ("jitter", self.jitter),
        ];
        let names = ["same_pu", "core", "l2", "l3", "numa_node", "package", "machine"];
        pairs.extend(names.into_iter().zip(self.transfer_ns).skip(1));
        pairs
    }
}
