//! The count of closures that run on threads that may block.

use actinium_scheduler::clock::Until;
use actinium_scheduler::sync::{Condvar, Mutex, lock, wait_until};

/// What a thread that may block does for an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It runs a closure: a drain waits for it.
    Closure,
    /// It reads ahead, perhaps for ever: only a test system, whose iterators end, waits for it.
    Reading,
}

/// The number of threads at work.
#[derive(Default)]
struct Running {
    closures: u64,
    readers: u64,
}

/// Closures that actors have offloaded and that have not ended.
#[derive(Default)]
pub(crate) struct Offloads {
    running: Mutex<Running>,
    changed: Condvar,
}

impl Running {
    fn of(&mut self, work: Work) -> &mut u64 {
        match work {
            Work::Closure => &mut self.closures,
            Work::Reading => &mut self.readers,
        }
    }
}

impl Offloads {
    /// Counts a thread that begins its work.
    pub(crate) fn begin(&self, work: Work) {
        *lock(&self.running).of(work) += 1;
    }

    /// Counts a thread that has ended its work.
    pub(crate) fn end(&self, work: Work) {
        *lock(&self.running).of(work) -= 1;
        self.changed.notify_all();
    }

    /// Lets those that wait look again whether they still want to.
    pub(crate) fn look_again(&self) {
        let _running = lock(&self.running);
        self.changed.notify_all();
    }

    /// Waits until no closure runs, or the wait is cut short; `Some(false)`: none did. `None`: it
    /// had a limit, and that is past.
    pub(crate) fn wait(
        &self,
        is_cut_short: impl Fn() -> bool,
        limit: impl Fn() -> Option<Until>,
    ) -> Option<bool> {
        let mut running = lock(&self.running);
        let waited = running.closures > 0 && !is_cut_short();
        while running.closures > 0 && !is_cut_short() {
            let (next, is_late) = wait_until(&self.changed, running, limit());
            running = next;
            if is_late {
                return None;
            }
        }
        Some(waited)
    }

    /// Waits until no thread is at work; false if none was.
    pub(crate) fn wait_for_all(&self) -> bool {
        let mut running = lock(&self.running);
        let waited = running.closures + running.readers > 0;
        while running.closures + running.readers > 0 {
            running = wait_until(&self.changed, running, None).0;
        }
        waited
    }

    /// The number of closures that run.
    pub(crate) fn running(&self) -> u64 {
        lock(&self.running).closures
    }
}
