//! Bytes and numbers in bulk: they travel as one slice, and a receiver's message holds on to the
//! frame that came in instead of copying it.
//!
//! A deserializer hands out slices that live as long as its input, and a message for an actor has
//! to live as long as it likes. So whoever decodes lays the frame (whose memory is counted) beside
//! the decoder, and what is decoded here takes a share of it. What is shorter than [`SHARED_MIN`]
//! is copied: a message of 40 bytes had better not keep 1 MiB alive.

use bytemuck::{Pod, cast_slice};
use bytes::Bytes;
use scoped_tls::scoped_thread_local;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The least length in bytes of what shares its frame.
pub const SHARED_MIN: usize = 256;

// The frame that this thread decodes just now. It is lent, not counted: two atomic operations less
// for each message.
scoped_thread_local!(static FRAME: Bytes);

/// Runs `decode`, during which slices of `frame` can be shared.
#[inline(never)]
pub(crate) fn sharing<T>(frame: &Bytes, decode: impl FnOnce() -> T) -> T {
    FRAME.set(frame, decode)
}

/// The slice as a share of the frame, if it is a part of it and long enough; else as a copy.
#[inline]
fn share(slice: &[u8]) -> Bytes {
    if slice.len() < SHARED_MIN || !FRAME.is_set() {
        return Bytes::copy_from_slice(slice);
    }
    FRAME.with(|frame| {
        let (all, part) = (frame.as_ptr_range(), slice.as_ptr_range());
        match all.start <= part.start && part.end <= all.end {
            true => frame.slice_ref(slice),
            false => Bytes::copy_from_slice(slice),
        }
    })
}

/// Bytes that travel as they are. Decoding a long one copies nothing.
///
/// In the text encodings they stand as hexadecimal digits.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blob(Bytes);

impl Blob {
    /// The bytes, whose memory can be shared on.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl Deref for Blob {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.0.len())
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        Blob(bytes.into())
    }
}

impl From<Bytes> for Blob {
    fn from(bytes: Bytes) -> Self {
        Blob(bytes)
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&crate::hex::of(&self.0)),
            false => serializer.serialize_bytes(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_str(HexVisitor),
            false => deserializer.deserialize_bytes(BytesVisitor).map(Blob),
        }
    }
}

/// So many bytes that travel as they are, in a message's own memory: an array of any length that is
/// written and read in one copy. (`[u8; N]` travels as a list of `N` values: it is written byte by
/// byte, and serde has it for up to 32 bytes only.)
///
/// It travels as a [`Blob`] of `N` bytes, and stands in a description as one. Whoever reads it
/// refuses any other number of bytes.
///
/// ```
/// use actinium_wire::{ByteArray, Encoding, Limits};
/// let mut bytes = Vec::new();
/// Encoding::Binary.encode(&ByteArray([7; 64]), &mut bytes)?;
/// assert_eq!(bytes.len(), 65);
/// let ByteArray::<64>(back) = Encoding::Binary.decode(&bytes.into(), &Limits::default())?;
/// assert_eq!(back, [7; 64]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteArray<const N: usize>(pub [u8; N]);

impl<const N: usize> Deref for ByteArray<N> {
    type Target = [u8; N];

    fn deref(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> DerefMut for ByteArray<N> {
    fn deref_mut(&mut self) -> &mut [u8; N] {
        &mut self.0
    }
}

impl<const N: usize> From<[u8; N]> for ByteArray<N> {
    fn from(bytes: [u8; N]) -> Self {
        ByteArray(bytes)
    }
}

impl<const N: usize> Serialize for ByteArray<N> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&crate::hex::of(&self.0)),
            false => serializer.serialize_bytes(&self.0),
        }
    }
}

impl<'de, const N: usize> Deserialize<'de> for ByteArray<N> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_str(ArrayVisitor),
            false => deserializer.deserialize_bytes(ArrayVisitor),
        }
    }
}

struct ArrayVisitor<const N: usize>;

impl<const N: usize> Visitor<'_> for ArrayVisitor<N> {
    type Value = ByteArray<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} bytes")
    }

    #[inline]
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<ByteArray<N>, E> {
        let array = bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self));
        array.map(ByteArray)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteArray<N>, E> {
        match crate::hex::bytes(text) {
            Some(bytes) => self.visit_bytes(&bytes),
            None => Err(E::invalid_value(de::Unexpected::Str(text), &"hexadecimal digits")),
        }
    }
}

struct HexVisitor;

impl Visitor<'_> for HexVisitor {
    type Value = Blob;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hexadecimal digits, two a byte")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Blob, E> {
        match crate::hex::bytes(text) {
            Some(bytes) => Ok(bytes.into()),
            None => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    #[inline]
    fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Bytes, E> {
        Ok(share(bytes))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes::copy_from_slice(bytes))
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
        Ok(bytes.into())
    }
}

/// A number that [`Numbers`] can hold.
pub trait Number: Pod + Send + Serialize + for<'de> Deserialize<'de> + sealed::Bits {
    /// The type's name in a schema.
    const NAME: &'static str;
}

mod sealed {
    /// A number in little-endian order, which is what travels.
    pub trait Bits: Sized {
        const SIZE: usize;
        fn from_le(bytes: &[u8]) -> Self;
        fn to_le(self, bytes: &mut Vec<u8>);
    }
}

macro_rules! numbers {
    ($($type:ident)*) => {$(
        impl sealed::Bits for $type {
            const SIZE: usize = size_of::<$type>();

            #[inline]
            fn from_le(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                $type::from_le_bytes(own)
            }

            fn to_le(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        }

        impl Number for $type {
            const NAME: &'static str = stringify!($type);
        }
    )*};
}

numbers! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }

/// Numbers that travel as one slice of bytes. Decoding a long one copies nothing: read them where
/// they lie, by [`iter`](Self::iter), [`get`](Self::get), or as a slice by
/// [`to_slice`](Self::to_slice).
///
/// In the text encodings they are a list of numbers. `Vec<f64>` in a message works as well, and
/// costs ten times as much.
///
/// ```
/// use actinium_wire::Numbers;
/// let numbers = Numbers::from(vec![1.5, f64::NAN]);
/// assert_eq!(numbers.get(0), Some(1.5));
/// assert_eq!(numbers.iter().filter(|number| number.is_nan()).count(), 1);
/// ```
#[derive(Clone)]
pub struct Numbers<T> {
    /// Little-endian, `len() * size_of::<T>()` of them.
    bytes: Bytes,
    numbers: PhantomData<T>,
}

impl<T: Number> Numbers<T> {
    /// Returns their number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / T::SIZE
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        let begin = index.checked_mul(T::SIZE)?;
        Some(T::from_le(self.bytes.get(begin..begin.checked_add(T::SIZE)?)?))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + '_ {
        self.bytes.chunks_exact(T::SIZE).map(T::from_le)
    }

    /// Returns the numbers as a slice: in place where the frame happens to be aligned for it and
    /// the machine is little-endian, else a copy.
    #[must_use]
    pub fn to_slice(&self) -> Cow<'_, [T]> {
        match bytemuck::try_cast_slice(&self.bytes) {
            Ok(slice) if cfg!(target_endian = "little") => Cow::Borrowed(slice),
            _ => Cow::Owned(self.iter().collect()),
        }
    }

    /// Reads the bytes that travel; what is left over at their end is ignored.
    pub(crate) fn of_le_bytes(bytes: &[u8]) -> Self {
        Numbers { bytes: Bytes::copy_from_slice(bytes), numbers: PhantomData }
    }

    /// The bytes that travel.
    #[must_use]
    pub fn as_le_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Takes the vector over; copies nothing.
impl<T: Number> From<Vec<T>> for Numbers<T> {
    fn from(numbers: Vec<T>) -> Self {
        struct Owned<T>(Vec<T>);
        impl<T: Pod> AsRef<[u8]> for Owned<T> {
            fn as_ref(&self) -> &[u8] {
                cast_slice(&self.0)
            }
        }
        let bytes = match cfg!(target_endian = "little") {
            true => Bytes::from_owner(Owned(numbers)),
            false => {
                let mut bytes = Vec::with_capacity(numbers.len() * T::SIZE);
                numbers.into_iter().for_each(|number| number.to_le(&mut bytes));
                bytes.into()
            }
        };
        Numbers { bytes, numbers: PhantomData }
    }
}

impl<T: Number> From<&[T]> for Numbers<T> {
    fn from(numbers: &[T]) -> Self {
        numbers.to_vec().into()
    }
}

impl<T: Number> FromIterator<T> for Numbers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        numbers.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { bytes: Bytes::new(), numbers: PhantomData }
    }
}

/// Bit by bit: `NaN` equals itself, and 0.0 differs from -0.0.
impl<T> PartialEq for Numbers<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<T> Eq for Numbers<T> {}

impl<T: Number> fmt::Debug for Numbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Numbers({} of {})", self.len(), T::NAME)
    }
}

impl<T: Number> Serialize for Numbers<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_seq(self.iter()),
            false => serializer.serialize_bytes(&self.bytes),
        }
    }
}

impl<'de, T: Number> Deserialize<'de> for Numbers<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_seq(ListVisitor(PhantomData));
        }
        let bytes = deserializer.deserialize_bytes(BytesVisitor)?;
        if bytes.len() % T::SIZE != 0 {
            return Err(de::Error::custom(format_args!(
                "expected numbers of {} bytes each, found {} bytes",
                T::SIZE,
                bytes.len()
            )));
        }
        Ok(Numbers { bytes, numbers: PhantomData })
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Number> Visitor<'de> for ListVisitor<T> {
    type Value = Numbers<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {}", T::NAME)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut numbers: Vec<T> = Vec::new();
        while let Some(number) = list.next_element()? {
            numbers.push(number);
        }
        Ok(numbers.into())
    }
}

/// The numbers as a vector of their own.
impl<T: Number> From<&Numbers<T>> for Vec<T> {
    fn from(numbers: &Numbers<T>) -> Self {
        numbers.to_slice().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_parts_of_the_frame_are_shared() {
        let frame = Bytes::from(vec![7; 1_000]);
        let (shared, short, other) =
            sharing(&frame, || (share(&frame[100..]), share(&frame[..10]), share(&vec![7; 500])));
        assert!(frame.as_ptr_range().contains(&shared.as_ptr()));
        assert!(!frame.as_ptr_range().contains(&short.as_ptr()));
        assert!(!frame.as_ptr_range().contains(&other.as_ptr()));
        let after = share(&frame[100..]);
        assert!(!frame.as_ptr_range().contains(&after.as_ptr()), "nothing is decoded any more");
    }

    #[test]
    fn an_array_of_bytes_is_so_many_in_every_encoding() {
        use crate::{Encoding, Limits};
        for encoding in Encoding::available() {
            let (array, mut bytes) = (ByteArray([250; 100]), Vec::new());
            encoding.encode(&array, &mut bytes).unwrap();
            let bytes = Bytes::from(bytes);
            let limits = Limits::default();
            assert_eq!(encoding.decode::<ByteArray<100>>(&bytes, &limits).unwrap(), array);
            assert_eq!(*encoding.decode::<Blob>(&bytes, &limits).unwrap(), *array);
            assert!(encoding.decode::<ByteArray<99>>(&bytes, &limits).is_err(), "{encoding}");
        }
    }

    #[test]
    fn numbers_are_found_wherever_they_lie() {
        let list = Numbers::from(vec![1_u32, 2, 3]);
        assert_eq!((list.len(), list.get(2), list.get(3)), (3, Some(3), None));
        assert_eq!(list.get(usize::MAX), None);
        let unaligned = {
            let mut bytes = vec![0];
            bytes.extend(list.as_le_bytes());
            Numbers::<u32> { bytes: Bytes::from(bytes).slice(1..), numbers: PhantomData }
        };
        assert_eq!(unaligned.to_slice().as_ref(), [1, 2, 3]);
        assert_eq!(Vec::from(&unaligned), [1, 2, 3]);
        assert_eq!(unaligned, list);
    }
}
