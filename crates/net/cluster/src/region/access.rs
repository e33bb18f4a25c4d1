//! What a handle of a region allows.

use std::fmt;
use std::ops::BitOr;

/// What whoever has a [`RemoteRegion`](crate::RemoteRegion) may do with the region's bytes.
///
/// ```
/// use actinium_cluster::RegionAccess;
///
/// let both = RegionAccess::READ | RegionAccess::WRITE;
/// assert!(both.contains(RegionAccess::WRITE));
/// assert!(!RegionAccess::READ.contains(RegionAccess::WRITE));
/// assert_eq!(both.to_string(), "read, write");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegionAccess(u8);

impl RegionAccess {
    /// Reading: [`NodeHandle::get`](crate::NodeHandle::get).
    pub const READ: RegionAccess = RegionAccess(1);
    /// Writing: [`NodeHandle::put`](crate::NodeHandle::put).
    pub const WRITE: RegionAccess = RegionAccess(2);

    /// All that there are: each has a ticket of its own.
    pub(crate) const ALL: [RegionAccess; 3] = [RegionAccess(1), RegionAccess(2), RegionAccess(3)];

    /// Whether all of `other` is allowed.
    #[must_use]
    pub const fn contains(self, other: RegionAccess) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Of what another node has sent: bits that mean nothing are left out.
    pub(crate) const fn of_bits(bits: u8) -> Self {
        RegionAccess(bits & 3)
    }
}

impl BitOr for RegionAccess {
    type Output = RegionAccess;

    fn bitor(self, other: RegionAccess) -> RegionAccess {
        RegionAccess(self.0 | other.0)
    }
}

impl fmt::Display for RegionAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            1 => "read",
            2 => "write",
            3 => "read, write",
            _ => "nothing",
        })
    }
}
