//! A deserializer around another that counts: levels of nesting, and the memory that lists and
//! structs will take. So all encodings have the same limits, those among them too that have none of
//! their own.
//!
//! Each list element and map entry costs the size of its type, each struct, tuple and enum once
//! more (it may be boxed). A struct's fields are a part of it and cost nothing besides. An element
//! that takes no memory costs `EMPTY_BYTES`, or a claimed length could make us count to 2^64. The
//! compiler sees through all of this: what is left of it is one subtraction per element.

use crate::budget::Budget;
use crate::byte_lists::{self, Array, List};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use std::fmt;

#[cold]
fn too_deep<E: Error>() -> E {
    E::custom("expected a message within the limit of nesting, found one that is deeper")
}

/// The deserializer, visitor, seed or access `inner`, with what may still be used.
#[derive(Clone, Copy)]
pub(crate) struct Limited<'b, T> {
    inner: T,
    budget: &'b Budget,
    depth: u16,
    /// How many elements of a list cost nothing: a struct's fields are a part of it, which is paid
    /// for.
    free: usize,
}

impl<'b, T> Limited<'b, T> {
    pub(crate) fn new(inner: T, budget: &'b Budget, depth: u16) -> Self {
        Limited { inner, budget, depth, free: 0 }
    }

    /// Something else on the same level.
    #[inline]
    fn with<U>(&self, inner: U) -> Limited<'b, U> {
        Limited { inner, budget: self.budget, depth: self.depth, free: 0 }
    }

    /// One level further in, where a value of type `V` will be made.
    #[inline]
    fn enter<V, U, E: Error>(&self, inner: U) -> Result<Limited<'b, U>, E> {
        let Some(depth) = self.depth.checked_sub(1) else { return Err(too_deep()) };
        self.budget.take(size_of::<V>())?;
        Ok(Limited { inner, budget: self.budget, depth, free: 0 })
    }
}

macro_rules! scalars {
    ($($name:ident)*) => {$(
        #[inline]
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$name(visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Limited<'_, D> {
    type Error = D::Error;

    scalars! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_unit deserialize_identifier
    }

    #[inline]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        match self.budget.words_for_floats {
            true => self.inner.deserialize_any(FloatOrWord(visitor)),
            false => self.inner.deserialize_f32(visitor),
        }
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        match self.budget.words_for_floats {
            true => self.inner.deserialize_any(FloatOrWord(visitor)),
            false => self.inner.deserialize_f64(visitor),
        }
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.enter::<V::Value, _, _>(visitor)?;
        self.inner.deserialize_any(visitor)
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.enter::<V::Value, _, _>(visitor)?;
        self.inner.deserialize_ignored_any(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.enter::<V::Value, _, _>(visitor)?;
        self.inner.deserialize_option(visitor)
    }

    #[inline]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.enter::<V::Value, _, _>(visitor)?;
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.enter::<V::Value, _, _>(visitor)?;
        if self.budget.plain_bytes && byte_lists::is_list(&visitor.inner) {
            return self
                .inner
                .deserialize_bytes(List { visitor: visitor.inner, budget: self.budget });
        }
        self.inner.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.enter::<V::Value, _, _>(visitor)?;
        if self.budget.plain_bytes && byte_lists::is_array(&visitor.inner, len) {
            self.budget.take(len)?;
            return self.inner.deserialize_tuple(len, Array { len, visitor: visitor.inner });
        }
        self.inner.deserialize_tuple(len, visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.enter::<V::Value, _, _>(visitor)?;
        self.inner.deserialize_tuple_struct(name, len, visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.enter::<V::Value, _, _>(visitor)?;
        self.inner.deserialize_map(visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let mut visitor = self.enter::<V::Value, _, _>(visitor)?;
        visitor.free = fields.len();
        self.inner.deserialize_struct(name, fields, visitor)
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.enter::<V::Value, _, _>(visitor)?;
        self.inner.deserialize_enum(name, variants, visitor)
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visits {
    ($($name:ident $type:ty;)*) => {$(
        #[inline]
        fn $name<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$name(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Limited<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visits! {
        visit_bool bool;
        visit_i8 i8; visit_i16 i16; visit_i32 i32; visit_i64 i64; visit_i128 i128;
        visit_u8 u8; visit_u16 u16; visit_u32 u32; visit_u64 u64; visit_u128 u128;
        visit_f32 f32; visit_f64 f64; visit_char char;
        visit_str &str; visit_borrowed_str &'de str; visit_string String;
        visit_bytes &[u8]; visit_borrowed_bytes &'de [u8]; visit_byte_buf Vec<u8>;
    }

    #[inline]
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    #[inline]
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_some(deserializer)
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let access = Limited { free: self.free, ..self.with(access) };
        self.inner.visit_seq(access)
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let access = self.with(access);
        self.inner.visit_map(access)
    }

    #[inline]
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let access = self.with(access);
        self.inner.visit_enum(access)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Limited<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Limited<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        match self.free.checked_sub(1) {
            Some(free) => self.free = free,
            None => self.budget.take(size_of::<S::Value>())?,
        }
        let seed = self.with(seed);
        self.inner.next_element_seed(seed)
    }

    /// Returns the length that the peer claims, bounded by the memory that is left: a `Vec`
    /// reserves by this.
    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint().map(|claimed| claimed.min(self.budget.left()))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Limited<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.budget.take(size_of::<S::Value>())?;
        let seed = self.with(seed);
        self.inner.next_key_seed(seed)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.budget.take(size_of::<S::Value>())?;
        let seed = self.with(seed);
        self.inner.next_value_seed(seed)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint().map(|claimed| claimed.min(self.budget.left()))
    }
}

impl<'de, 'b, A: EnumAccess<'de>> EnumAccess<'de> for Limited<'b, A> {
    type Error = A::Error;
    type Variant = Limited<'b, A::Variant>;

    #[inline]
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (budget, depth) = (self.budget, self.depth);
        let seed = self.with(seed);
        let (value, variant) = self.inner.variant_seed(seed)?;
        Ok((value, Limited { inner: variant, budget, depth, free: 0 }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Limited<'_, A> {
    type Error = A::Error;

    #[inline]
    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    #[inline]
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.with(seed);
        self.inner.newtype_variant_seed(seed)
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.with(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.with(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

/// Takes a number, or one of the words that [`crate::floats`] writes for what is none.
struct FloatOrWord<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for FloatOrWord<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"NaN\", \"inf\" or \"-inf\"")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.0.visit_f64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<V::Value, E> {
        match crate::floats::of_word(word) {
            Some(value) => self.0.visit_f64(value),
            None => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
        }
    }
}
