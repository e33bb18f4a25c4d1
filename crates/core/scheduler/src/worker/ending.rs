//! The end of a worker (see `control`).

use super::{Phase, Worker};
use crate::control::{Arrival, Ended};
use crate::runnable::Runnable;
use crate::wheel::Wheel;

impl Worker {
    /// The stages of ending (see `control`): `dispose` ends this worker's share of the runnables,
    /// by [`Worker::dispose`]. It is called again if workers were given up meanwhile: then each of
    /// the others disposes of what it can have of all ([`Worker::is_short_handed`]).
    ///
    /// Nothing runs on this worker afterwards.
    ///
    /// # Panics
    /// From within a turn, or the second time.
    pub fn end(&self, mut dispose: impl FnMut(&Worker)) -> Ended {
        assert!(
            self.phase.get() == Phase::Idle,
            "{self:?} can not end from within a turn, nor twice"
        );
        self.phase.set(Phase::Ended);
        let control = &self.shared.control;
        // Before anything is disposed of: from here on nothing lies in a lane, but for what those
        // put in who do not come back.
        self.flush_lanes();
        if self.keeps_idle {
            self.own_all();
        }
        self.flush_all();
        self.flush_counts();
        let mut lost = 0;
        loop {
            match control.arrive(self.index, lost) {
                Arrival::Complete => break,
                Arrival::Lost(now) => lost = now,
                Arrival::GivenUp => return Ended::GivenUp,
            }
        }
        loop {
            let Some((now, is_first)) = control.begin_disposing(self.index) else {
                return Ended::GivenUp;
            };
            lost = now;
            self.short_handed.set(lost > 0);
            if lost > 0 && is_first && !self.keeps_idle {
                self.dispose_queued();
            }
            self.phase.set(Phase::Disposes);
            dispose(self);
            self.phase.set(Phase::Ended);
            self.now.dispose(None);
            control.end_disposing(self.index);
            self.flush_all();
            self.flush_counts();
            match control.arrive(self.index, lost) {
                Arrival::Complete => break,
                Arrival::Lost(_) => {}
                Arrival::GivenUp => return Ended::GivenUp,
            }
        }
        for runnable in self.shared.inboxes[self.index].close() {
            self.shared.release_dead(runnable);
        }
        self.end_graces();
        // Timers' callbacks may hold references to runnables: they are dropped when the wheel is no
        // longer lent.
        drop(self.timers.with(|timers| std::mem::replace(timers, Wheel::new(0))));
        // Destructors of what callbacks held may have sent, in vain.
        self.flush_counts();
        control.ended(self.index)
    }

    /// Takes back what lies in its steal queue and nobody came for.
    fn own_all(&self) {
        self.take_home(None);
        while self.take_some(&self.shared.steal_queues[self.index]) {}
        // It is not run any more.
        while self.pop().is_some() {}
    }

    /// Whether this is the moment at which it disposes of runnables.
    pub(crate) fn is_disposing(&self) -> bool {
        self.phase.get() == Phase::Disposes
    }

    /// Whether workers were given up, so that this one disposes of what it can have of all
    /// runnables, not only of its share.
    pub fn is_short_handed(&self) -> bool {
        self.short_handed.get()
    }

    /// Whether this worker may dispose of a runnable, which is alive: asked under a lock without
    /// which it does not end. Where workers were given up, only of what is its own, or idle and
    /// nobody's: true then says that it is this worker's from now on.
    ///
    /// # Safety
    /// The runnable is alive.
    pub unsafe fn may_dispose(&self, runnable: Runnable) -> bool {
        match (self.short_handed.get(), self.keeps_idle) {
            (false, _) => true,
            (true, true) => runnable.header().is_owned_by(self.id),
            // One that is notified may lie in the private queue of one that was given up.
            (true, false) => runnable.header().set_notified(),
        }
    }

    /// Ends a runnable at shutdown: disposes of it and drops the scheduler's reference; not if
    /// workers were given up. Only if it may ([`Worker::may_dispose`]).
    ///
    /// # Safety
    /// The runnable was started, is alive and has not ended; this worker has left its loop for
    /// good, as it has where [`Worker::end`] calls; it may dispose of the runnable, and nobody else
    /// does.
    pub unsafe fn dispose(&self, runnable: Runnable) {
        let header = runnable.header();
        if self.short_handed.get() {
            return self.dispose_own(runnable);
        }
        // All others stand still, or wait. What it calls may never return: from then on nobody else
        // may touch it.
        if self.keeps_idle {
            header.take_over(self.id, self.shared.lanes.raise_epoch());
        } else {
            header.set_notified();
        }
        self.dispose_own(runnable);
        if self.keeps_idle {
            self.retire(runnable);
        } else {
            // SAFETY: it is notified and nobody runs any more: no queue is looked at again.
            unsafe { (header.vtable.release)(runnable.0) }
        }
    }

    fn dispose_own(&self, runnable: Runnable) {
        self.now.dispose(Some(runnable));
        // SAFETY: all workers have left their loops, or were given up and do not have this one; one
        // worker disposes of each runnable.
        unsafe { (runnable.header().vtable.dispose)(runnable.0, self.as_worker_ref()) };
    }

    /// Where workers were given up before anything was disposed of, and nobody owns what is idle:
    /// what lies in queues.
    fn dispose_queued(&self) {
        for queue in self.shared.steal_queues.iter().chain([&self.shared.global]) {
            loop {
                // Not under the lock: what it calls may send.
                let Some(runnable) = queue.lock().pop_front() else { break };
                self.dispose_own(runnable);
            }
        }
    }
}
