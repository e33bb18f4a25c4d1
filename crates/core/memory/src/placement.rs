//! On which nodes a segment's pages are to lie.

use std::fmt;
use std::str::FromStr;

use actinium_topology::PuId;
use serde::{Serialize, Serializer};

use crate::NodeSet;

/// The nodes on which pages are to lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// Pages lie in turn on all nodes that the process may use: for what everybody uses.
    #[default]
    Interleave,
    /// Pages lie in turn on these nodes.
    InterleaveOver(NodeSet),
    /// Pages lie in turn on all nodes, more on those with more bandwidth (Linux 6.9; plain
    /// interleaving elsewhere, with a warning).
    WeightedInterleave,
    /// Pages lie on these nodes and nowhere else.
    Bind(NodeSet),
    /// Each page lies on the node of whoever touches it first. When pages are faulted in, each
    /// worker touches one part of equal size: worker 0 the first, and so on, which is where a loop
    /// that is split likewise will look for it.
    FirstTouch,
    /// One arena of equal size for each of these PUs, on its node: for memory that one worker uses.
    /// Without PUs, one for each worker that makes sense on this machine.
    Local(Vec<PuId>),
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::Interleave => f.write_str("interleave"),
            Placement::InterleaveOver(nodes) => write!(f, "interleave:{nodes}"),
            Placement::WeightedInterleave => f.write_str("weighted"),
            Placement::Bind(nodes) => write!(f, "bind:{nodes}"),
            Placement::FirstTouch => f.write_str("first-touch"),
            Placement::Local(_) => f.write_str("local"),
        }
    }
}

impl Serialize for Placement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that names no placement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlacementError {
    /// The text.
    pub text: String,
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is no placement: allowed are interleave, interleave:NODES, weighted, bind:NODES, first-touch, local; NODES are like '0' or '0-2,5'",
            self.text
        )
    }
}

impl std::error::Error for PlacementError {}

impl FromStr for Placement {
    type Err = PlacementError;

    fn from_str(text: &str) -> Result<Self, PlacementError> {
        let unknown = || PlacementError { text: text.to_owned() };
        let nodes = |list: &str| list.parse::<NodeSet>().map_err(|_| unknown());
        match text.split_once(':') {
            Some(("interleave", list)) => Ok(Placement::InterleaveOver(nodes(list)?)),
            Some(("bind", list)) => Ok(Placement::Bind(nodes(list)?)),
            Some(_) => Err(unknown()),
            None => match text {
                "interleave" => Ok(Placement::Interleave),
                "weighted" => Ok(Placement::WeightedInterleave),
                "first-touch" => Ok(Placement::FirstTouch),
                "local" => Ok(Placement::Local(Vec::new())),
                _ => Err(unknown()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_placements() {
        for text in ["interleave", "interleave:0-1", "weighted", "bind:0,2", "first-touch", "local"]
        {
            assert_eq!(text.parse::<Placement>().unwrap().to_string(), text);
        }
        for text in ["", "bind", "bind:", "bind:x", "local:1", "Interleave", "interleave: x"] {
            let error = text.parse::<Placement>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{text}' is no placement: ")), "{error}");
        }
    }
}
