//! Names of the encodings: what people, frames and hellos call them. The code that reads and writes
//! them is in `codec`.

use serde::de::{Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::str::FromStr;

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
    /// XML, one message a line. Needs the feature `xml`.
    Xml = 4,
}

impl Encoding {
    /// All of them, the cheapest first.
    pub const ALL: [Encoding; 4] =
        [Encoding::Binary, Encoding::SelfDescribing, Encoding::Text, Encoding::Xml];

    /// Returns the name that people use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Binary => "binary",
            Encoding::SelfDescribing => "self-describing",
            Encoding::Text => "text",
            Encoding::Xml => "xml",
        }
    }

    /// Returns the number that frames use.
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

    /// Whether this build can read and write it: all but XML always, XML with the feature `xml`.
    #[must_use]
    pub const fn is_available(self) -> bool {
        !matches!(self, Encoding::Xml) || cfg!(feature = "xml")
    }

    /// The encodings that this build can read and write, the cheapest first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|encoding| encoding.is_available()).collect()
    }
}

impl Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match Self::ALL.into_iter().find(|encoding| encoding.name() == name) {
            Some(encoding) if encoding.is_available() => Ok(encoding),
            Some(_) => Err(format!("this program was built without the encoding '{name}'")),
            None => {
                let allowed: Vec<_> = Self::available().into_iter().map(Encoding::name).collect();
                Err(format!("unknown encoding '{name}': allowed are {}", allowed.join(", ")))
            }
        }
    }
}

/// Writes its name.
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
