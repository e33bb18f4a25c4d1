//! The handle of a region, which may be sent.

use super::access::RegionAccess;
use crate::fabric::NodeId;
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A region of some node: where it is, and a ticket for reading it, writing it, or both. It is
/// data, so it may lie in messages, also of several nodes' one after the other.
///
/// The ticket is a secret that the region's node made: whoever has the handle may do what it
/// allows, and hand it on. A handle for reading does not help in guessing one for writing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Message)]
pub struct RemoteRegion {
    node: u32,
    region: u64,
    bytes: u64,
    access: u8,
    secret: u64,
}

/// Beside the bits of the access: the region lies in a window.
const IN_WINDOW: u8 = 1 << 7;

impl RemoteRegion {
    pub(super) fn new(
        node: NodeId,
        region: u64,
        bytes: u64,
        access: RegionAccess,
        secret: u64,
    ) -> Self {
        RemoteRegion { node: node.0, region, bytes, access: access.bits(), secret }
    }

    /// The same of a region that lies in a window.
    pub(super) fn in_window(self) -> Self {
        RemoteRegion { access: self.access | IN_WINDOW, ..self }
    }

    /// Whether the region is read and written by the fabric alone, as its node has said: see
    /// [`WindowRegion`](crate::WindowRegion).
    #[must_use]
    pub fn is_in_window(&self) -> bool {
        self.access & IN_WINDOW != 0
    }

    /// The node to which the region belongs.
    #[must_use]
    pub fn node(&self) -> NodeId {
        NodeId(self.node)
    }

    /// The region's number at its node, which no other region of any run of that node has had.
    #[must_use]
    pub fn region(&self) -> u64 {
        self.region
    }

    /// How many bytes it had when the handle was made.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// What the handle allows.
    #[must_use]
    pub fn access(&self) -> RegionAccess {
        RegionAccess::of_bits(self.access)
    }

    pub(super) fn secret(&self) -> u64 {
        self.secret
    }

    /// Whether a range lies in it, as far as this node knows.
    pub(super) fn holds(&self, offset: u64, bytes: u64) -> bool {
        offset.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }
}

/// Without the secret: logs are read by others.
impl fmt::Debug for RemoteRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (region, node, bytes) = (self.region, self.node(), self.bytes);
        write!(f, "RemoteRegion({region} of {node}, {bytes} bytes, {})", self.access())
    }
}
