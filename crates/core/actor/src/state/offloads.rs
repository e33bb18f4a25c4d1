//! The count of closures that run on threads that may block.

use actinium_scheduler::clock::Until;
use actinium_scheduler::sync::{Condvar, Mutex, lock, wait_until};

/// Closures that actors have offloaded and that have not ended.
#[derive(Default)]
pub(crate) struct Offloads {
    running: Mutex<u64>,
    changed: Condvar,
}

impl Offloads {
    /// Counts a closure that begins.
    pub(crate) fn begin(&self) {
        *lock(&self.running) += 1;
    }

    /// Counts a closure that has ended.
    pub(crate) fn end(&self) {
        *lock(&self.running) -= 1;
        self.changed.notify_all();
    }

    /// Lets those that wait look again whether they still want to.
    pub(crate) fn look_again(&self) {
        let _running = lock(&self.running);
        self.changed.notify_all();
    }

    /// Waits until none runs, or the wait is cut short; `Some(false)`: none did. `None`: there was
    /// a limit, and it is past.
    pub(crate) fn wait(
        &self,
        is_cut_short: impl Fn() -> bool,
        limit: impl Fn() -> Option<Until>,
    ) -> Option<bool> {
        let mut running = lock(&self.running);
        let waited = *running > 0 && !is_cut_short();
        while *running > 0 && !is_cut_short() {
            let (next, is_late) = wait_until(&self.changed, running, limit());
            running = next;
            if is_late {
                return None;
            }
        }
        Some(waited)
    }

    /// The number of closures that run.
    pub(crate) fn running(&self) -> u64 {
        *lock(&self.running)
    }
}
