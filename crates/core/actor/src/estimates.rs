//! The scheduler's estimates for all actors of a type.

use actinium_scheduler::runnable::Kind;

/// The scheduler's estimates for all actors of one type. The policy [`Affine`](crate::Affine) uses
/// them for actors that it has not measured yet. See
/// [`SystemHandle::estimates`](crate::SystemHandle::estimates).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estimates {
    /// Nanoseconds that a message takes, exponentially weighted over timed turns; `None`: nothing
    /// was measured yet.
    pub cost_ns: Option<u32>,
    /// KiB of memory that such an actor works on, as far as its first turns at other workers took
    /// longer than those at home; `None`: none that declares less than a KiB
    /// ([`Actor::footprint_bytes`](crate::Actor::footprint_bytes)) has run elsewhere.
    pub footprint_kib: Option<u32>,
}

impl Estimates {
    pub(crate) fn of(kind: &Kind) -> Self {
        let known = |n| Some(n).filter(|&n| n > 0);
        Estimates { cost_ns: known(kind.cost_ns()), footprint_kib: known(kind.footprint_kib()) }
    }
}
