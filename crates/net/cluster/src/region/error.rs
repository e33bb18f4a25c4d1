//! The errors of reading and writing another node's region.

use super::access::RegionAccess;
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use std::fmt;
use std::time::Duration;

/// A get or put that has failed: which one, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegionError {
    /// Reading, writing, or both: registering a window.
    pub access: RegionAccess,
    /// The node to which the region belongs.
    pub node: NodeId,
    /// The region's number at that node.
    pub region: u64,
    /// Where the range begins, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
    /// The bytes at the beginning of the range that were certainly written, for a put. What lies
    /// behind them may have been written in part. 0 for a get, which gives nothing if it fails.
    pub written: u64,
    /// The reason.
    pub why: RegionProblem,
}

/// The reason for which a region could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionProblem {
    /// The handle does not allow it, or its ticket is none for that.
    NotAllowed,
    /// The range does not lie in the region.
    OutOfRange {
        /// How many bytes the region has.
        region_bytes: u64,
    },
    /// The node has no such region (any more): it took it back, or is another run of that node.
    Gone,
    /// The node is down, or went down meanwhile.
    NodeDown,
    /// The time was over. With links that are not reliable, requests may have been lost.
    Timeout(Duration),
    /// A worker must not block.
    WouldBlock,
    /// This node has left the cluster.
    Left,
    /// The other node does not understand this one, or refuses it, in these words.
    Refused(String),
}

impl From<RemoteAskError> for RegionProblem {
    fn from(error: RemoteAskError) -> Self {
        match error {
            RemoteAskError::NodeDown(_) => RegionProblem::NodeDown,
            RemoteAskError::Timeout(timeout) => RegionProblem::Timeout(timeout),
            RemoteAskError::Left => RegionProblem::Left,
            RemoteAskError::WouldBlock => RegionProblem::WouldBlock,
            // A node exports its regions as soon as it has one, and what answers lives as long as
            // the node: this is another run of it.
            RemoteAskError::Closed | RemoteAskError::NoSuchName(_) => RegionProblem::Gone,
            other => RegionProblem::Refused(other.to_string()),
        }
    }
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RegionError { node, region, offset, bytes, written, .. } = self;
        match self.access {
            // What a region is made for, before it has a number.
            access if access.contains(RegionAccess::READ | RegionAccess::WRITE) => {
                write!(f, "cannot register {bytes} bytes of {node}: ")?;
            }
            _ => {
                let verb = if self.is_put() { "write" } else { "read" };
                write!(
                    f,
                    "cannot {verb} {bytes} bytes at {offset} of region {region} of {node}: "
                )?;
            }
        }
        self.why.fmt(f)?;
        if self.is_put() && self.may_have_written() {
            write!(f, " (the first {written} bytes were written, the others perhaps)")?;
        }
        Ok(())
    }
}

impl RegionError {
    fn is_put(&self) -> bool {
        self.access == RegionAccess::WRITE
    }

    /// Whether a put may have written something all the same. False: nothing was changed.
    #[must_use]
    pub fn may_have_written(&self) -> bool {
        let nothing_was_sent = matches!(
            self.why,
            RegionProblem::NotAllowed
                | RegionProblem::OutOfRange { .. }
                | RegionProblem::WouldBlock
        );
        self.is_put() && (self.written > 0 || !nothing_was_sent)
    }
}

impl fmt::Display for RegionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegionProblem::NotAllowed => f.write_str(
                "the handle does not allow it: ask the region's node for one with that access",
            ),
            RegionProblem::OutOfRange { region_bytes } => {
                write!(f, "the region has {region_bytes} bytes")
            }
            RegionProblem::Gone => {
                f.write_str("that node has no such region (any more): ask it for a new handle")
            }
            RegionProblem::NodeDown => f.write_str("the node is down"),
            RegionProblem::Timeout(timeout) => write!(
                f,
                "it was not done within {timeout:?}: allow more time, or use reliable links"
            ),
            RegionProblem::WouldBlock => f.write_str(
                "waiting would block a worker: use Context::pipe or Context::hold in actors",
            ),
            RegionProblem::Left => f.write_str("this node has left the cluster"),
            RegionProblem::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for RegionError {}
