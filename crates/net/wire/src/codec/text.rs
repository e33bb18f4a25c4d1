//! `text`: JSON, one message a line.

use super::interface::Codec;
use crate::budget::Budget;
use crate::encoding::Encoding;
use crate::error::{DecodeError, EncodeError};
use crate::floats::Worded;
use crate::limited::Limited;
use crate::limits::Limits;
use serde::Serialize;
use serde::de::DeserializeSeed;
use serde_json::error::Category;

/// The codec.
#[derive(Clone, Copy, Debug)]
pub struct Text;

impl Codec for Text {
    const ENCODING: Encoding = Encoding::Text;

    #[inline]
    fn write<M: Serialize + ?Sized>(message: &M, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut serializer = serde_json::Serializer::new(&mut *out);
        let written = message.serialize(Worded(&mut serializer));
        written.map_err(|error| EncodeError::new(Encoding::Text, error))?;
        out.push(b'\n');
        Ok(())
    }

    #[inline]
    fn read<'de, S: DeserializeSeed<'de>>(
        bytes: &'de [u8],
        limits: &Limits,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        let budget = Budget::new(limits, true);
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let value = seed.deserialize(Limited::new(&mut deserializer, &budget, limits.depth));
        let value = value.and_then(|value| deserializer.end().map(|()| value));
        value.map_err(|error| fault(bytes, &error))
    }
}

/// The library says what it expected, and not always what it found.
#[cold]
fn fault(bytes: &[u8], error: &serde_json::Error) -> DecodeError {
    let offset = offset(bytes, error);
    let problem = match error.classify() {
        Category::Data | Category::Io => error.to_string(),
        Category::Eof => format!("expected more text, found the end: {error}"),
        Category::Syntax => {
            let rest = bytes.get(offset..).unwrap_or_default();
            let found = String::from_utf8_lossy(&rest[..rest.len().min(4)]);
            let found = found.chars().next().map_or_else(
                || "the end".to_owned(),
                |character| format!("'{}'", character.escape_debug()),
            );
            format!("expected JSON, found {found}: {error}")
        }
    };
    DecodeError::new(Encoding::Text, offset, problem)
}

/// Where in the bytes line and column are.
#[cold]
fn offset(bytes: &[u8], error: &serde_json::Error) -> usize {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    (before + error.column()).saturating_sub(1).min(bytes.len())
}
