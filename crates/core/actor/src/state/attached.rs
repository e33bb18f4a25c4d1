//! Work beside actors on the same workers: runs of event graphs.

use crate::stats::EventLedger;
use actinium_scheduler::clock::Until;
use actinium_scheduler::sync::{Condvar, Mutex, MutexGuard, lock, wait_until};
use std::sync::Arc;

/// Work beside a system's actors, from [`SystemHandle::attach`](crate::SystemHandle::attach) to
/// [`SystemHandle::detach`](crate::SystemHandle::detach).
pub trait Attached: Send + Sync {
    /// Begins nothing more, and finishes what it has begun: the system drains.
    fn stop(&self);
    /// The system has ended, and these workers, which may still run some of it, were given up.
    fn given_up(&self, workers: &[usize]);
    /// How its events stand.
    fn ledger(&self) -> EventLedger;
    /// Describes what is unfinished, for errors.
    fn describe(&self) -> String;
}

/// What is attached to a system.
#[derive(Default)]
pub(crate) struct AttachedWork {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By number.
    living: Vec<(u64, Arc<dyn Attached>)>,
    next: u64,
    /// Nothing is attached any more: the system drains, or has ended.
    is_closed: bool,
    /// The sums of what was detached.
    ended: EventLedger,
}

impl AttachedWork {
    /// Returns a number to detach it by. `None`: the system drains, or has ended.
    pub(crate) fn attach(&self, work: Arc<dyn Attached>) -> Option<u64> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return None;
        }
        state.next += 1;
        let number = state.next;
        state.living.push((number, work));
        Some(number)
    }

    pub(crate) fn detach(&self, number: u64) {
        let mut state = lock(&self.state);
        let Some(at) = state.living.iter().position(|&(it, _)| it == number) else { return };
        let (_, work) = state.living.swap_remove(at);
        let ledger = work.ledger();
        state.ended.add(&ledger);
        drop(state);
        self.changed.notify_all();
        drop(work);
    }

    fn living(state: &MutexGuard<'_, State>) -> Vec<Arc<dyn Attached>> {
        state.living.iter().map(|(_, work)| work.clone()).collect()
    }

    /// Attaches nothing from now on.
    pub(crate) fn close(&self) {
        lock(&self.state).is_closed = true;
    }

    /// Stops all, and attaches nothing from now on.
    pub(crate) fn stop(&self) {
        self.close();
        // Not under the lock, in which they may want to detach themselves.
        let living = Self::living(&lock(&self.state));
        living.iter().for_each(|work| work.stop());
    }

    /// Tells all that these workers were given up.
    pub(crate) fn given_up(&self, workers: &[usize]) {
        let living = Self::living(&lock(&self.state));
        living.iter().for_each(|work| work.given_up(workers));
    }

    /// Lets those that wait look again whether they still want to.
    pub(crate) fn look_again(&self) {
        let _state = lock(&self.state);
        self.changed.notify_all();
    }

    /// Waits until nothing is attached, or the wait is cut short. False if the limit is past.
    pub(crate) fn wait(
        &self,
        is_cut_short: impl Fn() -> bool,
        limit: impl Fn() -> Option<Until>,
    ) -> bool {
        let mut state = lock(&self.state);
        while !state.living.is_empty() && !is_cut_short() {
            let (next, is_late) = wait_until(&self.changed, state, limit());
            state = next;
            if is_late {
                return false;
            }
        }
        true
    }

    /// The sums of all events.
    pub(crate) fn ledger(&self) -> EventLedger {
        let state = lock(&self.state);
        let mut sum = state.ended;
        state.living.iter().for_each(|(_, work)| sum.add(&work.ledger()));
        sum
    }

    /// Describes what is attached.
    pub(crate) fn describe(&self) -> Vec<String> {
        let living = Self::living(&lock(&self.state));
        living.iter().map(|work| work.describe()).collect()
    }
}
