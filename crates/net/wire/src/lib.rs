//! Encodings apart from protocols.
//!
//! A program's message types say *what* may be said; the [`Encoding`] says how bytes stand for it,
//! is chosen when a [`Link`] opens, and never appears in a program's code. `binary` in production,
//! `text` while debugging (`ACTINIUM_ENCODING=text`), `self-describing` between versions that
//! differ, `xml` (a feature, off by default) for systems that insist.
//!
//! ```
//! use actinium_wire::{Encoding, Limits, Message};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize, Message)]
//! #[message(version = 2)]
//! struct Reading {
//!     #[serde(alias = "probe")] // what it was called in version 1
//!     sensor: String,
//!     #[serde(default)] // not there in version 1
//!     unit: Option<String>,
//!     value: f64,
//! }
//!
//! let reading = Reading { sensor: "oven".into(), unit: None, value: f64::INFINITY };
//! for encoding in Encoding::available() {
//!     let mut bytes = Vec::new();
//!     encoding.encode(&reading, &mut bytes)?;
//!     assert_eq!(encoding.decode::<Reading>(&bytes.into(), &Limits::default())?, reading);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`frame`] | where a message ends and the next begins |
//! | [`hello`] | what two sides say first, and what they come to |
//! | [`link`] | a stream on which messages are sent |
//! | [`mod@protocol`] | which message may follow which |
//! | [`recording`] | streams of messages in files |
//! | [`schema`] | what a type looks like, as data: fingerprints, and what two versions understand of each other |
//! | [`typescript`] | a protocol as a module of TypeScript |
//!
//! Whatever comes from outside is a message within the [`Limits`] or an error: no panic, no more
//! memory than allowed.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

// So that what the macros make compiles in this crate's own tests.
extern crate self as actinium_wire;

mod budget;
mod bulk;
mod byte_lists;
mod codec;
mod description;
mod encoding;
mod error;
mod floats;
mod fnv;
pub mod frame;
pub mod hello;
pub mod hex;
mod limited;
mod limits;
pub mod link;
pub mod protocol;
pub mod recording;
pub mod schema;
pub mod typescript;
mod value;

/// Derives [`Message`](trait@Message) and `Describe`.
///
/// `#[message(name = "..", version = N)]` sets what hellos contain; by default the name is that of
/// the type, and the version is 1. `#[message(crate = "path")]` says where this crate is. Only a
/// crate that reaches it through a re-export other than `actinium::wire` needs that.
pub use actinium_wire_macros::Message;
#[doc(hidden)]
pub use actinium_wire_macros::{FacadeMessage, protocol as expand_protocol};
pub use bulk::{Blob, ByteArray, Number, Numbers, SHARED_MIN};
#[cfg(feature = "xml")]
pub use codec::Xml;
pub use codec::{Binary, Codec, SelfDescribing, Text};
pub use description::{DescribedState, DescribedWord, Description};
pub use encoding::Encoding;
#[doc(hidden)]
pub use error::explain;
pub use error::{DecodeError, EncodeError};
pub use fnv::fnv1a;
pub use limits::Limits;
pub use link::{Link, LinkError, LinkFault, Options};
pub use schema::Message;
/// For the code that macros make.
#[doc(hidden)]
pub use serde;
pub use value::Value;

/// Declares a protocol between two parties: see [`mod@protocol`].
#[macro_export]
macro_rules! protocol {
    ($($declaration:tt)*) => {
        $crate::expand_protocol! { $crate $($declaration)* }
    };
}
