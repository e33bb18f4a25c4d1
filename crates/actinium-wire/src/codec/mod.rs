//! The encodings: how bytes stand for a message. One trait; which one is used is decided at run time, per link.

mod binary;
pub(crate) mod problem;
mod self_describing;
mod text;
mod xml;

pub use binary::Binary;
pub use self_describing::SelfDescribing;
pub use text::Text;
pub(crate) use xml::FIELDS;
pub use xml::Xml;

use crate::bulk::{SHARED_MIN, sharing};
use crate::error::{DecodeError, EncodeError};
use crate::limits::Limits;
use bytes::Bytes;
use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed, Deserializer};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

/// What an encoding can do.
pub trait Codec {
    /// Which one it is.
    const ENCODING: Encoding;

    /// Appends a message. What was appended before an error stays there: [`Encoding::encode`] takes it away.
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

/// One of the encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Encoding {
    /// Compact, and readable only with the very types that wrote it: postcard.
    Binary = 1,
    /// Binary, and readable without the types: MessagePack with named fields.
    SelfDescribing = 2,
    /// JSON, one message a line.
    Text = 3,
    /// XML, one message a line.
    Xml = 4,
}

// What leads to binary's code is always compiled into its caller: there a small message is a few instructions, and its parts go into registers
// rather than through memory (stores of a field each, read back two at a time, have to wait for each other).
impl Encoding {
    /// All of them, the cheapest first.
    pub const ALL: [Encoding; 4] =
        [Encoding::Binary, Encoding::SelfDescribing, Encoding::Text, Encoding::Xml];

    /// What people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Binary => "binary",
            Encoding::SelfDescribing => "self-describing",
            Encoding::Text => "text",
            Encoding::Xml => "xml",
        }
    }

    /// What frames call it.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The one that frames call so.
    #[must_use]
    pub fn of_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.id() == id)
    }

    /// Whether people can read it.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Encoding::Text | Encoding::Xml)
    }

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

    /// The message that all of the bytes are. Long [`Blob`](crate::Blob)s and [`Numbers`](crate::Numbers) in it share their memory.
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

    /// The message that all of the bytes are. What is borrowed in its type lies in them; what is owned is copied.
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

/// What goes wrong comes in a box from functions that are calls: one that returned the caller's type would be given the place of the
/// caller's result to write to, which then can not be registers, not even where nothing goes wrong.
#[expect(clippy::boxed_local, reason = "it is what is taken out of its box")]
#[inline(always)]
fn unbox(error: Box<DecodeError>) -> DecodeError {
    *error
}

/// The other encodings' code stands apart, so that only binary's is compiled into the caller.
#[inline(never)]
fn write_apart<C: Codec, M: Serialize + ?Sized>(
    message: &M,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    C::write(message, out)
}

/// As [`write_apart`].
#[inline(never)]
fn read_apart<'de, C: Codec, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    limits: &Limits,
    seed: S,
) -> Result<S::Value, Box<DecodeError>> {
    C::read(bytes, limits, seed).map_err(Box::new)
}

impl Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|encoding| encoding.name() == name);
        let allowed = Self::ALL.map(Encoding::name).join(", ");
        found.ok_or_else(|| format!("unknown encoding '{name}': allowed are {allowed}"))
    }
}

/// By its name.
impl Serialize for Encoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Encoding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
