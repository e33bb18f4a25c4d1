//! Fabrics: what moves frames between nodes. One file per engine.
//!
//! A fabric promises little, so that many things can be one: a frame that it takes arrives once, more than once, damaged, late,
//! in another order, or never. All that actors rely on is made of this by [`crate::link`].

pub mod in_process;
#[cfg(feature = "mpi")]
pub mod mpi;
#[cfg(feature = "zenoh")]
pub mod zenoh;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A node: one process of the cluster, or one of several in a process in tests.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// Why a fabric did not take a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendRefused {
    /// It has no room at the moment: try again after a [`Fabric::poll`].
    Busy,
    /// It knows no such node.
    NoSuchNode(NodeId),
    /// The frame is longer than [`Fabric::frame_bytes_max`].
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        allowed: usize,
    },
}

impl fmt::Display for SendRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendRefused::Busy => f.write_str("the fabric has no room for another frame now"),
            SendRefused::NoSuchNode(node) => write!(f, "the fabric knows no {node}"),
            SendRefused::TooLong { bytes, allowed } => {
                write!(f, "a frame of {bytes} bytes: this fabric moves at most {allowed}")
            }
        }
    }
}

impl std::error::Error for SendRefused {}

/// Wakes whoever drives a fabric.
pub type Bell = Arc<dyn Fn() + Send + Sync>;

/// An engine that moves frames between nodes. It is used by one thread at a time, and mostly by the same for long; no call blocks.
pub trait Fabric: Send {
    /// What it is called: "mpi", say.
    fn name(&self) -> &'static str;

    /// This node.
    fn node(&self) -> NodeId;

    /// The nodes that there are, this one included, in order. On some fabrics they come and go.
    fn nodes(&self) -> Vec<NodeId>;

    /// The longest frame that it moves, in bytes.
    fn frame_bytes_max(&self) -> usize;

    /// Takes a frame; the bytes are copied before it returns.
    ///
    /// # Errors
    /// If it can not take it (now).
    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused>;

    /// The next frame that has arrived, if any.
    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)>;

    /// Gives the fabric a bell to ring when a frame has arrived. False: it cannot ring, and must be polled.
    fn set_bell(&mut self, bell: Bell) -> bool {
        drop(bell);
        false
    }

    /// Remote memory, where the engine has it.
    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        None
    }
}

/// Names a registered range of memory of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RegionId {
    /// Whose memory it is.
    pub node: NodeId,
    /// Which of its registrations.
    pub index: u32,
}

/// Why remote memory was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// No such registration, or its node is gone.
    NoSuchRegion(RegionId),
    /// The range does not lie in the region.
    OutOfRange {
        /// Which region.
        region: RegionId,
        /// Where the range begins.
        offset: usize,
        /// How long it is.
        bytes: usize,
        /// How long the region is.
        region_bytes: usize,
    },
    /// The node cannot be reached now.
    Unreachable(NodeId),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryError::NoSuchRegion(region) => {
                write!(f, "{} has no registered region {}", region.node, region.index)
            }
            MemoryError::OutOfRange { region, offset, bytes, region_bytes } => write!(
                f,
                "{bytes} bytes at {offset} do not lie in region {} of {}, which has {region_bytes} bytes",
                region.index, region.node
            ),
            MemoryError::Unreachable(node) => write!(f, "{node} cannot be reached"),
        }
    }
}

impl std::error::Error for MemoryError {}

/// Memory that other nodes read and write without this node's doing.
pub trait RemoteMemory {
    /// Registers so many bytes, zeroed, of this node. The id may be sent to other nodes.
    fn register(&mut self, bytes: usize) -> RegionId;

    /// Takes a registration of this node back.
    ///
    /// # Errors
    /// If there is none.
    fn unregister(&mut self, region: RegionId) -> Result<(), MemoryError>;

    /// Reads from any node's region.
    ///
    /// # Errors
    /// If that is not there; `into` is then unchanged.
    fn get(&mut self, region: RegionId, offset: usize, into: &mut [u8]) -> Result<(), MemoryError>;

    /// Writes to any node's region.
    ///
    /// # Errors
    /// If that is not there; nothing is then written.
    fn put(&mut self, region: RegionId, offset: usize, from: &[u8]) -> Result<(), MemoryError>;
}
