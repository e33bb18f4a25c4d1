//! Controls, which reach an actor beside its messages: requests to end, watchers, links, and news
//! of its children.
//!
//! Controls are rare. They wait in a list behind a lock, and the next turn obeys them before its
//! messages.

use crate::actor_id::ActorId;
use crate::failure::Failure;
use crate::stop_reason::{Down, Restarted, StopReason};
use std::any::Any;
use std::collections::VecDeque;

// tidy: guard: what it holds of the user's is guarded (`Context::watch`).
/// Tells a watcher that the actor has ended.
pub(crate) type Notify = Box<dyn FnOnce(Down) + Send>;

// tidy: guard: what it holds of the user's is guarded (`Context::watch_restarts`).
/// Tells a watcher that the actor was restarted.
pub(crate) type NotifyRestart = Box<dyn FnMut(Restarted) + Send>;

/// One request to an actor; `R` refers to another actor.
pub(crate) enum Control<R> {
    /// End when the mailbox is empty; refuse further messages.
    Stop,
    /// End now.
    Kill(StopReason),
    /// Tell a watcher when the actor ends.
    Watch {
        watcher: ActorId,
        notify: Notify,
    },
    Unwatch {
        watcher: ActorId,
    },
    /// Tell a watcher whenever the actor is restarted.
    WatchRestarts {
        watcher: ActorId,
        notify: NotifyRestart,
    },
    /// End abnormally when another does.
    Link(R),
    Unlink(ActorId),
    /// A linked actor ended abnormally.
    LinkBroken(ActorId),
    /// The actor has got a name, which it gives back when it ends.
    Named(String),
    /// A child ended.
    ChildDown(ActorId),
    /// A child that is supervised one-for-all failed: its siblings restart too.
    ChildFailed(ActorId, Failure),
    /// A child's failure is this actor's own.
    Escalated(Failure),
    /// Restart, together with a sibling that failed.
    Restart(Failure),
    /// The back-off before a restart is over.
    Resume,
    /// Nothing that was sent when the actor had lost its last address is under way any more.
    LingerOver,
}

/// An urgent message that was not taken.
pub(crate) enum Refused {
    /// The actor has ended.
    Closed(Box<dyn Any + Send>),
    /// As many wait as may.
    Full(Box<dyn Any + Send>),
}

/// What a turn needs to look after urgent messages: a function of the actor's type.
pub(crate) type ForUrgent = &'static (dyn Any + Send + Sync);

/// The controls, and urgent messages, that wait: allocated when the first comes, for most actors
/// never get one.
pub(crate) struct Controls<R>(Option<Box<State<R>>>);

struct State<R> {
    waiting: Vec<Control<R>>,
    /// Urgent messages, each a message of the actor's type.
    urgent: VecDeque<(u64, Box<dyn Any + Send>)>,
    /// What the first of them has brought for those that take them.
    for_urgent: Option<ForUrgent>,
    /// The reason for which the actor has ended.
    closed: Option<StopReason>,
}

impl<R> Default for State<R> {
    fn default() -> Self {
        let (waiting, urgent) = (Vec::new(), VecDeque::new());
        State { waiting, urgent, for_urgent: None, closed: None }
    }
}

impl<R> Default for Controls<R> {
    fn default() -> Self {
        Controls(None)
    }
}

impl<R> Controls<R> {
    fn state(&mut self) -> &mut State<R> {
        self.0.get_or_insert_default()
    }

    /// Puts one last; it comes back, with the reason, if the actor has ended.
    pub(crate) fn push(&mut self, control: Control<R>) -> Result<(), (Control<R>, StopReason)> {
        let state = self.state();
        if let Some(reason) = &state.closed {
            return Err((control, reason.clone()));
        }
        state.waiting.push(control);
        Ok(())
    }

    /// Puts an urgent message last, unless `most` of them wait.
    pub(crate) fn push_urgent(
        &mut self,
        msg: Box<dyn Any + Send>,
        stamp_ns: u64,
        most: usize,
        for_urgent: ForUrgent,
    ) -> Result<(), Refused> {
        let state = self.state();
        if state.closed.is_some() {
            return Err(Refused::Closed(msg));
        }
        if state.urgent.len() >= most {
            return Err(Refused::Full(msg));
        }
        state.urgent.push_back((stamp_ns, msg));
        state.for_urgent = Some(for_urgent);
        Ok(())
    }

    /// What a turn needs to look after them, once there was one.
    pub(crate) fn for_urgent(&self) -> Option<ForUrgent> {
        self.0.as_ref()?.for_urgent
    }

    /// Takes the first urgent message.
    pub(crate) fn pop_urgent(&mut self) -> Option<(u64, Box<dyn Any + Send>)> {
        self.0.as_mut()?.urgent.pop_front()
    }

    /// The number of urgent messages.
    pub(crate) fn urgent(&self) -> usize {
        self.0.as_ref().map_or(0, |state| state.urgent.len())
    }

    /// Takes all that wait.
    pub(crate) fn take(&mut self) -> Vec<Control<R>> {
        self.0.as_mut().map_or_else(Vec::new, |state| std::mem::take(&mut state.waiting))
    }

    /// Takes all that wait, and refuses what comes: the actor has ended.
    pub(crate) fn close(&mut self, reason: StopReason) -> Vec<Control<R>> {
        let state = self.state();
        state.closed = Some(reason);
        std::mem::take(&mut state.waiting)
    }

    /// Why the actor has ended, if it has.
    pub(crate) fn closed(&self) -> Option<&StopReason> {
        self.0.as_ref()?.closed.as_ref()
    }
}
