//! How a message becomes bytes between nodes: the one place that knows.

use serde::{Serialize, de::DeserializeOwned};
use std::fmt;

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

fn error<T>(reason: impl fmt::Display) -> CodecError {
    CodecError { message: std::any::type_name::<T>(), reason: reason.to_string() }
}

/// Appends without taking the buffer away, so that it is still there when the encoding fails half-way.
struct Append<'a>(&'a mut Vec<u8>);

impl Extend<u8> for Append<'_> {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        self.0.extend(bytes);
    }
}

/// Appends the message's bytes.
///
/// # Errors
/// If its type has something that the encoding has not; `into` is then unchanged.
pub(crate) fn encode<T: Serialize>(message: &T, into: &mut Vec<u8>) -> Result<(), CodecError> {
    let len = into.len();
    if let Err(reason) = postcard::to_extend(message, Append(into)) {
        into.truncate(len);
        return Err(error::<T>(reason));
    }
    Ok(())
}

/// The message of these bytes, which are all its.
///
/// # Errors
/// If they are no such message, or more than one.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => Err(error::<T>(format!("{} bytes are left over", rest.len()))),
        Err(reason) => Err(error::<T>(reason)),
    }
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
        let mut bytes = vec![9];
        encode(&(7_u32, "seven".to_owned()), &mut bytes).unwrap();
        assert_eq!(decode(&bytes[1..]), Ok((7_u32, "seven".to_owned())));
        assert!(decode::<(u32, String)>(&bytes[1..bytes.len() - 1]).is_err());
        bytes.push(0);
        let error = decode::<(u32, String)>(&bytes[1..]).unwrap_err();
        assert_eq!(error.reason, "1 bytes are left over");
    }

    #[test]
    fn a_failure_half_way_leaves_nothing() {
        let mut bytes = vec![9];
        assert!(encode(&Unknown, &mut bytes).is_err());
        assert_eq!(bytes, [9]);
    }
}
