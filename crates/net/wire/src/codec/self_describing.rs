//! `self-describing`: MessagePack with named fields. Binary, and readable without the types.

use super::interface::Codec;
use crate::budget::Budget;
use crate::encoding::Encoding;
use crate::error::{DecodeError, EncodeError};
use crate::limited::Limited;
use crate::limits::Limits;
use rmp_serde::decode::Error;
use serde::Serialize;
use serde::de::{Deserialize, DeserializeSeed, IgnoredAny};
use std::cell::Cell;
use std::io::{self, Read};

/// The codec.
#[derive(Clone, Copy, Debug)]
pub struct SelfDescribing;

impl Codec for SelfDescribing {
    const ENCODING: Encoding = Encoding::SelfDescribing;

    #[inline]
    fn write<M: Serialize + ?Sized>(message: &M, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut serializer = rmp_serde::Serializer::new(out).with_struct_map();
        let written = message.serialize(&mut serializer);
        written.map_err(|error| EncodeError::new(Encoding::SelfDescribing, error))
    }

    #[inline]
    fn read<'de, S: DeserializeSeed<'de>>(
        bytes: &'de [u8],
        limits: &Limits,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        let budget = Budget::new(limits, false);
        let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
        // A level of ours is up to two of the library's.
        deserializer.set_max_depth(2 * usize::from(limits.depth) + 2);
        let value = seed
            .deserialize(Limited::new(&mut deserializer, &budget, limits.depth))
            .map_err(|error| locate(bytes, limits, &error))?;
        // The library does not say how much it has left; a value more, or the end.
        match bool::deserialize(&mut deserializer) {
            Err(Error::InvalidMarkerRead(_)) => Ok(value),
            _ => {
                let first = item_length(bytes, limits).unwrap_or(bytes.len());
                let left = bytes.len() - first;
                Err(DecodeError::trailing(Encoding::SelfDescribing, bytes.len(), left))
            }
        }
    }
}

/// The offset of an error: the reader of slices does not tell, so the structure is read once more.
/// What is well-formed, but not of the expected type, has no better place than its end.
#[cold]
fn locate(bytes: &[u8], limits: &Limits, error: &Error) -> DecodeError {
    let offset = match item_length(bytes, limits) {
        Ok(_) => 0,
        Err(offset) => offset,
    };
    let problem = match error {
        Error::InvalidMarkerRead(_) | Error::InvalidDataRead(_) => {
            "expected more bytes, found the end".to_owned()
        }
        Error::TypeMismatch(marker) => format!("expected another type, found {marker:?}"),
        Error::OutOfRange => "expected a number that fits, found one that is too large".to_owned(),
        Error::LengthMismatch(length) => {
            format!("expected another number of elements, found {length}")
        }
        Error::Utf8Error(_) => "expected UTF-8, found other bytes".to_owned(),
        Error::DepthLimitExceeded => "expected less nesting".to_owned(),
        Error::Uncategorized(text) | Error::Syntax(text) => text.clone(),
    };
    DecodeError::new(Encoding::SelfDescribing, offset, problem)
}

/// The length of the first item, or how far one gets in it.
fn item_length(bytes: &[u8], limits: &Limits) -> Result<usize, usize> {
    struct Counting<'a> {
        rest: &'a [u8],
        left: &'a Cell<usize>,
    }
    impl Read for Counting<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.rest.read(buffer)?;
            self.left.set(self.rest.len());
            Ok(count)
        }
    }
    let left = Cell::new(bytes.len());
    let budget = Budget::new(limits, false);
    let mut deserializer = rmp_serde::Deserializer::new(Counting { rest: bytes, left: &left });
    let item = IgnoredAny::deserialize(Limited::new(&mut deserializer, &budget, limits.depth));
    let read = bytes.len() - left.get();
    if item.is_ok() { Ok(read) } else { Err(read) }
}
