//! Actors by name.

use crate::actor::{Actor, ActorId};
use crate::address::Address;
use crate::cell::CoreRef;
use actinium_scheduler::sync::{Mutex, MutexGuard, lock};
use std::collections::BTreeMap;
use std::fmt;

/// The register of names.
#[derive(Default)]
pub(crate) struct Names(Mutex<BTreeMap<String, CoreRef>>);

/// Why a name was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    /// The name.
    pub name: String,
    /// Who has it.
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
        /// The type that it has.
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

impl Names {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, CoreRef>> {
        lock(&self.0)
    }

    /// Gives a name to an actor.
    pub(crate) fn give(&self, name: &str, core: CoreRef) -> Result<(), NameError> {
        self.give_and(name, core, || ())
    }

    /// Gives a name to an actor unless it is taken, and does `then` before anybody can find it.
    pub(crate) fn give_and<R>(
        &self,
        name: &str,
        core: CoreRef,
        then: impl FnOnce() -> R,
    ) -> Result<R, NameError> {
        let mut names = self.lock();
        if let Some(other) = names.get(name) {
            return Err(NameError { name: name.to_owned(), taken_by: other.id });
        }
        // Before the name can be found: from now on no lack of addresses ends the actor.
        core.set_named();
        names.insert(name.to_owned(), core);
        Ok(then())
    }

    /// Takes a name back, if this actor has it.
    pub(crate) fn forget(&self, name: &str, id: ActorId) {
        let mut names = self.lock();
        if names.get(name).is_some_and(|core| core.id == id) {
            let core = names.remove(name);
            drop(names);
            drop(core);
        }
    }

    /// The living actor of this type that has the name.
    pub(crate) fn find<A: Actor>(&self, name: &str) -> Result<Address<A>, LookupError> {
        let core =
            self.lock().get(name).cloned().ok_or_else(|| LookupError::NotFound(name.to_owned()))?;
        if !core.is_a::<A>() {
            let (expected, found) = (std::any::type_name::<A>(), core.kind());
            return Err(LookupError::WrongType { name: name.to_owned(), expected, found });
        }
        core.upgrade().map(Address).ok_or_else(|| LookupError::NotFound(name.to_owned()))
    }

    /// All names, sorted.
    pub(crate) fn all(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }
}
