//! Waiting for a system, auditing it, and shutting it down.

use crate::actor_core::Inner;
use crate::ending::{Shutdown, ShutdownReport};
use crate::offload::is_offloaded_by;
use crate::stats::Audit;
use crate::system::System;
use crate::unblocked;
use crate::unfinished::{Occupied, WaitError};
use actinium_scheduler::clock::Until;
use actinium_scheduler::sync::{lock, wait_until};
use std::time::Duration;

impl System {
    /// Blocks until no message is queued or handled, but no longer than `timeout`. An actor that
    /// waits for its restart is not idle. Timers that are not due, and futures and closures that
    /// are under way elsewhere, do not count.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] says who was still at work. [`WaitError::OnWorker`] at once, if an
    /// actor of this system calls it.
    pub fn wait_idle(&self, timeout: Duration) -> Result<(), WaitError> {
        let shared = &self.inner.shared;
        self.wait_within(timeout, |until| shared.wait_idle(until).then_some(()))
    }

    /// Draws up the ledger of all messages while all workers stand between two turns; waits for
    /// long turns to end, but no longer than `timeout`: then all go on. `sent = handled + queued +
    /// returned + dead` at every moment: see [`Audit::is_balanced`].
    ///
    /// External threads may send meanwhile; only while the sum is made, which waits for nobody,
    /// their sends take a moment longer.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] says whose turns did not end. [`WaitError::OnWorker`] at once, if an
    /// actor of this system calls it.
    pub fn audit(&self, timeout: Duration) -> Result<Audit, WaitError> {
        let inner = &self.inner;
        let sum = || inner.external.while_quiet(|| inner.ledger(inner.queued()));
        self.wait_within(timeout, |until| inner.shared.while_paused(until, sum))
    }

    fn wait_within<R>(
        &self,
        timeout: Duration,
        wait: impl FnOnce(Option<Until>) -> Option<R>,
    ) -> Result<R, WaitError> {
        if self.inner.is_on_worker() {
            return Err(WaitError::OnWorker);
        }
        wait(Until::after(timeout)).ok_or_else(|| {
            let unfinished = Box::new(self.inner.unfinished());
            WaitError::TimedOut { timeout, unfinished }
        })
    }

    /// Blocks until somebody calls [`crate::SystemHandle::stop`], or a failure reaches the top;
    /// then shuts down with [`Shutdown::Drain`].
    ///
    /// # Errors
    /// [`WaitError::OnWorker`] at once, if an actor of this system calls it.
    pub fn wait(&self) -> Result<ShutdownReport, WaitError> {
        self.wait_then(Shutdown::Drain)
    }

    /// Waits as [`System::wait`] does, but shuts down in another way, such as
    /// [`Shutdown::DrainWithin`].
    ///
    /// # Errors
    /// [`WaitError::OnWorker`] at once, if an actor of this system calls it.
    pub fn wait_then(&self, how: Shutdown) -> Result<ShutdownReport, WaitError> {
        self.wait_stopped()?;
        Ok(self.shutdown(how))
    }

    /// Waits as [`System::wait`] does, and does not shut down.
    ///
    /// # Errors
    /// [`WaitError::OnWorker`] at once, if an actor of this system calls it.
    pub fn wait_stopped(&self) -> Result<(), WaitError> {
        if self.inner.is_on_worker() {
            return Err(WaitError::OnWorker);
        }
        let stop = &self.inner.stop;
        let mut requested = lock(&stop.requested);
        while !*requested {
            requested = wait_until(&stop.changed, requested, None).0;
        }
        Ok(())
    }

    /// Ends the system and says what became of its messages. Later calls return the same report.
    ///
    /// Called by an actor (which can only happen if the system was smuggled into one), or by a
    /// closure that one has offloaded, it only requests the end, as [`crate::SystemHandle::stop`],
    /// and reports how things stand.
    pub fn shutdown(&self, how: Shutdown) -> ShutdownReport {
        let (inner, control) = (&self.inner, self.inner.shared.control());
        if inner.is_on_worker() || is_offloaded_by(inner) {
            inner.request_stop();
            return inner.report(0);
        }
        // Before the lock: whoever carries the end out holds it, and hears of this.
        match how {
            Shutdown::Drain => {}
            Shutdown::DrainWithin(timeout) => {
                if let Some(at) = Until::after(timeout) {
                    control.end_by(at);
                    inner.offloads.look_again();
                    inner.attached.look_again();
                }
            }
            Shutdown::Drop => inner.exit(),
        }
        let mut report = lock(&self.end.report);
        if let Some(report) = &*report {
            return report.clone();
        }
        let is_drained = how == Shutdown::Drop || inner.drain();
        let unfinished = (!is_drained).then(|| inner.unfinished());
        let dead_before = inner.dead_before_exit();
        inner.exit();
        let stuck = control.wait_ended(|index| inner.occupied(index));
        for (index, thread) in std::mem::take(&mut *lock(&self.end.threads)).into_iter().enumerate()
        {
            if stuck.iter().all(|(stuck, _)| *stuck != index) {
                // A worker never panics: it aborts the process (see `work`).
                let _ = thread.join();
            }
        }
        let mut ended = inner.report(inner.ledger(0).dead - dead_before);
        ended.unfinished = unfinished;
        if !stuck.is_empty() {
            let name = |(worker, seen): (usize, Option<Occupied>)| {
                seen.unwrap_or(Occupied { worker, actor: None, message: None })
            };
            ended.stuck = stuck.into_iter().map(name).collect();
            ended.left_actors = inner.register.len();
            ended.left_messages = inner.queued();
            inner.ended();
            let workers: Vec<usize> = ended.stuck.iter().map(|it| it.worker).collect();
            inner.attached.given_up(&workers);
            // Those that were given up may come back.
            std::mem::forget(inner.clone());
        }
        // Under the lock: whoever else waits for the end waits for them, too.
        self.tell_observers(&ended);
        report.insert(ended).clone()
    }

    fn tell_observers(&self, report: &ShutdownReport) {
        let told = std::mem::take(&mut *lock(&self.end.observers));
        told.into_iter().for_each(|it| it.call(report));
    }
}

impl Inner {
    /// Tells the workers to end after their present turns.
    pub(crate) fn exit(&self) {
        self.dead_before_exit();
        self.shared.request_exit();
        self.offloads.look_again();
        self.attached.look_again();
    }

    /// The dead letters when the first one asked the workers to end: those that come after are what
    /// the shutdown dropped.
    fn dead_before_exit(&self) -> u64 {
        *lock(&self.dead_before).get_or_insert_with(|| self.ledger(0).dead)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        if self.inner.is_on_worker() {
            // The calling worker can not wait for itself: all of them end on their own.
            self.inner.exit();
            return self.tell_observers(&self.inner.report(0));
        }
        if unblocked::is_in_tokio() && lock(&self.end.report).is_none() {
            return self.end_elsewhere();
        }
        self.shutdown(Shutdown::Drop);
        self.inner.dead_letters.dismiss_listeners();
        self.inner.shared.traces().dismiss_listeners();
    }
}
