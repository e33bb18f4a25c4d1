//! The parts that a message whose type is known at run time only consists of.

use crate::schema::Type;

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
