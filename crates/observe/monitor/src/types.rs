//! The types of a system's actors at a moment: what live views and flight recorders tell of them.

use actinium_actor::{ActorTypeFigures, SystemHandle};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The name of a type.
pub type TypeName = Cow<'static, str>;

/// The actors of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeNow {
    /// The name of the type.
    pub kind: TypeName,
    /// Living actors.
    pub living: u64,
    /// Messages in their mailboxes.
    pub queued: u64,
    /// Messages in the mailbox that has most.
    pub queued_max: u64,
    /// Restarts by supervisors since the start.
    pub restarts: u64,
    /// Nanoseconds that a message takes, by the scheduler's estimate: it weighs the latest most.
    pub cost_ns: Option<u32>,
}

/// The types of actors as they are now.
pub(crate) fn types(system: &SystemHandle) -> Vec<TypeNow> {
    let now = |it: ActorTypeFigures| TypeNow {
        kind: it.kind.into(),
        living: it.living,
        queued: it.queued,
        queued_max: it.queued_max,
        restarts: it.restarts,
        cost_ns: it.cost_ns,
    };
    system.actor_types().into_iter().map(now).collect()
}
