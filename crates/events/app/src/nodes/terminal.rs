//! A workload over several nodes that people watch: with a progress bar, notes on stderr, and
//! Ctrl-C.

use crate::output::note;
use crate::run::note_interrupt;
use actinium_actor::Interrupts;
use actinium_cluster::job::{FIRST, JobError};
use actinium_events_cluster::{ClusterStopper, Observer};
use actinium_report::Progress;

/// Shows a run over several nodes on the terminal, and ends it at Ctrl-C.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Events in all.
    pub events: u64,
    /// Whether there is no progress bar.
    pub quiet: bool,
    /// Whether all nodes are in this process.
    pub is_in_process: bool,
}

impl Observer for Terminal {
    fn note(&self, line: &str) {
        note(line);
    }

    /// Ctrl-C: the first ends the queue, the second ends what runs here.
    fn begin(
        &self,
        node: u32,
        stopper: ClusterStopper,
    ) -> Result<Box<dyn FnMut(u64) + Send>, JobError> {
        let tells = !self.is_in_process || node == FIRST.0;
        let listen = Interrupts::listen(move |times| {
            if tells {
                note_interrupt(times);
            }
            match times {
                1 => stopper.stop(),
                _ => stopper.stop_now(),
            }
        });
        let failed = |error| JobError::failed(format!("can not listen to Ctrl-C: {error}"));
        let interrupts = listen.map_err(failed)?;
        let is_shown = node == FIRST.0 && !self.quiet;
        let bar = match is_shown {
            true => Progress::new(self.events, "events"),
            false => Progress::hidden(self.events),
        };
        Ok(Box::new(move |over| {
            // It listens until the events are over.
            let _ = &interrupts;
            bar.set(over);
        }))
    }
}
