//! `--sweep`: runs for each number of slots, of workers, or of jobs.

use super::outcome::{Ideal, Outcome};
use super::settings::{Sweep, SweepOf};
use super::typed::command;
use super::{SCHEMA_VERSION, Settings};
use crate::Failure;
use actinium_observe::Repeat;
use actinium_observe::number::{bytes, decimal, nanoseconds, percent};
use actinium_report::html::{Figure, Scaling, ScalingCurve, ScalingPoint, Section, Unit};
use actinium_report::{Column, Table};
use actinium_workload::SweepPoint;
use serde::{Deserialize, Serialize};

/// What was measured in one run of a point.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Events that went through.
    pub events: u64,
    /// Events that failed.
    pub failed: u64,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// The time that it took: of several jobs, from the common begin to the end of the last.
    pub elapsed_s: f64,
    /// Events that were run to their end or to their failure, by that time.
    pub events_per_s: f64,
    /// CPU time of all jobs.
    pub cpu_s: f64,
    /// Threads at most, of all jobs.
    pub threads_max: u64,
    /// The most memory in RAM, of all jobs.
    pub memory_max_bytes: u64,
    /// Of a replay: mixes all events' products.
    pub checksum: Option<String>,
    /// Why it did not do what it was asked to do.
    pub failure: Option<Failure>,
}

impl Measured {
    /// A run in this process.
    #[must_use]
    pub fn new(outcome: &Outcome, failure: Option<Failure>) -> Self {
        let run = &outcome.run;
        Measured {
            events: run.summary.events,
            failed: run.summary.failed,
            interrupted: run.summary.stopped,
            elapsed_s: run.elapsed_s(),
            events_per_s: run.events_per_s(),
            cpu_s: run.cpu_s,
            threads_max: run.threads_max,
            memory_max_bytes: run.memory_max_bytes,
            checksum: outcome.checksum.map(|sum| format!("{sum:016x}")),
            failure,
        }
    }
}

/// One point of a sweep, with at least one run.
#[derive(Clone, Debug)]
pub struct Point {
    /// Events in flight, of each job.
    pub slots: u64,
    /// Worker threads of each job.
    pub workers: usize,
    /// Jobs side by side, each a process of its own.
    pub jobs: usize,
    /// The runs, in their order.
    pub runs: Vec<Measured>,
    /// The ideal to compare the runs with.
    pub ideal: Option<Ideal>,
}

impl Point {
    /// The rates of all runs.
    fn rates(&self) -> Option<Repeat> {
        Repeat::new(self.runs.iter().map(|run| run.events_per_s))
    }

    /// The run whose rate is that in the middle.
    fn middle(&self) -> Measured {
        let mut runs: Vec<&Measured> = self.runs.iter().collect();
        runs.sort_by(|a, b| a.events_per_s.total_cmp(&b.events_per_s));
        runs.get(runs.len().saturating_sub(1) / 2).copied().cloned().unwrap_or_default()
    }

    /// Returns what a sweep over slots compares.
    pub fn of_sweep(&self) -> SweepPoint {
        let rates = self.rates();
        SweepPoint {
            slots: usize::try_from(self.slots).unwrap_or(usize::MAX),
            events_per_s: rates.as_ref().map_or(0.0, Repeat::median),
            range: rates.filter(|it| it.runs() > 1).map(|it| (it.min(), it.max())),
            perfect_per_s: self.ideal.map(|ideal| ideal.events_per_s),
        }
    }

    /// The number that the sweep goes through.
    fn x(&self, of: SweepOf) -> usize {
        match of {
            SweepOf::Slots => self.slots as usize,
            SweepOf::Workers => self.workers,
            SweepOf::Jobs => self.jobs * self.workers,
        }
    }

    /// Whether all its runs did what they were asked to do.
    ///
    /// # Errors
    /// The first failure.
    pub fn verdict(&self) -> Result<(), Failure> {
        self.runs.iter().find_map(|run| run.failure.clone()).map_or(Ok(()), Err)
    }
}

/// What is shown of a point, and read from saved figures.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Shown {
    slots: u64,
    #[serde(default = "one")]
    workers: usize,
    #[serde(default = "one")]
    jobs: usize,
    events_per_s: f64,
    #[serde(default)]
    range: Option<(f64, f64)>,
    memory_max_bytes: u64,
    #[serde(default)]
    memory_range: Option<(u64, u64)>,
    #[serde(default)]
    ideal: Option<ShownIdeal>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct ShownIdeal {
    events_per_s: f64,
}

fn one() -> usize {
    1
}

#[derive(Debug, Serialize)]
struct PointReport {
    slots: u64,
    workers: usize,
    jobs: usize,
    /// How many runs there were: figures are those of the one whose rate is in the middle.
    runs: usize,
    events: u64,
    failed: u64,
    interrupted: bool,
    elapsed_s: f64,
    /// The median.
    events_per_s: f64,
    /// The slowest and the fastest of several runs, in events per second.
    range: Option<(f64, f64)>,
    cpu_s: f64,
    threads_max: u64,
    memory_max_bytes: u64,
    /// The least and the most of several runs.
    memory_range: Option<(u64, u64)>,
    /// Against the first point's rate in proportion.
    of_perfect: f64,
    ideal: Option<Ideal>,
    wall_by_ideal: Option<f64>,
    checksum: Option<String>,
}

impl PointReport {
    fn new(point: &Point, of: SweepOf, first: &Point) -> Self {
        let run = point.middle();
        let memory = point.runs.iter().map(|run| run.memory_max_bytes);
        let several = point.runs.len() > 1;
        let SweepPoint { events_per_s, range, .. } = point.of_sweep();
        let in_proportion =
            first.of_sweep().events_per_s / first.x(of).max(1) as f64 * point.x(of) as f64;
        PointReport {
            slots: point.slots,
            workers: point.workers,
            jobs: point.jobs,
            runs: point.runs.len(),
            events: run.events,
            failed: point.runs.iter().map(|run| run.failed).sum(),
            interrupted: point.runs.iter().any(|run| run.interrupted),
            elapsed_s: run.elapsed_s,
            events_per_s,
            range,
            cpu_s: run.cpu_s,
            threads_max: run.threads_max,
            memory_max_bytes: run.memory_max_bytes,
            memory_range: memory.clone().min().zip(memory.max()).filter(|_| several),
            of_perfect: events_per_s / in_proportion,
            ideal: point.ideal,
            wall_by_ideal: point.ideal.map(|ideal| ideal.wall_by_ideal(run.elapsed_s)),
            checksum: run.checksum,
        }
    }

    fn shown(&self) -> Shown {
        Shown {
            slots: self.slots,
            workers: self.workers,
            jobs: self.jobs,
            events_per_s: self.events_per_s,
            range: self.range,
            memory_max_bytes: self.memory_max_bytes,
            memory_range: self.memory_range,
            ideal: self.ideal.map(|ideal| ShownIdeal { events_per_s: ideal.events_per_s }),
        }
    }
}

/// All points. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    schema_version: u32,
    actinium_version: &'static str,
    command: String,
    workload: &'a str,
    settings: &'a Settings,
    sweep: &'static str,
    points: Vec<PointReport>,
    #[serde(skip)]
    of: SweepOf,
}

impl<'a> Report<'a> {
    /// Creates the report of a sweep.
    pub fn new(settings: &'a Settings, workload: &'a str, sweep: &Sweep, points: &[Point]) -> Self {
        let point = |point: &Point| PointReport::new(point, sweep.of, &points[0]);
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            command: command(settings, Some(sweep)),
            workload,
            settings,
            sweep: sweep.of.name(),
            points: points.iter().map(point).collect(),
            of: sweep.of,
        }
    }

    /// The charts of a sweep: throughput, and for jobs memory.
    pub(crate) fn section(&self, ceiling: Option<(String, f64)>) -> Section {
        let shown: Vec<Shown> = self.points.iter().map(PointReport::shown).collect();
        section(self.sweep, &shown, ceiling)
    }

    /// What one looks for first.
    pub(crate) fn headline(&self) -> Vec<Figure> {
        let shown: Vec<Shown> = self.points.iter().map(PointReport::shown).collect();
        headline(self.sweep, &shown)
    }

    /// Returns the sweep as a table.
    pub fn table(&self) -> Table {
        let mut columns = match self.of {
            SweepOf::Slots => vec![Column::right("slots")],
            SweepOf::Workers => vec![Column::right("workers"), Column::right("slots")],
            SweepOf::Jobs => vec![Column::right("jobs"), Column::right("threads each")],
        };
        columns.extend(
            [
                "events",
                "elapsed",
                "events/s",
                "range",
                "of perfect",
                "ideal events/s",
                "of ideal",
                "CPU time",
                "threads",
                "memory",
            ]
            .map(Column::right),
        );
        let mut table = Table::new(columns);
        for point in &self.points {
            let mut row = match self.of {
                SweepOf::Slots => vec![point.slots.into()],
                SweepOf::Workers => vec![point.workers.into(), point.slots.into()],
                SweepOf::Jobs => vec![point.jobs.into(), point.workers.into()],
            };
            let range = point
                .range
                .map(|(low, high)| format!("{} to {}", decimal(low, 2), decimal(high, 2)));
            row.extend([
                point.events.into(),
                nanoseconds(point.elapsed_s * 1e9).into(),
                decimal(point.events_per_s, 2).into(),
                range.into(),
                percent(point.of_perfect).into(),
                point.ideal.map(|ideal| decimal(ideal.events_per_s, 2)).into(),
                point.ideal.map(|ideal| percent(ideal.share(point.events_per_s))).into(),
                nanoseconds(point.cpu_s * 1e9).into(),
                point.threads_max.into(),
                bytes(point.memory_max_bytes).into(),
            ]);
            table.row(row);
        }
        table
    }
}

/// What one looks for first in a sweep: of jobs, how both curves end.
pub(crate) fn headline(of: &str, points: &[Shown]) -> Vec<Figure> {
    let rate = |it: &Shown| decimal(it.events_per_s, if it.events_per_s < 100.0 { 1 } else { 0 });
    let most = points.iter().map(|it| it.jobs * it.workers).max().unwrap_or(0);
    let at = |jobs: usize, workers: usize| {
        points.iter().find(|it| (it.jobs, it.workers) == (jobs, workers))
    };
    if of != SweepOf::Jobs.name() {
        let fastest = points.iter().max_by(|a, b| a.events_per_s.total_cmp(&b.events_per_s));
        let figure = |it: &Shown| {
            let x = if of == "workers" { it.workers as u64 } else { it.slots };
            Figure::new("Fastest", rate(it)).note(format!("events/s, with {x} {of}"))
        };
        return fastest.map(figure).into_iter().collect();
    }
    let (Some(one), Some(many)) = (at(1, most), at(most, 1)) else { return Vec::new() };
    let memory = |it: &Shown| format!("events/s, with {} in RAM", bytes(it.memory_max_bytes));
    vec![
        Figure::new(format!("One job of {most} threads"), rate(one)).note(memory(one)),
        Figure::new(format!("{most} jobs of one thread"), rate(many)).note(memory(many)),
        Figure::new("Throughput", decimal(one.events_per_s / many.events_per_s, 2))
            .note("of the one job by that of the others"),
        Figure::new(
            "Memory",
            percent(one.memory_max_bytes as f64 / many.memory_max_bytes.max(1) as f64),
        )
        .note("of the one job by that of the others"),
    ]
}

/// The curves of a sweep over `of`, one of [`SweepOf::name`].
pub(crate) fn section(of: &str, points: &[Shown], ceiling: Option<(String, f64)>) -> Section {
    let point = |x: f64, it: &Shown| ScalingPoint { x, y: it.events_per_s, range: it.range };
    let rate = Unit::Other("events/s".into());
    if of != SweepOf::Jobs.name() {
        let x = |it: &Shown| if of == "workers" { it.workers as f64 } else { it.slots as f64 };
        let curve = ScalingCurve {
            label: "measured".into(),
            points: points.iter().map(|it| point(x(it), it)).collect(),
        };
        let perfect = points.iter().filter_map(|it| Some((x(it), it.ideal?.events_per_s)));
        let note = match perfect.clone().next() {
            Some(_) => format!("Perfect is what the plan says is possible with so many {of}."),
            None => format!("Perfect is in proportion to the fewest {of}."),
        };
        let mut chart = Scaling::new(format!("Throughput against {of}"), of, rate)
            .note(note)
            .curve(curve)
            .perfect(perfect.collect());
        if let Some((label, per_s)) = ceiling {
            chart = chart.ceiling(label, per_s);
        }
        return Section::new("Scaling").chart(chart);
    }
    // One job of one thread begins both curves.
    let of_jobs = |it: &&Shown| it.workers == 1;
    let of_threads = |it: &&Shown| it.jobs == 1;
    let curve = |label: &str,
                 is_of: &dyn Fn(&&Shown) -> bool,
                 y: &dyn Fn(&Shown) -> ScalingPoint| ScalingCurve {
        label: label.into(),
        points: points.iter().filter(is_of).map(y).collect(),
    };
    let threads = |it: &Shown| (it.jobs * it.workers) as f64;
    let rates = |it: &Shown| point(threads(it), it);
    let memory = |it: &Shown| ScalingPoint {
        x: threads(it),
        y: it.memory_max_bytes as f64,
        range: it.memory_range.map(|(low, high)| (low as f64, high as f64)),
    };
    let (one, many) = ("one job of so many threads", "so many jobs of one thread");
    let mut throughput = Scaling::new("Throughput against threads", "threads", rate)
        .note("Perfect is in proportion to one thread. Vertical lines span repeated runs.")
        .curve(curve(one, &of_threads, &rates))
        .curve(curve(many, &of_jobs, &rates));
    if let Some((label, per_s)) = ceiling {
        throughput = throughput.ceiling(format!("{label}, of each job"), per_s);
    }
    let memory_chart = Scaling::new("Memory against threads", "threads", Unit::Bytes)
        .note("The most that was in RAM, of all jobs together. What processes share, such as the program's code, counts for each.")
        .without_perfect()
        .curve(curve(one, &of_threads, &memory))
        .curve(curve(many, &of_jobs, &memory));
    Section::new("Scaling")
        .text("N jobs of one thread are N processes side by side, which begin at the same time; one job of N threads shares its memory. Each has one event in flight for each thread.")
        .chart(throughput)
        .chart(memory_chart)
}
