//! Why there is no topology.

use std::fmt;
use std::path::PathBuf;

use crate::{MAX_PUS, SyntheticError};

/// Why there is no topology.
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
        /// What was read.
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

impl From<SyntheticError> for TopologyError {
    fn from(error: SyntheticError) -> TopologyError {
        TopologyError::Synthetic(error)
    }
}
