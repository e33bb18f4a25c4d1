//! Encodings apart from protocols.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod bulk;
mod codec;
mod error;
mod floats;
pub mod hex;
mod limited;
mod limits;

pub use bulk::{Blob, Number, Numbers, SHARED_MIN};
pub use codec::{Binary, Codec, Encoding, SelfDescribing, Text, Xml};
pub use error::{DecodeError, EncodeError};
pub use limits::Limits;
