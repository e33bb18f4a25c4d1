//! A run of a graph that people watch: with a progress bar, and Ctrl-C that ends it orderly.

use crate::{Failure, output};
use actinium_actor::Interrupts;
use actinium_events::drawing::Drawing;
use actinium_events::{Processor, RunSummary, Stopper};
use actinium_observe::process::cpu_time::process_time;
use actinium_observe::process::proc;
use actinium_observe::process::sampler::{Sampler, Samples};
use actinium_report::Progress;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// All that was measured in a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The event processor's own summary of the run.
    pub summary: RunSummary,
    /// Number of events to be run, if that was known.
    pub events_due: Option<u64>,
    /// CPU time of the whole process meanwhile.
    pub cpu_s: f64,
    /// The most threads that the process had.
    pub threads_max: u64,
    /// The most memory that the process had in RAM.
    pub memory_max_bytes: u64,
    /// Samples of the process during the run.
    pub samples: Samples,
    /// The graph that was run.
    pub graph: Drawing,
}

impl Outcome {
    /// The time that it took.
    pub fn elapsed_s(&self) -> f64 {
        self.summary.elapsed_ns as f64 * 1e-9
    }

    /// Events that were run to their end or to their failure, by the time that it took.
    pub fn events_per_s(&self) -> f64 {
        self.finished() as f64 / self.elapsed_s()
    }

    /// Events that were run to their end or to their failure.
    pub fn finished(&self) -> u64 {
        self.summary.events + self.summary.failed
    }
}

/// Runs graphs, one after the other. From its beginning on, Ctrl-C stops the current run, or else
/// the next one: the first time the events in flight are finished, the second time it ends at once.
#[derive(Debug)]
pub struct Runner {
    now: Arc<Mutex<Stoppable>>,
    _interrupts: Interrupts,
}

#[derive(Debug, Default)]
struct Stoppable {
    stopper: Option<Stopper>,
    /// Interrupts that came while there was nothing to stop.
    early: u32,
}

impl Runner {
    /// Begins to listen to Ctrl-C.
    ///
    /// # Errors
    /// If the system does not let us listen.
    pub fn new() -> Result<Self, Failure> {
        let now: Arc<Mutex<Stoppable>> = Arc::default();
        let stop = now.clone();
        let interrupts = Interrupts::listen(move |times| {
            note_interrupt(times);
            let mut now = stop.lock().unwrap_or_else(PoisonError::into_inner);
            match &now.stopper {
                Some(stopper) => ask(stopper, times),
                None => now.early += 1,
            }
        });
        let failed = |error| Failure::Failed(format!("can not listen to Ctrl-C: {error}"));
        Ok(Runner { now, _interrupts: interrupts.map_err(failed)? })
    }

    /// Runs a graph; `events_due` is how many events it has, if that is known. Modules that did not
    /// return in time are named on stderr.
    ///
    /// # Errors
    /// If it can not be started. What fails later is in the summary.
    pub fn run(
        &self,
        processor: Processor,
        events_due: Option<u64>,
        progress: Progress,
    ) -> Result<Outcome, Failure> {
        let (stopper, monitor) = (processor.stopper(), processor.monitor());
        let graph = processor.drawing();
        let progress = Arc::new(progress);
        let bar = progress.clone();
        self.set(Some(stopper));
        let sampler = Sampler::start(move || bar.set(monitor.events()))
            .map_err(|error| Failure::Failed(format!("can not start a thread: {error}")))?;
        let cpu = process_time();
        let ran = processor.run();
        let cpu_s = (process_time() - cpu).as_secs_f64();
        self.set(None);
        let samples = sampler.finish();
        drop(progress);
        let summary = ran?;
        summary.stuck.iter().for_each(|stuck| output::note(&stuck.to_string()));
        Ok(Outcome {
            summary,
            events_due,
            cpu_s,
            threads_max: samples.threads_max,
            memory_max_bytes: proc::memory_max_bytes(),
            samples,
            graph,
        })
    }

    fn set(&self, stopper: Option<Stopper>) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stopper) = &stopper {
            (1..=std::mem::take(&mut now.early)).for_each(|times| ask(stopper, times));
        }
        now.stopper = stopper;
    }
}

/// Stops the run. The first request lets events in flight finish; a further one does not wait for
/// them.
fn ask(stopper: &Stopper, times: u32) {
    match times {
        1 => stopper.stop(),
        _ => stopper.stop_within(Duration::ZERO),
    }
}

/// Tells on stderr what this Ctrl-C does.
pub(crate) fn note_interrupt(times: u32) {
    output::note(match times {
        1 => "finishing the events in flight; once more to stop at once",
        _ => "stopping at once",
    });
}

/// The progress of so many events, if that is known.
pub(crate) fn progress(due: Option<u64>, what: &str, is_hidden: bool) -> Progress {
    match due {
        _ if is_hidden => Progress::hidden(due.unwrap_or_default()),
        Some(due) => Progress::new(due, what),
        None => Progress::counting(what),
    }
}
