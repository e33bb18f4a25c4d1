//! The run of an event graph as a part of a program.

use super::part::Part;
use actinium_events::Running;
use std::error::Error;
use std::time::Duration;

/// A run on the nodes of a job. It fails if this node or, on the first node, anything has failed.
#[cfg(feature = "events-cluster")]
impl Part for actinium_events_cluster::ClusterRunning {
    fn stop(&self) {
        Self::stop(self);
    }

    fn cancel(&self) {
        Self::cancel(self);
    }

    fn wait(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        while !self.wait_for(Duration::MAX)? {}
        // Somebody else may have taken it, and knows.
        if let Some(Some(outcome)) = self.take_outcome().transpose()? {
            outcome.into_result()?;
        }
        Ok(())
    }
}

/// It fails if an event has failed, or modules did not return.
impl Part for Running {
    fn stop(&self) {
        let stopper = self.stopper();
        if stopper.asked() == 0 {
            stopper.stop();
        }
    }

    fn cancel(&self) {
        Running::cancel(self);
    }

    fn wait(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        while !self.wait_for(Duration::MAX)? {}
        // Somebody else may have taken it, and knows.
        let Some(summary) = self.take_summary() else { return Ok(()) };
        if let Some(stuck) = summary.stuck.first() {
            return Err(stuck.to_string().into());
        }
        match summary.failures.first() {
            None => Ok(()),
            Some(failure) => {
                let of_event = failure.event.map_or(String::new(), |n| format!(" of event {n}"));
                let all = summary.failed;
                let text =
                    format!("{}{of_event}: {}; {all} events failed", failure.module, failure.cause);
                Err(text.into())
            }
        }
    }
}
