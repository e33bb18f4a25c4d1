//! Descriptions of message types as data. Fingerprints, the comparison of versions, and reading a
//! message without its type use them.

mod describe;
mod evolve;
mod model;
mod valid;

pub use describe::{Describe, Types};
pub use evolve::{Break, breaks};
pub use model::{Definition, Field, Shape, Type, Variant};
pub use valid::{SchemaFault, ValidSchema};

use crate::fnv::fnv1a;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A type that may travel by itself: `#[derive(Message)]`.
pub trait Message: Describe + Serialize + DeserializeOwned + Send + 'static {
    /// The type's name in hellos.
    const NAME: &'static str;
    /// Rises when the type changes.
    const VERSION: u32;

    /// Returns the type's schema.
    #[must_use]
    fn schema() -> Schema {
        Schema::of::<Self>(Self::NAME, Self::VERSION)
    }
}

/// A description of a message's type, with all types in it, as somebody gives it. Before it is
/// walked, it has to be [`valid`](Schema::valid).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// The message's name.
    pub name: String,
    /// The version.
    pub version: u32,
    /// The type.
    pub root: Type,
    /// The structs and enums in it.
    pub types: Vec<Definition>,
}

impl Schema {
    /// Builds the schema of `T`, under this name and version. This is for types that can be
    /// described but are no [`Message`] by themselves.
    #[must_use]
    pub fn of<T: Describe>(name: &str, version: u32) -> Self {
        let mut types = Types::default();
        let root = T::describe(&mut types);
        Schema { name: name.to_owned(), version, root, types: types.definitions() }
    }

    /// The struct or enum of this name.
    #[must_use]
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        self.types.iter().find(|definition| definition.name == name)
    }

    /// A number that differs if the binary encoding may differ: 64-bit FNV-1a of the name, the
    /// version, and all types with their names in order. Defaults and aliases are not in it: they
    /// change nothing of what is written.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        fnv1a(self.to_string().as_bytes())
    }
}

/// Like a declaration in Rust: what the fingerprint is taken of.
impl std::fmt::Display for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} version {}: {};", self.name, self.version, self.root)?;
        self.types
            .iter()
            .try_for_each(|definition| write!(f, " {} {};", definition.name, definition.shape))
    }
}
