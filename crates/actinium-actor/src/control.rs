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

/// The controls that wait: allocated when the first comes, for most actors never get one.
#[derive(Default)]
pub(crate) struct Controls(Option<Box<State>>);

#[derive(Default)]
struct State {
    waiting: Vec<Control>,
    /// Set when the actor has ended.
    closed: Option<StopReason>,
}

impl Controls {
    /// Puts one last; it comes back, with the reason, if the actor has ended.
    pub(crate) fn push(&mut self, control: Control) -> Result<(), (Control, StopReason)> {
        let state = self.0.get_or_insert_default();
        if let Some(reason) = &state.closed {
            return Err((control, reason.clone()));
        }
        state.waiting.push(control);
        Ok(())
    }

    /// Takes all that wait.
    pub(crate) fn take(&mut self) -> Vec<Control> {
        self.0.as_mut().map_or_else(Vec::new, |state| std::mem::take(&mut state.waiting))
    }

    /// The actor has ended: takes all that wait, and refuses what comes.
    pub(crate) fn close(&mut self, reason: StopReason) -> Vec<Control> {
        let state = self.0.get_or_insert_default();
        state.closed = Some(reason);
        std::mem::take(&mut state.waiting)
    }

    /// Why the actor has ended, if it has.
    pub(crate) fn closed(&self) -> Option<&StopReason> {
        self.0.as_ref()?.closed.as_ref()
    }
}
