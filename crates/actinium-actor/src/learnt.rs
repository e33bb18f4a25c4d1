//! What the scheduler has learnt of the actors of a type.

use actinium_scheduler::runnable::Kind;

/// What the scheduler has learnt of the actors of a type: by this the policy [`Affine`](crate::Affine) judges those of which it does not know more. See
/// [`SystemHandle::learnt`](crate::SystemHandle::learnt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Learnt {
    /// Nanoseconds that a message takes, exponentially weighted over timed turns; `None`: nothing was measured yet.
    pub cost_ns: Option<u32>,
    /// KiB of memory that such an actor works on, as far as its first turns at other workers took longer than those at home; `None`: none that declares less
    /// than a KiB ([`Actor::footprint_bytes`](crate::Actor::footprint_bytes)) has run elsewhere.
    pub footprint_kib: Option<u32>,
}

impl Learnt {
    pub(crate) fn of(kind: &Kind) -> Self {
        let known = |n| Some(n).filter(|&n| n > 0);
        Learnt { cost_ns: known(kind.cost_ns()), footprint_kib: known(kind.footprint_kib()) }
    }
}
