//! Figures of actors and of their types, by a walk over the register of living actors.
//!
//! The walk costs the actors nothing: it reads what they and their senders keep anyway. It holds
//! the lock of a part of the register for [`AT_ONCE`] actors at a time, for which a worker that
//! starts or ends an actor may wait. So it sees no single moment: actors that start meanwhile may
//! be left out.

use crate::actor_core::{Core, Inner};
use crate::actor_id::ActorId;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::ops::Range;

/// Actors looked at under one lock.
const AT_ONCE: usize = 256;
/// Actors kept beyond those wanted, before the last of them are thrown away.
const SPARE: usize = 1024;

/// Figures of all actors of one type. See
/// [`SystemHandle::actor_types`](crate::SystemHandle::actor_types).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ActorTypeFigures {
    /// The name of the type.
    pub kind: &'static str,
    /// Living actors.
    pub living: u64,
    /// Messages in their mailboxes.
    pub queued: u64,
    /// Messages in the mailbox that has most.
    pub queued_max: u64,
    /// Restarts by supervisors since the system started, of actors that have ended, too.
    pub restarts: u64,
    /// Nanoseconds that a message takes, exponentially weighted over timed turns; `None`: nothing
    /// was measured yet.
    pub cost_ns: Option<u32>,
}

/// Figures of one actor. See [`SystemHandle::actors`](crate::SystemHandle::actors).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ActorFigures {
    /// The actor.
    pub actor: ActorId,
    /// The name of its type.
    pub kind: &'static str,
    /// The worker that it belongs to; `None`: no one, as under `pool` and `stealing` between turns.
    pub worker: Option<usize>,
    /// Messages in its mailbox.
    pub queued: u64,
}

/// The order of a list of actors; among equals, the oldest comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActorOrder {
    /// By identity: the oldest first.
    #[default]
    Oldest,
    /// The youngest first.
    Youngest,
    /// Those with most messages in their mailboxes first.
    Queued,
    /// By worker; last, those that belong to none.
    Worker,
    /// By the name of the type.
    Kind,
}

/// The choice of actors for a list: a page of those of some types in some order. By default the
/// oldest hundred.
#[derive(Clone, Debug)]
pub struct ActorQuery {
    kind: Option<String>,
    order: ActorOrder,
    after: Option<ActorFigures>,
    skip: usize,
    take: usize,
}

/// The actors that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ActorPage {
    /// Living actors of the types asked for, on all pages.
    pub total: u64,
    /// Those on this page, in order.
    pub actors: Vec<ActorFigures>,
}

impl ActorQuery {
    /// The oldest hundred actors.
    pub fn new() -> Self {
        ActorQuery { kind: None, order: ActorOrder::Oldest, after: None, skip: 0, take: 100 }
    }

    /// Only actors whose type has this in its name.
    #[must_use]
    pub fn kind(mut self, part: impl Into<String>) -> Self {
        self.kind = Some(part.into());
        self
    }

    /// Sets the order.
    #[must_use]
    pub fn order(mut self, order: ActorOrder) -> Self {
        self.order = order;
        self
    }

    /// Leaves out whatever does not come behind this actor, for instance the last one of the page
    /// before. Each page costs as much as the first, and no actor stands on two of them, unless its
    /// own figures change meanwhile.
    #[must_use]
    pub fn after(mut self, actor: &ActorFigures) -> Self {
        self.after = Some(actor.clone());
        self
    }

    /// Leaves out the first `actors` of that order.
    #[must_use]
    pub fn skip(mut self, actors: usize) -> Self {
        self.skip = actors;
        self
    }

    /// Takes at most so many. The walk keeps those that `skip` leaves out, too: memory for both
    /// together. For pages far behind, see [`after`](Self::after).
    #[must_use]
    pub fn take(mut self, actors: usize) -> Self {
        self.take = actors;
        self
    }
}

impl Default for ActorQuery {
    fn default() -> Self {
        ActorQuery::new()
    }
}

impl ActorOrder {
    fn compare(self, a: &ActorFigures, b: &ActorFigures) -> Ordering {
        let first = match self {
            ActorOrder::Oldest => Ordering::Equal,
            ActorOrder::Youngest => return b.actor.cmp(&a.actor),
            ActorOrder::Queued => b.queued.cmp(&a.queued),
            ActorOrder::Worker => {
                let key = |it: &ActorFigures| (it.worker.is_none(), it.worker);
                key(a).cmp(&key(b))
            }
            ActorOrder::Kind => a.kind.cmp(b.kind),
        };
        first.then_with(|| a.actor.cmp(&b.actor))
    }
}

/// The first actors of an order, of those that are offered.
struct First<'a> {
    order: ActorOrder,
    after: Option<&'a ActorFigures>,
    most: usize,
    kept: Vec<ActorFigures>,
    /// The last of those that were kept when others were thrown away: whatever comes behind it is
    /// not wanted.
    last: Option<ActorFigures>,
}

impl First<'_> {
    /// Takes an actor, unless enough come before it. `queued` is asked only if it matters: it reads
    /// one more place in memory.
    fn offer(&mut self, mut figures: ActorFigures, queued: impl FnOnce() -> u64) {
        let is_wanted = |figures: &ActorFigures| {
            let is_behind = |it: &ActorFigures| self.order.compare(figures, it).is_gt();
            self.after.is_none_or(is_behind) && !self.last.as_ref().is_some_and(is_behind)
        };
        let is_ordered_by_it = self.order == ActorOrder::Queued;
        if !is_ordered_by_it && !is_wanted(&figures) {
            return;
        }
        figures.queued = queued();
        if is_ordered_by_it && !is_wanted(&figures) {
            return;
        }
        self.kept.push(figures);
        if self.kept.len() >= self.most.saturating_mul(2).saturating_add(SPARE) {
            self.prune();
            self.last = self.kept.iter().max_by(|a, b| self.order.compare(a, b)).cloned();
        }
    }

    fn prune(&mut self) {
        if self.kept.len() > self.most {
            self.kept.select_nth_unstable_by(self.most, |a, b| self.order.compare(a, b));
            self.kept.truncate(self.most);
        }
    }

    fn sorted(mut self) -> Vec<ActorFigures> {
        self.prune();
        self.kept.sort_unstable_by(|a, b| self.order.compare(a, b));
        self.kept
    }
}

impl Inner {
    /// Looks at each living actor: those that started last come first, mostly, if that is wanted.
    pub(crate) fn each_actor(&self, youngest_first: bool, mut look: impl FnMut(&Core)) {
        for shard in 0..=self.register.external() {
            let mut at = |places: Range<usize>| {
                self.register.look(shard, places, |it| {
                    Core::look_at(it, &mut look);
                })
            };
            // A shard that grows meanwhile has room only for actors that are younger than the walk.
            let parts = at(0..0).div_ceil(AT_ONCE);
            for part in 0..parts {
                let part = if youngest_first { parts - 1 - part } else { part };
                at(part * AT_ONCE..(part + 1) * AT_ONCE);
            }
        }
    }

    pub(crate) fn actor_types(&self) -> Vec<ActorTypeFigures> {
        let kinds = self.kinds();
        let figures_of = |kind: &actinium_scheduler::runnable::Kind| ActorTypeFigures {
            kind: kind.name(),
            living: 0,
            queued: 0,
            queued_max: 0,
            restarts: kind.restarts(),
            cost_ns: Some(kind.cost_ns()).filter(|&ns| ns > 0),
        };
        let mut types: Vec<_> = kinds.iter().map(|kind| figures_of(kind)).collect();
        // Two types may have one name: a type is told by where its kind is.
        let places = kinds.iter().enumerate().map(|(at, kind)| (&raw const **kind, at));
        let places: BTreeMap<_, usize> = places.collect();
        self.each_actor(false, |core| {
            // A type whose first actor has just started is left out.
            let Some(&at) = places.get(&(&raw const **core.header.kind())) else { return };
            let (figures, queued) = (&mut types[at], core.mailbox_len() as u64);
            figures.living += 1;
            figures.queued += queued;
            figures.queued_max = figures.queued_max.max(queued);
        });
        types.sort_by_key(|it| (Reverse(it.living), it.kind));
        types
    }

    pub(crate) fn actors(&self, query: &ActorQuery) -> ActorPage {
        let most = query.skip.saturating_add(query.take);
        let after = query.after.as_ref();
        let mut first = First { order: query.order, after, most, kept: Vec::new(), last: None };
        let mut total = 0;
        // Actors of one type often stand in a row.
        let mut latest: Option<(&'static str, bool)> = None;
        // Walked so, the youngest are met first, and most others are known to come behind them.
        self.each_actor(query.order == ActorOrder::Youngest, |core| {
            let kind = core.kind();
            let is_wanted = match latest {
                Some((known, is_wanted)) if std::ptr::eq(known, kind) => is_wanted,
                _ => query.kind.as_ref().is_none_or(|part| kind.contains(part.as_str())),
            };
            latest = Some((kind, is_wanted));
            if is_wanted {
                total += 1;
                let worker = self.shared.worker_of(&core.header);
                let figures = ActorFigures { actor: core.id, kind, worker, queued: 0 };
                first.offer(figures, || core.mailbox_len() as u64);
            }
        });
        let mut actors = first.sorted();
        actors.drain(..query.skip.min(actors.len()));
        ActorPage { total, actors }
    }
}
