//! The views that a policy decides on, and its answers: plain data.

/// Where a woken runnable is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeTo {
    /// The queue of its owner, which keeps it while it is idle.
    Owner,
    /// The queue of the worker that woke it.
    Waker,
    /// The queue that all workers share.
    Shared,
}

/// A worker's queue, as the worker itself sees it.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// Runnables in its private queue.
    pub len: usize,
    /// Measured nanoseconds per turn, exponentially weighted.
    pub turn_ns: u64,
    /// How long the turn that it is in, or about to start, takes or has taken: nanoseconds.
    pub current_ns: u64,
    /// Workers that look for work or sleep.
    pub idle_workers: usize,
}

/// Something ready that might be shared.
#[derive(Clone, Copy, Debug)]
pub struct MoveView {
    /// The measured nanoseconds per item; 0: not known.
    pub cost_ns: u32,
    /// How long the turn that it stands behind takes: nanoseconds.
    pub current_ns: u64,
    /// How long it is expected to wait where it is, that turn included: nanoseconds.
    pub wait_ns: u64,
    /// How much memory it works on, in KiB, as it has declared, or its moves up to now have shown;
    /// 0: not known.
    pub footprint_kib: u32,
    /// Rank of the distance to the nearest other worker: it moves at least so far.
    pub distance: u32,
}

/// A queue that an idle worker might take from.
#[derive(Clone, Copy, Debug)]
pub struct StealView {
    /// Runnables in the victim's steal queue.
    pub len: usize,
    /// The victim's measured nanoseconds per turn.
    pub turn_ns: u64,
    /// Rank of the distance between the two workers' PUs; 0: the same PU.
    pub distance: u32,
}

/// Something that ran away from home.
#[derive(Clone, Copy, Debug)]
pub struct StolenView {
    /// How often the same worker has stolen it in a row, this time included.
    pub steals_in_a_row: u32,
    /// How many turns in a row it has run away from home, at whatever worker, this one included.
    pub away_in_a_row: u32,
    /// The measured nanoseconds per item; 0: not known.
    pub cost_ns: u32,
    /// How long a turn takes at its home, or has taken if one is under way that takes long:
    /// nanoseconds.
    pub home_turn_ns: u64,
}

/// How much there is to do, as a worker that looks whether others have less sees it.
#[derive(Clone, Copy, Debug)]
pub struct LoadView {
    /// The own load: how long its queue takes to run once through, weighted over the last rounds,
    /// in nanoseconds.
    pub own_ns: u64,
    /// The measured nanoseconds per turn.
    pub turn_ns: u64,
    /// The other's load.
    pub other_ns: u64,
    /// The average load of the worker and of those that it has looked at.
    pub average_ns: u64,
}

/// Why something is ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// The last turn left it more to do.
    Again,
    /// Something elsewhere has sent to it.
    ByOthers,
    /// Something at this worker has sent to it.
    ByNeighbours,
}

/// Something ready that might be pushed to a worker with less to do.
#[derive(Clone, Copy, Debug)]
pub struct PushView {
    /// Why it is ready.
    pub ready: Ready,
    /// Whether the other worker is kept busy by what it has, or this one has not long been
    /// overloaded: see [`Utilization::is_busy`](crate::policy::Utilization::is_busy) and
    /// [`UtilizationTracker::is_long_overloaded`](crate::policy::UtilizationTracker::is_long_overloaded).
    pub is_busy: bool,
    /// The measured nanoseconds per item, its kind's as long as its own are not known; 0: not known
    /// either.
    pub cost_ns: u32,
    /// The measured nanoseconds that a message costs more if it crosses workers, for sender and
    /// receiver together; 0: none has crossed yet.
    pub crossing_ns: u32,
    /// Of 1,024 messages that it sends, so many more would cross if it were there: all of them, as
    /// long as nothing is known.
    pub would_cross: u32,
    /// The worker's load in nanoseconds.
    pub own_ns: u64,
    /// The average load of the worker and of those that it has looked at.
    pub average_ns: u64,
}

/// Something that talks to others.
#[derive(Clone, Copy, Debug)]
pub struct ColocateView {
    /// The worker at which it is.
    pub own: usize,
    /// A number that stands for it: the same for as long as it lives.
    pub sender: u64,
    /// The number of what it has just sent to.
    pub target: u64,
    /// The time in nanoseconds.
    pub now_ns: u64,
    /// See [`LoadView::own_ns`].
    pub own_ns: u64,
    /// The worker's measured nanoseconds per turn.
    pub turn_ns: u64,
}

/// What a worker has done for a time, as it asks whether it pays that what talks is spread over
/// several workers.
#[derive(Clone, Copy, Debug)]
pub struct ApartView {
    /// How long that was, in nanoseconds.
    pub elapsed_ns: u64,
    /// And for how much of it it ran, or received.
    pub busy_ns: u64,
    /// Messages handled.
    pub handled: u64,
    /// Those that came from other workers.
    pub crossed: u64,
}

impl QueueView {
    /// How long what stands last in the queue will wait, in nanoseconds.
    pub fn wait_ns(&self) -> u64 {
        self.current_ns.saturating_add(self.turn_ns.saturating_mul(self.len as u64))
    }
}
