//! The parts of a description: types, structs and enums, their fields and variants.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

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
    /// One of [`Schema::types`](super::Schema::types), by its name.
    Named(String),
}

/// A struct or enum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The name, unique in the schema.
    pub name: String,
    /// The type's content.
    pub shape: Shape,
}

/// The content of a struct, an enum or a variant.
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
    /// The field's name on the wire.
    pub name: String,
    /// The field's earlier names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Whether it has a value of its own if none comes.
    #[serde(default)]
    pub default: bool,
    /// The type.
    pub of: Type,
}

/// A variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// The variant's name on the wire.
    pub name: String,
    /// The variant's earlier names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The data.
    pub shape: Shape,
}

impl Field {
    /// A field that has to come.
    #[must_use]
    pub fn new(name: &str, of: Type) -> Self {
        Field { name: name.to_owned(), aliases: Vec::new(), default: false, of }
    }

    /// Marks the field as one that has a value of its own if none comes.
    #[must_use]
    pub fn default(mut self) -> Self {
        self.default = true;
        self
    }

    /// Adds an earlier name of the field.
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

    /// Adds an earlier name of the variant.
    #[must_use]
    pub fn alias(mut self, alias: &str) -> Self {
        self.aliases.push(alias.to_owned());
        self
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
