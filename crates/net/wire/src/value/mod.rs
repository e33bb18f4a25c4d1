//! A message whose type is known at run time only, by its schema: what a tap or a converter has.

mod data;
mod read;
mod write;

pub use data::Value;

use crate::encoding::Encoding;
use crate::error::{DecodeError, EncodeError};
use crate::limits::Limits;
use crate::schema::ValidSchema;
use read::Seed;
use std::cell::Cell;

impl Value {
    /// Reads a message that looks as the schema says. What the schema adds to it (names of fields,
    /// fields that did not come) may take as much memory again as the limits allow for the message.
    ///
    /// # Errors
    /// If it does not, or goes beyond the limits.
    pub fn decode(
        encoding: Encoding,
        bytes: &[u8],
        schema: &ValidSchema<'_>,
        limits: &Limits,
    ) -> Result<Value, DecodeError> {
        let by_position = encoding == Encoding::Binary;
        let memory = &Cell::new(limits.memory_bytes);
        let of = &schema.schema().root;
        encoding.decode_seed(bytes, limits, Seed { schema, of, by_position, memory })
    }

    /// Reads a message without knowing what it looks like; in binary there is no way.
    ///
    /// # Errors
    /// If it is none, or goes beyond the limits.
    pub fn decode_any(
        encoding: Encoding,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<Value, DecodeError> {
        match encoding {
            Encoding::SelfDescribing | Encoding::Text => encoding.decode_slice(bytes, limits),
            Encoding::Binary | Encoding::Xml => {
                let problem = "expected a schema: this encoding does not say what it holds";
                Err(DecodeError::new(encoding, 0, problem))
            }
        }
    }

    /// Appends it as the type that it was decoded with would be.
    ///
    /// # Errors
    /// If the encoding has no way to say it.
    pub fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match encoding {
            Encoding::Binary => encoding.encode(&write::ByPosition(self), out),
            _ => encoding.encode(self, out),
        }
    }

    /// The name of the variant, if the message is one of several.
    #[must_use]
    pub fn variant(&self) -> Option<&str> {
        match self {
            Value::Variant(_, name, _) => Some(name),
            _ => None,
        }
    }
}
