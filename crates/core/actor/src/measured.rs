//! Figures of turns and messages, kept while somebody measures.

use crate::actor_core::Inner;
use crate::actor_id::ActorId;
use actinium_scheduler::contents::Contents;
use actinium_scheduler::measure::{self, TurnFigures};
use std::fmt;
use std::sync::Arc;

/// What is to be measured: see [`SystemHandle::measure`](crate::SystemHandle::measure).
///
/// By default a sample of the turns of all types of actors.
#[derive(Clone, Debug, Default)]
pub struct Measure(measure::Measure);

impl Measure {
    /// A sample of the turns of all types. It costs below 2 % of a worker's time.
    pub fn new() -> Self {
        Measure::default()
    }

    /// Notes each turn: exact figures. A turn takes about a tenth of a microsecond longer.
    #[must_use]
    pub fn every_turn(self) -> Self {
        Measure(self.0.every_turn())
    }

    /// Only types that have this in their names; called again, also those that have that.
    #[must_use]
    pub fn kind(self, part: impl Into<String>) -> Self {
        Measure(self.0.kind(part))
    }

    /// Keeps figures of these actors, too, each by itself: at most 1,000, the oldest.
    #[must_use]
    pub fn actors(self, actors: impl IntoIterator<Item = ActorId>) -> Self {
        let all = actors.into_iter();
        Measure(all.fold(self.0, |measure, actor| measure.number(actor.as_u64())))
    }

    /// Keeps what the last messages of the actors that were chosen before contain, too: of a sample
    /// of them, if the actor's type shows it ([`Actor::SHOW_MESSAGE`](crate::Actor::SHOW_MESSAGE)).
    #[must_use]
    pub fn contents(self) -> Self {
        Measure(self.0.contents())
    }
}

/// Keeps figures until it is dropped.
#[must_use = "figures are kept until it is dropped"]
pub struct Measuring {
    system: Arc<Inner>,
    number: u64,
}

impl Drop for Measuring {
    fn drop(&mut self) {
        self.system.shared.recording().end_measuring(self.number);
    }
}

impl fmt::Debug for Measuring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Measuring(number {})", self.number)
    }
}

/// What was measured in a system since it started. All figures grow only: what happened in a time
/// is the difference between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Measured {
    /// By types, those that took most time first. Tasks of the runtime have types, too. Two types
    /// of one name count as one.
    pub types: Vec<MeasuredType>,
    /// Of the actors that were chosen, those that took most time first.
    pub actors: Vec<MeasuredActor>,
    /// Turns and sampled messages that found no room in the figures.
    pub missed: u64,
}

/// What was measured of a type of actors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MeasuredType {
    /// The name of the type.
    pub kind: &'static str,
    /// Restarts by supervisors since the system started, measured or not.
    pub restarts: u64,
    /// Its turns and messages.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub figures: TurnFigures,
}

/// What was measured of an actor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MeasuredActor {
    /// The actor.
    pub actor: ActorId,
    /// The name of its type.
    pub kind: &'static str,
    /// Its turns and messages.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub figures: TurnFigures,
    /// What the last of its messages contained, oldest first: while somebody asks for that, of a
    /// type that shows it.
    pub contents: Vec<Contents>,
}

impl Inner {
    /// Begins to keep figures.
    pub(crate) fn measure(this: &Arc<Inner>, measure: &Measure) -> Measuring {
        let number = this.shared.recording().measure(measure.0.clone());
        Measuring { system: this.clone(), number }
    }

    pub(crate) fn measured(&self) -> Measured {
        let mut measured = self.shared.recording().measured();
        let kinds = self.kinds();
        let restarts = |name: &str| {
            let of_name = kinds.iter().filter(|kind| kind.name() == name);
            of_name.map(|kind| kind.restarts()).sum()
        };
        let types = measured.kinds.into_iter();
        let mut types: Vec<_> = types
            .map(|(kind, figures)| MeasuredType { kind, restarts: restarts(kind), figures })
            .collect();
        types.sort_by_key(|it| (std::cmp::Reverse(it.figures.busy_ns), it.kind));
        let actors = measured.numbers.into_iter();
        let mut actors: Vec<_> = actors
            .map(|(number, (kind, figures))| MeasuredActor {
                actor: ActorId(number),
                kind,
                figures,
                contents: measured.contents.remove(&number).unwrap_or_default(),
            })
            .collect();
        actors.sort_by_key(|it| (std::cmp::Reverse(it.figures.busy_ns), it.actor));
        Measured { types, actors, missed: measured.missed }
    }
}
