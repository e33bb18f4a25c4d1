//! `xml`: for systems that insist, and for the comparison.
//!
//! The reader is quick-xml's. Its own mapping to types is not used: it refuses variants with data
//! in fields, and silently takes an empty list for no field, `None` for an empty string, and a list
//! in a list for one list.

mod problem;
mod read;
mod write;

use super::interface::Codec;
use crate::budget::Budget;
use crate::encoding::Encoding;
use crate::error::{DecodeError, EncodeError};
use crate::limited::Limited;
use crate::limits::Limits;
use serde::Serialize;
use serde::de::DeserializeSeed;

/// The codec.
#[derive(Clone, Copy, Debug)]
pub struct Xml;

/// The name of a message's element. The name of its type would be nicer, but serde does not know
/// it.
const ROOT: &str = "message";

impl Codec for Xml {
    const ENCODING: Encoding = Encoding::Xml;

    fn write<M: Serialize + ?Sized>(message: &M, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let written = message.serialize(write::Element::new(out, ROOT));
        written.map_err(|problem| EncodeError::new(Encoding::Xml, problem))?;
        out.push(b'\n');
        Ok(())
    }

    fn read<'de, S: DeserializeSeed<'de>>(
        bytes: &'de [u8],
        limits: &Limits,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            DecodeError::new(
                Encoding::Xml,
                error.valid_up_to(),
                "expected UTF-8, found other bytes",
            )
        })?;
        let (mut document, root) = read::Document::open(text);
        let budget = Budget::new(limits, false);
        let value = root.and_then(|content| {
            let value = read::Value { document: &mut document, content };
            seed.deserialize(Limited::new(value, &budget, limits.depth))
        });
        let value = value.and_then(|value| document.close().map(|()| value));
        value.map_err(|problem| DecodeError::new(Encoding::Xml, document.offset(), problem))
    }
}
