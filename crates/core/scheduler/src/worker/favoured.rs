//! The runnable that a worker favours (see `crowded`).

use crate::runnable::Runnable;
use std::cell::Cell;

/// The runnable that a worker favours, and how far it has come.
#[derive(Debug, Default)]
pub(super) struct Favoured {
    pub(super) who: Cell<Option<Runnable>>,
    /// When it last let another one have a turn.
    pub(super) gave_way_ns: Cell<u64>,
    /// Its turns since then, which follow each other: when they began, and how long the other's
    /// turn took. `None`: that is not over.
    pub(super) turns: Cell<Option<(u64, u64)>>,
    /// How many others it was put behind then.
    pub(super) others: Cell<u64>,
    /// What the worker had sent in all when its turn began. `None`: another one has its turn first.
    pub(super) sent: Cell<Option<u64>>,
    /// What has become crowded in this round.
    pub(super) next: Cell<Option<Runnable>>,
}
