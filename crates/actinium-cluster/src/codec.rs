//! How a message becomes bytes between nodes: what `actinium-wire` does, with the message's type in its errors.

use crate::remote::RemoteActor;
use actinium_wire::hello::Hello;
use actinium_wire::schema::{Describe, Schema};
use actinium_wire::{Encoding, Limits};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt;

/// What nodes say to each other, in contrast to what actors do.
pub(crate) const NODES: Encoding = Encoding::Binary;
/// How hellos travel, so that a later version may say more.
const HELLO: Encoding = Encoding::SelfDescribing;

/// Why a message did not become bytes, or bytes no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecError {
    /// The message's type.
    pub message: &'static str,
    /// What the encoding says.
    pub reason: String,
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} can not be encoded or decoded: {}", self.message, self.reason)
    }
}

impl std::error::Error for CodecError {}

#[cold]
fn error<T>(reason: impl fmt::Display) -> CodecError {
    CodecError { message: std::any::type_name::<T>(), reason: reason.to_string() }
}

/// Appends the message's bytes.
///
/// # Errors
/// If its type has something that the encoding has not; `into` is then unchanged.
#[inline]
pub(crate) fn encode<T: Serialize>(
    encoding: Encoding,
    message: &T,
    into: &mut Vec<u8>,
) -> Result<(), CodecError> {
    encoding.encode(message, into).map_err(error::<T>)
}

/// The message of these bytes, which are all its.
///
/// # Errors
/// If they are no such message, or more than one.
#[inline]
pub(crate) fn decode<T: DeserializeOwned>(
    encoding: Encoding,
    bytes: &[u8],
) -> Result<T, CodecError> {
    encoding.decode_slice(bytes, &Limits::default()).map_err(error::<T>)
}

/// What a node says of the messages of an actor's type: what they look like, and in which encodings it takes them.
pub(crate) fn hello<A: RemoteActor>(encodings: &[Encoding]) -> Hello {
    let schema = Schema::of::<(A::Message, A::Question, A::Answer)>(A::KIND, A::VERSION);
    // The link sees to checksums.
    Hello::with_schema(schema, encodings, false)
}

/// As [`hello`], of an actor's type and of the arguments that such an actor is made of.
pub(crate) fn hello_with_args<A: RemoteActor, Args: Describe>(encodings: &[Encoding]) -> Hello {
    let schema = Schema::of::<(Args, A::Message, A::Question, A::Answer)>(A::KIND, A::VERSION);
    Hello::with_schema(schema, encodings, false)
}

/// The bytes of what is said before the two nodes have settled on anything: a hello, or arguments.
pub(crate) fn encode_early<T: Serialize>(said: &T) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::new();
    encode(HELLO, said, &mut bytes)?;
    Ok(bytes)
}

/// What these bytes of [`encode_early`] say.
pub(crate) fn decode_early<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    decode(HELLO, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Unknown;

    impl Serialize for Unknown {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut tuple = serializer.serialize_tuple(2)?;
            serde::ser::SerializeTuple::serialize_element(&mut tuple, &1_u8)?;
            Err(serde::ser::Error::custom("half-way"))
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_and_nothing_else() {
        for encoding in [Encoding::Binary, Encoding::SelfDescribing] {
            let mut bytes = vec![9];
            encode(encoding, &(7_u32, "seven".to_owned()), &mut bytes).unwrap();
            assert_eq!(decode(encoding, &bytes[1..]), Ok((7_u32, "seven".to_owned())));
            assert!(decode::<(u32, String)>(encoding, &bytes[1..bytes.len() - 1]).is_err());
            bytes.push(0);
            let error = decode::<(u32, String)>(encoding, &bytes[1..]).unwrap_err();
            assert!(error.to_string().contains("expected the end of the message"), "{error}");
        }
    }

    #[test]
    fn a_failure_half_way_leaves_nothing() {
        let mut bytes = vec![9];
        assert!(encode(NODES, &Unknown, &mut bytes).is_err());
        assert_eq!(bytes, [9]);
    }
}
