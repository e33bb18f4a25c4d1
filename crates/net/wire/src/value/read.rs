//! Reads a value from bytes, led by the schema.

use super::data::Value;
use crate::budget::too_much;
use crate::bulk::{Blob, Numbers};
use crate::schema::{Field, Shape, Type, ValidSchema, Variant};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use std::cell::Cell;
use std::fmt;

/// Reads a value of a type. As a visitor, it reads what that type consists of.
#[derive(Clone, Copy)]
pub(super) struct Seed<'a> {
    pub(super) schema: &'a ValidSchema<'a>,
    pub(super) of: &'a Type,
    /// Fields come in the order of the schema, without names.
    pub(super) by_position: bool,
    /// The bytes of memory that the schema may still add to the message: whoever describes the
    /// types chooses how much that is.
    pub(super) memory: &'a Cell<usize>,
}

impl<'a> Seed<'a> {
    fn of(self, of: &'a Type) -> Self {
        Seed { of, ..self }
    }

    fn take<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.memory.get().checked_sub(bytes).ok_or_else(too_much)?;
        self.memory.set(left);
        Ok(())
    }

    fn name<E: Error>(self, name: &str) -> Result<String, E> {
        self.take(name.len())?;
        Ok(name.to_owned())
    }

    fn shape(self, shape: &'a Shape) -> Body<'a> {
        Body { seed: self, shape }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        macro_rules! scalar {
            ($type:ty, $variant:ident) => {
                <$type>::deserialize(deserializer).map(|value| Value::$variant(value.into()))
            };
        }
        match self.of {
            Type::Bool => scalar!(bool, Bool),
            Type::U8 => scalar!(u8, Byte),
            Type::U16 => scalar!(u16, Unsigned),
            Type::U32 => scalar!(u32, Unsigned),
            Type::U64 => scalar!(u64, Unsigned),
            Type::I8 => scalar!(i8, SignedByte),
            Type::I16 => scalar!(i16, Signed),
            Type::I32 => scalar!(i32, Signed),
            Type::I64 => scalar!(i64, Signed),
            Type::F32 => scalar!(f32, Single),
            Type::F64 => scalar!(f64, Double),
            Type::Char => scalar!(char, Char),
            Type::String => scalar!(String, String),
            Type::Unit => <()>::deserialize(deserializer).map(|()| Value::Unit),
            Type::Bytes => Blob::deserialize(deserializer).map(|blob| Value::Bytes(blob.to_vec())),
            Type::Numbers(of) => numbers(of, deserializer),
            Type::Option(_) => deserializer.deserialize_option(self),
            Type::List(_) => deserializer.deserialize_seq(self),
            Type::Tuple(types) => deserializer.deserialize_tuple(types.len(), self),
            Type::Map(..) => deserializer.deserialize_map(self),
            Type::Named(name) => match self.schema.definition(name) {
                Some(definition) => self.shape(&definition.shape).read(deserializer),
                None => Err(D::Error::custom(format_args!("the schema lacks {name}"))),
            },
        }
    }
}

fn numbers<'de, D: Deserializer<'de>>(of: &Type, deserializer: D) -> Result<Value, D::Error> {
    macro_rules! each {
        ($($name:ident $type:ty),*) => {
            match of {
                $(Type::$name => {
                    let numbers = Numbers::<$type>::deserialize(deserializer)?;
                    Ok(Value::Numbers(Type::$name, numbers.as_le_bytes().to_vec()))
                })*
                other => Err(D::Error::custom(format_args!("{other} is no type of numbers"))),
            }
        };
    }
    each!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.of)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.of {
            Type::Option(of) => Ok(Value::Some(Box::new(self.of(of).deserialize(deserializer)?))),
            _ => Err(D::Error::custom("no option")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        match self.of {
            Type::List(of) => {
                let mut list = Vec::new();
                while let Some(element) = seq.next_element_seed(self.of(of))? {
                    list.push(element);
                }
                Ok(Value::List(list))
            }
            Type::Tuple(types) => tuple(self, types, seq),
            _ => Err(A::Error::custom("no list")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Type::Map(key, value) = self.of else { return Err(A::Error::custom("no map")) };
        let mut entries = Vec::new();
        while let Some(key) = map.next_key_seed(self.of(key))? {
            entries.push((key, map.next_value_seed(self.of(value))?));
        }
        Ok(Value::Map(entries))
    }
}

fn tuple<'de, A: SeqAccess<'de>>(
    seed: Seed<'_>,
    types: &[Type],
    mut seq: A,
) -> Result<Value, A::Error> {
    let mut parts = Vec::new();
    for (index, of) in types.iter().enumerate() {
        let missing = || A::Error::invalid_length(index, &"more elements");
        parts.push(seq.next_element_seed(seed.of(of))?.ok_or_else(missing)?);
    }
    Ok(Value::Tuple(parts))
}

/// Reads what a struct, an enum or a variant consists of.
#[derive(Clone, Copy)]
struct Body<'a> {
    seed: Seed<'a>,
    shape: &'a Shape,
}

impl Body<'_> {
    fn read<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.shape {
            Shape::Unit => deserializer.deserialize_unit_struct("", self),
            Shape::Newtype(_) => deserializer.deserialize_newtype_struct("", self),
            Shape::Tuple(types) => deserializer.deserialize_tuple(types.len(), self),
            Shape::Struct(fields) if self.seed.by_position => {
                deserializer.deserialize_tuple(fields.len(), self)
            }
            Shape::Struct(_) => deserializer.deserialize_struct("", &[], self),
            Shape::Enum(_) => deserializer.deserialize_enum("", &[], self),
        }
    }
}

impl<'de> Visitor<'de> for Body<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shape {
            Shape::Unit => f.write_str("nothing"),
            shape => write!(f, "{shape}"),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::UnitStruct)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        match self.shape {
            Shape::Newtype(of) => self.seed.of(of).deserialize(deserializer),
            _ => Err(D::Error::custom("no newtype")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        match self.shape {
            Shape::Unit => Ok(Value::UnitStruct),
            Shape::Newtype(of) => {
                let missing = || A::Error::invalid_length(0, &"one element");
                seq.next_element_seed(self.seed.of(of))?.ok_or_else(missing)
            }
            Shape::Tuple(types) => tuple(self.seed, types, seq),
            Shape::Struct(fields) => {
                let mut read = Vec::new();
                for (index, field) in fields.iter().enumerate() {
                    let missing = || A::Error::invalid_length(index, &"more fields");
                    let value = seq.next_element_seed(self.seed.of(&field.of))?;
                    read.push((self.seed.name(&field.name)?, value.ok_or_else(missing)?));
                }
                Ok(Value::Struct(read))
            }
            Shape::Enum(_) => Err(A::Error::custom("no list")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Shape::Struct(fields) = self.shape else { return Err(A::Error::custom("no struct")) };
        // Not the fields that come, but those that might.
        self.seed
            .take(fields.len() * (size_of::<Option<Value>>() + size_of::<(String, Value)>()))?;
        let mut values: Vec<Option<Value>> = vec![None; fields.len()];
        while let Some(name) = map.next_key::<String>()? {
            let known = |field: &Field| field.name == name || field.aliases.contains(&name);
            match fields.iter().position(known) {
                Some(index) => {
                    values[index] = Some(map.next_value_seed(self.seed.of(&fields[index].of))?);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let mut read = Vec::new();
        for (field, value) in fields.iter().zip(values) {
            let value = match value {
                None if matches!(field.of, Type::Option(_)) => Value::Null,
                None => {
                    return Err(A::Error::custom(format_args!("missing field `{}`", field.name)));
                }
                Some(value) => value,
            };
            read.push((self.seed.name(&field.name)?, value));
        }
        Ok(Value::Struct(read))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Value, A::Error> {
        let Shape::Enum(variants) = self.shape else { return Err(A::Error::custom("no enum")) };
        let (index, data) = access.variant_seed(Number(variants))?;
        let variant = &variants[index];
        let body = self.seed.shape(&variant.shape);
        let value = match &variant.shape {
            Shape::Unit => {
                data.unit_variant()?;
                Value::Null
            }
            Shape::Newtype(of) => data.newtype_variant_seed(self.seed.of(of))?,
            Shape::Tuple(types) => data.tuple_variant(types.len(), body)?,
            Shape::Struct(fields) if self.seed.by_position => {
                data.tuple_variant(fields.len(), body)?
            }
            Shape::Struct(_) => data.struct_variant(&[], body)?,
            Shape::Enum(_) => return Err(A::Error::custom("a variant is no enum")),
        };
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        Ok(Value::Variant(number, self.seed.name(&variant.name)?, Box::new(value)))
    }
}

/// Reads which variant it is.
struct Number<'a>(&'a [Variant]);

impl<'de> DeserializeSeed<'de> for Number<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Number<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|variant| variant.name.as_str()).collect();
        write!(f, "one of {}", names.join(", "))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<usize, E> {
        let index = usize::try_from(number).ok().filter(|index| *index < self.0.len());
        index.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        let known = |variant: &Variant| {
            variant.name == name || variant.aliases.iter().any(|alias| alias == name)
        };
        let index = self.0.iter().position(known);
        index.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(name), &self))
    }
}

/// Whatever an encoding says that describes itself.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Signed(value))
    }

    fn visit_f32<E>(self, value: f32) -> Result<Value, E> {
        Ok(Value::Single(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Double(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(Value::Bytes(value.to_vec()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = seq.next_element()? {
            list.push(element);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}
