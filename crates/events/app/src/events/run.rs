//! The run of a workload, and what its events add up to.

use super::jobs;
use super::loaded::Loaded;
use super::outcome::{Ideal, Outcome};
use super::report::cpus_for;
use super::settings::{Settings, Sweep, SweepOf};
use super::sweep::{self, Measured};
use super::written::Written;
use crate::run::progress;
use crate::setting::Source;
use crate::{Failure, RunFigures, Runner, TraceArgs};
use actinium_actor::Interrupts;
use actinium_events::{Graph, GraphErrors, Processor};
use actinium_workload::job::After;
use actinium_workload::plan::{EVENTS_PER_SLOT, Plan};
use actinium_workload::registry::Registry;
use actinium_workload::replay::part::{self, Seen};
use actinium_workload::replay::{self, Cpus, Total};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// About so many samples are taken over a run: as many as a screen shows.
const SAMPLES: f64 = 2_000.0;
/// How often a run is sampled of which nobody knows how long it takes.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);

/// The options that decide what a run records and shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notes {
    /// Whether samples and spans are kept for a report.
    pub report: bool,
    /// Whether there is no progress bar.
    pub quiet: bool,
    /// Whether other processes run at the same time, as jobs of one sweep.
    pub together: bool,
}

/// What is run, and how.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The workload, and its own types of modules.
    pub loaded: &'a Loaded,
    /// The types of modules that the program has.
    pub registry: &'a Registry,
    /// The settings.
    pub settings: &'a Settings,
    /// The plan of the workload.
    pub plan: &'a Plan,
    /// What is recorded and shown.
    pub notes: Notes,
    /// Whether each worker is traced.
    pub trace: &'a TraceArgs,
}

/// Events in flight, workers, and how many events there are, if that is known.
type Size = (u64, usize, Option<u64>);

impl Task<'_> {
    /// Runs it once.
    ///
    /// # Errors
    /// If it can not be started, or its results can not be written.
    pub fn once(&self, written: Option<Written>) -> Result<Outcome, Failure> {
        let run = &self.settings.run;
        let size = (run.slots.value, run.workers.value, self.settings.events.value);
        self.measure(size, ("events", written), &Runner::new()?)
    }

    /// Runs it for each number of the sweep, so often; Ctrl-C ends the run and the sweep. Returns
    /// also the last run, if it was in this process.
    ///
    /// # Errors
    /// The same as those of [`Task::once`]; of jobs, those of starting and running them, too.
    pub fn sweep(&self, sweep: &Sweep) -> Result<(Vec<sweep::Point>, Option<Outcome>), Failure> {
        let repeat = sweep.repeat;
        if sweep.of == SweepOf::Jobs {
            return Ok((self.sweep_jobs(&sweep.values, repeat)?, None));
        }
        let runner = Runner::new()?;
        let mut points = Vec::with_capacity(sweep.values.len());
        let mut last = None;
        for &value in &sweep.values {
            let (slots, workers) = match sweep.of {
                SweepOf::Slots => (value, self.settings.run.workers.value),
                SweepOf::Workers | SweepOf::Jobs => (value, value as usize),
            };
            let size = (slots, workers, self.events_of(slots));
            let (mut runs, mut ideal, mut stopped) = (Vec::new(), None, false);
            for nth in 1..=repeat {
                let what = match repeat {
                    1 => format!("{value} {}", sweep.of.name()),
                    _ => format!("{value} {}, run {nth} of {repeat}", sweep.of.name()),
                };
                let outcome = self.measure(size, (&what, None), &runner)?;
                ideal = self.ideal(slots, workers, outcome.run.finished());
                let verdict = RunFigures::new(&outcome.run).verdict();
                runs.push(Measured::new(&outcome, verdict.err()));
                stopped = outcome.run.summary.stopped || outcome.run.summary.ended_by_failure;
                last = Some(outcome);
                if stopped {
                    break;
                }
            }
            points.push(sweep::Point { slots, workers, jobs: 1, runs, ideal });
            if stopped {
                break;
            }
        }
        Ok((points, last))
    }

    /// For each number of threads one job of so many, and so many jobs of one. Each thread has the
    /// same events to run, so that no time is measured of other ones.
    fn sweep_jobs(&self, threads: &[u64], repeat: u64) -> Result<Vec<sweep::Point>, Failure> {
        if self.loaded.job.is_some() {
            let line = "--sweep jobs: the modules have types of the program's own, and several processes would write the same files; --replay runs their times";
            return Err(Failure::Asked(line.to_owned()));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        // The jobs hear of it, too, and end orderly.
        let listen = Interrupts::listen(move |_| stopped.store(true, Ordering::SeqCst));
        let failed = |error| Failure::Failed(format!("can not listen to Ctrl-C: {error}"));
        let _interrupts = listen.map_err(failed)?;
        let each = self.events_of(1).unwrap_or(EVENTS_PER_SLOT);
        let shapes = |threads: usize| match threads {
            1 => vec![(1, 1)],
            _ => vec![(1, threads), (threads, 1)],
        };
        let bar = progress(None, "runs", self.notes.quiet);
        let (mut points, mut done) = (Vec::new(), 0);
        for (jobs, workers) in threads.iter().flat_map(|&threads| shapes(threads as usize)) {
            let mut runs = Vec::new();
            while (runs.len() as u64) < repeat && !stop.load(Ordering::SeqCst) {
                runs.push(jobs::run(self.settings, jobs, workers, each * workers as u64)?);
                done += 1;
                bar.set(done);
            }
            if !runs.is_empty() {
                let ideal = if jobs == 1 {
                    self.ideal(workers as u64, workers, each * workers as u64)
                } else {
                    None
                };
                let slots = workers as u64;
                points.push(sweep::Point { slots, workers, jobs, runs, ideal });
            }
        }
        match points.is_empty() {
            true => Err(Failure::Failed("interrupted before the first run".to_owned())),
            false => Ok(points),
        }
    }

    /// Returns the number of events of a run of a sweep. A flag decides it. A job has those of its
    /// source; otherwise there are enough that each slot has some and that all times of the plan
    /// occur.
    fn events_of(&self, slots: u64) -> Option<u64> {
        match self.settings.events.source {
            Source::Flag => self.settings.events.value,
            _ if self.loaded.job.is_some() => self.settings.events.value,
            _ => Some((slots * EVENTS_PER_SLOT).max(self.plan.events as u64)),
        }
    }

    /// The ideal for so many events that were run. Workers that share a CPU compute no more than
    /// one.
    pub fn ideal(&self, slots: u64, workers: usize, events: u64) -> Option<Ideal> {
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        let workers = cpus_for(workers);
        Ideal::of(&self.loaded.workload, self.plan, workers, slots, events)
    }

    fn measure(
        &self,
        (slots, workers, events): Size,
        (what, written): (&str, Option<Written>),
        runner: &Runner,
    ) -> Result<Outcome, Failure> {
        let asked = |error| Failure::Asked(format!("{}: {error}", self.settings.config));
        let every = self.notes.report.then(|| self.sample_every(slots, events));
        let mut of_processor = self.settings.with(slots, workers).processor(every);
        of_processor.events_max = events;
        let Made { graph, results } =
            self.make((slots, workers, events), written).map_err(asked)?;
        let processor = results.listen(Processor::new(graph, of_processor));
        let processor = self.trace.observe(processor);
        let run = runner.run(processor, events, progress(events, what, self.notes.quiet))?;
        let is_whole = run.summary.abandoned == 0 && !run.summary.ended_by_failure;
        Ok(Outcome { checksum: results.finish(is_whole)?, run })
    }

    fn make(
        &self,
        (slots, workers, events): Size,
        written: Option<Written>,
    ) -> Result<Made, GraphErrors> {
        let workload = &self.loaded.workload;
        if let Some(job) = &self.loaded.job {
            let (graph, after) = job.graph(self.registry, workload)?;
            let lines = written.map(Lines::shared);
            return Ok(Made { graph, results: Results::Job { after, lines } });
        }
        let cpus = match self.notes.together || cpus_for(workers) < workers {
            true => Cpus::Shared,
            false => Cpus::Own,
        };
        let Some(written) = written else {
            let (graph, total) = replay::graph_on(cpus, workload, events)?;
            return Ok(Made { graph, results: Results::Total(total) });
        };
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        let (graph, seen) = part::recorded(cpus, workload, events, slots)?;
        Ok(Made { graph, results: Results::Lines(Lines::shared(written), seen) })
    }

    /// How often the run is sampled for its page.
    fn sample_every(&self, slots: u64, events: Option<u64>) -> Duration {
        let (Some(events), None) = (events, &self.loaded.job) else { return SAMPLE_EVERY };
        let expected_s = self.plan.bound_s(self.settings.run.workers.value, slots as usize, events);
        Duration::from_secs_f64((expected_s / SAMPLES).clamp(0.001, 1.0))
    }
}

struct Made {
    graph: Graph,
    results: Results,
}

/// A line for each event, and what they add up to. The file is taken when the run is over.
#[derive(Default)]
struct Lines {
    file: Option<Written>,
    checksum: u64,
}

impl Lines {
    fn shared(file: Written) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Lines { file: Some(file), checksum: 0 }))
    }

    fn line(lines: &Mutex<Self>, event: u64, checksum: Option<u64>) {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.checksum = lines.checksum.wrapping_add(checksum.unwrap_or_default());
        lines.file.iter_mut().for_each(|file| file.line(event, checksum));
    }

    /// Completes the file, and returns the sum.
    fn finish(lines: &Mutex<Self>) -> Result<u64, Failure> {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.file.take().map_or(Ok(()), Written::finish)?;
        Ok(lines.checksum)
    }
}

/// Where what comes of events comes together.
enum Results {
    /// Of a replay: the sum of what the ends of paths see.
    Total(Total),
    /// Of a replay: a line for each event.
    Lines(Arc<Mutex<Lines>>, Seen),
    /// Of modules of the program's own.
    Job { after: After, lines: Option<Arc<Mutex<Lines>>> },
}

impl Results {
    /// Writes a line at the end of each event that has not failed.
    fn listen(&self, processor: Processor) -> Processor {
        match self {
            Results::Total(_) | Results::Job { lines: None, .. } => processor,
            Results::Lines(lines, seen) => {
                let (lines, seen) = (lines.clone(), seen.clone());
                processor.on_end(move |end| {
                    let checksum = part::sum(&seen.take(end.slot));
                    if end.failure.is_none() {
                        Lines::line(&lines, end.number, Some(checksum));
                    }
                })
            }
            Results::Job { lines: Some(lines), .. } => {
                let lines = lines.clone();
                processor.on_end(move |end| {
                    if end.failure.is_none() {
                        Lines::line(&lines, end.number, None);
                    }
                })
            }
        }
    }

    /// The run is over. Modules write what they have gathered if it has ended orderly. Returns the
    /// sum of a replay.
    fn finish(self, is_whole: bool) -> Result<Option<u64>, Failure> {
        match self {
            Results::Total(total) => Ok(Some(total.get())),
            Results::Lines(lines, _) => Lines::finish(&lines).map(Some),
            Results::Job { after, lines } => {
                lines.map_or(Ok(0), |lines| Lines::finish(&lines))?;
                if is_whole {
                    after.run().map_err(|errors| Failure::Failed(errors.to_string()))?;
                }
                Ok(None)
            }
        }
    }
}
