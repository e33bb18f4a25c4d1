//! How a pool is made, and what it has done.

use crate::options::SpawnOptions;
use crate::supervision::Supervision;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Options for a pool of actors: see [`SystemHandle::pool`](crate::SystemHandle::pool).
///
/// ```
/// use actinium_actor::{Mailbox, PoolOptions, Route, SpawnOptions};
/// use std::time::Duration;
///
/// let options = PoolOptions::new(2..=16)
///     .queue_age(Duration::from_millis(20))
///     .idle(Duration::from_secs(60))
///     .members(SpawnOptions::new().mailbox(Mailbox::bounded(1_000)))
///     .route(Route::LeastLoaded);
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct PoolOptions {
    pub(super) min: usize,
    pub(super) max: usize,
    pub(super) queue_age: Duration,
    pub(super) idle: Duration,
    pub(super) members: SpawnOptions,
    pub(super) supervision: Supervision,
    pub(super) route: Route,
}

/// To which member of a pool a message without a key goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// To each in turn.
    RoundRobin,
    /// To the one that has least to do: the fewest messages waiting, counting the one that it
    /// handles now. O(members) per message.
    #[default]
    LeastLoaded,
}

impl PoolOptions {
    /// So many members: it begins with the fewest. They share the pool's messages by load, are
    /// restarted up to ten times a minute, and as often replaced.
    pub fn new(members: RangeInclusive<usize>) -> Self {
        PoolOptions {
            min: *members.start(),
            max: *members.end(),
            queue_age: Duration::from_millis(50),
            idle: Duration::from_secs(30),
            members: SpawnOptions::new(),
            supervision: Supervision::restart().limit(10, Duration::from_secs(60)),
            route: Route::default(),
        }
    }

    /// The pool grows, by one member each time so long has passed, while a message has waited
    /// longer than this. Default: 50 ms. It looks four times as often.
    pub fn queue_age(mut self, bound: Duration) -> Self {
        self.queue_age = bound;
        self
    }

    /// The pool shrinks by one member when for so long, whenever it looked, at least one had
    /// nothing to do. Default: 30 s.
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// How members are started: their mailboxes, say. They have no name, and their supervision is
    /// the pool's ([`PoolOptions::supervise`]).
    pub fn members(mut self, options: SpawnOptions) -> Self {
        self.members = options;
        self
    }

    /// What follows when a member fails. One that is restarted keeps its mailbox. One that ends is
    /// replaced, after the supervision's back-off, and what was in its mailbox are dead letters.
    /// There are as many replacements as the supervision's limit allows; then the pool ends.
    pub fn supervise(mut self, supervision: Supervision) -> Self {
        self.supervision = supervision;
        self
    }

    /// To which member a message without a key goes.
    pub fn route(mut self, route: Route) -> Self {
        self.route = route;
        self
    }

    /// How often it looks whether it should grow or shrink.
    pub(super) fn tick(&self) -> Duration {
        (self.queue_age.min(self.idle) / 4).max(Duration::from_millis(1))
    }
}

/// What a pool has done up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolFigures {
    /// The members now, without those that finish what they have before they end.
    pub members: usize,
    /// The members that came because messages waited too long.
    pub grown: u64,
    /// The members that went because they were not needed.
    pub shrunk: u64,
    /// The members that took the place of one that had ended.
    pub replaced: u64,
}
