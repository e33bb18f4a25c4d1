//! What a tap wants to see.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Whether a message comes or goes, as the program sees it that is tapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// It has come from the peer.
    In,
    /// It goes to the peer.
    Out,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Direction::In => "in",
            Direction::Out => "out",
        })
    }
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "in" => Ok(Direction::In),
            "out" => Ok(Direction::Out),
            _ => Err(format!("'{text}' is not allowed: in, out")),
        }
    }
}

/// Which messages a tap gets, and what of them.
///
/// ```
/// use actinium_tap::{Direction, TapFilter};
///
/// let filter = TapFilter::new().types(["shop.desk"]).direction(Direction::In).sample(10);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TapFilter {
    pub(crate) types: Vec<String>,
    pub(crate) variants: Vec<String>,
    pub(crate) peer: Option<String>,
    pub(crate) direction: Option<Direction>,
    pub(crate) sample: u64,
    pub(crate) rate: Option<u64>,
    pub(crate) max_bytes: usize,
    pub(crate) contents: bool,
}

/// Longer messages are not read.
const MAX_BYTES: usize = 64 << 10;

impl Default for TapFilter {
    fn default() -> Self {
        TapFilter {
            types: Vec::new(),
            variants: Vec::new(),
            peer: None,
            direction: None,
            sample: 1,
            rate: None,
            max_bytes: MAX_BYTES,
            contents: false,
        }
    }
}

impl TapFilter {
    /// All messages, without what is in them.
    #[must_use]
    pub fn new() -> Self {
        TapFilter::default()
    }

    /// Only messages of these types: the kind of a remote actor, or the name of a protocol.
    #[must_use]
    pub fn types(self, types: impl IntoIterator<Item = impl Into<String>>) -> Self {
        TapFilter { types: types.into_iter().map(Into::into).collect(), ..self }
    }

    /// Only messages that are one of these variants of their type. Each message has to be read for
    /// that: the sample and the rate are of all variants.
    #[must_use]
    pub fn variants(self, variants: impl IntoIterator<Item = impl Into<String>>) -> Self {
        TapFilter { variants: variants.into_iter().map(Into::into).collect(), ..self }
    }

    /// Only messages between the program and this peer: its whole name, or one word of it.
    #[must_use]
    pub fn peer(self, peer: impl Into<String>) -> Self {
        TapFilter { peer: Some(peer.into()), ..self }
    }

    /// Only messages that come, or only those that go.
    #[must_use]
    pub fn direction(self, direction: Direction) -> Self {
        TapFilter { direction: Some(direction), ..self }
    }

    /// Only every n-th of them.
    #[must_use]
    pub fn sample(self, n: u64) -> Self {
        TapFilter { sample: n.max(1), ..self }
    }

    /// No more than so many in a second. The others are counted.
    #[must_use]
    pub fn rate(self, per_s: u64) -> Self {
        TapFilter { rate: Some(per_s), ..self }
    }

    /// Messages of more bytes are shown without what is in them. Without this, 65,536.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        TapFilter { max_bytes: bytes, ..self }
    }

    /// Whether to show what is in the messages. It may be nobody's business.
    #[must_use]
    pub fn contents(self, contents: bool) -> Self {
        TapFilter { contents, ..self }
    }

    pub(crate) fn lets(&self, direction: Direction, peer: &str, kind: &str) -> bool {
        let is_peer =
            |wanted: &String| peer == wanted || peer.split_whitespace().any(|word| word == wanted);
        self.direction.is_none_or(|wanted| wanted == direction)
            && (self.types.is_empty() || self.types.iter().any(|wanted| wanted == kind))
            && self.peer.as_ref().is_none_or(is_peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_lets_through_what_it_names() {
        let all = TapFilter::new();
        assert!(all.lets(Direction::In, "node 1", "a"));
        let some = all.clone().types(["a", "b"]).peer("1").direction(Direction::Out);
        assert!(some.lets(Direction::Out, "node 1", "b"));
        assert!(!some.lets(Direction::In, "node 1", "b"));
        assert!(!some.lets(Direction::Out, "node 11", "b"));
        assert!(!some.lets(Direction::Out, "node 1", "c"));
        assert!(all.peer("node 1").lets(Direction::In, "node 1", "c"));
    }
}
