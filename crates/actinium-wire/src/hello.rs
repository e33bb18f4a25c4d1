//! How a link opens: each side says what it speaks, and both come to the same conclusion.
//!
//! There is nothing to agree on by messages back and forth: both sides know both hellos, and [`settle`] is a function of these.

use crate::codec::Encoding;
use crate::schema::{Break, Message, Schema, breaks};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// What a side says first. It travels as `self-describing`, so that a later version may say more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What the messages are called.
    pub protocol: String,
    /// Their version.
    pub version: u32,
    /// Of the message types.
    pub fingerprint: u64,
    /// Names of the encodings that this side takes, the dearest to it first. There may be ones that we do not know.
    pub encodings: Vec<String>,
    /// Whether frames are to have checksums.
    pub checksum: bool,
    /// What the messages look like.
    pub schema: Schema,
}

impl Hello {
    /// Of a side that speaks `M`.
    #[must_use]
    pub fn of<M: Message>(encodings: &[Encoding], checksum: bool) -> Self {
        Self::with_schema(M::schema(), encodings, checksum)
    }

    /// Of a side whose messages look so.
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
}

/// What two sides have come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// How messages travel.
    pub encoding: Encoding,
    /// Whether frames have checksums.
    pub checksum: bool,
    /// What is worth saying once: that binary gave way, and which messages will not be understood.
    pub remarks: Vec<String>,
}

/// Why two sides part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsettled {
    /// They speak of different things.
    Protocol {
        /// What this side speaks.
        expected: String,
        /// What the peer speaks.
        found: String,
    },
    /// A hello's fingerprint is not that of the types that it describes: whether binary would be understood, nobody knows.
    Fingerprint {
        /// Of the types.
        expected: u64,
        /// What it says.
        found: u64,
    },
    /// There is no encoding that both take.
    Encoding {
        /// What this side takes.
        expected: Vec<String>,
        /// What the peer takes.
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

impl Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsettled::Protocol { expected, found } => {
                write!(f, "expected the protocol '{expected}', found '{found}'")
            }
            Unsettled::Fingerprint { expected, found } => write!(
                f,
                "expected the fingerprint {expected:016x} of the types that the hello describes, found {found:016x}"
            ),
            Unsettled::Encoding { expected, found } => write!(
                f,
                "expected one of the encodings {}, found {}: the two have none in common",
                expected.join(", "),
                found.join(", ")
            ),
            Unsettled::Types { expected, found, breaks } => {
                write!(
                    f,
                    "expected types like those of version {expected}, found version {found}"
                )?;
                breaks.iter().try_for_each(|one| write!(f, "; {one}"))
            }
        }
    }
}

impl std::error::Error for Unsettled {}

/// What two hellos come to. Both sides come to the same, but for the order of remarks.
///
/// # Errors
/// If the two can not speak with each other.
pub fn settle(own: &Hello, peer: &Hello) -> Result<Settled, Unsettled> {
    if own.protocol != peer.protocol {
        return Err(Unsettled::Protocol {
            expected: own.protocol.clone(),
            found: peer.protocol.clone(),
        });
    }
    for hello in [own, peer] {
        let (expected, found) = (hello.schema.fingerprint(), hello.fingerprint);
        if expected != found {
            return Err(Unsettled::Fingerprint { expected, found });
        }
    }
    let mut remarks = Vec::new();
    let same = own.fingerprint == peer.fingerprint;
    if !same {
        let received = breaks(&peer.schema, &own.schema);
        let sent = breaks(&own.schema, &peer.schema);
        let all: Vec<Break> = received.into_iter().chain(sent).collect();
        if all.iter().any(|one| one.always) {
            let breaks = all.into_iter().filter(|one| one.always).collect();
            return Err(Unsettled::Types { expected: own.version, found: peer.version, breaks });
        }
        remarks.extend(all.iter().map(|one| format!("some messages are not understood: {one}")));
    }
    // The sum of the places in both lists: the smaller the better; the cheaper of two that are as good.
    let place = |hello: &Hello, encoding: Encoding| {
        hello.encodings.iter().position(|name| name == encoding.name())
    };
    let sum = |encoding| Some(place(own, encoding)? + place(peer, encoding)?);
    let best = |allowed: &[Encoding]| {
        let ranked = allowed.iter().filter_map(|&encoding| Some((sum(encoding)?, encoding)));
        ranked.min().map(|(_, encoding)| encoding)
    };
    let none =
        || Unsettled::Encoding { expected: own.encodings.clone(), found: peer.encodings.clone() };
    let mut encoding = best(&Encoding::ALL).ok_or_else(none)?;
    if !same && encoding == Encoding::Binary {
        // Whoever takes binary takes what stands in for it: it is compiled in, and costs nothing until it is used.
        encoding = best(&Encoding::ALL[1..]).unwrap_or(Encoding::SelfDescribing);
        remarks.insert(
            0,
            format!(
                "{encoding} instead of binary: the types differ (version {}, fingerprint {:016x} here; version {}, fingerprint {:016x} there)",
                own.version, own.fingerprint, peer.version, peer.fingerprint
            ),
        );
    }
    Ok(Settled { encoding, checksum: own.checksum || peer.checksum, remarks })
}
