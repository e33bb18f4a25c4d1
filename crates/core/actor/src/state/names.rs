//! Actors by name.

use crate::actor_id::ActorId;
use actinium_scheduler::sync::{Mutex, MutexGuard, lock};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A reference to an actor, with the operations that the register of names needs.
pub(crate) trait Nameable: Clone {
    /// The actor's identity.
    fn id(&self) -> ActorId;

    /// Tells the actor that it can be found by a name: from now on it does not end for lack of
    /// addresses.
    fn set_named(&self);
}

/// The register of names; `R` refers to an actor.
pub(crate) struct Names<R>(Mutex<BTreeMap<String, R>>);

/// Why a name was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    /// The name.
    pub name: String,
    /// The actor that has it.
    pub taken_by: ActorId,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the name '{}' is taken by {}: choose another, or end that one first",
            self.name, self.taken_by
        )
    }
}

impl std::error::Error for NameError {}

/// Why a name was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// No living actor has this name.
    NotFound(String),
    /// The actor of this name has another type.
    WrongType {
        /// The name.
        name: String,
        /// The type that was asked for.
        expected: &'static str,
        /// The type of the actor.
        found: &'static str,
    },
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookupError::NotFound(name) => write!(f, "no living actor has the name '{name}'"),
            LookupError::WrongType { name, expected, found } => {
                write!(f, "the actor named '{name}' is a {found}, not a {expected}")
            }
        }
    }
}

impl std::error::Error for LookupError {}

impl<R> Default for Names<R> {
    fn default() -> Self {
        Names(Mutex::default())
    }
}

impl<R: Nameable> Names<R> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, R>> {
        lock(&self.0)
    }

    /// Gives a name to an actor.
    pub(crate) fn give(&self, name: &str, actor: R) -> Result<(), NameError> {
        self.give_and(name, actor, || ())
    }

    /// Gives a name to an actor unless it is taken, and calls `then` before the name can be found.
    pub(crate) fn give_and<T>(
        &self,
        name: &str,
        actor: R,
        then: impl FnOnce() -> T,
    ) -> Result<T, NameError> {
        let mut names = self.lock();
        if let Some(other) = names.get(name) {
            return Err(NameError { name: name.to_owned(), taken_by: other.id() });
        }
        // Before the name can be found: from now on no lack of addresses ends the actor.
        actor.set_named();
        names.insert(name.to_owned(), actor);
        Ok(then())
    }

    /// Takes a name back, if this actor has it.
    pub(crate) fn forget(&self, name: &str, id: ActorId) {
        let mut names = self.lock();
        if names.get(name).is_some_and(|actor| actor.id() == id) {
            let actor = names.remove(name);
            drop(names);
            drop(actor);
        }
    }

    /// The actor that has the name.
    pub(crate) fn get(&self, name: &str) -> Option<R> {
        self.lock().get(name).cloned()
    }

    /// All names, sorted.
    pub(crate) fn all(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// The first name of each of these actors that has one.
    pub(crate) fn of(&self, actors: &BTreeSet<ActorId>) -> BTreeMap<ActorId, String> {
        let mut found = BTreeMap::new();
        if !actors.is_empty() {
            for (name, actor) in self.lock().iter().filter(|(_, it)| actors.contains(&it.id())) {
                found.entry(actor.id()).or_insert_with(|| name.clone());
            }
        }
        found
    }

    /// The actors that have this in their names, in upper or lower case.
    pub(crate) fn containing(&self, lower: &str) -> BTreeSet<ActorId> {
        let names = self.lock();
        let found = names.iter().filter(|(name, _)| name.to_lowercase().contains(lower));
        found.map(|(_, actor)| actor.id()).collect()
    }
}
