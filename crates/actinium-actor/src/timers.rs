//! An actor's timers: messages to itself, later.

use crate::actor::Actor;
use crate::address::Address;
use actinium_scheduler::Worker;
use actinium_scheduler::wheel::TimerKey;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};

/// Names one timer of one actor; see [`crate::Context::after`] and [`crate::Context::every`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(u64);

/// What a timer does. While it is there, the actor's address in it keeps the actor alive.
type Payload = Box<dyn FnMut() + Send>;
type Slot = Arc<Mutex<State>>;

/// Where a timer stands. Its alarm may go off on one worker while its actor cancels it on another.
enum State {
    Armed(Payload),
    /// Its alarm has the payload, and puts it back unless the timer is cancelled meanwhile.
    Firing,
    /// It has fired for the last time or was cancelled.
    Over,
}

impl State {
    /// Takes the payload out to call it, for nothing may be called while the lock is held: the payload may cancel its own timer.
    fn fire(&mut self, after: State) -> Option<Payload> {
        match std::mem::replace(self, State::Over) {
            State::Armed(payload) => {
                *self = after;
                Some(payload)
            }
            // One that fires is not fired again before that is over: its alarm is set afterwards.
            State::Firing | State::Over => None,
        }
    }
}

/// The timers of one actor that may still fire.
#[derive(Default)]
pub(crate) struct ActorTimers {
    last: u64,
    armed: BTreeMap<TimerId, Armed>,
    /// Sweep those that have fired when so many are there.
    sweep_at: usize,
}

struct Armed {
    slot: Slot,
    /// The wheel that a one-shot timer lies in: its worker and its key there.
    wheel: Option<(u32, TimerKey)>,
}

/// The data behind this lock is plain: a panic of user code leaves it usable.
fn lock(slot: &Slot) -> MutexGuard<'_, State> {
    slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl ActorTimers {
    /// Sends `msg` to the actor after so long.
    pub(crate) fn after<A: Actor>(
        &mut self,
        worker: &Worker,
        ns: u64,
        me: Address<A>,
        msg: A::Msg,
    ) -> TimerId {
        let mut once = Some((me, msg));
        let slot: Slot = Arc::new(Mutex::new(State::Armed(Box::new(move || {
            let Some((me, msg)) = once.take() else { return };
            // The message may be undeliverable, and its destructor may panic.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| me.tell(msg))) {
                me.0.core.fail(payload);
            }
        }))));
        let fired = slot.clone();
        let deadline_ns = worker.shared().clock().now_ns().saturating_add(ns);
        let alarm = Box::new(move |_: &Worker| {
            let payload = lock(&fired).fire(State::Over);
            if let Some(mut payload) = payload {
                payload();
            }
        });
        let key = worker.set_alarm(deadline_ns, alarm);
        self.keep(slot, Some((worker.id(), key)))
    }

    /// Sends what `msg` makes to the actor each time so long has passed. A worker that is late does not send the missed ones.
    pub(crate) fn every<A: Actor>(
        &mut self,
        worker: &Worker,
        ns: u64,
        me: Address<A>,
        mut msg: impl FnMut() -> A::Msg + Send + 'static,
    ) -> TimerId {
        let send = move || match catch_unwind(AssertUnwindSafe(|| me.tell(msg()))) {
            Ok(()) => {}
            Err(payload) => me.0.core.fail(payload),
        };
        let slot: Slot = Arc::new(Mutex::new(State::Armed(Box::new(send))));
        let period_ns = ns.max(1);
        arm_again(
            worker,
            worker.shared().clock().now_ns().saturating_add(period_ns),
            period_ns,
            slot.clone(),
        );
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

    /// Cancels a timer; false if it has fired (for the last time) or was cancelled before.
    pub(crate) fn cancel(&mut self, worker: &Worker, id: TimerId) -> bool {
        self.armed.remove(&id).is_some_and(|armed| armed.cancel(worker))
    }

    pub(crate) fn cancel_all(mut self, worker: &Worker) {
        for (_, armed) in std::mem::take(&mut self.armed) {
            // A message whose destructor panics must not take the worker down.
            let _ = catch_unwind(AssertUnwindSafe(|| armed.cancel(worker)));
        }
    }
}

impl Armed {
    fn cancel(self, worker: &Worker) -> bool {
        // Dropped after the lock: it holds a message and an address.
        let state = std::mem::replace(&mut *lock(&self.slot), State::Over);
        // Where it lies in another worker's wheel, an empty shell stays there until it is due.
        if let (State::Armed(_), Some((id, key))) = (&state, self.wheel)
            && id == worker.id()
        {
            drop(worker.cancel_alarm(key));
        }
        !matches!(state, State::Over)
    }
}

fn arm_again(worker: &Worker, deadline_ns: u64, period_ns: u64, slot: Slot) {
    let alarm = move |worker: &Worker| {
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
    worker.set_alarm(deadline_ns, Box::new(alarm));
}
