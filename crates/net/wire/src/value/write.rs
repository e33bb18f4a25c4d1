//! Writes a value as bytes: the same bytes as from the type.

use super::data::Value;
use crate::bulk::Numbers;
use crate::codec::interface::FIELDS;
use crate::schema::Type;
use serde::ser::{Error, SerializeMap, SerializeSeq, SerializeTuple};
use serde::{Serialize, Serializer};

/// Writes names.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Some(inner) => serializer.serialize_some(&**inner),
            Value::List(list) => serializer.collect_seq(list),
            Value::Tuple(parts) => {
                let mut tuple = serializer.serialize_tuple(parts.len())?;
                parts.iter().try_for_each(|part| tuple.serialize_element(part))?;
                tuple.end()
            }
            Value::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
            Value::Struct(fields) => serializer.serialize_newtype_struct(FIELDS, &Fields(fields)),
            Value::Variant(_, name, data) if **data == Value::Null => {
                serializer.serialize_str(name)
            }
            Value::Variant(_, name, data) => {
                let field = [(name.clone(), (**data).clone())];
                serializer.serialize_newtype_struct(FIELDS, &Fields(&field))
            }
            scalar => scalar.serialize_scalar(serializer),
        }
    }
}

/// A struct's fields, written as a map that an encoding which writes structs and maps in different
/// ways takes for a struct.
struct Fields<'a>(&'a [(String, Value)]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

/// Writes positions and numbers.
pub(super) struct ByPosition<'a>(pub(super) &'a Value);

impl Serialize for ByPosition<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Some(inner) => serializer.serialize_some(&ByPosition(inner)),
            Value::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|element| seq.serialize_element(&ByPosition(element)))?;
                seq.end()
            }
            Value::Tuple(parts) => {
                let mut tuple = serializer.serialize_tuple(parts.len())?;
                parts.iter().try_for_each(|part| tuple.serialize_element(&ByPosition(part)))?;
                tuple.end()
            }
            Value::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| {
                    map.serialize_entry(&ByPosition(key), &ByPosition(value))
                })?;
                map.end()
            }
            Value::Struct(fields) => {
                let mut tuple = serializer.serialize_tuple(fields.len())?;
                fields
                    .iter()
                    .try_for_each(|(_, value)| tuple.serialize_element(&ByPosition(value)))?;
                tuple.end()
            }
            Value::Variant(index, _, data) => {
                serializer.serialize_newtype_variant("", *index, "", &Data(data))
            }
            scalar => scalar.serialize_scalar(serializer),
        }
    }
}

/// The data behind a variant's number: nothing, if it has none.
struct Data<'a>(&'a Value);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            value => ByPosition(value).serialize(serializer),
        }
    }
}

impl Value {
    fn serialize_scalar<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_none(),
            Value::Unit => serializer.serialize_unit(),
            Value::UnitStruct => serializer.serialize_unit_struct(""),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Byte(value) => serializer.serialize_u8(*value),
            Value::SignedByte(value) => serializer.serialize_i8(*value),
            Value::Unsigned(value) => serializer.serialize_u64(*value),
            Value::Signed(value) => serializer.serialize_i64(*value),
            Value::Single(value) => serializer.serialize_f32(*value),
            Value::Double(value) => serializer.serialize_f64(*value),
            Value::Char(value) => serializer.serialize_char(*value),
            Value::String(value) => serializer.serialize_str(value),
            Value::Bytes(bytes) => match serializer.is_human_readable() {
                true => serializer.serialize_str(&crate::hex::of(bytes)),
                false => serializer.serialize_bytes(bytes),
            },
            Value::Numbers(of, bytes) => match serializer.is_human_readable() {
                true => numbers(of, bytes, serializer),
                false => serializer.serialize_bytes(bytes),
            },
            _ => Err(S::Error::custom("no scalar")),
        }
    }
}

fn numbers<S: Serializer>(of: &Type, bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    macro_rules! each {
        ($($name:ident $type:ty),*) => {
            match of {
                $(Type::$name => Numbers::<$type>::of_le_bytes(bytes).serialize(serializer),)*
                other => Err(S::Error::custom(format_args!("{other} is no type of numbers"))),
            }
        };
    }
    each!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
}
