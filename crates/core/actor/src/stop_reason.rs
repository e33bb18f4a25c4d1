//! Reasons for which actors end, and the news that their watchers receive.

use crate::actor_id::ActorId;
use crate::failure::Failure;
use std::fmt;

/// Why an actor ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The actor itself, or a holder of its address, asked for it.
    Requested,
    /// The actor had no address, no name and no message left, so nothing could ever reach it again.
    Orphaned,
    /// The actor failed, and its supervision says stop (or its restarts were used up). Of a failure
    /// that came up from a child, the child's.
    Failed(Failure),
    /// A linked actor ended abnormally.
    Linked(ActorId),
    /// The actor's supervisor ended or was restarted, or failed to restart it together with its
    /// siblings.
    Supervisor,
    /// The system shut down.
    Shutdown,
    /// The actor had ended before the request.
    AlreadyStopped,
    /// The actor lives: a test has dropped this message to it, by
    /// [`testing::Inject::drop`](crate::testing::Inject::drop). Only of dead letters.
    Injected,
    /// The actor's node is down. Whether the actor lives on there, nobody knows here.
    NodeDown,
    /// The actor of another node has ended, or can not be watched.
    Elsewhere {
        /// The reason, in the words of that node.
        reason: String,
        /// Whether linked actors end with it.
        is_abnormal: bool,
    },
}

impl StopReason {
    /// Whether linked actors end with it.
    pub fn is_abnormal(&self) -> bool {
        match self {
            StopReason::Failed(_) | StopReason::Linked(_) | StopReason::NodeDown => true,
            StopReason::Elsewhere { is_abnormal, .. } => *is_abnormal,
            _ => false,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Requested => f.write_str("stopped on request"),
            StopReason::Orphaned => f.write_str("no address of it was left"),
            StopReason::Failed(failure) => write!(f, "{failure}"),
            StopReason::Linked(other) => write!(f, "linked to {other}, which ended abnormally"),
            StopReason::Supervisor => f.write_str("stopped by its supervisor"),
            StopReason::Shutdown => f.write_str("the system shut down"),
            StopReason::AlreadyStopped => f.write_str("it had already ended"),
            StopReason::Injected => f.write_str("dropped by a fault of the test"),
            StopReason::NodeDown => f.write_str("its node is down"),
            StopReason::Elsewhere { reason, .. } => f.write_str(reason),
        }
    }
}

/// The news that a watched actor has ended: see [`Context::watch`](crate::Context::watch).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Down {
    /// The actor that ended. Of one of another node, the identity in its own system.
    pub actor: ActorId,
    /// The reason.
    pub reason: StopReason,
}

/// The news that a watched actor has failed and was restarted: see
/// [`Context::watch_restarts`](crate::Context::watch_restarts).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restarted {
    /// The actor that runs again.
    pub actor: ActorId,
    /// Why it was restarted. Under [`Supervision::one_for_all`](crate::Supervision::one_for_all)
    /// this may be the failure of a sibling.
    pub failure: Failure,
}
