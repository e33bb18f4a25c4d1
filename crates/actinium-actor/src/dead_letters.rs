//! Messages that reached nobody: counted, sampled, and shown to whoever asks.

use crate::actor::{ActorId, StopReason};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};

/// How many dead letters are kept for looking at.
const KEPT: usize = 64;

/// Messages that an actor will never handle.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Whom they were for.
    pub to: ActorId,
    /// That actor's type.
    pub kind: &'static str,
    /// Their type.
    pub message: &'static str,
    /// How many they are.
    pub count: u64,
    /// Why the actor had ended.
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

/// Is told of dead letters; see [`crate::SystemHandle::on_dead_letter`].
pub(crate) type Listener = Arc<dyn Fn(&DeadLetter) + Send + Sync>;

/// The latest dead letters, and those who listen.
#[derive(Default)]
pub(crate) struct DeadLetters {
    kept: Mutex<VecDeque<DeadLetter>>,
    listeners: Mutex<Vec<Listener>>,
}

impl DeadLetters {
    /// Notes them. Their number was counted by the caller.
    pub(crate) fn add(&self, letter: DeadLetter) {
        let listeners = lock(&self.listeners).clone();
        for listener in listeners {
            // It runs in the middle of somebody's end.
            if catch_unwind(AssertUnwindSafe(|| listener(&letter))).is_err() {
                eprintln!("actinium: a listener to dead letters panicked at: {letter}");
            }
        }
        let mut kept = lock(&self.kept);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(letter);
    }

    pub(crate) fn listen(&self, listener: Listener) {
        lock(&self.listeners).push(listener);
    }

    /// The latest ones, oldest first.
    pub(crate) fn latest(&self) -> Vec<DeadLetter> {
        lock(&self.kept).iter().cloned().collect()
    }
}

/// The data behind these locks is plain: a panic of a listener leaves it usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
