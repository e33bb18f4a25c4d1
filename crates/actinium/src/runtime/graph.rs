//! The run of an event graph as a part of a program.

use super::part::Part;
use actinium_events::Running;
use std::error::Error;
use std::time::Duration;

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
