//! The run: a workload through the processor, with a progress bar, and what Ctrl-C does.

use super::interrupt::Interrupts;
use super::outcome::{Ideal, Outcome, bound_s};
use super::settings::{OnError, Order, Settings};
use super::sweep;
use super::written::Written;
use crate::{Failure, output};
use actinium_events::{Figures, Processor, StartError, Stopper};
use actinium_observe::cpu::process_time;
use actinium_observe::process::sampler::Sampler;
use actinium_observe::process::stats;
use actinium_report::Progress;
use actinium_workload::Workload;
use actinium_workload::plan::{EVENTS_PER_SLOT, Plan};
use actinium_workload::replay::part::{self, Seen};
use actinium_workload::replay::{self, Total};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// About so many samples are taken over a run: as many as a screen shows.
const SAMPLES: f64 = 2_000.0;
/// Spans that the report shows, of all workers together.
const SPANS: usize = 20_000;

/// The options that decide what a run records and shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notes {
    /// Whether samples and spans are kept for a report.
    pub report: bool,
    /// Whether there is no progress bar.
    pub quiet: bool,
}

/// Runs it once.
///
/// # Errors
/// If it can not be started.
pub fn once(
    workload: &Workload,
    settings: &Settings,
    plan: &Plan,
    notes: Notes,
    written: Option<Written>,
) -> Result<Outcome, Failure> {
    let running = Running::listen()?;
    let what = (settings.slots.value, settings.events.value);
    measure(workload, settings, plan, notes, what, ("events", written), &running)
}

/// Runs it for each number of slots; Ctrl-C ends the run and the sweep.
///
/// # Errors
/// If it can not be started.
pub fn sweep(
    workload: &Workload,
    settings: &Settings,
    plan: &Plan,
    notes: Notes,
    slots: &[u64],
) -> Result<Vec<sweep::Point>, Failure> {
    let running = Running::listen()?;
    let mut points = Vec::with_capacity(slots.len());
    for &slots in slots {
        let events = events_of(settings, plan, slots);
        let what = format!("{slots} slots");
        let what = (&*what, None);
        let outcome = measure(workload, settings, plan, notes, (slots, events), what, &running)?;
        let stopped = outcome.summary.stopped || outcome.summary.ended_by_failure;
        let ideal = ideal(workload, settings, plan, slots, &outcome);
        points.push(sweep::Point { slots, outcome, ideal });
        if stopped {
            break;
        }
    }
    Ok(points)
}

/// Returns the number of events to run. A flag decides it; otherwise there are enough that each
/// slot has some and that all times of the plan occur.
fn events_of(settings: &Settings, plan: &Plan, slots: u64) -> u64 {
    match settings.events.source {
        crate::setting::Source::Flag => settings.events.value,
        _ => (slots * EVENTS_PER_SLOT).max(plan.events as u64),
    }
}

/// The ideal for what was run.
pub fn ideal(
    workload: &Workload,
    settings: &Settings,
    plan: &Plan,
    slots: u64,
    outcome: &Outcome,
) -> Option<Ideal> {
    let slots = usize::try_from(slots).unwrap_or(usize::MAX);
    Ideal::of(workload, plan, settings.workers.value, slots, outcome.finished())
}

/// The run that Ctrl-C stops: the current one, or else the next one.
struct Running {
    now: Arc<Mutex<Stoppable>>,
    _interrupts: Interrupts,
}

#[derive(Default)]
struct Stoppable {
    stopper: Option<Stopper>,
    /// Interrupts that came while there was nothing to stop.
    early: u32,
}

impl Running {
    fn listen() -> Result<Self, Failure> {
        let now: Arc<Mutex<Stoppable>> = Arc::default();
        let stop = now.clone();
        let interrupts = Interrupts::listen(move |times| {
            output::note(match times {
                1 => "finishing the events in flight; once more to stop at once",
                _ => "stopping at once",
            });
            let mut now = stop.lock().unwrap_or_else(PoisonError::into_inner);
            match &now.stopper {
                Some(stopper) => ask(stopper, times),
                None => now.early += 1,
            }
        });
        let failed = |error| Failure::Failed(format!("can not listen to Ctrl-C: {error}"));
        Ok(Running { now, _interrupts: interrupts.map_err(failed)? })
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

fn measure(
    workload: &Workload,
    settings: &Settings,
    plan: &Plan,
    notes: Notes,
    (slots, events): (u64, u64),
    (what, written): (&str, Option<Written>),
    running: &Running,
) -> Result<Outcome, Failure> {
    let asked = |error| Failure::Asked(format!("{}: {error}", settings.config));
    let expected_s = bound_s(plan, settings.workers.value, slots as usize, events);
    let of_processor = of_processor(settings, slots, notes, expected_s);
    let (processor, sums) = match written {
        None => {
            let (graph, total) = replay::graph(workload, Some(events)).map_err(asked)?;
            (Processor::new(graph, of_processor), Sums::Total(total))
        }
        Some(written) => {
            let recorded = part::recorded(workload, Some(events), slots as usize);
            let (graph, seen) = recorded.map_err(asked)?;
            let lines = Lines { file: Some(written), checksum: 0 };
            let lines = Arc::new(Mutex::new(lines));
            let processor = Processor::new(graph, of_processor);
            (keep_lines(processor, seen, lines.clone()), Sums::Lines(lines))
        }
    };
    let (stopper, monitor) = (processor.stopper(), processor.monitor());
    let progress = if notes.quiet { Progress::hidden(events) } else { Progress::new(events, what) };
    let progress = Arc::new(progress);
    let bar = progress.clone();
    running.set(Some(stopper));
    let sampler = Sampler::start(move || bar.set(monitor.events()))
        .map_err(|error| Failure::Failed(format!("can not start a thread: {error}")))?;
    let cpu = process_time();
    let ran = processor.run();
    let cpu_s = (process_time() - cpu).as_secs_f64();
    running.set(None);
    let samples = sampler.finish();
    drop(progress);
    let summary = ran.map_err(|error| match error {
        StartError::Setting(..) | StartError::Bind(_) => Failure::Asked(error.to_string()),
        _ => Failure::Failed(error.to_string()),
    })?;
    summary.stuck.iter().for_each(|stuck| output::note(&stuck.to_string()));
    let checksum = match sums {
        Sums::Total(total) => total.get(),
        Sums::Lines(lines) => {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.file.take().map_or(Ok(()), Written::finish)?;
            lines.checksum
        }
    };
    Ok(Outcome {
        summary,
        events_due: events,
        checksum,
        cpu_s,
        threads_max: samples.threads_max,
        memory_max_bytes: stats::memory_max_bytes(),
        samples,
    })
}

/// A line for each event, and what they add up to. The file is taken when the run is over.
#[derive(Default)]
struct Lines {
    file: Option<Written>,
    checksum: u64,
}

/// Where what the ends of paths see comes together.
enum Sums {
    Total(Total),
    Lines(Arc<Mutex<Lines>>),
}

/// Writes a line at the end of each event that has not failed.
fn keep_lines(processor: Processor, seen: Seen, lines: Arc<Mutex<Lines>>) -> Processor {
    processor.on_end(move |end| {
        let checksum = part::sum(&seen.take(end.slot));
        if end.failure.is_none() {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.checksum = lines.checksum.wrapping_add(checksum);
            lines.file.iter_mut().for_each(|file| file.line(end.number, checksum));
        }
    })
}

pub(super) fn of_processor(
    settings: &Settings,
    slots: u64,
    notes: Notes,
    expected_s: f64,
) -> actinium_events::Settings {
    let workers = settings.workers.value;
    let slots = usize::try_from(slots).unwrap_or(usize::MAX);
    let mut to = actinium_events::Settings::default()
        .workers(workers)
        .bind(settings.bind.value.clone())
        .slots(slots)
        .policy(settings.policy.value)
        .on_error(match settings.on_error.value {
            OnError::Stop => actinium_events::OnError::Stop,
            OnError::Skip => actinium_events::OnError::Skip,
            OnError::Retry(times) => actinium_events::OnError::Retry(times),
        })
        .order(match settings.order.value {
            Order::Completed => actinium_events::Order::Completed,
            Order::Input => actinium_events::Order::Input { window: slots },
        });
    if notes.report {
        let every = (expected_s / SAMPLES).clamp(0.001, 1.0);
        to = to.figures(Figures::Spans).sample_every(Duration::from_secs_f64(every));
        to.spans_max = (SPANS / workers).max(100);
    }
    to
}
