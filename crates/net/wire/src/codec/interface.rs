//! The interface of an encoding.

use crate::encoding::Encoding;
use crate::error::{DecodeError, EncodeError};
use crate::limits::Limits;
use serde::Serialize;
use serde::de::DeserializeSeed;

/// The operations of an encoding.
pub trait Codec {
    /// Which one it is.
    const ENCODING: Encoding;

    /// Appends a message. What was appended before an error stays there: [`Encoding::encode`] takes
    /// it away.
    ///
    /// # Errors
    /// If the encoding has no way to say something in the message.
    fn write<M: Serialize + ?Sized>(message: &M, out: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// Reads the message that all of the bytes are.
    ///
    /// # Errors
    /// If they are none, or one that goes beyond the limits.
    fn read<'de, S: DeserializeSeed<'de>>(
        bytes: &'de [u8],
        limits: &Limits,
        seed: S,
    ) -> Result<S::Value, DecodeError>;
}

/// The name of the newtype whose map stands as the fields of a struct: how a value that knows its
/// type only at run time says that it is a struct. No type in Rust has such a name.
pub(crate) const FIELDS: &str = "\u{1}fields";

/// Takes an error out of its box. Functions that are called, and not inlined, return errors in a
/// box: one that returned the caller's type would be given the place of the caller's result to
/// write to, which then can not be registers, not even where nothing goes wrong.
#[expect(clippy::boxed_local, reason = "it is what is taken out of its box")]
#[inline(always)]
pub(super) fn unbox(error: Box<DecodeError>) -> DecodeError {
    *error
}
