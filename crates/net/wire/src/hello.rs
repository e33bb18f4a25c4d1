//! The opening of a link: each side says what it speaks, and both come to the same conclusion.
//!
//! The two sides need no further messages to agree. Both know both hellos, and [`negotiate`] is a
//! function of these.

use crate::encoding::Encoding;
use crate::error::DecodeError;
use crate::limits::Limits;
use crate::schema::{Break, Message, Schema, SchemaFault, ValidSchema, breaks};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// A side's first message. It travels as `self-describing`, so that a later version may say more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The name of the messages' type.
    pub protocol: String,
    /// Their version.
    pub version: u32,
    /// The fingerprint of the message types.
    pub fingerprint: u64,
    /// Names of the encodings that this side takes, the dearest to it first. There may be ones that
    /// we do not know.
    pub encodings: Vec<String>,
    /// Whether frames are to have checksums.
    pub checksum: bool,
    /// The schema of the messages.
    pub schema: Schema,
}

impl Hello {
    /// The hello of a side that speaks `M`.
    #[must_use]
    pub fn of<M: Message>(encodings: &[Encoding], checksum: bool) -> Self {
        Self::with_schema(M::schema(), encodings, checksum)
    }

    /// The hello of a side whose messages look so.
    #[must_use]
    pub fn with_schema(schema: Schema, encodings: &[Encoding], checksum: bool) -> Self {
        Hello {
            protocol: schema.name.clone(),
            version: schema.version,
            fingerprint: schema.fingerprint(),
            encodings: encodings.iter().map(|encoding| encoding.name().to_owned()).collect(),
            checksum,
            schema,
        }
    }

    /// The hello that these bytes are. Its types are as the peer says: see [`Schema::valid`].
    ///
    /// # Errors
    /// If they are none, or more than 256 KiB.
    pub fn decode(encoding: Encoding, bytes: &[u8]) -> Result<Self, DecodeError> {
        encoding.decode_slice(bytes, &Limits::HELLO)
    }

    fn types(&self, whose: &'static str) -> Result<ValidSchema<'_>, Incompatible> {
        self.schema.valid().map_err(|fault| Incompatible::Schema { whose, fault })
    }
}

/// The result of two hellos: the terms on which both sides talk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// How messages travel.
    pub encoding: Encoding,
    /// Whether frames have checksums.
    pub checksum: bool,
    /// Remarks that are worth saying once: that binary gave way, and which messages will not be
    /// understood.
    pub remarks: Vec<String>,
}

/// The reason for which two sides can not talk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Incompatible {
    /// They speak of different things.
    Protocol {
        /// The protocol that this side speaks.
        expected: String,
        /// The protocol that the peer speaks.
        found: String,
    },
    /// A hello describes types that make no sense, or too many of them.
    Schema {
        /// "this side" or "the peer".
        whose: &'static str,
        /// The error in the description.
        fault: SchemaFault,
    },
    /// A hello's fingerprint is not that of the types that it describes: whether binary would be
    /// understood, nobody knows.
    Fingerprint {
        /// The fingerprint of the types.
        expected: u64,
        /// The fingerprint in the hello.
        found: u64,
    },
    /// There is no encoding that both take.
    Encoding {
        /// The encodings that this side takes.
        expected: Vec<String>,
        /// The encodings that the peer takes.
        found: Vec<String>,
    },
    /// Their types differ in a way that makes every message of one side senseless to the other.
    Types {
        /// This side's version.
        expected: u32,
        /// The peer's.
        found: u32,
        /// Where they differ.
        breaks: Vec<Break>,
    },
}

impl Display for Incompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incompatible::Protocol { expected, found } => {
                write!(f, "expected the protocol '{expected}', found '{found}'")
            }
            Incompatible::Schema { whose, fault } => {
                write!(f, "expected types that can be compared, found what {whose} says: {fault}")
            }
            Incompatible::Fingerprint { expected, found } => write!(
                f,
                "expected the fingerprint {expected:016x} of the types that the hello describes, found {found:016x}"
            ),
            Incompatible::Encoding { expected, found } => write!(
                f,
                "expected one of the encodings {}, found {}: the two have none in common",
                expected.join(", "),
                found.join(", ")
            ),
            Incompatible::Types { expected, found, breaks } => {
                write!(
                    f,
                    "expected types like those of version {expected}, found version {found}"
                )?;
                breaks.iter().try_for_each(|one| write!(f, "; {one}"))
            }
        }
    }
}

impl std::error::Error for Incompatible {}

/// Negotiates the terms from two hellos. Both sides come to the same, but for the order of remarks.
///
/// # Errors
/// If the two can not speak with each other.
pub fn negotiate(own: &Hello, peer: &Hello) -> Result<Negotiated, Incompatible> {
    if own.protocol != peer.protocol {
        return Err(Incompatible::Protocol {
            expected: own.protocol.clone(),
            found: peer.protocol.clone(),
        });
    }
    let (own_types, peer_types) = (own.types("this side")?, peer.types("the peer")?);
    for hello in [own, peer] {
        let (expected, found) = (hello.schema.fingerprint(), hello.fingerprint);
        if expected != found {
            return Err(Incompatible::Fingerprint { expected, found });
        }
    }
    let mut remarks = Vec::new();
    let same = own.fingerprint == peer.fingerprint;
    if !same {
        let received = breaks(&peer_types, &own_types);
        let sent = breaks(&own_types, &peer_types);
        let all: Vec<Break> = received.into_iter().chain(sent).collect();
        if all.iter().any(|one| one.always) {
            let breaks = all.into_iter().filter(|one| one.always).collect();
            return Err(Incompatible::Types { expected: own.version, found: peer.version, breaks });
        }
        remarks.extend(all.iter().map(|one| format!("some messages are not understood: {one}")));
    }
    // The sum of the places in both lists: the smaller the better; the cheaper of two that are as
    // good.
    let place = |hello: &Hello, encoding: Encoding| {
        hello.encodings.iter().position(|name| name == encoding.name())
    };
    let sum = |encoding| Some(place(own, encoding)? + place(peer, encoding)?);
    let best = |allowed: &[Encoding]| {
        let ranked = allowed.iter().filter_map(|&encoding| Some((sum(encoding)?, encoding)));
        ranked.min().map(|(_, encoding)| encoding)
    };
    let none = || Incompatible::Encoding {
        expected: own.encodings.clone(),
        found: peer.encodings.clone(),
    };
    let mut encoding = best(&Encoding::ALL).ok_or_else(none)?;
    if !same && encoding == Encoding::Binary {
        // Whoever takes binary takes what stands in for it: it is compiled in, and costs nothing
        // until it is used.
        encoding = best(&Encoding::ALL[1..]).unwrap_or(Encoding::SelfDescribing);
        remarks.insert(
            0,
            format!(
                "{encoding} instead of binary: the types differ (version {}, fingerprint {:016x} here; version {}, fingerprint {:016x} there)",
                own.version, own.fingerprint, peer.version, peer.fingerprint
            ),
        );
    }
    Ok(Negotiated { encoding, checksum: own.checksum || peer.checksum, remarks })
}
