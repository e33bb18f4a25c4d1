//! Dead letters: messages that reached nobody. The latest are kept, and listeners hear of all.

use crate::actor_id::ActorId;
use crate::stop_reason::StopReason;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::log;
use actinium_scheduler::sync::{Mutex, lock};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// How many dead letters are kept for looking at.
const KEPT: usize = 64;

/// Messages that an actor will never handle.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The actor that they were for.
    pub to: ActorId,
    /// The type of that actor.
    pub kind: &'static str,
    /// The type of the messages.
    pub message: &'static str,
    /// The number of messages.
    pub count: u64,
    /// Why the actor had ended, or the message did not reach it.
    pub reason: StopReason,
}

impl fmt::Display for DeadLetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} x {} for {} ({}): {}",
            self.count, self.message, self.to, self.kind, self.reason
        )
    }
}

/// A listener to dead letters; see [`crate::SystemHandle::on_dead_letter`].
type Listener = Arc<Guarded<Box<dyn Fn(&DeadLetter) + Send + Sync>>>;

/// The latest dead letters, and the listeners.
#[derive(Default)]
pub(crate) struct DeadLetters {
    kept: Mutex<VecDeque<DeadLetter>>,
    listeners: Mutex<Vec<Listener>>,
}

impl DeadLetters {
    /// Adds a listener.
    pub(crate) fn listen(&self, listener: impl Fn(&DeadLetter) + Send + Sync + 'static) {
        lock(&self.listeners).push(Arc::new(Guarded::new(Box::new(listener))));
    }

    /// Drops the listeners: they may hold addresses of the system that holds them.
    pub(crate) fn dismiss_listeners(&self) {
        let listeners = std::mem::take(&mut *lock(&self.listeners));
        drop(listeners);
    }

    /// The latest ones, oldest first.
    pub(crate) fn latest(&self) -> Vec<DeadLetter> {
        lock(&self.kept).iter().cloned().collect()
    }

    /// Keeps a dead letter. The function returned calls the listeners, if there are any; it calls
    /// its argument for each listener that panics.
    pub(crate) fn add(&self, letter: DeadLetter) -> Option<impl FnOnce(&dyn Fn()) + use<>> {
        let listeners = lock(&self.listeners).clone();
        let mut kept = lock(&self.kept);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(letter.clone());
        let is_heard = !listeners.is_empty();
        let call = move |count_panic: &dyn Fn()| {
            for listener in &listeners {
                // It runs in the middle of somebody's end.
                if guard::catch(|| (**listener)(&letter)).is_err() {
                    count_panic();
                    let (to, kind) = (letter.to.as_u64(), letter.kind);
                    log!(Error, {actor: to, actor_type: kind}, "a listener to dead letters panicked at: {letter}");
                }
            }
        };
        is_heard.then_some(call)
    }
}
