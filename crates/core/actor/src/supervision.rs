//! Supervision: what follows when an actor fails.

use crate::failure::Failure;
use actinium_scheduler::guard;
use std::fmt;
use std::time::Duration;

/// The treatment of an actor that has failed; given when it is spawned
/// ([`crate::SpawnOptions::supervise`]). An actor fails when its code panics, returns an error
/// ([`crate::TryActor`]) or says so ([`crate::Context::fail`]).
///
/// The message whose handling failed counts as handled. A restart makes a new state by the
/// factory that the actor was spawned with, and keeps its address, its mailbox, its watchers and
/// its links; its children are ended.
///
/// ```
/// use actinium_actor::Supervision;
/// use std::time::Duration;
///
/// let supervision = Supervision::restart()
///     .limit(5, Duration::from_secs(10))
///     .backoff(Duration::from_millis(10), Duration::from_secs(1))
///     .one_for_all();
/// assert_ne!(supervision, Supervision::stop());
/// ```
#[derive(Clone, Copy)]
pub struct Supervision {
    pub(crate) strategy: Strategy,
    pub(crate) one_for_all: bool,
    pub(crate) limit: Option<(u32, Duration)>,
    pub(crate) backoff: (Duration, Duration),
    unless: Option<fn(&Failure) -> bool>,
}

/// What follows from one failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The actor ends.
    Stop,
    /// The actor ends, for it has failed too often.
    GiveUp,
    /// The actor ends, and its parent has failed.
    Escalate,
    /// A new state takes over after this time.
    RestartAfter(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    Stop,
    Restart,
    Escalate,
}

impl Supervision {
    const fn new(strategy: Strategy) -> Self {
        Supervision {
            strategy,
            one_for_all: false,
            limit: None,
            backoff: (Duration::ZERO, Duration::ZERO),
            unless: None,
        }
    }

    /// Ends an actor that fails. The default.
    pub fn stop() -> Self {
        Self::new(Strategy::Stop)
    }

    /// Restarts an actor that fails: at once, and as often as it takes unless told otherwise.
    pub fn restart() -> Self {
        Self::new(Strategy::Restart)
    }

    /// Ends an actor that fails, and treats its parent as if the parent had failed itself, with the
    /// same cause. Without a parent, the system stops.
    pub fn escalate() -> Self {
        Self::new(Strategy::Escalate)
    }

    /// Allows at most `restarts` within any period of this length; then the actor ends.
    pub fn limit(mut self, restarts: u32, within: Duration) -> Self {
        self.limit = Some((restarts, within));
        self
    }

    /// Waits before a restart: `first`, then twice as long after each further failure, up to
    /// `longest`. Messages wait in the mailbox. The wait is back to `first` when so many failures
    /// lie further back than the limit's period (without a limit: a minute).
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.backoff = (first, longest.max(first));
        self
    }

    /// Restarts only the actor itself. The default.
    pub fn one_for_one(mut self) -> Self {
        self.one_for_all = false;
        self
    }

    /// Restarts the actor's siblings (its parent's other supervised children) with it. A sibling
    /// that has no factory ends.
    pub fn one_for_all(mut self) -> Self {
        self.one_for_all = true;
        self
    }

    /// Does not restart an actor after a failure of which this is true, such as one that would come
    /// again each time: the actor ends.
    ///
    /// ```
    /// use actinium_actor::Supervision;
    /// use std::io::{Error, ErrorKind};
    ///
    /// let supervision = Supervision::restart().unless(|failure| {
    ///     let error = failure.downcast_ref::<Error>();
    ///     error.is_some_and(|error| error.kind() == ErrorKind::PermissionDenied)
    /// });
    /// # let _ = supervision;
    /// ```
    pub fn unless(mut self, is_final: fn(&Failure) -> bool) -> Self {
        self.unless = Some(is_final);
        self
    }

    /// Whether it may come to a restart of the actor.
    pub(crate) fn restarts(&self) -> bool {
        self.strategy == Strategy::Restart
    }

    /// The wait before the `n`-th replacement (from 1) of one that ended within the period; None:
    /// that is too often.
    pub(crate) fn again_after(&self, n: u32) -> Option<Duration> {
        let is_allowed = self.limit.is_none_or(|(limit, _)| n <= limit);
        is_allowed.then(|| self.wait(n))
    }

    /// How long the past counts.
    pub(crate) fn period(&self) -> Duration {
        self.limit.map_or(Duration::from_secs(60), |(_, within)| within)
    }

    /// The number of failures within the period that matter; more need not be counted.
    pub(crate) fn most(&self) -> usize {
        // So often doubled, every wait is the longest.
        self.limit.map_or(64, |(limit, _)| limit as usize + 1)
    }

    /// Decides what follows the `n`-th failure (from 1) within the period.
    pub(crate) fn decide(&self, n: u32, failure: &Failure) -> Verdict {
        let is_final = |unless: fn(&Failure) -> bool| guard::catch(|| unless(failure));
        match self.strategy {
            Strategy::Stop => Verdict::Stop,
            Strategy::Escalate => Verdict::Escalate,
            // Who can not say whether a restart helps gets none.
            Strategy::Restart if self.unless.is_some_and(|it| is_final(it).unwrap_or(true)) => {
                Verdict::Stop
            }
            Strategy::Restart if self.limit.is_some_and(|(limit, _)| n > limit) => Verdict::GiveUp,
            Strategy::Restart => Verdict::RestartAfter(self.wait(n)),
        }
    }

    /// The wait before the `n`-th restart.
    fn wait(&self, n: u32) -> Duration {
        let (first, longest) = self.backoff;
        let factor = 1u32.checked_shl(n.saturating_sub(1)).unwrap_or(u32::MAX);
        first.saturating_mul(factor).min(longest)
    }
}

impl PartialEq for Supervision {
    fn eq(&self, other: &Self) -> bool {
        let unless = |it: &Self| it.unless.map(|unless| unless as *const ());
        (self.strategy, self.one_for_all, self.limit, self.backoff, unless(self))
            == (other.strategy, other.one_for_all, other.limit, other.backoff, unless(other))
    }
}

impl Eq for Supervision {}

impl fmt::Debug for Supervision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervision")
            .field("strategy", &self.strategy)
            .field("one_for_all", &self.one_for_all)
            .field("limit", &self.limit)
            .field("backoff", &self.backoff)
            .field("unless", &self.unless.map(|_| "a condition"))
            .finish()
    }
}

impl Default for Supervision {
    fn default() -> Self {
        Supervision::stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor_id::ActorId;

    #[test]
    fn the_wait_doubles_up_to_the_longest_and_ends_at_the_limit() {
        let supervision = Supervision::restart()
            .limit(4, Duration::from_secs(1))
            .backoff(Duration::from_millis(10), Duration::from_millis(35));
        let failure = Failure::new(ActorId(1), "Kind", "no".into());
        let after = |ms| Verdict::RestartAfter(Duration::from_millis(ms));
        let verdicts: Vec<_> = (1..=5).map(|n| supervision.decide(n, &failure)).collect();
        assert_eq!(verdicts, [after(10), after(20), after(35), after(35), Verdict::GiveUp]);
        assert_eq!(Supervision::restart().decide(1000, &failure), after(0));
        let unless = Supervision::restart().unless(|failure| failure.message() == "no");
        assert_eq!(unless.decide(1, &failure), Verdict::Stop);
        let panics = Supervision::restart().unless(|_| panic!());
        assert_eq!(panics.decide(1, &failure), Verdict::Stop);
    }
}
