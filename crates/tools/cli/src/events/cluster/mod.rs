//! A workload over several nodes: the command's flags become a [`Job`]; [`report`] and [`page`]
//! show what comes of it.

pub mod page;
pub mod report;

use super::Settings;
use super::interrupt::Interrupts;
use super::run::{Notes, of_processor};
use crate::output::note;
use actinium_cluster::job::{FIRST, JobError, JobFabric};
use actinium_events_cluster::{ClusterStopper, EventLines, Job, Observer};
use actinium_report::Progress;
use actinium_workload::Workload;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The job that the flags ask for.
pub fn job<'a>(
    fabric: JobFabric,
    workload: &'a Workload,
    settings: &Settings,
    quiet: bool,
    lines: Option<EventLines>,
    down_after: Duration,
) -> Job<'a> {
    let notes = Notes { report: false, quiet: true };
    let asked = settings.common_rows().map(|(name, value, _)| format!("{name} {value}"));
    let events = settings.events.value;
    let is_in_process = fabric.is_in_process();
    Job {
        fabric,
        workload,
        name: settings.config.clone(),
        events,
        processor: of_processor(settings, settings.slots.value, notes, 0.0),
        asked: asked.collect::<Vec<_>>().join(", "),
        nodes: settings.nodes.count.value,
        lines: Mutex::new(lines),
        down_after,
        progress: Arc::default(),
        observer: Arc::new(Terminal { events, quiet, is_in_process }),
    }
}

/// A progress bar, notes on stderr, and Ctrl-C.
struct Terminal {
    events: u64,
    quiet: bool,
    is_in_process: bool,
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
                note(match times {
                    1 => "finishing the events in flight; once more to stop at once",
                    _ => "stopping at once",
                });
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
