//! `binary`: postcard. Compact, and readable only with the very types that wrote it.

use super::{Codec, DecodeError, EncodeError, Encoding};
use crate::limited::{Budget, Limited};
use crate::limits::Limits;
use postcard::de_flavors::Flavor as Source;
use postcard::ser_flavors::Flavor as Target;
use postcard::{Deserializer, Error, Serializer};
use serde::Serialize;
use serde::de::DeserializeSeed;

/// The codec.
#[derive(Clone, Copy, Debug)]
pub struct Binary;

impl Codec for Binary {
    const ENCODING: Encoding = Encoding::Binary;

    #[inline]
    fn write<M: Serialize + ?Sized>(message: &M, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut serializer = Serializer { output: Append(out) };
        message.serialize(&mut serializer).map_err(|error| {
            let problem = match error {
                Error::SerializeSeqLengthUnknown => {
                    "it has no room for a list whose length is not known beforehand".to_owned()
                }
                other => other.to_string(),
            };
            EncodeError::new(Encoding::Binary, problem)
        })
    }

    #[inline]
    fn read<'de, S: DeserializeSeed<'de>>(
        bytes: &'de [u8],
        limits: &Limits,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        let budget = Budget::new(limits, false);
        let mut deserializer = Deserializer::from_flavor(Cursor(bytes));
        let result = seed.deserialize(Limited::new(&mut deserializer, &budget, limits.depth));
        let left = deserializer.finalize().unwrap_or_default();
        match result {
            Ok(value) if left == 0 => Ok(value),
            Ok(_) => Err(fault(bytes.len(), left, None)),
            Err(error) => Err(fault(bytes.len(), left, Some(error))),
        }
    }
}

/// Of a message of so many bytes, when so many were left.
#[cold]
#[inline(never)]
fn fault(length: usize, left: usize, error: Option<Error>) -> DecodeError {
    match error {
        None => DecodeError::trailing(Encoding::Binary, length, left),
        Some(error) => DecodeError::new(Encoding::Binary, length - left, say(error)),
    }
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
        // Postcard keeps no text of what a type's own code complains about, in a build without its logging.
        Error::SerdeDeCustom => {
            "expected a value that the type takes, within the limits of nesting and memory; found another"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// Appends to a vector.
struct Append<'a>(&'a mut Vec<u8>);

impl Target for Append<'_> {
    type Output = ();

    #[inline(always)]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
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

/// Reads from a slice, and says at the end (after an error as well) how much of it is left.
struct Cursor<'de>(&'de [u8]);

impl<'de> Source<'de> for Cursor<'de> {
    type Remainder = usize;
    type Source = &'de [u8];

    #[inline(always)]
    fn pop(&mut self) -> postcard::Result<u8> {
        let (first, rest) = self.0.split_first().ok_or(Error::DeserializeUnexpectedEnd)?;
        self.0 = rest;
        Ok(*first)
    }

    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }

    #[inline(always)]
    fn try_take_n(&mut self, count: usize) -> postcard::Result<&'de [u8]> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or(Error::DeserializeUnexpectedEnd)?;
        self.0 = rest;
        Ok(taken)
    }

    fn finalize(self) -> postcard::Result<usize> {
        Ok(self.0.len())
    }
}
