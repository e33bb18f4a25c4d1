//! The runnable that a worker favours (see `crowded`).

use crate::runnable::Runnable;
use std::cell::Cell;

/// The runnable that a worker favours, and how far it has come.
#[derive(Debug, Default)]
pub(super) struct Favoured {
    pub(super) who: Cell<Option<Runnable>>,
    /// Whether it was woken before it was favoured, and has had no turn since.
    pub(super) is_first: Cell<bool>,
    /// When it last let others have turns.
    pub(super) gave_way_ns: Cell<u64>,
    /// Its turns since then, which follow each other: when the first had ended, and how long the
    /// turns of others took before it. `None`: it has not ended.
    pub(super) turns: Cell<Option<(u64, u64)>>,
    /// How many others it was put behind then.
    pub(super) others: Cell<u64>,
    /// What the worker had sent in all before its next turn, which no other's precedes. `None`: one
    /// does.
    pub(super) sent: Cell<Option<u64>>,
    /// What has become crowded in this round.
    pub(super) next: Cell<Option<Runnable>>,
}

impl Favoured {
    /// Favours this one from now on.
    pub(super) fn begin(&self, who: Runnable, gave_way_ns: u64, turns: Option<(u64, u64)>) {
        self.who.set(Some(who));
        self.is_first.set(false);
        self.gave_way_ns.set(gave_way_ns);
        self.turns.set(turns);
        self.others.set(1);
    }
}
