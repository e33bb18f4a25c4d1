//! Who supervises whom, by a walk over the actors that have parents. As the walk of `census.rs`, it
//! sees no single moment, and costs the actors nothing.

use crate::actor_core::Inner;
use crate::actor_id::ActorId;
use crate::census::ActorFigures;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Actors looked at under one lock.
const AT_ONCE: usize = 256;

/// Some actors that one supervises, or that nobody does. See
/// [`SystemHandle::family`](crate::SystemHandle::family).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Family {
    /// How many there are.
    pub total: u64,
    /// The first of them: those with most children.
    pub members: Vec<Relative>,
}

/// An actor, and how many it supervises.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Relative {
    /// The actor.
    pub figures: ActorFigures,
    /// The number of its children.
    pub children: u64,
}

impl Inner {
    pub(crate) fn family(&self, of: Option<ActorId>, take: usize) -> Family {
        let mut children = BTreeMap::<ActorId, u64>::new();
        let mut of_one = BTreeSet::new();
        self.register.each_child(AT_ONCE, |child, parent| {
            *children.entry(parent).or_default() += 1;
            if Some(parent) == of {
                of_one.insert(child);
            }
        });
        if of.is_none() {
            of_one = children.keys().copied().collect();
            self.register.each_child(AT_ONCE, |child, _| {
                of_one.remove(&child);
            });
        }
        let count = |id: &ActorId| children.get(id).copied().unwrap_or(0);
        let total = of_one.len() as u64;
        let mut first: Vec<_> = of_one.into_iter().collect();
        first.sort_by_key(|id| (Reverse(count(id)), *id));
        first.truncate(take);
        let figures = self.figures_of(&first.into_iter().collect()).into_iter();
        let mut members: Vec<_> =
            figures.map(|figures| Relative { children: count(&figures.actor), figures }).collect();
        members.sort_by_key(|it| (Reverse(it.children), it.figures.actor));
        Family { total, members }
    }
}
