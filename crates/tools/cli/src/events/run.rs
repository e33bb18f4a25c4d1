//! The run of a workload, and what its events add up to.

use super::outcome::{Ideal, Outcome};
use super::settings::Settings;
use super::sweep;
use super::written::Written;
use actinium_app::setting::Source;
use actinium_app::{Failure, Runner};
use actinium_events::Processor;
use actinium_report::Progress;
use actinium_workload::Workload;
use actinium_workload::plan::{EVENTS_PER_SLOT, Plan};
use actinium_workload::replay::part::{self, Seen};
use actinium_workload::replay::{self, Total};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// About so many samples are taken over a run: as many as a screen shows.
const SAMPLES: f64 = 2_000.0;

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
    let runner = Runner::new()?;
    let what = (settings.run.slots.value, settings.events.value);
    measure(workload, settings, plan, notes, what, ("events", written), &runner)
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
    let runner = Runner::new()?;
    let mut points = Vec::with_capacity(slots.len());
    for &slots in slots {
        let events = events_of(settings, plan, slots);
        let what = format!("{slots} slots");
        let what = (&*what, None);
        let outcome = measure(workload, settings, plan, notes, (slots, events), what, &runner)?;
        let stopped = outcome.run.summary.stopped || outcome.run.summary.ended_by_failure;
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
        Source::Flag => settings.events.value,
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
    Ideal::of(workload, plan, settings.run.workers.value, slots, outcome.run.finished())
}

fn measure(
    workload: &Workload,
    settings: &Settings,
    plan: &Plan,
    notes: Notes,
    (slots, events): (u64, u64),
    (what, written): (&str, Option<Written>),
    runner: &Runner,
) -> Result<Outcome, Failure> {
    let asked = |error| Failure::Asked(format!("{}: {error}", settings.config));
    let expected_s = plan.bound_s(settings.run.workers.value, slots as usize, events);
    let every = notes.report.then(|| sample_every(expected_s));
    let of_processor = settings.with_slots(slots).processor(every);
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
    let progress = if notes.quiet { Progress::hidden(events) } else { Progress::new(events, what) };
    let run = runner.run(processor, Some(events), progress)?;
    let checksum = match sums {
        Sums::Total(total) => total.get(),
        Sums::Lines(lines) => {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.file.take().map_or(Ok(()), Written::finish)?;
            lines.checksum
        }
    };
    Ok(Outcome { run, checksum })
}

/// How often a run that takes about so long is sampled.
fn sample_every(expected_s: f64) -> Duration {
    Duration::from_secs_f64((expected_s / SAMPLES).clamp(0.001, 1.0))
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
