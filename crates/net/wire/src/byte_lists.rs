//! `Vec<u8>` and `Box<[u8]>` are decoded in one copy, and `[u8; N]` without a look at the budget
//! for each byte.
//!
//! Serde reads them as lists of any type: it asks for one element after the other, and each time
//! the budget, the depth and the input are looked at. In postcard a byte stands as itself. So such
//! a list is a slice of the input, and this reads it as that, by its length. An array has no length
//! in front by which postcard would hand out a slice: its bytes are taken one by one, but paid for
//! together. What travels is the same. A [`ByteArray`](crate::ByteArray) of any length is one copy.
//!
//! Whoever asks for such a list is told by its visitor. Its value alone does not say what travels:
//! a program may make a `Vec<u8>` of a list of numbers. So the visitor has to be one of serde's
//! own, by its name. If serde names them otherwise one day, they are read byte by byte again; a
//! test notices.

use crate::budget::Budget;
use castaway::{LifetimeFree, cast};
use serde::de::{Error, SeqAccess, Visitor};
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

/// The longest array of bytes that serde knows.
const ARRAY_MAX: usize = 32;
/// For shorter arrays there is little to gain.
const ARRAY_MIN: usize = 8;

/// A value as one of another type, which it is of.
#[inline(always)]
fn same<T: LifetimeFree, U>(value: T) -> Option<U> {
    let mut same: Option<U> = None;
    if let Ok(slot) = cast!(&mut same, &mut Option<T>) {
        *slot = Some(value);
    }
    same
}

#[inline(always)]
fn is_serdes<V>() -> bool {
    // Compared as arrays, for then the compiler knows the outcome.
    let name = type_name::<V>().as_bytes();
    name.first_chunk() == Some(b"serde_core::de::impls::")
        || name.first_chunk() == Some(b"serde::de::impls::")
}

/// Whether this is serde's visitor for a `Vec<u8>`.
#[inline(always)]
pub(crate) fn is_list<'de, V: Visitor<'de>>(_visitor: &V) -> bool {
    // Sizes first: they rule out nearly all in a build that is not optimized, too.
    size_of::<V::Value>() == size_of::<Vec<u8>>()
        && cast!(&None::<V::Value>, &Option<Vec<u8>>).is_ok()
        && is_serdes::<V>()
}

/// Whether this is serde's visitor for an array of so many bytes.
#[inline(always)]
pub(crate) fn is_array<'de, V: Visitor<'de>>(_visitor: &V, len: usize) -> bool {
    (ARRAY_MIN..=ARRAY_MAX).contains(&len)
        && (size_of::<V::Value>(), align_of::<V::Value>()) == (len, 1)
        && make_array::<V::Value>(&[0; ARRAY_MAX], len).is_some()
        && is_serdes::<V>()
}

macro_rules! arrays {
    ($($len:literal)*) => {
        /// The first `len` bytes as an array, if an array of so many is what is wanted.
        #[inline(always)]
        fn make_array<U>(bytes: &[u8; ARRAY_MAX], len: usize) -> Option<U> {
            match len {
                $($len => same::<[u8; $len], U>(*bytes.first_chunk()?),)*
                _ => None,
            }
        }
    };
}

arrays! { 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 }

/// Takes a list of bytes as a slice.
pub(crate) struct List<'b, V> {
    pub(crate) visitor: V,
    pub(crate) budget: &'b Budget,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for List<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    #[inline(always)]
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<V::Value, E> {
        if !bytes.is_empty() {
            self.budget.take(bytes.len())?;
        }
        same(bytes.to_vec()).ok_or_else(not_this)
    }
}

/// Takes an array of bytes, which is paid for.
pub(crate) struct Array<V> {
    pub(crate) len: usize,
    pub(crate) visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Array<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    #[inline(always)]
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<V::Value, A::Error> {
        let mut bytes = [0; ARRAY_MAX];
        for byte in bytes.iter_mut().take(self.len) {
            *byte = list.next_element_seed(PhantomData)?.ok_or_else(not_this)?;
        }
        make_array(&bytes, self.len).ok_or_else(not_this)
    }
}

/// What was asked for was looked at before, so this does not happen.
#[cold]
fn not_this<E: Error>() -> E {
    E::custom("expected a list of bytes, found another list")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Binary, Codec, Limits};
    use serde::Serialize;
    use serde::de::{Deserialize, DeserializeOwned, Deserializer};
    use std::fmt::Debug;

    fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
        read_within(bytes, &Limits::default())
    }

    fn read_within<T: DeserializeOwned>(bytes: &[u8], limits: &Limits) -> Result<T, String> {
        Binary::read(bytes, limits, PhantomData::<T>).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn there_and_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, len: usize) {
        let mut bytes = Vec::new();
        Binary::write(value, &mut bytes).unwrap();
        assert_eq!(bytes.len(), len, "what travels is as it was");
        assert_eq!(read::<T>(&bytes).as_ref(), Ok(value));
        assert!(read::<T>(&bytes[..len - 1]).is_err(), "cut short");
    }

    /// The visitors are known by their names, and serde may change those: then this fails, and
    /// lists of bytes are read slowly.
    #[test]
    fn the_visitors_of_serde_are_known() {
        struct Probe;
        impl<'de> Deserializer<'de> for Probe {
            type Error = serde::de::value::Error;
            fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
                Err(Error::custom("neither"))
            }
            fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
                Err(Error::custom(is_list(&visitor)))
            }
            fn deserialize_tuple<V: Visitor<'de>>(
                self,
                len: usize,
                visitor: V,
            ) -> Result<V::Value, Self::Error> {
                Err(Error::custom(is_array(&visitor, len)))
            }
            serde::forward_to_deserialize_any! {
                bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
                option unit unit_struct newtype_struct tuple_struct map struct enum identifier
                ignored_any
            }
        }
        fn said<T: DeserializeOwned>() -> String {
            T::deserialize(Probe).map(|_| ()).unwrap_err().to_string()
        }
        let known = [said::<Vec<u8>>(), said::<Box<[u8]>>(), said::<[u8; 8]>(), said::<[u8; 32]>()];
        assert_eq!(known, ["true"; 4]);
        let others =
            [said::<Vec<i8>>(), said::<Vec<bool>>(), said::<[i8; 32]>(), said::<[u8; 7]>()];
        assert_eq!(others, ["false"; 4]);
        assert_eq!(said::<Vec<String>>(), "false", "of the same size as a list of bytes");
    }

    #[test]
    fn lists_of_bytes_come_as_they_were() {
        let bytes: Vec<u8> = (0..=255).rev().collect();
        for len in [0, 1, 7, 8, 127] {
            there_and_back(&bytes[..len].to_vec(), len + 1);
            there_and_back(&bytes[..len].to_vec().into_boxed_slice(), len + 1);
        }
        there_and_back(&bytes, 258);
        there_and_back(&[0xff_u8; 32], 32);
        there_and_back(&[[0x7f_u8, 0xf0, 0, 0, 0, 0, 0, 1]; 3], 24);
        there_and_back(&<[u8; 29]>::try_from(&bytes[..29]).unwrap(), 29);
        there_and_back(&<[u8; 9]>::try_from(&bytes[..9]).unwrap(), 9);
        there_and_back(&(1_u32, vec![2_u8; 3], [3_u8; 17], Some(vec![vec![4_u8]])), 1 + 4 + 17 + 4);
    }

    #[test]
    fn they_take_memory_as_before() {
        let limits = |memory_bytes| Limits { memory_bytes, ..Limits::default() };
        let mut bytes = Vec::new();
        Binary::write(&vec![1_u8; 100], &mut bytes).unwrap();
        let list = size_of::<Vec<u8>>();
        assert!(read_within::<Vec<u8>>(&bytes, &limits(list + 100)).is_ok());
        let error = read_within::<Vec<u8>>(&bytes, &limits(list + 99)).unwrap_err();
        assert!(error.contains("nesting and memory"), "{error}");
        let array = [1_u8; 32];
        assert!(read_within::<[u8; 32]>(&array, &limits(64)).is_ok());
        assert!(read_within::<[u8; 32]>(&array, &limits(63)).is_err());
    }

    #[test]
    fn a_list_of_bytes_that_travels_as_something_else_is_read_as_that() {
        struct OfNumbers(Vec<u8>);
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<u8>, A::Error> {
                let mut bytes = Vec::new();
                while let Some(number) = list.next_element::<u32>()? {
                    bytes.push((number / 100) as u8);
                }
                Ok(bytes)
            }
        }
        impl<'de> Deserialize<'de> for OfNumbers {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_seq(Numbers).map(OfNumbers)
            }
        }
        let mut bytes = Vec::new();
        Binary::write(&[300_u32, 20_000].as_slice(), &mut bytes).unwrap();
        assert_eq!(read::<OfNumbers>(&bytes).map(|it| it.0), Ok(vec![3, 200]));
    }
}
