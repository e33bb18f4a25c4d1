//! The handle of a run on a system.

use crate::controls::{Feeder, Monitor, Stopper};
use crate::engine::Engine;
use crate::record::RunSummary;
use crate::samples::Sampler;
use crate::status::Status;
use crate::wait_error::WaitError;
use actinium_scheduler::clock::Until;
use actinium_scheduler::control::PATIENCE;
use actinium_scheduler::current;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A run of a graph on a system, from [`Processor::start`](crate::Processor::start) on.
///
/// It is a future, whose output is the summary: an actor gets it as a message by
/// `ctx.pipe(running, Msg::Done)`. Threads call [`Running::wait`]. Dropping it changes nothing: the
/// run goes on, and the system waits for it when it drains.
#[must_use = "it says how the run ended"]
pub struct Running {
    pub(crate) status: Arc<Status>,
    pub(crate) engine: Arc<Engine>,
}

impl Running {
    /// Takes no more events and finishes those in flight; the second time, ends as soon as the
    /// modules that run return.
    pub fn stop(&self) {
        self.status.stop();
    }

    /// Ends as soon as the modules that run return. Events in flight are given up, and counted.
    pub fn cancel(&self) {
        self.status.stop();
        self.status.finish();
    }

    /// Something to stop the run with.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.status.clone())
    }

    /// Something to look at the run with.
    pub fn monitor(&self) -> Monitor {
        Monitor(self.status.clone())
    }

    /// Something to have the source asked again with.
    pub fn feeder(&self) -> Feeder {
        Feeder(self.status.clone())
    }

    /// Whether the run has ended, and all its modules have been dropped.
    pub fn is_over(&self) -> bool {
        self.status.is_over()
    }

    /// Takes the summary, if the run has ended and nobody has taken it before.
    pub fn take_summary(&self) -> Option<RunSummary> {
        self.status.take_summary()
    }

    /// Waits for the end, but no longer than `timeout`; says whether the run is over.
    ///
    /// # Errors
    /// At once, where waiting would never end.
    pub fn wait_for(&self, timeout: Duration) -> Result<bool, WaitError> {
        self.check_wait()?;
        let until = Until::after(timeout);
        loop {
            let is_late = until.is_some_and(|until| until.left().is_zero());
            if self.status.wait(until) || is_late {
                return Ok(self.status.is_over());
            }
        }
    }

    /// Refuses a wait that would never end.
    fn check_wait(&self) -> Result<(), WaitError> {
        let shared = &self.engine.shared;
        if shared.clock().is_virtual() {
            return Err(WaitError::VirtualTime);
        }
        match current(|worker| worker.is_some_and(|it| Arc::ptr_eq(it.shared(), shared))) {
            true => Err(WaitError::OnWorker),
            false => Ok(()),
        }
    }

    /// Waits for the end, and samples the run meanwhile
    /// ([`Settings::sample_every`](crate::Settings::sample_every)).
    ///
    /// # Errors
    /// At once, where waiting would never end. The run goes on.
    pub fn wait(self) -> Result<RunSummary, WaitError> {
        self.check_wait()?;
        Ok(self.watch(|| {
            self.status.finish();
            Until::after(PATIENCE)
        }))
    }

    /// Waits for the end. If the limit of [`Stopper::stop_within`] is past, calls `end`, which says
    /// until when to wait then.
    pub(crate) fn watch(&self, end: impl FnOnce() -> Option<Until>) -> RunSummary {
        let mut sampler = Sampler::new(&self.engine, &self.status);
        let (mut end, mut patience) = (Some(end), None);
        let is_over = loop {
            let limit = patience.or_else(|| self.status.limit());
            let until = sampler.due().and_then(Until::after).into_iter().chain(limit).min();
            if self.status.wait(until) {
                break true;
            }
            sampler.look();
            if limit.is_some_and(|limit| limit.left().is_zero()) {
                match end.take() {
                    Some(end) => patience = end(),
                    None => break self.status.is_over(),
                }
                if patience.is_none() {
                    break self.status.is_over();
                }
            }
        };
        let samples = sampler.into_samples();
        let taken = if is_over { self.status.take_summary() } else { None };
        let mut all = taken.unwrap_or_else(|| {
            let workers = 0..self.engine.notes.len();
            let busy = workers.filter(|&worker| self.engine.module_of(worker).is_some());
            self.engine.stuck_summary(&self.status, busy)
        });
        all.samples = samples;
        all
    }
}

impl Future for Running {
    type Output = RunSummary;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RunSummary> {
        match self.status.poll_summary(context.waker()) {
            Some(summary) => Poll::Ready(summary),
            None => Poll::Pending,
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Running({:?})", self.status)
    }
}
