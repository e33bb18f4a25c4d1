//! Supervision: what follows when an actor panics.

use std::time::Duration;

/// The treatment of an actor that has panicked; given when it is spawned
/// ([`crate::SpawnOptions::supervise`]).
///
/// The message whose handling panicked counts as handled. A restart makes a new state by the
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supervision {
    pub(crate) strategy: Strategy,
    pub(crate) one_for_all: bool,
    pub(crate) limit: Option<(u32, Duration)>,
    pub(crate) backoff: (Duration, Duration),
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
        }
    }

    /// Ends an actor that panics. The default.
    pub fn stop() -> Self {
        Self::new(Strategy::Stop)
    }

    /// Restarts an actor that panics: at once, and as often as it takes unless told otherwise.
    pub fn restart() -> Self {
        Self::new(Strategy::Restart)
    }

    /// Ends an actor that panics, and treats its parent as if the parent had panicked itself.
    /// Without a parent, the system stops.
    pub fn escalate() -> Self {
        Self::new(Strategy::Escalate)
    }

    /// Allows at most `restarts` within any period of this length; then the actor ends.
    pub fn limit(mut self, restarts: u32, within: Duration) -> Self {
        self.limit = Some((restarts, within));
        self
    }

    /// Waits before a restart: `first`, then twice as long after each further panic, up to
    /// `longest`. Messages wait in the mailbox. The wait is back to `first` when so many panics lie
    /// further back than the limit's period (without a limit: a minute).
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

    /// How long the past counts.
    pub(crate) fn period(&self) -> Duration {
        self.limit.map_or(Duration::from_secs(60), |(_, within)| within)
    }

    /// Decides what follows the `n`-th panic (from 1) within the period: the time to wait before a
    /// restart, or `None` to give up.
    pub(crate) fn decide(&self, n: u32) -> Option<Duration> {
        if self.limit.is_some_and(|(limit, _)| n > limit) {
            return None;
        }
        let (first, longest) = self.backoff;
        Some(
            first
                .saturating_mul(1u32.checked_shl(n.saturating_sub(1)).unwrap_or(u32::MAX))
                .min(longest),
        )
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

    #[test]
    fn the_wait_doubles_up_to_the_longest_and_ends_at_the_limit() {
        let supervision = Supervision::restart()
            .limit(4, Duration::from_secs(1))
            .backoff(Duration::from_millis(10), Duration::from_millis(35));
        let waits: Vec<_> =
            (1..=5).map(|n| supervision.decide(n).map(|wait| wait.as_millis())).collect();
        assert_eq!(waits, [Some(10), Some(20), Some(35), Some(35), None]);
        assert_eq!(Supervision::restart().decide(1000), Some(Duration::ZERO));
    }
}
