//! A message whose type is known at run time only, by its schema: what a tap or a converter has.

mod read;
mod write;

use crate::codec::Encoding;
use crate::error::{DecodeError, EncodeError};
use crate::limits::Limits;
use crate::schema::{Schema, Type};
use read::Seed;

/// A message, or a part of one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// `None`, or the data of a variant without any.
    Null,
    /// A unit.
    Unit,
    /// A struct without anything in it.
    UnitStruct,
    /// A truth.
    Bool(bool),
    /// A number of eight bits (which binary writes in its own way).
    Byte(u8),
    /// A signed number of eight bits.
    SignedByte(i8),
    /// A number that is not negative, or of an unsigned type.
    Unsigned(u64),
    /// A number of a signed type.
    Signed(i64),
    /// A number of single precision.
    Single(f32),
    /// A number of double precision.
    Double(f64),
    /// A character.
    Char(char),
    /// A string.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Numbers that travel as bytes: their type and the little-endian bytes.
    Numbers(Type, Vec<u8>),
    /// Not `None`.
    Some(Box<Value>),
    /// A list.
    List(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// Keys and values.
    Map(Vec<(Value, Value)>),
    /// Fields, in the order of the schema.
    Struct(Vec<(String, Value)>),
    /// A variant: its number, its name and its data.
    Variant(u32, String, Box<Value>),
}

impl Value {
    /// Reads a message that looks as the schema says.
    ///
    /// # Errors
    /// If it does not, or goes beyond the limits.
    pub fn decode(
        encoding: Encoding,
        bytes: &[u8],
        schema: &Schema,
        limits: &Limits,
    ) -> Result<Value, DecodeError> {
        let by_position = encoding == Encoding::Binary;
        encoding.decode_seed(bytes, limits, Seed { schema, of: &schema.root, by_position })
    }

    /// Reads a message without knowing what it looks like; in binary there is no way.
    ///
    /// # Errors
    /// If it is none, or goes beyond the limits.
    pub fn decode_any(
        encoding: Encoding,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<Value, DecodeError> {
        match encoding {
            Encoding::SelfDescribing | Encoding::Text => encoding.decode_slice(bytes, limits),
            Encoding::Binary | Encoding::Xml => {
                let problem = "expected a schema: this encoding does not say what it holds";
                Err(DecodeError::new(encoding, 0, problem))
            }
        }
    }

    /// Appends it as the type that it was decoded with would be.
    ///
    /// # Errors
    /// If the encoding has no way to say it.
    pub fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match encoding {
            Encoding::Binary => encoding.encode(&write::ByPosition(self), out),
            _ => encoding.encode(self, out),
        }
    }

    /// The name of the variant, if the message is one of several.
    #[must_use]
    pub fn variant(&self) -> Option<&str> {
        match self {
            Value::Variant(_, name, _) => Some(name),
            _ => None,
        }
    }
}
