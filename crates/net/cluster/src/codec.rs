//! Encoding of messages between nodes. It is `actinium-wire`'s, with the type of the message in its
//! errors.
//!
//! A type's `Serialize` and `Deserialize` are user code. A panic in them is an encoding error and
//! harms neither the actor nor the node.

use actinium_scheduler::guard;
use actinium_wire::hello::Hello;
use actinium_wire::{Encoding, Limits};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt;

/// The encoding of the nodes' own messages to each other, in contrast to their actors' messages.
pub(crate) const NODES: Encoding = Encoding::Binary;
/// How hellos travel, so that a later version may say more.
const HELLO: Encoding = Encoding::SelfDescribing;

/// An error of encoding or decoding a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecError {
    /// The message's type.
    pub message: &'static str,
    /// The encoding's error message.
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
/// If its type has something that the encoding has not, or panics; `into` is then unchanged, or cut
/// if it panics.
#[inline]
pub(crate) fn encode<T: Serialize>(
    encoding: Encoding,
    message: &T,
    into: &mut Vec<u8>,
) -> Result<(), CodecError> {
    match guard::catch(|| encoding.encode(message, into)) {
        Ok(encoded) => encoded.map_err(error::<T>),
        Err(panicked) => Err(error::<T>(panicked)),
    }
}

/// The message of these bytes, which are all its.
///
/// # Errors
/// If they are no such message, or more than one; or if its type panics.
#[inline]
pub(crate) fn decode<T: DeserializeOwned>(
    encoding: Encoding,
    bytes: &[u8],
) -> Result<T, CodecError> {
    match guard::catch(|| encoding.decode_slice(bytes, &Limits::default())) {
        Ok(decoded) => decoded.map_err(error::<T>),
        Err(panicked) => Err(error::<T>(panicked)),
    }
}

/// The bytes of what is said before the two nodes have agreed on anything: a hello, or arguments.
pub(crate) fn encode_early<T: Serialize>(said: &T) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::new();
    encode(HELLO, said, &mut bytes)?;
    Ok(bytes)
}

/// The hello that these bytes of [`encode_early`] are. Its types are looked at when it is
/// negotiated with ours.
pub(crate) fn decode_hello(bytes: &[u8]) -> Result<Hello, CodecError> {
    Hello::decode(HELLO, bytes).map_err(error::<Hello>)
}

/// Decodes bytes that [`encode_early`] has made.
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
