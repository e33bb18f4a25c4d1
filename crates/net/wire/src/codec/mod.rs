//! The encodings: how bytes stand for a message. One trait; which one is used is decided at run
//! time, per link.

mod binary;
pub(crate) mod interface;
mod self_describing;
mod text;
#[cfg(feature = "xml")]
mod xml;

pub use binary::Binary;
pub use interface::Codec;
pub use self_describing::SelfDescribing;
pub use text::Text;
#[cfg(feature = "xml")]
pub use xml::Xml;

use crate::bulk::{SHARED_MIN, sharing};
use crate::encoding::Encoding;
use crate::error::{DecodeError, EncodeError};
use crate::limits::Limits;
use bytes::Bytes;
use interface::unbox;
use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed};
use std::marker::PhantomData;

/// Stands in for XML in a build without it: nothing is written or read, and the error says why.
#[cfg(not(feature = "xml"))]
struct Xml;

#[cfg(not(feature = "xml"))]
impl Codec for Xml {
    const ENCODING: Encoding = Encoding::Xml;

    fn write<M: Serialize + ?Sized>(_: &M, _: &mut Vec<u8>) -> Result<(), EncodeError> {
        Err(EncodeError::new(Encoding::Xml, WITHOUT_XML))
    }

    fn read<'de, S: DeserializeSeed<'de>>(
        _: &'de [u8],
        _: &Limits,
        _: S,
    ) -> Result<S::Value, DecodeError> {
        Err(DecodeError::new(Encoding::Xml, 0, WITHOUT_XML))
    }
}

#[cfg(not(feature = "xml"))]
const WITHOUT_XML: &str = "this program was built without XML (the feature `xml` of actinium-wire)";

// What leads to binary's code is always compiled into its caller: there a small message is a few
// instructions, and its parts go into registers rather than through memory (stores of a field each,
// read back two at a time, have to wait for each other).
impl Encoding {
    /// Appends a message to `out`; nothing, if there is an error.
    ///
    /// # Errors
    /// If the encoding has no way to say something in the message.
    #[inline(always)]
    pub fn encode<M: Serialize + ?Sized>(
        self,
        message: &M,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let before = out.len();
        let written = match self {
            Encoding::Binary => Binary::write(message, out),
            Encoding::SelfDescribing => write_apart::<SelfDescribing, M>(message, out),
            Encoding::Text => write_apart::<Text, M>(message, out),
            Encoding::Xml => write_apart::<Xml, M>(message, out),
        };
        if written.is_err() {
            out.truncate(before);
        }
        written
    }

    /// The message that all of the bytes are. Long [`Blob`](crate::Blob)s and
    /// [`Numbers`](crate::Numbers) in it share their memory.
    ///
    /// # Errors
    /// If the bytes are no such message, or one that goes beyond the limits.
    #[inline(always)]
    pub fn decode<M: DeserializeOwned>(
        self,
        bytes: &Bytes,
        limits: &Limits,
    ) -> Result<M, DecodeError> {
        match bytes.len() < SHARED_MIN {
            true => self.decode_slice(bytes, limits),
            false => self.decode_sharing(bytes, limits).map_err(unbox),
        }
    }

    /// A long message, whose parts may share its memory.
    #[inline(never)]
    fn decode_sharing<M: DeserializeOwned>(
        self,
        bytes: &Bytes,
        limits: &Limits,
    ) -> Result<M, Box<DecodeError>> {
        self.check_length(bytes, limits)?;
        sharing(bytes, || match self {
            Encoding::Binary => binary::read_long(bytes, limits, PhantomData),
            _ => self.decode_slice(bytes, limits).map_err(Box::new),
        })
    }

    #[inline(always)]
    fn check_length(self, bytes: &[u8], limits: &Limits) -> Result<(), Box<DecodeError>> {
        match bytes.len() > limits.frame_bytes {
            true => Err(too_long(self, bytes.len(), limits.frame_bytes)),
            false => Ok(()),
        }
    }

    /// The message that all of the bytes are. What is borrowed in its type lies in them; what is
    /// owned is copied.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    #[inline(always)]
    pub fn decode_slice<'de, M: Deserialize<'de>>(
        self,
        bytes: &'de [u8],
        limits: &Limits,
    ) -> Result<M, DecodeError> {
        self.decode_seed(bytes, limits, PhantomData)
    }

    /// The value that the seed makes of the bytes.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    #[inline(always)]
    pub fn decode_seed<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        limits: &Limits,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        self.check_length(bytes, limits).map_err(unbox)?;
        let apart = match self {
            Encoding::Binary => return Binary::read(bytes, limits, seed),
            Encoding::SelfDescribing => read_apart::<SelfDescribing, S>,
            Encoding::Text => read_apart::<Text, S>,
            Encoding::Xml => read_apart::<Xml, S>,
        };
        apart(bytes, limits, seed).map_err(unbox)
    }
}

#[cold]
fn too_long(encoding: Encoding, length: usize, limit: usize) -> Box<DecodeError> {
    Box::new(DecodeError::too_long(encoding, length, limit))
}

/// The other encodings' code stands apart, so that only binary's is compiled into the caller.
#[inline(never)]
fn write_apart<C: Codec, M: Serialize + ?Sized>(
    message: &M,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    C::write(message, out)
}

/// Reads a message with code that stands apart, for the reason given at [`write_apart`].
#[inline(never)]
fn read_apart<'de, C: Codec, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    limits: &Limits,
    seed: S,
) -> Result<S::Value, Box<DecodeError>> {
    C::read(bytes, limits, seed).map_err(Box::new)
}
