//! A message that a tap has got.

use crate::filter::Direction;
use crate::queue::What;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A message that a tap has got. As data it is a line of JSON; as text, a line for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tapped {
    /// When it was there, in nanoseconds since 1970.
    #[serde(rename = "time_ns")]
    pub unix_ns: u64,
    /// Where it was shown: the node or the gateway.
    pub at: String,
    /// Whether it came or went.
    pub direction: Direction,
    /// What it was for.
    pub what: What,
    /// Whoever is at the other end.
    pub peer: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The name of the variant, if its type has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The encoding of its bytes.
    pub encoding: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// What is in it, if the filter asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<serde_json::Value>,
    /// Why what is in it is not shown, though the filter asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl fmt::Display for Tapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tapped { at, direction, peer, what, kind, bytes, encoding, .. } = self;
        write!(f, "{at} {direction:3} {peer} {what} {kind}")?;
        if let Some(variant) = &self.variant {
            write!(f, "::{variant}")?;
        }
        write!(f, ", {bytes} bytes of {encoding}")?;
        match (&self.contents, &self.problem) {
            (Some(contents), _) => write!(f, ": {contents}"),
            (None, Some(problem)) => write!(f, " (not shown: {problem})"),
            (None, None) => Ok(()),
        }
    }
}
