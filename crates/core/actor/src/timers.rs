//! An actor's timers: messages to itself, later.

use actinium_scheduler::Worker;
use actinium_scheduler::wheel::TimerKey;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Identifies one timer of one actor; see [`crate::Context::after`] and [`crate::Context::every`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(u64);

// tidy: guard: what it holds of the user's is guarded.
/// The action of a timer. While it is there, the actor's address in it keeps the actor alive.
type Payload = Box<dyn FnMut() + Send>;
type Slot = Arc<Mutex<State>>;

/// The state of a timer. Its callback may run on one worker while its actor cancels it on another.
enum State {
    Armed(Payload),
    /// The callback has the payload, and puts it back unless the timer is cancelled meanwhile.
    Firing,
    /// The timer has fired for the last time or was cancelled.
    Over,
}

impl State {
    /// Takes the payload out to call it, for nothing may be called while the lock is held: the
    /// payload may cancel its own timer.
    fn fire(&mut self, after: State) -> Option<Payload> {
        match std::mem::replace(self, State::Over) {
            State::Armed(payload) => {
                *self = after;
                Some(payload)
            }
            // One that fires is not fired again before that is over: its callback is set
            // afterwards.
            State::Firing | State::Over => None,
        }
    }
}

/// The timers of one actor that may still fire.
#[derive(Default)]
pub(crate) struct ActorTimers {
    last: u64,
    armed: BTreeMap<TimerId, Armed>,
    named: BTreeMap<Cow<'static, str>, TimerId>,
    /// The number of timers at which those that have fired are swept out.
    sweep_at: usize,
}

/// A timer that may still fire.
pub(crate) struct Armed {
    slot: Slot,
    /// The wheel that a one-shot timer lies in: its worker and its key there.
    wheel: Option<(u32, TimerKey)>,
}

/// Locks a slot. The data behind this lock is plain: a panic of user code leaves it usable.
fn lock(slot: &Slot) -> MutexGuard<'_, State> {
    slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl ActorTimers {
    /// Calls `payload` once, after so many nanoseconds.
    pub(crate) fn after(
        &mut self,
        worker: &Worker,
        ns: u64,
        payload: impl FnOnce() + Send + 'static,
    ) -> TimerId {
        let mut once = Some(payload);
        let slot: Slot = Arc::new(Mutex::new(State::Armed(Box::new(move || {
            let Some(payload) = once.take() else { return };
            payload();
        }))));
        let fired = slot.clone();
        let deadline_ns = worker.shared().clock().now_ns().saturating_add(ns);
        let callback = Box::new(move |_: &Worker| {
            let payload = lock(&fired).fire(State::Over);
            if let Some(mut payload) = payload {
                payload();
            }
        });
        let key = worker.set_timer(deadline_ns, callback);
        self.keep(slot, Some((worker.id(), key)))
    }

    /// Calls `payload` each time so many nanoseconds have passed. A worker that is late does not
    /// make up for missed calls.
    pub(crate) fn every(
        &mut self,
        worker: &Worker,
        ns: u64,
        payload: impl FnMut() + Send + 'static,
    ) -> TimerId {
        let slot: Slot = Arc::new(Mutex::new(State::Armed(Box::new(payload))));
        let period_ns = ns.max(1);
        let first_ns = worker.shared().clock().now_ns().saturating_add(period_ns);
        arm_again(worker, first_ns, period_ns, slot.clone());
        self.keep(slot, None)
    }

    fn keep(&mut self, slot: Slot, wheel: Option<(u32, TimerKey)>) -> TimerId {
        if self.armed.len() >= self.sweep_at.max(16) {
            self.armed.retain(|_, armed| !matches!(*lock(&armed.slot), State::Over));
            self.sweep_at = 2 * self.armed.len();
        }
        self.last += 1;
        let id = TimerId(self.last);
        self.armed.insert(id, Armed { slot, wheel });
        id
    }

    /// Takes a timer out, to be cancelled.
    pub(crate) fn take(&mut self, id: TimerId) -> Option<Armed> {
        self.armed.remove(&id)
    }

    /// Takes the timer with this name out, if there is one that may still fire.
    pub(crate) fn take_named(&mut self, name: &str) -> Option<Armed> {
        let id = self.named.remove(name)?;
        self.take(id)
    }

    /// Gives a timer a name that no other has.
    pub(crate) fn name(&mut self, name: Cow<'static, str>, id: TimerId) {
        self.named.insert(name, id);
    }

    /// Cancels all of them.
    pub(crate) fn cancel_all(mut self, worker: &Worker) {
        for (_, armed) in std::mem::take(&mut self.armed) {
            armed.cancel(worker);
        }
    }
}

impl Armed {
    /// Cancels the timer; false if it has fired (for the last time) or was cancelled before.
    pub(crate) fn cancel(self, worker: &Worker) -> bool {
        // Dropped after the lock: it holds a message and an address.
        let state = std::mem::replace(&mut *lock(&self.slot), State::Over);
        // Where it lies in another worker's wheel, an empty shell stays there until it is due.
        if let (State::Armed(_), Some((id, key))) = (&state, self.wheel)
            && id == worker.id()
        {
            drop(worker.cancel_timer(key));
        }
        !matches!(state, State::Over)
    }
}

fn arm_again(worker: &Worker, deadline_ns: u64, period_ns: u64, slot: Slot) {
    let callback = move |worker: &Worker| {
        let Some(mut payload) = lock(&slot).fire(State::Firing) else {
            return;
        };
        payload();
        let mut state = lock(&slot);
        if let State::Over = *state {
            // Cancelled meanwhile. The payload is dropped after the lock.
            drop(state);
            return;
        }
        *state = State::Armed(payload);
        drop(state);
        let now_ns = worker.shared().clock().now_ns();
        let missed = now_ns.saturating_sub(deadline_ns) / period_ns;
        let next_ns = deadline_ns.saturating_add(period_ns.saturating_mul(missed + 1));
        arm_again(worker, next_ns, period_ns, slot);
    };
    worker.set_timer(deadline_ns, Box::new(callback));
}
