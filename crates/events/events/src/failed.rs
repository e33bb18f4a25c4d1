//! A run that failed, as an error.

use crate::record::{Failure, RunSummary};
use std::fmt;

/// A run in which an event, the source, a transition or the end of the job failed, or which had to
/// leave a worker behind. See [`RunSummary::into_result`].
#[derive(Clone, Debug)]
pub struct RunFailed {
    /// The results and figures all the same.
    pub summary: Box<RunSummary>,
}

impl RunSummary {
    /// Makes an error of a run in which anything failed. A run that was
    /// [stopped](crate::Stopper) has not failed.
    ///
    /// ```
    /// use actinium_events::{Analyzer, Builder, Cause, Event, Next, Processor, Settings, Source, Threads};
    /// # struct Numbers;
    /// # impl Source for Numbers {
    /// #     type Product = u64;
    /// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
    /// #         Ok(if number < 10 { Next::Event(number) } else { Next::End })
    /// #     }
    /// # }
    ///
    /// struct Fussy;
    /// impl Analyzer for Fussy {
    ///     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
    ///         if event.number() == 7 { Err("not this one".into()) } else { Ok(()) }
    ///     }
    /// }
    /// let mut builder = Builder::new("numbers", Numbers);
    /// builder.analyzer("fussy", Threads::Concurrent, |_| Fussy);
    /// let failed = Processor::new(builder.build()?, Settings::default()).run()?.into_result();
    /// let error = failed.expect_err("event 7 fails");
    /// assert_eq!(error.to_string(), "event 7 failed in module 'fussy': not this one");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If anything failed.
    pub fn into_result(self) -> Result<RunSummary, RunFailed> {
        let is_good = self.failed == 0
            && !self.ended_by_failure
            && self.failures.is_empty()
            && self.stuck.is_empty();
        if is_good { Ok(self) } else { Err(RunFailed { summary: Box::new(self) }) }
    }
}

impl fmt::Display for RunFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunSummary { failed, failures, stuck, .. } = &*self.summary;
        match failures.first() {
            Some(Failure { module, event: Some(event), cause }) => {
                write!(f, "event {event} failed in module '{module}': {cause}")?;
            }
            Some(Failure { module, event: None, cause }) => {
                write!(f, "module '{module}' failed: {cause}")?;
            }
            None => match stuck.first() {
                Some(stuck) => write!(f, "{stuck}")?,
                None => write!(f, "the run failed")?,
            },
        }
        if *failed > 1 { write!(f, " ({failed} events failed)") } else { Ok(()) }
    }
}

impl std::error::Error for RunFailed {}
