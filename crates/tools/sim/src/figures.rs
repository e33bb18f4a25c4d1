//! The figures of a run.

use serde::Serialize;

/// The figures of the measured round of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// The time that the round took, in nanoseconds.
    pub elapsed_ns: u64,
    /// Messages handled.
    pub handled: u64,
    /// Turns run.
    pub turns: u64,
    /// The moment at which the first actor had handled all its messages, as a share of the run.
    /// `None` where the number of its messages is not fixed.
    pub first_done: Option<f64>,
    /// The longest time that something ready waited to be run.
    pub wait_max_ns: u64,
    /// Lines that the first-level caches did not have.
    pub l1_misses: u64,
    /// Lines that the second-level caches did not have either.
    pub l2_misses: u64,
    /// Lines that the third-level caches did not have either.
    pub l3_misses: u64,
    /// Runnables taken from other workers.
    pub stolen: u64,
    /// The farthest distance of a steal, as a rank.
    pub stolen_rank_max: u32,
    /// Runnables shared to others.
    pub stealable: u64,
    /// Runnables pushed for good to workers with less to do.
    pub pushed: u64,
    /// The farthest distance of a push, as a rank.
    pub pushed_rank_max: u32,
    /// Runnables that moved to the worker of those that they communicate with.
    pub colocated: u64,
    /// Messages to actors of other workers.
    pub crossed_workers: u64,
    /// Messages to actors of workers with other third-level caches.
    pub crossed_caches: u64,
    /// Messages to actors of workers of other NUMA nodes.
    pub crossed_nodes: u64,
    /// Homes that moved to a thief.
    pub rehomed: u64,
    /// KiB that an actor seems to work on, as first turns elsewhere have shown; 0: there is no
    /// estimate.
    pub estimated_kib: u32,
    /// Times that a worker went to sleep: each is a context switch.
    pub parked: u64,
    /// Sleepers woken.
    pub woken: u64,
    /// Workers that were called to work, where their number changes.
    pub grown: u64,
    /// Workers that were found not to be needed.
    pub shrunk: u64,
    /// Workers that were given work: the mean over the round.
    pub working: f64,
    /// Share of the workers' time that was spent in turns.
    pub busy: f64,
    /// A fingerprint of the whole run, warm-up included: of who ran what where and when.
    pub fingerprint: u64,
}

/// The geometric mean of some ratios; none of none.
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) =
        ratios.into_iter().fold((0.0, 0u32), |(sum, count), ratio| (sum + ratio.ln(), count + 1));
    (count > 0).then(|| (sum / f64::from(count)).exp())
}
