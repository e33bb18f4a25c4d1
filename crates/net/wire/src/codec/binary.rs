//! `binary`: postcard. Compact, and readable only with the very types that wrote it.

use super::interface::{Codec, unbox};
use crate::budget::Budget;
use crate::encoding::Encoding;
use crate::error::{DecodeError, EncodeError, explained};
use crate::limited::Limited;
use crate::limits::Limits;
use postcard::de_flavors::Flavor as Source;
use postcard::ser_flavors::Flavor as Target;
use postcard::{Deserializer, Error, Serializer};
use serde::Serialize;
use serde::de::DeserializeSeed;
use std::slice;

/// The codec.
#[derive(Clone, Copy, Debug)]
pub struct Binary;

impl Codec for Binary {
    const ENCODING: Encoding = Encoding::Binary;

    #[inline(always)]
    fn write<M: Serialize + ?Sized>(message: &M, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut serializer = Serializer { output: Append(out) };
        message.serialize(&mut serializer).map_err(refused)
    }

    #[inline(always)]
    fn read<'de, S: DeserializeSeed<'de>>(
        bytes: &'de [u8],
        limits: &Limits,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        read_all::<S, false>(bytes, limits, seed).map_err(unbox)
    }
}

/// The same as [`Codec::read`], for long messages: with a source of another type, so that the
/// compiler makes functions of their own of it, and those for short messages have one caller, into
/// which they are compiled.
pub(super) fn read_long<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    limits: &Limits,
    seed: S,
) -> Result<S::Value, Box<DecodeError>> {
    read_all::<S, true>(bytes, limits, seed)
}

#[inline(always)]
fn read_all<'de, S: DeserializeSeed<'de>, const LONG: bool>(
    bytes: &'de [u8],
    limits: &Limits,
    seed: S,
) -> Result<S::Value, Box<DecodeError>> {
    let budget = Budget::of_plain_bytes(limits);
    let mut deserializer = Deserializer::from_flavor(Cursor::<LONG>(bytes.iter()));
    let result = seed.deserialize(Limited::new(&mut deserializer, &budget, limits.depth));
    let left = deserializer.finalize().unwrap_or_default();
    match result {
        Ok(value) if left == 0 => Ok(value),
        Ok(_) => Err(trailing(bytes.len(), left)),
        Err(error) => Err(at(bytes.len() - left, error)),
    }
}

#[cold]
fn refused(error: Error) -> EncodeError {
    let problem = match error {
        Error::SerializeSeqLengthUnknown => {
            "it has no room for a list whose length is not known beforehand".to_owned()
        }
        // See `say`.
        Error::SerdeSerCustom => explained().unwrap_or_else(|| error.to_string()),
        other => other.to_string(),
    };
    EncodeError::new(Encoding::Binary, problem)
}

#[cold]
#[inline(never)]
fn trailing(length: usize, left: usize) -> Box<DecodeError> {
    Box::new(DecodeError::trailing(Encoding::Binary, length, left))
}

#[cold]
#[inline(never)]
fn at(offset: usize, error: Error) -> Box<DecodeError> {
    Box::new(DecodeError::new(Encoding::Binary, offset, say(error)))
}

fn say(error: Error) -> String {
    match error {
        Error::DeserializeUnexpectedEnd => "expected more bytes, found the end".to_owned(),
        Error::DeserializeBadBool => "expected 0 or 1 for a truth, found another byte".to_owned(),
        Error::DeserializeBadChar => "expected a character, found other bytes".to_owned(),
        Error::DeserializeBadUtf8 => "expected UTF-8, found other bytes".to_owned(),
        Error::DeserializeBadOption => {
            "expected 0 or 1 for an option, found another byte".to_owned()
        }
        Error::DeserializeBadVarint => "expected a number, found one that is too large".to_owned(),
        // Postcard keeps no text of what a type's own code complains about, in a build without its
        // logging.
        Error::SerdeDeCustom => explained().unwrap_or_else(|| {
            "expected a value that the type takes, within the limits of nesting and memory; found another"
                .to_owned()
        }),
        other => other.to_string(),
    }
}

/// The largest number of bytes of a packed number of 32 bits.
const SHORT: usize = 5;

/// Appends to a vector.
struct Append<'a>(&'a mut Vec<u8>);

impl Target for Append<'_> {
    type Output = ();

    #[inline(always)]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        match data {
            // Nearly all lengths are such, and to copy so little costs more than to push it.
            [byte] => self.0.push(*byte),
            // A packed number was just written byte by byte: to copy it in one piece has to wait
            // for that.
            _ if data.len() <= SHORT => {
                let end = self.0.len() + data.len();
                let byte = |index| data.get(index).copied().unwrap_or(0);
                self.0.extend_from_slice(&std::array::from_fn::<u8, SHORT, _>(byte));
                self.0.truncate(end);
            }
            _ => self.0.extend_from_slice(data),
        }
        Ok(())
    }

    #[inline(always)]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Reads from a slice, and says at the end (after an error as well) how much of it is left. An
/// iterator, because its step writes one word where that of a slice writes two, for each byte of a
/// number.
struct Cursor<'de, const LONG: bool>(slice::Iter<'de, u8>);

impl<'de, const LONG: bool> Source<'de> for Cursor<'de, LONG> {
    type Remainder = usize;
    type Source = &'de [u8];

    #[inline(always)]
    fn pop(&mut self) -> postcard::Result<u8> {
        self.0.next().copied().ok_or(Error::DeserializeUnexpectedEnd)
    }

    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }

    #[inline(always)]
    fn try_take_n(&mut self, count: usize) -> postcard::Result<&'de [u8]> {
        let left = self.0.as_slice();
        let (taken, rest) = left.split_at_checked(count).ok_or(Error::DeserializeUnexpectedEnd)?;
        self.0 = rest.iter();
        Ok(taken)
    }

    /// Of numbers whose length is known: compiled into its caller, it is a load. The one that
    /// postcard has is called, and so is what copies.
    #[inline(always)]
    fn try_take_n_temp<'a>(&'a mut self, count: usize) -> postcard::Result<&'a [u8]>
    where
        'de: 'a,
    {
        self.try_take_n(count)
    }

    fn finalize(self) -> postcard::Result<usize> {
        Ok(self.0.len())
    }
}
