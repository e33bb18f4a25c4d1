//! What a message's type looks like, as data: for the fingerprint, for comparing versions, and for reading a message without its type.

mod describe;
mod evolve;

pub use describe::{Describe, Types};
pub use evolve::{Break, breaks};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A type that may travel by itself: `#[derive(Message)]`.
pub trait Message: Describe + Serialize + DeserializeOwned + Send + 'static {
    /// What it is called in hellos.
    const NAME: &'static str;
    /// Rises when the type changes.
    const VERSION: u32;

    /// What the type looks like.
    #[must_use]
    fn schema() -> Schema {
        Schema::of::<Self>(Self::NAME, Self::VERSION)
    }
}

/// What a message's type looks like, with all types in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// What the message is called.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Its type.
    pub root: Type,
    /// The structs and enums in it.
    pub types: Vec<Definition>,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "they are called as in Rust")]
#[non_exhaustive]
pub enum Type {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    Char,
    String,
    Unit,
    /// A [`Blob`](crate::Blob).
    Bytes,
    /// [`Numbers`](crate::Numbers) of this scalar type.
    Numbers(Box<Type>),
    Option(Box<Type>),
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Tuple(Vec<Type>),
    /// One of [`Schema::types`], by its name.
    Named(String),
}

/// A struct or enum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Its name, unique in the schema.
    pub name: String,
    /// What it consists of.
    pub shape: Shape,
}

/// What a struct, an enum or a variant consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Shape {
    /// Nothing.
    Unit,
    /// One value without a name.
    Newtype(Type),
    /// Several values without names.
    Tuple(Vec<Type>),
    /// Values with names.
    Struct(Vec<Field>),
    /// One of these.
    Enum(Vec<Variant>),
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// What it is called on the wire.
    pub name: String,
    /// What it was called before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Whether it has a value of its own if none comes.
    #[serde(default)]
    pub default: bool,
    /// Its type.
    pub of: Type,
}

/// A variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// What it is called on the wire.
    pub name: String,
    /// What it was called before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Its data.
    pub shape: Shape,
}

impl Field {
    /// A field that has to come.
    #[must_use]
    pub fn new(name: &str, of: Type) -> Self {
        Field { name: name.to_owned(), aliases: Vec::new(), default: false, of }
    }

    /// It has a value of its own if none comes.
    #[must_use]
    pub fn default(mut self) -> Self {
        self.default = true;
        self
    }

    /// It was called so before.
    #[must_use]
    pub fn alias(mut self, alias: &str) -> Self {
        self.aliases.push(alias.to_owned());
        self
    }
}

impl Variant {
    /// A variant.
    #[must_use]
    pub fn new(name: &str, shape: Shape) -> Self {
        Variant { name: name.to_owned(), aliases: Vec::new(), shape }
    }

    /// It was called so before.
    #[must_use]
    pub fn alias(mut self, alias: &str) -> Self {
        self.aliases.push(alias.to_owned());
        self
    }
}

impl Schema {
    /// What `T` looks like, under this name and version: for what is described, and is no [`Message`] by itself.
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

    /// A number that differs if the binary encoding may differ: 64-bit FNV-1a of the name, the version, and all types with their names
    /// in order. Defaults and aliases are not in it: they change nothing of what is written.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
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

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Numbers(of) => write!(f, "numbers<{of}>"),
            Type::Option(of) => write!(f, "option<{of}>"),
            Type::List(of) => write!(f, "list<{of}>"),
            Type::Map(key, value) => write!(f, "map<{key}, {value}>"),
            Type::Tuple(types) => list(f, '(', types, ')'),
            Type::Named(name) => f.write_str(name),
            plain => f.write_str(&format!("{plain:?}").to_lowercase()),
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shape::Unit => Ok(()),
            Shape::Newtype(of) => write!(f, "({of})"),
            Shape::Tuple(types) => list(f, '[', types, ']'),
            Shape::Struct(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|field| format!("{}: {}", field.name, field.of)).collect();
                list(f, '{', &fields, '}')
            }
            Shape::Enum(variants) => {
                let variants: Vec<String> =
                    variants.iter().map(|one| format!("{}{}", one.name, one.shape)).collect();
                list(f, '<', &variants, '>')
            }
        }
    }
}

fn list<T: std::fmt::Display>(
    f: &mut std::fmt::Formatter<'_>,
    open: char,
    parts: &[T],
    close: char,
) -> std::fmt::Result {
    f.write_char(open)?;
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{part}")?;
    }
    f.write_char(close)
}
