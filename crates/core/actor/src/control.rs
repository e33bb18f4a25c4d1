//! Controls, which reach an actor beside its messages: requests to end, watchers, links, and news
//! of its children.
//!
//! Controls are rare. They wait in a list behind a lock, and the next turn obeys them before its
//! messages.

use crate::actor_id::ActorId;
use crate::failure::Failure;
use crate::stop_reason::{Down, Restarted, StopReason};
use actinium_scheduler::sync::atomic::{AtomicU8, Ordering};
use actinium_scheduler::sync::{Mutex, MutexGuard, lock};
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

/// The controls of an actor, under their lock.
pub(crate) struct LockedControls<'a, R> {
    state: MutexGuard<'a, Controls<R>>,
    /// Written under the lock: see [`code`].
    ended: &'a AtomicU8,
}

struct State<R> {
    waiting: Vec<Control<R>>,
    /// Urgent messages, each a message of the actor's type.
    urgent: VecDeque<(u64, Box<dyn Any + Send>)>,
    /// What the first of them has brought for those that take them.
    for_urgent: Option<ForUrgent>,
    /// The reason for which the actor has ended, if it has no code.
    ended: Option<StopReason>,
}

impl<R> Default for State<R> {
    fn default() -> Self {
        let (waiting, urgent) = (Vec::new(), VecDeque::new());
        State { waiting, urgent, for_urgent: None, ended: None }
    }
}

impl<R> Default for Controls<R> {
    fn default() -> Self {
        Controls(None)
    }
}

/// The code of an actor that has not ended, or for a reason that has none.
const NO_CODE: u8 = 0;

/// The code of a reason that says nothing more. With it, the end of an actor allocates nothing.
fn code(reason: &StopReason) -> u8 {
    match reason {
        StopReason::Requested => 1,
        StopReason::Orphaned => 2,
        StopReason::Supervisor => 3,
        StopReason::Shutdown => 4,
        StopReason::AlreadyStopped => 5,
        _ => NO_CODE,
    }
}

/// The reason with this code.
fn reason_of(code: u8) -> Option<StopReason> {
    match code {
        1 => Some(StopReason::Requested),
        2 => Some(StopReason::Orphaned),
        3 => Some(StopReason::Supervisor),
        4 => Some(StopReason::Shutdown),
        5 => Some(StopReason::AlreadyStopped),
        _ => None,
    }
}

impl<'a, R> LockedControls<'a, R> {
    /// Locks them. `ended` stands beside them in the actor, where a byte is free, and begins as 0.
    pub(crate) fn new(controls: &'a Mutex<Controls<R>>, ended: &'a AtomicU8) -> Self {
        LockedControls { state: lock(controls), ended }
    }

    fn state(&mut self) -> &mut State<R> {
        self.state.0.get_or_insert_default()
    }

    /// Puts one last; it comes back, with the reason, if the actor has ended.
    pub(crate) fn push(&mut self, control: Control<R>) -> Result<(), (Control<R>, StopReason)> {
        if let Some(reason) = self.ended() {
            return Err((control, reason));
        }
        self.state().waiting.push(control);
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
        if self.ended().is_some() {
            return Err(Refused::Closed(msg));
        }
        let state = self.state();
        if state.urgent.len() >= most {
            return Err(Refused::Full(msg));
        }
        state.urgent.push_back((stamp_ns, msg));
        state.for_urgent = Some(for_urgent);
        Ok(())
    }

    /// What a turn needs to look after them, once there was one.
    pub(crate) fn for_urgent(&self) -> Option<ForUrgent> {
        self.state.0.as_ref()?.for_urgent
    }

    /// Takes the first urgent message.
    pub(crate) fn pop_urgent(&mut self) -> Option<(u64, Box<dyn Any + Send>)> {
        self.state.0.as_mut()?.urgent.pop_front()
    }

    /// The number of urgent messages.
    pub(crate) fn urgent(&self) -> usize {
        self.state.0.as_ref().map_or(0, |state| state.urgent.len())
    }

    /// Takes all that wait.
    pub(crate) fn take(&mut self) -> Vec<Control<R>> {
        self.state.0.as_mut().map_or_else(Vec::new, |state| std::mem::take(&mut state.waiting))
    }

    /// Takes all that wait, and refuses what comes: the actor has ended.
    pub(crate) fn close(&mut self, reason: &StopReason) -> Vec<Control<R>> {
        match code(reason) {
            NO_CODE => self.state().ended = Some(reason.clone()),
            // Relaxed: under the lock, as each access to it.
            code => self.ended.store(code, Ordering::Relaxed),
        }
        self.take()
    }

    /// Why the actor has ended, if it has.
    pub(crate) fn ended(&self) -> Option<StopReason> {
        // Relaxed: under the lock, as each access to it.
        reason_of(self.ended.load(Ordering::Relaxed))
            .or_else(|| self.state.0.as_ref()?.ended.clone())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn who_comes_late_is_told_why_the_actor_has_ended() {
        let reasons = [
            StopReason::Requested,
            StopReason::Orphaned,
            StopReason::Linked(ActorId(7)),
            StopReason::Supervisor,
            StopReason::Shutdown,
            StopReason::AlreadyStopped,
            StopReason::NodeDown,
        ];
        for reason in reasons {
            let (controls, ended) = (Mutex::new(Controls::<()>::default()), AtomicU8::new(0));
            let mut locked = LockedControls::new(&controls, &ended);
            assert!(locked.push(Control::Stop).is_ok());
            assert_eq!(locked.close(&reason).len(), 1);
            let refused = locked.push(Control::Stop).err().map(|(_, reason)| reason.to_string());
            assert_eq!(refused, Some(reason.to_string()));
            assert!(locked.take().is_empty());
        }
    }
}
