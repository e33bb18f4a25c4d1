//! Permissions: the operations that other nodes may do on an exported actor.

use std::fmt;
use std::ops::BitOr;

/// The operations that other nodes may do on an actor that this one exports: see
/// [`NodeHandle::export_with`](crate::NodeHandle::export_with).
///
/// ```
/// use actinium_cluster::Grants;
///
/// let grants = Grants::default() | Grants::STOP;
/// assert!(grants.contains(Grants::SEND | Grants::STOP) && !grants.contains(Grants::ADOPT));
/// assert_eq!(grants.to_string(), "send, ask, watch, stop");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grants(u8);

impl Grants {
    /// No operation at all.
    pub const NONE: Grants = Grants(0);
    /// Sending messages to the actor, with payloads if it takes them.
    pub const SEND: Grants = Grants(1);
    /// Asking the actor.
    pub const ASK: Grants = Grants(2);
    /// Watching the actor: being told when it ends.
    pub const WATCH: Grants = Grants(4);
    /// Ending the actor: [`RemoteAddress::stop`](crate::RemoteAddress::stop) and `kill`.
    pub const STOP: Grants = Grants(8);
    /// Making the actor a child, which ends with its parent or when the two nodes lose each other:
    /// [`RemoteAddress::adopt`](crate::RemoteAddress::adopt).
    pub const ADOPT: Grants = Grants(16);
    /// All of these operations.
    pub const ALL: Grants = Grants(31);

    const NAMES: [&str; 5] = ["send", "ask", "watch", "stop", "adopt"];

    pub(crate) const fn and(self, other: Grants) -> Grants {
        Grants(self.0 | other.0)
    }

    /// Whether all operations of `other` are among these.
    pub const fn contains(self, other: Grants) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Sending, asking and watching: the operations that
/// [`NodeHandle::export`](crate::NodeHandle::export) grants.
impl Default for Grants {
    fn default() -> Self {
        Grants::SEND | Grants::ASK | Grants::WATCH
    }
}

impl BitOr for Grants {
    type Output = Grants;

    fn bitor(self, other: Grants) -> Grants {
        self.and(other)
    }
}

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Grants::NONE {
            return f.write_str("nothing");
        }
        let granted = (0..).zip(Grants::NAMES).filter(|(bit, _)| self.0 >> bit & 1 == 1);
        for (index, (_, name)) in granted.enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            f.write_str(name)?;
        }
        Ok(())
    }
}
