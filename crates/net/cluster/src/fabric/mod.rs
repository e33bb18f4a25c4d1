//! Fabrics: what moves frames between nodes. One file per engine.
//!
//! A fabric promises little, so that many things can be one: a frame that it takes arrives once,
//! more than once, damaged, late, in another order, or never. All that actors rely on is made of
//! this by [`crate::link`].

pub mod in_process;
#[cfg(feature = "mpi")]
pub mod mpi;
#[cfg(any(feature = "mpi", feature = "zenoh"))]
mod spare;
#[cfg(feature = "zenoh")]
pub mod zenoh;

use actinium_memory::heap::{Payload, Unwritten};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

pub use crate::doorbell::{Doorbell, Woken};

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

/// The reason for which a fabric did not take a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendRefused {
    /// The fabric has no capacity at the moment: try again after a [`Fabric::poll`].
    Busy,
    /// The fabric knows no such node.
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
            SendRefused::Busy => f.write_str("the fabric has no capacity for another frame now"),
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

/// The answer of a fabric to a thread that wants to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arming {
    /// Nobody rings: it must be polled.
    Poll,
    /// Something has come: poll now.
    Come,
    /// Nothing has come, and from now until the next [`Doorbell::sleep`] has ended whatever comes
    /// rings there. That may be late, or left out for a moment: a sleep has a bound.
    Armed,
}

/// An engine that moves frames between nodes. It is used by one thread at a time, and mostly by the
/// same for long; no call blocks.
pub trait Fabric: Send {
    /// The engine's name: "mpi", for example.
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

    /// The longest datagram: see [`Fabric::send_datagram`].
    fn datagram_bytes_max(&self) -> usize {
        self.frame_bytes_max()
    }

    /// Sends a datagram: a frame that needs no order. `head` and `body` arrive as one frame, and
    /// other frames may overtake it. An engine may have more room for datagrams than for
    /// [`Fabric::send`].
    ///
    /// # Errors
    /// If it can not take it (now).
    fn send_datagram(&mut self, to: NodeId, head: &[u8], body: &[u8]) -> Result<(), SendRefused> {
        self.send(to, &[head, body].concat())
    }

    /// The next frame that has arrived, if any.
    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)>;

    /// Takes back the memory of a frame that was polled, for one that comes later.
    fn recycle(&mut self, frame: Vec<u8>) {
        drop(frame);
    }

    /// Gives the fabric a bell to ring when a frame has arrived. False: it cannot ring, and must be
    /// polled.
    fn set_bell(&mut self, bell: Bell) -> bool {
        drop(bell);
        false
    }

    /// Where to sleep, if there is a place where other nodes can ring: for a fabric that cannot
    /// call a bell.
    fn doorbell(&mut self) -> Option<Arc<dyn Doorbell>> {
        None
    }

    /// Prepares to sleep at the doorbell. The thread that drives the fabric calls this, and looks
    /// for nothing until it has slept there.
    fn arm(&mut self) -> Arming {
        Arming::Poll
    }

    /// Remote memory, where the engine has it.
    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        None
    }
}

/// Names a registered range of memory of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RegionId {
    /// The node to which the memory belongs.
    pub node: NodeId,
    /// Which of its registrations: what the fabric knows it by.
    pub index: u64,
    /// How many bytes it has.
    pub bytes: u64,
}

/// An error of an access to remote memory.
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
    },
    /// The node cannot be reached now.
    Unreachable(NodeId),
    /// The engine has refused, in its words.
    Engine(String),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryError::NoSuchRegion(region) => {
                write!(f, "{} has no registered region {}", region.node, region.index)
            }
            MemoryError::OutOfRange { region, offset, bytes } => write!(
                f,
                "{bytes} bytes at {offset} do not lie in region {} of {}, which has {} bytes",
                region.index, region.node, region.bytes
            ),
            MemoryError::Unreachable(node) => write!(f, "{node} cannot be reached"),
            MemoryError::Engine(reason) => write!(f, "the engine has refused: {reason}"),
        }
    }
}

impl std::error::Error for MemoryError {}

impl RegionId {
    /// Checks that a range lies in it.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(self, offset: usize, bytes: usize) -> Result<(), MemoryError> {
        let end = offset.checked_add(bytes);
        if end.is_some_and(|end| end as u64 <= self.bytes) {
            return Ok(());
        }
        Err(MemoryError::OutOfRange { region: self, offset, bytes })
    }
}

/// An empty vector with room for so many bytes, or the reason why there is none.
pub(crate) fn room(bytes: usize) -> Result<Vec<u8>, MemoryError> {
    let mut room = Vec::new();
    room.try_reserve_exact(bytes)
        .map_err(|error| MemoryError::Engine(format!("{bytes} bytes of memory: {error}")))?;
    Ok(room)
}

/// So many zeros, or the reason why there is no room for them.
pub(crate) fn zeros(bytes: usize) -> Result<Vec<u8>, MemoryError> {
    let mut zeros = room(bytes)?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

/// A reading or writing of remote memory that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferId(pub u64);

/// The end of a transfer: what was read or written, or an error.
pub type Ended = (TransferId, Result<Moved, MemoryError>);

/// What a transfer of remote memory has read or written.
#[derive(Clone, Debug)]
pub enum Moved {
    /// By [`RemoteMemory::get`] or [`RemoteMemory::put`].
    Payload(Payload),
    /// By [`RemoteMemory::get_bytes`] or [`RemoteMemory::put_bytes`].
    Bytes(Vec<u8>),
}

impl Moved {
    /// The payload, if it is one.
    #[must_use]
    pub fn into_payload(self) -> Option<Payload> {
        match self {
            Moved::Payload(payload) => Some(payload),
            Moved::Bytes(_) => None,
        }
    }

    /// The bytes, if they are no payload.
    #[must_use]
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Moved::Payload(_) => None,
            Moved::Bytes(bytes) => Some(bytes),
        }
    }
}

/// Memory that other nodes read and write without its owner's doing. No call waits: what is begun
/// ends later, see [`RemoteMemory::poll_ended`], and keeps what it reads to and writes from until
/// then.
///
/// Who reads what its owner takes back meanwhile gets an error or any bytes: whoever needs to know
/// asks the owner afterwards.
pub trait RemoteMemory {
    /// Registers so many bytes, zeroed, of this node, for all nodes to read and write, this one
    /// too. The id may be sent to other nodes.
    ///
    /// # Errors
    /// If the engine refuses.
    fn register(&mut self, bytes: usize) -> Result<RegionId, MemoryError>;

    /// Registers a payload, for all nodes to read. It is kept until [`RemoteMemory::unregister`].
    ///
    /// # Errors
    /// If the engine refuses.
    fn share(&mut self, payload: Payload) -> Result<RegionId, MemoryError>;

    /// Takes a registration of this node back.
    ///
    /// # Errors
    /// If there is none.
    fn unregister(&mut self, region: RegionId) -> Result<(), MemoryError>;

    /// Begins to read from any node's region what is missing of a payload.
    ///
    /// # Errors
    /// If that is not there; `into` comes back unchanged.
    fn get(
        &mut self,
        region: RegionId,
        offset: usize,
        into: Unwritten,
    ) -> Result<TransferId, (MemoryError, Unwritten)>;

    /// Begins to write a payload to a region of [`RemoteMemory::register`].
    ///
    /// # Errors
    /// If that is not there; nothing is then written.
    fn put(
        &mut self,
        from: Payload,
        region: RegionId,
        offset: usize,
    ) -> Result<TransferId, MemoryError>;

    /// Begins to read so many bytes from any node's region. They end as [`Moved::Bytes`].
    ///
    /// # Errors
    /// If that is not there, or there is no memory here for so many.
    fn get_bytes(
        &mut self,
        region: RegionId,
        offset: usize,
        bytes: usize,
    ) -> Result<TransferId, MemoryError>;

    /// Begins to write bytes to a region of [`RemoteMemory::register`]. They come back as
    /// [`Moved::Bytes`] when they are there.
    ///
    /// # Errors
    /// If that is not there; nothing is then written.
    fn put_bytes(
        &mut self,
        from: Vec<u8>,
        region: RegionId,
        offset: usize,
    ) -> Result<TransferId, MemoryError>;

    /// The next transfer that has ended, if any.
    fn poll_ended(&mut self) -> Option<Ended>;
}
