//! Moments of a system's clock.

use std::time::Duration;

/// A moment: nanoseconds since the system was built, by its clock (which a test system moves by
/// hand).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Nanoseconds since the system was built.
    pub ns: u64,
}

impl Time {
    /// The time from `earlier` to this moment; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.ns.saturating_sub(earlier.ns))
    }
}
