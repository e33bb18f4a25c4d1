//! The policy of where work runs: four questions, answered by plain data and pure functions.
//!
//! A [`Policy`] sees only the views below, never a thread or an atomic; so the simulator runs this
//! very code, and a policy can be tested by asking it. The questions are those of the design:
//!
//! 1. something woke: which worker's queue? [`Policy::wake_to`]
//! 2. this worker is idle: whom may it take from, and is the move worth it? [`Policy::share`] (the
//!    giving side), [`Policy::worth_stealing`] (the taking side)
//! 3. something was stolen: does its home move? [`Policy::rehome`]
//! 4. too much or too little work for those awake? [`Policy::wake_more`], [`Policy::scale`]; much
//!    more at one worker than at another? [`Policy::balance_after_ns`], [`Policy::push`],
//!    [`Policy::may_push`]
//!
//! And where does something belong that is new, or that talks to others? [`Policy::place`],
//! [`Policy::place_spawned`], [`Policy::colocate`]

mod affine;
mod communication;
mod domains;
mod scale;
pub mod tuning;
mod utilization;
mod views;

pub use affine::{Affine, SetError};
pub(crate) use communication::spread;
pub use domains::{Affinities, Domains};
pub use scale::{Elastic, ScaleEvent, ScaleReason, ScaleView};
pub use utilization::{Utilization, UtilizationTracker};
pub use views::{
    ApartView, ColocateView, LoadView, MoveView, PushView, QueueView, Ready, StealView, StolenView,
    WakeTo,
};

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
    /// A woken runnable goes to the waking worker; anyone steals, at once.
    Stealing,
    /// A woken runnable goes home; thieves take, nearest first, only what is worth moving.
    Affine(Affine),
}

impl Policy {
    /// All policies with their default parameters, in the order in which reports show them.
    pub const ALL: [Policy; 4] =
        [Policy::Pinned, Policy::Pool, Policy::Stealing, Policy::Affine(Affine::DEFAULT)];

    /// Returns [`Policy::Pinned`].
    pub fn pinned() -> Self {
        Policy::Pinned
    }

    /// Returns [`Policy::Pool`].
    pub fn pool() -> Self {
        Policy::Pool
    }

    /// Returns [`Policy::Stealing`].
    pub fn stealing() -> Self {
        Policy::Stealing
    }

    /// Returns [`Policy::Affine`] with its default parameters.
    pub fn affine() -> Self {
        Policy::Affine(Affine::DEFAULT)
    }

    /// The policy's name, as flags and the environment spell it.
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

    /// Question 2, the giving side: how many of its private runnables does a worker share?
    #[inline]
    pub fn share(&self, view: &QueueView) -> usize {
        match self {
            // These keep nothing private that could be shared.
            Policy::Pool | Policy::Stealing => view.len,
            Policy::Pinned => 0,
            Policy::Affine(affine) => affine.share(view),
        }
    }

    /// Question 2, the giving side, for one runnable, for which so many items wait.
    #[inline]
    pub fn worth_sharing(&self, view: &MoveView, pending: impl FnOnce() -> usize) -> bool {
        match self {
            Policy::Affine(affine) => affine.worth_sharing(view, pending),
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

    /// How many KiB something works on whose first turn at a worker so far from its home took so
    /// much longer than its turns at home: the other way round of what [`Policy::worth_sharing`]
    /// takes a move to cost. 0: nobody asks, or it took no longer.
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

    /// Question 3, the other half: does what was stolen, and did not move, go home after this turn?
    /// Else it stays for the next.
    #[inline]
    pub fn returns_home(&self, view: &StolenView) -> bool {
        match self {
            Policy::Affine(affine) => affine.returns_home(view),
            Policy::Pinned | Policy::Pool | Policy::Stealing => true,
        }
    }

    /// Question 4: how many sleepers are woken for so many runnables that anyone may take?
    #[inline]
    pub fn wake_more(&self, stealable: usize, idle_workers: usize) -> usize {
        match self {
            Policy::Pinned => 0,
            Policy::Pool | Policy::Stealing | Policy::Affine(_) => stealable.min(idle_workers),
        }
    }

    /// Question 4, where workers are elastic: how many shall work, and why, if not as many as now.
    pub fn scale(&self, rules: &Elastic, view: &ScaleView) -> Option<(usize, ScaleReason)> {
        match self {
            // What has a fixed worker needs that worker; and under the other two nobody knows what
            // things cost.
            Policy::Pinned | Policy::Pool | Policy::Stealing => None,
            Policy::Affine(_) => rules.scale(view),
        }
    }

    /// Question 4, between workers that are all awake: how long after the last time does a worker
    /// look at the loads of some others, in nanoseconds? `None`: never. Its own load is given, and
    /// how often in a row it has looked and pushed nothing.
    #[inline]
    pub fn balance_after_ns(&self, load_ns: u64, in_vain: u32) -> Option<u64> {
        match self {
            Policy::Affine(affine) => affine.balance_after_ns(load_ns, in_vain),
            Policy::Pinned | Policy::Pool | Policy::Stealing => None,
        }
    }

    /// How many of its ready runnables does a worker push to another, for good?
    pub fn push(&self, view: &LoadView) -> usize {
        match self {
            Policy::Affine(affine) => affine.push(view),
            Policy::Pinned | Policy::Pool | Policy::Stealing => 0,
        }
    }

    /// Is this one of them?
    pub fn may_push(&self, view: &PushView) -> bool {
        match self {
            Policy::Affine(affine) => affine.may_push(view),
            Policy::Pinned | Policy::Pool | Policy::Stealing => false,
        }
    }

    /// The worker at which something that talks had better be: in the NUMA node, then with the
    /// third-level cache, then at the worker that it sends clearly more to than to its own. `load`:
    /// the load of a worker in nanoseconds, `None` if it is not known, or nothing may go there.
    /// Asked of a few workers only.
    pub fn colocate(
        &self,
        affinities: &Affinities,
        domains: &Domains,
        view: &ColocateView,
        load: impl Fn(usize) -> Option<u64>,
    ) -> Option<usize> {
        match self {
            Policy::Affine(affine) => affine.colocate(affinities, domains, view, load),
            Policy::Pinned | Policy::Pool | Policy::Stealing => None,
        }
    }

    /// After how many sampled sends of a runnable [`Policy::colocate`] is asked again;
    /// `None`: it never is.
    #[inline]
    pub fn colocate_after(&self) -> Option<u32> {
        match self {
            Policy::Affine(affine) => Some(affine.colocate_after).filter(|&sends| sends > 0),
            Policy::Pinned | Policy::Pool | Policy::Stealing => None,
        }
    }

    /// Whether a runnable that costs so many nanoseconds per message leaves a worker that others
    /// wait for, and to which many messages come from others: the system often keeps it waiting,
    /// or it is tried, or was found, that one worker alone does more. `pending`: how many messages
    /// wait for it.
    pub fn leaves_delayed(&self, cost_ns: u32, pending: impl FnOnce() -> usize) -> bool {
        match self {
            Policy::Affine(affine) => affine.leaves_delayed(cost_ns, pending),
            Policy::Pinned | Policy::Pool | Policy::Stealing => false,
        }
    }

    /// Whether so many workers, each like this one, certainly do more together than one alone would
    /// that has all that talks; if not, that is tried. `crossing_ns`: what a message costs more if
    /// it crosses, both sides together, as measured; 0: not known.
    pub fn pays_apart(&self, view: &ApartView, workers: usize, crossing_ns: u32) -> bool {
        match self {
            Policy::Affine(affine) => affine.pays_apart(view, workers, crossing_ns),
            Policy::Pinned | Policy::Pool | Policy::Stealing => true,
        }
    }

    /// Where the `n`-th runnable that a runnable makes, with none made by others in between, is
    /// placed: this many workers away from its maker, from near to far; 0: at the same one.
    ///
    /// Near its maker, which is likely to talk to it; but thousands would be more than one worker
    /// has room for, and while they are idle nothing moves them.
    pub fn place_spawned(&self, n: usize, workers: usize) -> usize {
        match self {
            Policy::Affine(affine) => affine.place_spawned(n, workers),
            Policy::Pinned | Policy::Pool | Policy::Stealing => 0,
        }
    }

    /// Where the `n`-th runnable that a thread outside the workers makes is placed: a worker's
    /// index.
    ///
    /// By count: nothing is known of them yet. (To start them together and let the load spread them
    /// took 64 simulated workers 1.1 times as long, and pairs that talk come together sooner than
    /// they are spread.)
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

/// The name; of `affine`, also the parameters that differ from the defaults:
/// `affine,colocate_after=8`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let Policy::Affine(affine) = self else { return Ok(()) };
        for ((name, value), (_, default)) in
            affine.constants().into_iter().zip(Affine::DEFAULT.constants())
        {
            if value != default {
                write!(f, ",{name}={value}")?;
            }
        }
        Ok(())
    }
}

/// A text that names no policy, or a parameter that it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has this name.
    Unknown(String),
    /// This policy has no parameters.
    NoParameters(&'static str),
    /// A parameter of `affine` can not be set so.
    Parameter(SetError),
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyError::Unknown(name) => {
                write!(f, "unknown policy '{name}': allowed are pinned, pool, stealing, affine")
            }
            PolicyError::NoParameters(name) => {
                write!(f, "the policy {name} has no parameters: only affine has")
            }
            PolicyError::Parameter(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PolicyError {}

impl FromStr for Policy {
    type Err = PolicyError;

    /// Understands a name, and for `affine` parameters behind it: `affine,colocate_after=8`.
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let policy = Policy::ALL.into_iter().find(|policy| policy.name() == name);
        let mut policy = policy.ok_or_else(|| PolicyError::Unknown(name.to_owned()))?;
        for assignment in parts {
            match &mut policy {
                Policy::Affine(affine) => {
                    affine.assign(assignment).map_err(PolicyError::Parameter)?;
                }
                other => return Err(PolicyError::NoParameters(other.name())),
            }
        }
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_round_trip_and_are_checked() {
        let text = "affine,colocate_after=8,talk_worth_moving_ns=0";
        let policy: Policy = text.parse().expect("a policy");
        let changed = Affine { colocate_after: 8, talk_worth_moving_ns: 0, ..Affine::DEFAULT };
        assert_eq!((policy, policy.to_string()), (Policy::Affine(changed), text.to_owned()));
        for (text, problem) in [
            ("fine", "unknown policy 'fine': allowed are pinned"),
            ("pool,reach_rank=1", "the policy pool has no parameters"),
            ("affine,x=1", "affine has no constant 'x': there are"),
            ("affine,reach_rank", "'reach_rank' is not allowed: NAME=VALUE"),
            ("affine,reach_rank=-1", "reach_rank: '-1' is no whole number"),
            ("affine,reach_rank=4294967296", "'4294967296' is not allowed: 0 to 4294967295"),
        ] {
            let error = text.parse::<Policy>().expect_err(text).to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }

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
        assert_eq!(Policy::pinned().share(&queue), 0);
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
        assert_eq!(Policy::pool().share(&queue), 7);
        assert_eq!(Policy::stealing().share(&queue), 7);
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
