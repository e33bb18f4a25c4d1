//! How a worker ends (see `control`).

use super::{CURRENT, Worker};
use crate::runnable::Runnable;
use crate::wheel::Wheel;

impl Worker {
    /// The stages of ending (see `control`): `dispose` ends this worker's share of the runnables.
    pub fn end(&self, dispose: impl FnOnce(&Worker)) {
        // Before anything is disposed of: from here on nothing lies in a lane.
        self.settle();
        self.flush_all();
        self.flush_counts();
        self.shared.control.arrive();
        {
            // One at a time: what `dispose` calls may send, and a worker takes what it owned for its own, though another disposes of it.
            let _alone = self.shared.control.alone();
            dispose(self);
        }
        self.flush_all();
        self.flush_counts();
        self.shared.control.arrive();
        for runnable in self.shared.inboxes[self.index].close() {
            self.shared.release_dead(runnable);
        }
        self.end_graces();
        // Alarms may hold references to runnables.
        // SAFETY: this thread owns the timers; alarms are dropped outside the closure.
        drop(unsafe { self.timers.with(|timers| std::mem::replace(timers, Wheel::new(0))) });
        // Destructors of what alarms held may have sent, in vain.
        self.flush_counts();
    }

    /// Ends a runnable at shutdown: disposes of it and drops the scheduler's reference.
    pub fn dispose(&self, runnable: Runnable) {
        // SAFETY: all workers have left their loops, and each runnable is disposed of by one of them.
        unsafe { (runnable.header().vtable.dispose)(runnable.0, self) };
        if self.keeps_idle {
            self.bury(runnable);
        } else {
            runnable.header().raise();
            // SAFETY: the token is up and nobody runs any more: no queue is looked at again.
            unsafe { (runnable.header().vtable.release)(runnable.0) }
        }
    }

    /// Makes this the calling thread's worker while `f` runs.
    pub fn enter<R>(&self, f: impl FnOnce(&Worker) -> R) -> R {
        struct Leave(*const Worker);
        impl Drop for Leave {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0));
            }
        }
        let _leave = Leave(CURRENT.with(|current| current.replace(self)));
        f(self)
    }
}
