//! Where work runs: four questions, answered by plain data and pure functions.
//!
//! A [`Policy`] sees only the views below, never a thread or an atomic; so the simulator runs this very code, and a policy
//! can be tested by asking it. The questions are those of the design:
//!
//! 1. something woke: which worker's queue? [`Policy::wake_to`]
//! 2. this worker is idle: whom may it take from, and is the move worth it? [`Policy::expose`] (the giving side), [`Policy::worth_stealing`] (the taking side)
//! 3. something was stolen: does its home move? [`Policy::rehome`]
//! 4. too much or too little work for those awake? [`Policy::wake_more`], [`Policy::scale`]; much more at one worker than at another?
//!    [`Policy::balance_after_ns`], [`Policy::give`], [`Policy::may_give`]
//!
//! And where does something belong that is new, or that talks to others? [`Policy::place`], [`Policy::place_spawned`], [`Policy::draws`]

mod affine;
pub mod pace;
mod scale;
mod talk;

pub use affine::{Affine, SetError};
pub use scale::{Elastic, ScaleEvent, ScaleReason, ScaleView};
pub(crate) use talk::spread;
pub use talk::{Talk, goes};

use std::fmt;
use std::str::FromStr;

/// How the scheduler places and moves work.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Policy {
    /// One fixed worker per runnable; nothing is ever moved.
    Pinned,
    /// One queue that all workers share: a plain thread pool.
    Pool,
    /// What wakes goes to the waking worker; anyone steals, at once.
    Stealing,
    /// What wakes goes home; thieves take, nearest first, only what is worth moving.
    Affine(Affine),
}

/// Where a woken runnable is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeTo {
    /// At its owner, which keeps it while it is idle.
    Owner,
    /// At the worker that woke it.
    Waker,
    /// In the queue that all share.
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

/// Something ready that might be exposed to thieves.
#[derive(Clone, Copy, Debug)]
pub struct MoveView {
    /// Its measured nanoseconds per item; 0: not known.
    pub cost_ns: u32,
    /// How long the turn that it stands behind takes: nanoseconds.
    pub current_ns: u64,
    /// How long it is expected to wait where it is, that turn included: nanoseconds.
    pub wait_ns: u64,
    /// How much memory it works on, in KiB, as it has declared, or its moves up to now have shown; 0: not known.
    pub footprint_kib: u32,
    /// Rank of the distance to the nearest other worker: it moves at least so far.
    pub distance: u32,
}

/// A queue that an idle worker might take from.
#[derive(Clone, Copy, Debug)]
pub struct StealView {
    /// Runnables in the victim's public queue.
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
    /// Its measured nanoseconds per item; 0: not known.
    pub cost_ns: u32,
    /// How long a turn takes at its home, or has taken if one is under way that takes long: nanoseconds.
    pub home_turn_ns: u64,
}

/// How much there is to do, as a worker that looks whether others have less sees it.
#[derive(Clone, Copy, Debug)]
pub struct LoadView {
    /// Its own load: how long its queue takes to run once through, weighted over the last rounds, in nanoseconds.
    pub own_ns: u64,
    /// Its measured nanoseconds per turn.
    pub turn_ns: u64,
    /// The other's load.
    pub other_ns: u64,
    /// The average load of the worker and of those that it has looked at.
    pub average_ns: u64,
}

/// Why something is ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Its last turn left it more to do.
    Again,
    /// Something elsewhere has sent to it.
    ByOthers,
    /// Something at this worker has sent to it.
    ByNeighbours,
}

/// Something ready that might be given to a worker with less to do.
#[derive(Clone, Copy, Debug)]
pub struct GiftView {
    /// Why it is ready.
    pub ready: Ready,
    /// Its measured nanoseconds per item, its kind's as long as its own are not known; 0: not known either.
    pub cost_ns: u32,
    /// The worker's load in nanoseconds.
    pub own_ns: u64,
    /// The average load of the worker and of those that it has looked at.
    pub average_ns: u64,
}

/// Something that talks to another worker, by the sends that are sampled.
#[derive(Clone, Copy, Debug)]
pub struct TalkView {
    /// How many sampled sends went to that worker: to no other more.
    pub other_sends: u32,
    /// How many went to its own worker.
    pub own_sends: u32,
    /// Whether it is the one to go, of itself and what it has just sent to, if their workers have as much to do. Both know which of them it is, and it is as often
    /// the one as the other.
    pub goes: bool,
    /// See [`LoadView::own_ns`].
    pub own_ns: u64,
    /// Its worker's measured nanoseconds per turn.
    pub turn_ns: u64,
    /// The other's load.
    pub other_ns: u64,
}

impl QueueView {
    /// How long what stands last in the queue will wait, in nanoseconds.
    pub fn wait_ns(&self) -> u64 {
        self.current_ns.saturating_add(self.turn_ns.saturating_mul(self.len as u64))
    }
}

impl Policy {
    /// All policies with their default parameters, in the order in which reports show them.
    pub const ALL: [Policy; 4] =
        [Policy::Pinned, Policy::Pool, Policy::Stealing, Policy::Affine(Affine::DEFAULT)];

    /// [`Policy::Pinned`].
    pub fn pinned() -> Self {
        Policy::Pinned
    }

    /// [`Policy::Pool`].
    pub fn pool() -> Self {
        Policy::Pool
    }

    /// [`Policy::Stealing`].
    pub fn stealing() -> Self {
        Policy::Stealing
    }

    /// [`Policy::Affine`] with its default parameters.
    pub fn affine() -> Self {
        Policy::Affine(Affine::DEFAULT)
    }

    /// Its name, as flags and the environment spell it.
    pub fn name(&self) -> &'static str {
        match self {
            Policy::Pinned => "pinned",
            Policy::Pool => "pool",
            Policy::Stealing => "stealing",
            Policy::Affine(_) => "affine",
        }
    }

    /// Question 1: which queue does a woken runnable go to?
    #[inline]
    pub fn wake_to(&self) -> WakeTo {
        match self {
            Policy::Pinned | Policy::Affine(_) => WakeTo::Owner,
            Policy::Pool => WakeTo::Shared,
            Policy::Stealing => WakeTo::Waker,
        }
    }

    /// Whether idle runnables stay with a worker, so that it can send to them without atomics.
    #[inline]
    pub fn keeps_idle(&self) -> bool {
        self.wake_to() == WakeTo::Owner
    }

    /// Question 2, the giving side: how many of its private runnables does a worker expose to thieves?
    #[inline]
    pub fn expose(&self, view: &QueueView) -> usize {
        match self {
            // These keep nothing private that could be exposed.
            Policy::Pool | Policy::Stealing => view.len,
            Policy::Pinned => 0,
            Policy::Affine(affine) => affine.expose(view),
        }
    }

    /// Question 2, the giving side, for one runnable, for which so many items wait.
    #[inline]
    pub fn worth_exposing(&self, view: &MoveView, pending: impl FnOnce() -> usize) -> bool {
        match self {
            Policy::Affine(affine) => affine.worth_exposing(view, pending),
            Policy::Pinned | Policy::Pool | Policy::Stealing => true,
        }
    }

    /// Question 2, the taking side: is it worth taking from this queue?
    #[inline]
    pub fn worth_stealing(&self, view: &StealView) -> bool {
        match self {
            Policy::Pinned | Policy::Pool => false,
            Policy::Stealing => view.len > 0,
            Policy::Affine(affine) => affine.worth_stealing(view),
        }
    }

    /// May work move between two workers at this distance, as a rank?
    #[inline]
    pub fn reaches(&self, distance: u32) -> bool {
        match self {
            Policy::Pinned => false,
            Policy::Pool | Policy::Stealing => true,
            Policy::Affine(affine) => affine.reaches(distance),
        }
    }

    /// How many KiB something works on whose first turn at a worker so far from its home took so much longer than its turns at home: the other way round of what
    /// [`Policy::worth_exposing`] takes a move to cost. 0: nobody asks, or it took no longer.
    pub fn footprint_kib(&self, took_ns: u64, at_home_ns: u64, distance: u32) -> u32 {
        match self {
            Policy::Affine(affine) => affine.footprint_kib(took_ns, at_home_ns, distance),
            Policy::Pinned | Policy::Pool | Policy::Stealing => 0,
        }
    }

    /// How many KiB could be moved so far in such a time.
    pub fn movable_kib(&self, ns: u64, distance: u32) -> u32 {
        match self {
            Policy::Affine(affine) => affine.movable_kib(ns, distance),
            Policy::Pinned | Policy::Pool | Policy::Stealing => 0,
        }
    }

    /// Question 3: does the home of something stolen move to the thief?
    #[inline]
    pub fn rehome(&self, view: &StolenView) -> bool {
        match self {
            Policy::Affine(affine) => affine.rehome(view),
            Policy::Pinned | Policy::Pool | Policy::Stealing => true,
        }
    }

    /// Question 3, the other half: does what was stolen, and did not move, go home after this turn? Else it stays for the next.
    #[inline]
    pub fn returns_home(&self, view: &StolenView) -> bool {
        match self {
            Policy::Affine(affine) => affine.returns_home(view),
            Policy::Pinned | Policy::Pool | Policy::Stealing => true,
        }
    }

    /// Question 4: how many sleepers are woken for so many runnables that anyone may take?
    #[inline]
    pub fn wake_more(&self, public_len: usize, idle_workers: usize) -> usize {
        match self {
            Policy::Pinned => 0,
            Policy::Pool | Policy::Stealing | Policy::Affine(_) => public_len.min(idle_workers),
        }
    }

    /// Question 4, where workers are elastic: how many shall work, and why, if not as many as now.
    pub fn scale(&self, rules: &Elastic, view: &ScaleView) -> Option<(usize, ScaleReason)> {
        match self {
            // What has a fixed worker needs that worker; and under the other two nobody knows what things cost.
            Policy::Pinned | Policy::Pool | Policy::Stealing => None,
            Policy::Affine(_) => rules.scale(view),
        }
    }

    /// Question 4, between workers that are all awake: how long after the last time does a worker look at the loads of some others, in
    /// nanoseconds? `None`: never. Its own load is given, and how often in a row it has looked and given nothing.
    #[inline]
    pub fn balance_after_ns(&self, load_ns: u64, in_vain: u32) -> Option<u64> {
        match self {
            Policy::Affine(affine) => affine.balance_after_ns(load_ns, in_vain),
            Policy::Pinned | Policy::Pool | Policy::Stealing => None,
        }
    }

    /// How many of its ready runnables does a worker give to another, for good?
    pub fn give(&self, view: &LoadView) -> usize {
        match self {
            Policy::Affine(affine) => affine.give(view),
            Policy::Pinned | Policy::Pool | Policy::Stealing => 0,
        }
    }

    /// Is this one of them?
    pub fn may_give(&self, view: &GiftView) -> bool {
        match self {
            Policy::Affine(affine) => affine.may_give(view),
            Policy::Pinned | Policy::Pool | Policy::Stealing => false,
        }
    }

    /// Whether something that has sent so much to another worker moves there, where those are that it talks to.
    pub fn draws(&self, view: &TalkView) -> bool {
        match self {
            Policy::Affine(affine) => affine.draws(view),
            Policy::Pinned | Policy::Pool | Policy::Stealing => false,
        }
    }

    /// After how many sampled sends of a runnable [`Policy::draws`] is asked again; `None`: it never is.
    #[inline]
    pub fn talks_to_move(&self) -> Option<u32> {
        match self {
            Policy::Affine(affine) => Some(affine.talks_to_move).filter(|&talks| talks > 0),
            Policy::Pinned | Policy::Pool | Policy::Stealing => None,
        }
    }

    /// Where the `n`-th runnable that a runnable makes, with none made by others in between, is placed: this many workers away from its maker, from
    /// near to far; 0: at the same one.
    ///
    /// Near its maker, which is likely to talk to it; but thousands would be more than one worker has room for, and while they are idle nothing moves
    /// them.
    pub fn place_spawned(&self, n: usize, workers: usize) -> usize {
        match self {
            Policy::Affine(affine) => affine.place_spawned(n, workers),
            Policy::Pinned | Policy::Pool | Policy::Stealing => 0,
        }
    }

    /// Where the `n`-th runnable that a thread outside the workers makes is placed: a worker's index.
    ///
    /// By count: nothing is known of them yet. (To start them together and let the load spread them took 64 simulated workers 1.1 times as long, and pairs that
    /// talk come together sooner than they are spread.)
    pub fn place(&self, n: usize, workers: usize) -> usize {
        match self {
            Policy::Affine(affine) => affine.place(n, workers),
            Policy::Pinned | Policy::Pool | Policy::Stealing => n % workers,
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::affine()
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A policy's name that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(pub String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown policy '{}': allowed are pinned, pool, stealing, affine", self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        Policy::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
            .ok_or_else(|| UnknownPolicy(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse::<Policy>(), Ok(policy));
        }
        let error = "Affine".parse::<Policy>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown policy 'Affine': allowed are pinned, pool, stealing, affine"
        );
    }

    #[test]
    fn pinned_never_moves_anything() {
        let queue =
            QueueView { len: 1000, turn_ns: 1_000_000, current_ns: 1_000_000, idle_workers: 63 };
        assert_eq!(Policy::pinned().expose(&queue), 0);
        assert!(!Policy::pinned().worth_stealing(&StealView {
            len: 1000,
            turn_ns: 1_000_000,
            distance: 1
        }));
        assert_eq!(Policy::pinned().wake_more(1000, 63), 0);
    }

    #[test]
    fn the_pool_and_stealing_expose_everything() {
        let queue = QueueView { len: 7, turn_ns: 1, current_ns: 0, idle_workers: 0 };
        assert_eq!(Policy::pool().expose(&queue), 7);
        assert_eq!(Policy::stealing().expose(&queue), 7);
    }

    #[test]
    fn what_is_made_outside_is_spread_and_what_one_makes_stays_near() {
        for policy in Policy::ALL {
            let spread: Vec<usize> = (0..4).map(|n| policy.place(n, 2)).collect();
            assert_eq!(spread, [0, 1, 0, 1], "{policy}");
        }
        let blocks = Policy::Affine(Affine { outside_together: 2, ..Affine::DEFAULT });
        let spread: Vec<usize> = (0..6).map(|n| blocks.place(n, 2)).collect();
        assert_eq!(spread, [0, 0, 1, 1, 0, 0]);
        let flood = [0, 1, 255, 256, 511, 512].map(|n| Policy::affine().place_spawned(n, 2));
        assert_eq!(flood, [0, 0, 0, 1, 1, 0], "thousands are spread in blocks");
    }
}
