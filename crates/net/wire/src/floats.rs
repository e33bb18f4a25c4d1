//! JSON has no number for `NaN` and the infinities, and its libraries write `null` instead, which
//! is then no number when it is read. Here they stand as the strings `"NaN"`, `"inf"` and `"-inf"`,
//! so that the text says what the binary says.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Returns the word that stands for a float that is not finite.
pub(crate) fn word(value: f64) -> &'static str {
    match value {
        _ if value.is_nan() => "NaN",
        _ if value > 0.0 => "inf",
        _ => "-inf",
    }
}

/// The float that a word stands for.
pub(crate) fn of_word(word: &str) -> Option<f64> {
    match word {
        "NaN" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// A serializer, a compound's serializer, or a value that passes through it.
pub(crate) struct Worded<T>(pub(crate) T);

impl<T: Serialize + ?Sized> Serialize for Worded<&T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Worded(serializer))
    }
}

macro_rules! scalars {
    ($($name:ident $type:ty;)*) => {$(
        #[inline]
        fn $name(self, value: $type) -> Result<S::Ok, S::Error> {
            self.0.$name(value)
        }
    )*};
}

macro_rules! compounds {
    ($($name:ident($($argument:ident: $type:ty),*) $kind:ident;)*) => {$(
        #[inline]
        fn $name(self, $($argument: $type),*) -> Result<Self::$kind, S::Error> {
            Ok(Worded(self.0.$name($($argument),*)?))
        }
    )*};
}

impl<S: Serializer> Serializer for Worded<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Worded<S::SerializeSeq>;
    type SerializeTuple = Worded<S::SerializeTuple>;
    type SerializeTupleStruct = Worded<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Worded<S::SerializeTupleVariant>;
    type SerializeMap = Worded<S::SerializeMap>;
    type SerializeStruct = Worded<S::SerializeStruct>;
    type SerializeStructVariant = Worded<S::SerializeStructVariant>;

    scalars! {
        serialize_bool bool;
        serialize_i8 i8; serialize_i16 i16; serialize_i32 i32; serialize_i64 i64; serialize_i128 i128;
        serialize_u8 u8; serialize_u16 u16; serialize_u32 u32; serialize_u64 u64; serialize_u128 u128;
        serialize_char char; serialize_str &str; serialize_bytes &[u8];
        serialize_unit_struct &'static str;
    }

    compounds! {
        serialize_seq(len: Option<usize>) SerializeSeq;
        serialize_tuple(len: usize) SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) SerializeTupleVariant;
        serialize_map(len: Option<usize>) SerializeMap;
        serialize_struct(name: &'static str, len: usize) SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) SerializeStructVariant;
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        match value.is_finite() {
            true => self.0.serialize_f32(value),
            false => self.0.serialize_str(word(value.into())),
        }
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        match value.is_finite() {
            true => self.0.serialize_f64(value),
            false => self.0.serialize_str(word(value)),
        }
    }

    #[inline]
    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_none()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Worded(value))
    }

    #[inline]
    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit()
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit_variant(name, index, variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Worded(value))
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &Worded(value))
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! elements {
    ($($trait:ident $name:ident;)*) => {$(
        impl<S: $trait> $trait for Worded<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            #[inline]
            fn $name<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.0.$name(&Worded(value))
            }

            #[inline]
            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )*};
}

elements! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! fields {
    ($($trait:ident)*) => {$(
        impl<S: $trait> $trait for Worded<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                self.0.serialize_field(name, &Worded(value))
            }

            #[inline]
            fn skip_field(&mut self, name: &'static str) -> Result<(), S::Error> {
                self.0.skip_field(name)
            }

            #[inline]
            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )*};
}

fields! { SerializeStruct SerializeStructVariant }

impl<S: SerializeMap> SerializeMap for Worded<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    /// Not worded: JSON has strings for keys as it is, and refuses floats that are not finite.
    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&Worded(value))
    }

    #[inline]
    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}
