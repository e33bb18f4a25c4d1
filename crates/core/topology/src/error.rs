//! The reasons why there is no topology.

use std::fmt;
use std::path::PathBuf;

use crate::MAX_PUS;

/// The reasons why there is no topology.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyError {
    /// The folder holds no recorded tree.
    NoTree {
        /// The folder.
        path: PathBuf,
    },
    /// The tree has no PU that is online.
    NoPus {
        /// The source that was read.
        source: String,
    },
    /// More PUs than [`MAX_PUS`].
    TooManyPus {
        /// How many.
        count: usize,
    },
    /// The synthetic description can not be read.
    Synthetic(SyntheticError),
    /// The hwloc library failed.
    Hwloc(String),
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopologyError::NoTree { path } => write!(
                f,
                "{0}: no topology here: expected {0}/cpu, {0}/devices/system/cpu or {0}/sys/devices/system/cpu",
                path.display()
            ),
            TopologyError::NoPus { source } => write!(f, "{source}: no PU is online"),
            TopologyError::TooManyPus { count } => {
                write!(f, "{count} PUs: at most {MAX_PUS} are allowed")
            }
            TopologyError::Synthetic(error) => error.fmt(f),
            TopologyError::Hwloc(error) => write!(f, "hwloc: {error}"),
        }
    }
}

impl std::error::Error for TopologyError {}

/// A synthetic description that can not be read: where, what stands there, and what is allowed.
///
/// ```
/// use actinium_topology::Topology;
///
/// let error = Topology::synthetic("package:2 croe:4 pu:2").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "synthetic topology, character 11: 'croe' is not allowed here: expected one of package, die, group, numa, l5 to l1 \
///      (also l1d, l1i), core, pu"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyntheticError {
    /// The character where it stands, counted from 1.
    pub position: usize,
    /// The text that stands there; empty at the end.
    pub found: String,
    /// The text that is allowed there.
    pub expected: String,
}

impl fmt::Display for SyntheticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "synthetic topology, character {}: ", self.position)?;
        if self.found.is_empty() {
            write!(f, "it ends here: ")?;
        } else {
            write!(f, "'{}' is not allowed here: ", self.found)?;
        }
        write!(f, "expected {}", self.expected)
    }
}

impl std::error::Error for SyntheticError {}

impl From<SyntheticError> for TopologyError {
    fn from(error: SyntheticError) -> TopologyError {
        TopologyError::Synthetic(error)
    }
}
