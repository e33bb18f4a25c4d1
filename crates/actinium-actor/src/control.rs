//! What reaches an actor beside its messages: requests to end, watchers, links, and what happens to its children.
//!
//! Controls are rare. They wait in a list behind a lock and are looked at before the messages of the next turn.

use crate::actor::{ActorId, Down, PanicInfo, StopReason};
use crate::cell::CoreRef;

/// Tells a watcher.
pub(crate) type Notify = Box<dyn FnOnce(Down) + Send>;

/// One request to an actor.
pub(crate) enum Control {
    /// End when the mailbox is empty; refuse further messages.
    Stop,
    /// End now.
    Kill(StopReason),
    /// Somebody wants to know when it ends.
    Watch {
        watcher: ActorId,
        notify: Notify,
    },
    Unwatch {
        watcher: ActorId,
    },
    /// It shares its fate with another.
    Link(CoreRef),
    Unlink(ActorId),
    /// A linked actor ended abnormally.
    LinkBroken(ActorId),
    /// It was given a name, which it gives back when it ends.
    Named(String),
    /// A child ended.
    ChildDown(ActorId),
    /// A child that is supervised one-for-all failed: its siblings restart too.
    ChildFailed(ActorId),
    /// A child's failure is this actor's own.
    Escalated(PanicInfo),
    /// Restart, together with a sibling that failed.
    Restart,
    /// The back-off before a restart is over.
    Resume,
    /// Nothing that was sent when it had lost its last address is under way any more.
    Faded,
}

/// The controls that wait.
#[derive(Default)]
pub(crate) struct Controls {
    pub(crate) waiting: Vec<Control>,
    /// Set when the actor has ended.
    pub(crate) closed: Option<Box<StopReason>>,
}
