//! An actor's timers: messages to itself, later.

use crate::actor::Actor;
use crate::address::Address;
use actinium_scheduler::Worker;
use actinium_scheduler::wheel::TimerKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Names one timer of one actor; see [`crate::Context::after`] and [`crate::Context::every`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerId(u64);

/// What a timer does; taken out when it has fired for the last time or was cancelled. While it is in, the actor's address in it
/// keeps the actor alive.
type Payload = Box<dyn FnMut() + Send>;
type Slot = Arc<Mutex<Option<Payload>>>;

/// The timers of one actor that may still fire.
#[derive(Default)]
pub(crate) struct ActorTimers {
    last: u64,
    armed: HashMap<TimerId, Armed>,
    /// Sweep those that have fired when so many are there.
    sweep_at: usize,
}

struct Armed {
    slot: Slot,
    /// The wheel that a one-shot timer lies in: its worker and its key there.
    wheel: Option<(u32, TimerKey)>,
}

/// The data behind this lock is plain: a panic of user code leaves it usable.
fn lock(slot: &Slot) -> MutexGuard<'_, Option<Payload>> {
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
        let slot: Slot = Arc::new(Mutex::new(Some(Box::new(move || {
            if let Some((me, msg)) = once.take() {
                me.tell(msg);
            }
        }))));
        let fired = slot.clone();
        let deadline_ns = worker.shared().clock().now_ns().saturating_add(ns);
        let alarm = Box::new(move |_: &Worker| {
            let payload = lock(&fired).take();
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
        let slot: Slot = Arc::new(Mutex::new(Some(Box::new(move || me.tell(msg())))));
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
            self.armed.retain(|_, armed| lock(&armed.slot).is_some());
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
        for (_, armed) in self.armed.drain() {
            armed.cancel(worker);
        }
    }
}

impl Armed {
    fn cancel(self, worker: &Worker) -> bool {
        let payload = lock(&self.slot).take();
        // Where it lies in another worker's wheel, an empty shell stays there until it is due.
        if let (Some(_), Some((id, key))) = (&payload, self.wheel) {
            if id == worker.id() {
                drop(worker.cancel_alarm(key));
            }
        }
        payload.is_some()
    }
}

fn arm_again(worker: &Worker, deadline_ns: u64, period_ns: u64, slot: Slot) {
    let alarm = move |worker: &Worker| {
        // Not while the lock is held: the payload may cancel its own timer.
        let Some(mut payload) = lock(&slot).take() else {
            return;
        };
        payload();
        *lock(&slot) = Some(payload);
        let now_ns = worker.shared().clock().now_ns();
        let missed = now_ns.saturating_sub(deadline_ns) / period_ns;
        let next_ns = deadline_ns.saturating_add(period_ns.saturating_mul(missed + 1));
        arm_again(worker, next_ns, period_ns, slot);
    };
    worker.set_alarm(deadline_ns, Box::new(alarm));
}
