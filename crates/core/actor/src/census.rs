//! Figures of actors and of their types, by a walk over the register of living actors.
//!
//! The walk costs the actors nothing: it reads what they and their senders keep anyway. It holds
//! the lock of a part of the register for [`AT_ONCE`] actors at a time, for which a worker that
//! starts or ends an actor may wait. So it sees no single moment: actors that start meanwhile may
//! be left out.

use crate::actor_core::{Core, Inner};
use crate::actor_id::ActorId;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

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
    /// Living actors that belong to each worker; those that belong to none, as under `pool` and
    /// `stealing` between turns, are in no entry.
    pub at_workers: Vec<u64>,
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
    /// The name that it was given; of several, the first by the alphabet.
    pub name: Option<String>,
    /// The actor that supervises it, if it is somebody's child.
    pub parent: Option<ActorId>,
}

/// The place of an actor in an order: what a further page begins after. It is made of the actor's
/// figures, or of the text that another one was shown as.
///
/// ```
/// use actinium_actor::ActorCursor;
///
/// let cursor: ActorCursor = "17,3,-,shop::Till".parse()?;
/// assert_eq!(cursor.to_string(), "17,3,-,shop::Till");
/// assert!("17,3".parse::<ActorCursor>().is_err());
/// # Ok::<(), actinium_actor::WrongCursor>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActorCursor {
    actor: ActorId,
    queued: u64,
    worker: Option<usize>,
    kind: String,
}

/// Why a text is no [`ActorCursor`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongCursor {
    /// The text.
    pub text: String,
}

impl fmt::Display for WrongCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        write!(f, "'{text}': expected ACTOR,QUEUED,WORKER,TYPE with numbers, WORKER may be '-'")
    }
}

impl std::error::Error for WrongCursor {}

impl fmt::Display for ActorCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worker = self.worker.map_or_else(|| "-".to_owned(), |worker| worker.to_string());
        write!(f, "{},{},{worker},{}", self.actor.as_u64(), self.queued, self.kind)
    }
}

impl FromStr for ActorCursor {
    type Err = WrongCursor;

    fn from_str(text: &str) -> Result<Self, WrongCursor> {
        let parse = || {
            let mut parts = text.splitn(4, ',');
            let mut part = || parts.next();
            let (actor, queued) = (part()?.parse().ok()?, part()?.parse().ok()?);
            let worker = match part()? {
                "-" => None,
                worker => Some(worker.parse().ok()?),
            };
            let kind = part()?.to_owned();
            Some(ActorCursor { actor: ActorId(actor), queued, worker, kind })
        };
        parse().ok_or_else(|| WrongCursor { text: text.to_owned() })
    }
}

impl From<&ActorFigures> for ActorCursor {
    fn from(figures: &ActorFigures) -> Self {
        let &ActorFigures { actor, queued, worker, kind, .. } = figures;
        ActorCursor { actor, queued, worker, kind: kind.to_owned() }
    }
}

impl From<&ActorCursor> for ActorCursor {
    fn from(cursor: &ActorCursor) -> Self {
        cursor.clone()
    }
}

/// What an order looks at.
struct Rank<'a> {
    actor: ActorId,
    queued: u64,
    worker: Option<usize>,
    kind: &'a str,
}

impl ActorFigures {
    fn rank(&self) -> Rank<'_> {
        let &ActorFigures { actor, queued, worker, kind, .. } = self;
        Rank { actor, queued, worker, kind }
    }
}

impl ActorCursor {
    fn rank(&self) -> Rank<'_> {
        let &ActorCursor { actor, queued, worker, ref kind } = self;
        Rank { actor, queued, worker, kind }
    }
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
    search: Option<String>,
    order: ActorOrder,
    after: Option<ActorCursor>,
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
        ActorQuery {
            kind: None,
            search: None,
            order: ActorOrder::Oldest,
            after: None,
            skip: 0,
            take: 100,
        }
    }

    /// Only actors whose type has this in its name.
    #[must_use]
    pub fn kind(mut self, part: impl Into<String>) -> Self {
        self.kind = Some(part.into());
        self
    }

    /// Only actors that have this in their names or those of their types, in upper or lower case,
    /// and the one with this number (`17` or `actor 17`). An empty text chooses all.
    #[must_use]
    pub fn search(mut self, text: impl Into<String>) -> Self {
        self.search = Some(text.into()).filter(|it| !it.is_empty());
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
    pub fn after(mut self, actor: impl Into<ActorCursor>) -> Self {
        self.after = Some(actor.into());
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
    fn compare(self, a: &Rank<'_>, b: &Rank<'_>) -> Ordering {
        let first = match self {
            ActorOrder::Oldest => Ordering::Equal,
            ActorOrder::Youngest => return b.actor.cmp(&a.actor),
            ActorOrder::Queued => b.queued.cmp(&a.queued),
            ActorOrder::Worker => {
                let key = |it: &Rank<'_>| (it.worker.is_none(), it.worker);
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
    after: Option<&'a ActorCursor>,
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
            let is_behind = |it: &Rank<'_>| self.order.compare(&figures.rank(), it).is_gt();
            self.after.is_none_or(|it| is_behind(&it.rank()))
                && !self.last.as_ref().is_some_and(|it| is_behind(&it.rank()))
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
            let order = self.order;
            let last = self.kept.iter().max_by(|a, b| order.compare(&a.rank(), &b.rank()));
            self.last = last.cloned();
        }
    }

    fn prune(&mut self) {
        if self.kept.len() > self.most {
            let order = self.order;
            let compare = |a: &ActorFigures, b: &ActorFigures| order.compare(&a.rank(), &b.rank());
            self.kept.select_nth_unstable_by(self.most, compare);
            self.kept.truncate(self.most);
        }
    }

    fn sorted(mut self) -> Vec<ActorFigures> {
        self.prune();
        let order = self.order;
        self.kept.sort_unstable_by(|a, b| order.compare(&a.rank(), &b.rank()));
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
            at_workers: vec![0; self.shared.workers()],
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
            if let Some(worker) = self.shared.worker_of(&core.header) {
                figures.at_workers[worker] += 1;
            }
        });
        types.sort_by_key(|it| (Reverse(it.living), it.kind));
        types
    }

    pub(crate) fn actors(&self, query: &ActorQuery) -> ActorPage {
        let most = query.skip.saturating_add(query.take);
        let after = query.after.as_ref();
        let mut first = First { order: query.order, after, most, kept: Vec::new(), last: None };
        let search = query.search.as_deref().map(|text| Search::new(text, self));
        let mut total = 0;
        // Actors of one type often stand in a row.
        let mut latest: Option<(&'static str, bool, bool)> = None;
        // Walked so, the youngest are met first, and most others are known to come behind them.
        self.each_actor(query.order == ActorOrder::Youngest, |core| {
            let kind = core.kind();
            let (of_kind, is_found) = match latest {
                Some((known, of_kind, is_found)) if std::ptr::eq(known, kind) => {
                    (of_kind, is_found)
                }
                _ => (
                    query.kind.as_ref().is_none_or(|part| kind.contains(part.as_str())),
                    search.as_ref().is_none_or(|search| search.is_in(kind)),
                ),
            };
            latest = Some((kind, of_kind, is_found));
            if of_kind && (is_found || search.as_ref().is_some_and(|it| it.names(core.id))) {
                total += 1;
                first.offer(self.bare(core), || core.mailbox_len() as u64);
            }
        });
        let mut actors = first.sorted();
        actors.drain(..query.skip.min(actors.len()));
        self.complete(&mut actors);
        ActorPage { total, actors }
    }

    /// The figures of these actors, of those that live, by their identity.
    pub(crate) fn figures_of(&self, ids: &BTreeSet<ActorId>) -> Vec<ActorFigures> {
        let mut found = Vec::new();
        self.each_actor(false, |core| {
            if ids.contains(&core.id) {
                let queued = core.mailbox_len() as u64;
                found.push(ActorFigures { queued, ..self.bare(core) });
            }
        });
        found.sort_unstable_by_key(|it| it.actor);
        self.complete(&mut found);
        found
    }

    /// What a walk sees of each actor at once.
    fn bare(&self, core: &Core) -> ActorFigures {
        let worker = self.shared.worker_of(&core.header);
        let (actor, kind) = (core.id, core.kind());
        ActorFigures { actor, kind, worker, queued: 0, name: None, parent: None }
    }

    /// Adds what is looked up only for those that are shown.
    fn complete(&self, actors: &mut [ActorFigures]) {
        let mut names = self.names.of(&actors.iter().map(|it| it.actor).collect());
        for it in actors {
            it.name = names.remove(&it.actor);
            it.parent = self.register.parent_of(it.actor);
        }
    }
}

/// A text that is looked for.
struct Search {
    lower: String,
    /// The actor of this number, and those that have the text in their names.
    ids: BTreeSet<ActorId>,
}

impl Search {
    fn new(text: &str, system: &Inner) -> Self {
        let lower = text.to_lowercase();
        let mut ids = system.names.containing(&lower);
        ids.extend(lower.trim_start_matches("actor ").parse().ok().map(ActorId));
        Search { lower, ids }
    }

    fn is_in(&self, kind: &str) -> bool {
        kind.to_lowercase().contains(&self.lower)
    }

    fn names(&self, id: ActorId) -> bool {
        !self.ids.is_empty() && self.ids.contains(&id)
    }
}
