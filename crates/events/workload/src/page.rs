//! A run as a page that one wants to look at.

use actinium_observe::number::{count, decimal, duration, nanoseconds, percent, rate};
use actinium_observe::process::CpuLoad;
use actinium_report::html::{
    Bar, Bars, Column, Figure, Gantt, HeatMap, HeatRow, LineChart, Page, Scaling, ScalingCurve,
    ScalingPoint, Section, Series, Span as Bit, Table, Unit, Value,
};
use std::time::Duration;

use crate::drawn;
use crate::latency;
use crate::plan::{Ceiling, Plan};
use crate::products;
use actinium_events::drawing::Drawing;
use actinium_events::{ModuleFigures, RunSummary, Sample};

/// More resources than this in one chart cannot be told apart.
const RESOURCES_SHOWN: usize = 8;

/// One measurement of a sweep over slots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SweepPoint {
    /// The number of slots.
    pub slots: usize,
    /// The events per second that were measured: the median, if there were several runs.
    pub events_per_s: f64,
    /// The slowest and the fastest of several runs.
    pub range: Option<(f64, f64)>,
    /// The events per second of a perfect run, if the plan knows.
    pub perfect_per_s: Option<f64>,
}

impl SweepPoint {
    /// Returns the rate of this point by what the rate of the first would be in proportion to the
    /// slots.
    #[must_use]
    pub fn of_perfect(&self, first: &SweepPoint) -> f64 {
        self.events_per_s / (first.events_per_s / first.slots as f64 * self.slots as f64)
    }
}

/// A report of a run, which is made into a [`Page`].
///
/// ```
/// use actinium_events::RunSummary;
/// use actinium_workload::RunReport;
///
/// let summary = RunSummary { events: 100, elapsed_ns: 2_000_000_000, ..RunSummary::default() };
/// let page = RunReport::new("Reconstruction", &summary).ideal(51.0).page();
/// let html = page.html();
/// assert!(html.contains("<strong>50.0</strong>") && html.contains("98.0 % of the ideal"));
/// ```
#[derive(Clone, Debug)]
pub struct RunReport<'a> {
    title: String,
    command: String,
    summary: &'a RunSummary,
    settings: Vec<(String, String)>,
    figures: Vec<Figure>,
    ideal_per_s: Option<f64>,
    plan: Option<&'a Plan>,
    cpus: Option<&'a CpuLoad>,
    /// Whether `cpus` is this process's share alone.
    cpus_of_process: bool,
    sweep: &'a [SweepPoint],
    graph: Option<&'a Drawing>,
    sections: Vec<Section>,
}

impl<'a> RunReport<'a> {
    /// A report of this run.
    #[must_use]
    pub fn new(title: impl Into<String>, summary: &'a RunSummary) -> Self {
        RunReport {
            title: title.into(),
            command: String::new(),
            summary,
            settings: Vec::new(),
            figures: Vec::new(),
            ideal_per_s: None,
            plan: None,
            cpus: None,
            cpus_of_process: false,
            sweep: &[],
            graph: None,
            sections: Vec::new(),
        }
    }

    /// Sets the command that one would type to repeat the run.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// Adds a setting.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.settings.push((name.into(), value.to_string()));
        self
    }

    /// Adds a figure to those that are made from the run: CPU time, memory.
    #[must_use]
    pub fn figure(mut self, figure: Figure) -> Self {
        self.figures.push(figure);
        self
    }

    /// The throughput that would have been ideal.
    #[must_use]
    pub fn ideal(mut self, events_per_s: f64) -> Self {
        self.ideal_per_s = Some(events_per_s);
        self
    }

    /// Adds the plan of the workload: critical path, ceilings.
    #[must_use]
    pub fn plan(mut self, plan: &'a Plan) -> Self {
        self.plan = Some(plan);
        self
    }

    /// How busy each CPU was during the run, with all that ran on the machine; without it, workers
    /// stand for CPUs.
    #[must_use]
    pub fn cpus(mut self, cpus: &'a CpuLoad) -> Self {
        self.cpus = Some(cpus);
        self
    }

    /// How much of each CPU this process had, without all else that ran on the machine.
    #[must_use]
    pub fn cpus_of_process(mut self, cpus: &'a CpuLoad) -> Self {
        self.cpus_of_process = true;
        self.cpus(cpus)
    }

    /// Throughput against slots.
    #[must_use]
    pub fn sweep(mut self, sweep: &'a [SweepPoint]) -> Self {
        self.sweep = sweep;
        self
    }

    /// Draws the graph ([`Graph::drawing`](actinium_events::Graph::drawing)), with the critical
    /// path: that of the plan, or else the longest chain by the times that were measured.
    #[must_use]
    pub fn graph(mut self, graph: &'a Drawing) -> Self {
        self.graph = Some(graph);
        self
    }

    /// Adds a section behind those that are made from the run.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// The page; [`Page::write`] writes it.
    #[must_use]
    pub fn page(&self) -> Page {
        let mut page = Page::new(&self.title).summary(self.sentence()).command(&self.command);
        page.settings = self.settings.clone();
        page.figures = self.headline();
        page.figures.extend(self.figures.iter().cloned());
        let sections = [
            self.failures(),
            self.over_time(),
            latency::section(self.summary),
            self.spans(),
            self.modules(),
            self.graph.and_then(|graph| drawn::section(self.summary, graph, self.plan)),
            self.critical_path(),
            self.scaling(),
        ];
        page.sections = sections.into_iter().flatten().collect();
        page.sections.extend(self.sections.iter().cloned());
        page
    }

    fn elapsed_s(&self) -> f64 {
        self.summary.elapsed_ns as f64 * 1e-9
    }

    fn events_per_s(&self) -> f64 {
        self.summary.events as f64 / self.elapsed_s()
    }

    fn sentence(&self) -> String {
        let run = self.summary;
        let ran = run.modules.iter().filter(|module| module.calls > 0).count();
        let mut text = format!(
            "{} went through {} in {}, on {} with {}.",
            amount(run.events, "event"),
            amount(ran as u64, "module"),
            duration(Duration::from_nanos(run.elapsed_ns)),
            amount(run.workers as u64, "worker"),
            amount(run.slots as u64, "slot")
        );
        if run.failed > 0 {
            text += &format!(" {} failed.", amount(run.failed, "event"));
        }
        if run.ended_by_failure {
            text += " The run ended because of a failure.";
        } else if run.stopped {
            text += " The run was stopped before its end.";
        }
        text
    }

    fn headline(&self) -> Vec<Figure> {
        let run = self.summary;
        let calls: u64 = run.modules.iter().map(|module| module.calls).sum();
        let busy: u64 = run.modules.iter().map(|module| module.busy_ns).sum();
        let ideal = self.ideal_per_s.filter(|ideal| *ideal > 0.0).map_or(String::new(), |ideal| {
            let share = percent(self.events_per_s() / ideal);
            format!("{share} of the ideal, {}", three_digits(ideal))
        });
        let in_workers = busy as f64 / (run.elapsed_ns as f64 * run.workers as f64);
        vec![
            Figure::new("Events per second", three_digits(self.events_per_s())).note(ideal),
            Figure::new("Elapsed", duration(Duration::from_nanos(run.elapsed_ns)))
                .note(format!("for {}", amount(run.events + run.failed, "event"))),
            Figure::new("Workers busy", percent(in_workers))
                .note(format!("with {}", amount(calls, "module call"))),
            Figure::new("Events in flight", count(run.in_flight_max))
                .note(format!("at most, of {}", count(run.slots as u64))),
        ]
    }

    fn failures(&self) -> Option<Section> {
        let run = self.summary;
        if run.failures.is_empty() {
            return None;
        }
        let columns = vec![
            Column::text("module"),
            Column::number("event", Unit::Count),
            Column::text("cause"),
        ];
        let mut table = Table::new("First failures", columns);
        for failure in &run.failures {
            table = table.row(vec![
                failure.module.as_str().into(),
                failure.event.into(),
                failure.cause.as_str().into(),
            ]);
        }
        let text = format!(
            "{} failed after {}.",
            amount(run.failed, "event"),
            amount(run.retries, "further attempt")
        );
        Some(Section::new("Failures").text(text).chart(table))
    }

    fn over_time(&self) -> Option<Section> {
        let run = self.summary;
        let Some(last) = run.samples.last() else {
            let text = "The run was not sampled; this is what the system saw.";
            return self.cpus.map(|_| Section::new("Over time").text(text).chart(self.load()));
        };
        let mut busy = Vec::new();
        let mut before = 0;
        for sample in &run.samples {
            // A sample tells of the time before it.
            busy.push((seconds(before), sample.busy.iter().map(|&share| f64::from(share)).sum()));
            before = sample.at_ns;
        }
        busy.push((seconds(last.at_ns), 0.0));
        let at = |value: &dyn Fn(&Sample) -> f64| {
            run.samples
                .iter()
                .map(|sample| (seconds(sample.at_ns), value(sample)))
                .collect::<Vec<_>>()
        };
        let threads = LineChart::new("Threads active", Unit::Count)
            .note("Workers that ran modules: the mean between two samples.")
            .steps()
            .link("run")
            .mark("workers", run.workers as f64)
            .series(Series::new("active", busy));
        let in_flight = LineChart::new("Events in flight", Unit::Count)
            .note("Events that have begun and are not done, at each sample.")
            .steps()
            .link("run")
            .mark("slots", run.slots as f64)
            .series(Series::new("in flight", at(&|sample| sample.in_flight as f64)));
        let section = Section::new("Over time")
            .text(format!(
                "{} samples. Drag over a chart to look closer; the charts of this section move together.",
                count(run.samples.len() as u64)
            ))
            .chart(threads)
            .chart(self.load())
            .chart(in_flight);
        Some(match self.waiting() {
            Some(chart) => section.chart(chart),
            None => section,
        })
    }

    /// The load of CPUs if it was measured, else of workers.
    fn load(&self) -> HeatMap {
        if let Some(cpus) = self.cpus {
            let rows = cpus.cpus.iter().map(|(name, values)| HeatRow::new(name, values.clone()));
            let map = HeatMap::new("Load of each CPU", Unit::Share, cpus.step_s);
            return HeatMap { rows: rows.collect(), ..map }
                .note(match self.cpus_of_process {
                    true => "The share of each interval that this process ran on the CPU.",
                    false => "The share of each interval that a CPU was busy, with all else that ran on the machine.",
                })
                .full(1.0)
                .link("run");
        }
        let samples = &self.summary.samples;
        let end = samples.last().map_or(0, |sample| sample.at_ns);
        let step_s = seconds(end) / samples.len().max(1) as f64;
        let rows = (0..self.summary.workers)
            .map(|worker| HeatRow::new(format!("worker {worker}"), evenly(samples, worker, end)));
        HeatMap { rows: rows.collect(), ..HeatMap::new("Load of each worker", Unit::Share, step_s) }
            .note("The share of the time that a worker ran modules. A bound worker stands for its CPU.")
            .full(1.0)
            .link("run")
    }

    /// Tasks waiting for each resource: the worst by themselves, the others together.
    fn waiting(&self) -> Option<LineChart> {
        let run = self.summary;
        let of = |resource: usize, sample: &Sample| {
            sample.waiting.get(resource).map_or(0.0, |&waiting| f64::from(waiting))
        };
        let total =
            |resource: usize| run.samples.iter().map(|sample| of(resource, sample)).sum::<f64>();
        let mut worst: Vec<(usize, f64)> =
            (0..run.resources.len()).map(|resource| (resource, total(resource))).collect();
        worst.retain(|(_, total)| *total > 0.0);
        worst.sort_by(|a, b| b.1.total_cmp(&a.1));
        if worst.is_empty() {
            return None;
        }
        let (shown, others) = worst.split_at(worst.len().min(RESOURCES_SHOWN));
        let series = |label: String, resources: &[(usize, f64)]| {
            let value =
                |sample: &Sample| resources.iter().map(|&(resource, _)| of(resource, sample)).sum();
            Series::new(
                label,
                run.samples.iter().map(|sample| (seconds(sample.at_ns), value(sample))).collect(),
            )
        };
        let mut chart = LineChart::new("Tasks waiting for a resource", Unit::Count)
            .note(
                "Modules whose inputs are there and that wait for others to leave, at each sample.",
            )
            .steps()
            .link("run");
        for one in shown {
            chart =
                chart.series(series(run.resources[one.0].name.clone(), std::slice::from_ref(one)));
        }
        if !others.is_empty() {
            chart = chart.series(series(amount(others.len() as u64, "other"), others));
        }
        Some(chart)
    }

    fn spans(&self) -> Option<Section> {
        let run = self.summary;
        if run.spans.is_empty() {
            return None;
        }
        let bits = |waits: bool| {
            let of = run.spans.iter().filter(move |span| span.waits == waits);
            of.map(move |span| Bit {
                lane: if waits { run.workers } else { span.worker as usize },
                start_s: seconds(span.start_ns),
                end_s: seconds(span.end_ns),
                label: run
                    .modules
                    .get(span.module as usize)
                    .map_or(String::new(), |module| module.label.clone()),
                kind: format!("event {}", span.event),
                detail: match waits {
                    true => format!("slot {}, waits; started on worker {}", span.slot, span.worker),
                    false => format!("slot {}", span.slot),
                },
            })
        };
        let mut lanes: Vec<String> =
            (0..run.workers).map(|worker| format!("worker {worker}")).collect();
        let mut note = "Each box is one call of one module; colours tell events apart.".to_owned();
        if run.spans.iter().any(|span| span.waits) {
            lanes.push("waiting, on no worker".to_owned());
            note += " What waits holds no worker, and has a lane of its own below them.";
        }
        if run.spans_forgotten > 0 {
            let forgotten = count(run.spans_forgotten);
            note +=
                &format!(" {forgotten} calls before these are not shown: a worker keeps so many.");
        }
        let chart =
            Gantt::new("Modules on workers", lanes, bits(false).chain(bits(true)).collect())
                .note(note);
        Some(Section::new("The last events").chart(chart))
    }

    fn modules(&self) -> Option<Section> {
        let run = self.summary;
        if run.modules.is_empty() {
            return None;
        }
        let busy: u64 = run.modules.iter().map(|module| module.busy_ns).sum();
        let bars = |of: fn(&ModuleFigures) -> u64| {
            let some = run.modules.iter().filter(|module| of(module) > 0);
            some.map(|module| {
                Bar::new(&*module.label, seconds(of(module)))
                    .detail(format!("· {} per call", per_call(of(module), module.calls)))
            })
            .collect::<Vec<_>>()
        };
        let mut columns = vec![Column::text("module"), Column::number("calls", Unit::Count)];
        columns.extend(
            ["time", "per call", "waited to begin", "for its resource"]
                .map(|name| Column::number(name, Unit::Seconds)),
        );
        columns.extend([
            Column::number("share of time", Unit::Share),
            Column::number("failures", Unit::Count),
        ]);
        let mut table = Table::new("All modules", columns)
            .note("Waiting is summed over events: from the begin of the event until the module began, and the part of that in which its inputs were there and others had its resource.");
        let mut modules: Vec<_> = run.modules.iter().collect();
        modules.sort_by_key(|module| std::cmp::Reverse(module.busy_ns));
        for module in modules {
            let some = |ns: u64| (ns > 0).then(|| Value::from(seconds(ns)));
            table = table.row(vec![
                module.label.as_str().into(),
                module.calls.into(),
                some(module.busy_ns).into(),
                (module.calls > 0 && module.busy_ns > 0)
                    .then(|| seconds(module.busy_ns) / module.calls as f64)
                    .into(),
                some(module.wait_start_ns).into(),
                some(module.wait_resource_ns).into(),
                (busy > 0).then(|| module.busy_ns as f64 / busy as f64).into(),
                (module.failures > 0).then_some(module.failures).into(),
            ]);
        }
        let section = Section::new("Modules")
            .chart(Bars::new("Longest running", Unit::Seconds, bars(|module| module.busy_ns)))
            .chart(self.stalls(bars(|module| module.wait_resource_ns)))
            .chart(table);
        let section = products::charts(run, self.graph)
            .into_iter()
            .fold(section, |section, chart| section.chart(chart));
        Some(match run.paths.is_empty() {
            true => section,
            false => section.chart(self.paths()),
        })
    }

    /// The modules that waited longest for their resource; where only that was noted, the resources
    /// that were waited for longest.
    fn stalls(&self, modules: Vec<Bar>) -> Bars {
        if !modules.is_empty() {
            return Bars::new("Longest waiting for a resource", Unit::Seconds, modules);
        }
        let waited = self.summary.resources.iter().filter(|resource| resource.waited_ns > 0);
        let bars = waited.map(|resource| Bar::new(&*resource.name, seconds(resource.waited_ns)));
        Bars::new("Longest waited for", Unit::Seconds, bars.collect()).note(
            "Modules that have their resource to themselves, and resources that several share.",
        )
    }

    fn paths(&self) -> Table {
        let columns = vec![
            Column::text("path"),
            Column::number("events", Unit::Count),
            Column::number("passed", Unit::Share),
            Column::number("mean time", Unit::Seconds),
            Column::number("longest", Unit::Seconds),
        ];
        let table = Table::new("Paths", columns)
            .note("From the begin of the event to the end of the path.");
        self.summary.paths.iter().fold(table, |table, path| {
            let per_event = |value: f64| (path.events > 0).then(|| value / path.events as f64);
            table.row(vec![
                path.name.as_str().into(),
                path.events.into(),
                per_event(path.passed as f64).into(),
                per_event(seconds(path.total_ns)).into(),
                seconds(path.max_ns).into(),
            ])
        })
    }

    fn critical_path(&self) -> Option<Section> {
        let plan = self.plan?;
        let path = &plan.critical_path;
        if path.modules.is_empty() {
            return None;
        }
        let length: u64 = path.modules.iter().map(|module| module.time_ns).sum();
        let columns = vec![
            Column::number("step", Unit::Count),
            Column::text("module"),
            Column::number("begins at", Unit::Seconds),
            Column::number("time", Unit::Seconds),
            Column::number("share of the path", Unit::Share),
            Column::number("on the path of", Unit::Share),
        ];
        let mut table = Table::new(format!("Event {}, step by step", path.event), columns).note(
            "The last column: the share of all events on whose critical paths the module is.",
        );
        let mut bits = Vec::new();
        let mut begin = 0;
        for (step, module) in (1_u64..).zip(&path.modules) {
            let end = begin + module.time_ns;
            table = table.row(vec![
                step.into(),
                module.label.as_str().into(),
                seconds(begin).into(),
                seconds(module.time_ns).into(),
                (length > 0).then(|| module.time_ns as f64 / length as f64).into(),
                module.share_of_events.into(),
            ]);
            bits.push(Bit {
                lane: 0,
                start_s: seconds(begin),
                end_s: seconds(end),
                label: module.label.clone(),
                kind: String::new(),
                detail: format!("step {step} of {}", path.modules.len()),
            });
            begin = end;
        }
        let text = format!(
            "The longest chain of modules that wait for each other: no event is done sooner, however many workers there are. Mean {} per event \
             ({} to {}), {} of all its modules' time.",
            nanoseconds(path.time_ns.mean),
            nanoseconds(path.time_ns.min),
            nanoseconds(path.time_ns.max),
            percent(path.time_ns.mean / plan.total_ns.mean)
        );
        let strip = Gantt::new(
            format!("The critical path of event {}", path.event),
            vec!["path".into()],
            bits,
        )
        .note("The event whose path is nearest to the mean.");
        Some(Section::new("Critical path").text(text).chart(strip).chart(table))
    }

    fn scaling(&self) -> Option<Section> {
        if self.sweep.is_empty() {
            return None;
        }
        let points = self.sweep.iter().map(|point| ScalingPoint {
            x: point.slots as f64,
            y: point.events_per_s,
            range: point.range,
        });
        let curve = ScalingCurve { label: String::from("measured"), points: points.collect() };
        let perfect =
            self.sweep.iter().filter_map(|point| Some((point.slots as f64, point.perfect_per_s?)));
        let note = match perfect.clone().next() {
            Some(_) => "Perfect is what the plan says is possible with so many slots.",
            None => "Perfect is in proportion to the fewest slots.",
        };
        let mut chart =
            Scaling::new("Throughput against slots", "slots", Unit::Other("events/s".into()))
                .note(note)
                .curve(curve)
                .perfect(perfect.collect());
        let ceilings: &[Ceiling] = self.plan.map_or(&[], |plan| &plan.ceilings);
        if let Some(tightest) = ceilings.first() {
            chart = chart
                .ceiling(format!("{} {}", tightest.kind, tightest.name), tightest.events_per_s);
        }
        Some(Section::new("Scaling").chart(chart))
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// "1 event", "2 events".
fn amount(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A rate in three digits or more, without its unit.
fn three_digits(per_s: f64) -> String {
    match per_s {
        ..9.995 => decimal(per_s, 2),
        ..99.95 => decimal(per_s, 1),
        ..1e6 => decimal(per_s, 0),
        // "1.23 M/s" without what the label says.
        _ => rate(per_s).replace("/s", ""),
    }
}

fn per_call(ns: u64, calls: u64) -> String {
    nanoseconds(ns as f64 / calls as f64)
}

/// A worker's load in as many even intervals as there are samples, which themselves may come a
/// little early or late.
fn evenly(samples: &[Sample], worker: usize, end_ns: u64) -> Vec<f64> {
    let columns = samples.len();
    let mut sums = vec![0.0; columns];
    let width = end_ns as f64 / columns as f64;
    let mut before = 0;
    for sample in samples {
        let load = sample.busy.get(worker).map_or(0.0, |&share| f64::from(share));
        let (from, to) = (before as f64 / width, sample.at_ns as f64 / width);
        let mut column = from as usize;
        while column < columns && (column as f64) < to {
            let overlap = to.min((column + 1) as f64) - from.max(column as f64);
            sums[column] += load * overlap.max(0.0);
            column += 1;
        }
        before = sample.at_ns.max(before);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_events::{Failure, ModuleFigures, ResourceFigures};

    fn sample(at_ns: u64, busy: &[f32]) -> Sample {
        Sample { at_ns, running: 0, busy: busy.to_vec(), in_flight: 1, waiting: vec![0, 2] }
    }

    #[test]
    fn samples_are_spread_over_even_intervals() {
        let samples =
            [sample(100, &[1.0]), sample(300, &[0.5]), sample(400, &[0.0]), sample(400, &[1.0])];
        assert_eq!(evenly(&samples, 0, 400), [1.0, 0.5, 0.5, 0.0]);
        assert_eq!(evenly(&samples, 7, 400), [0.0; 4]);
        assert_eq!(evenly(&samples[..2], 0, 300).iter().sum::<f64>() * 150.0, 200.0);
        assert_eq!(evenly(&[], 0, 0), [0.0; 0]);
    }

    #[test]
    fn a_run_of_nothing_has_a_page() {
        let html = RunReport::new("nothing", &RunSummary::default()).page().html();
        assert!(html.contains("0 events went through 0 modules"), "{html}");
        assert!(!html.contains("NaN"));
    }

    #[test]
    fn stalls_are_of_modules_or_else_of_resources() {
        let mut summary = RunSummary::default();
        let module =
            |label: &str| ModuleFigures { label: label.into(), calls: 2, ..Default::default() };
        summary.modules = vec![module("reader"), module("writer")];
        summary.resources.push(ResourceFigures { name: "disk".into(), waited_ns: 5_000_000 });
        let html = |summary: &RunSummary| RunReport::new("t", summary).page().html();
        assert!(html(&summary).contains("Longest waited for") && html(&summary).contains(">disk<"));
        summary.modules[1].wait_resource_ns = 3_000_000;
        assert!(html(&summary).contains("3.00 ms <small>· 1.50 ms per call"));
        assert!(!html(&summary).contains(">disk<"));
    }

    #[test]
    fn failures_come_first() {
        let mut summary = RunSummary { events: 9, failed: 1, retries: 2, ..RunSummary::default() };
        summary.failures.push(Failure {
            module: "bad".into(),
            event: Some(3),
            cause: "<broken>".into(),
        });
        let page = RunReport::new("t", &summary).page();
        assert_eq!(page.sections[0].title, "Failures");
        let html = page.html();
        assert!(
            html.contains("1 event failed after 2 further attempts.")
                && html.contains("&lt;broken&gt;")
        );
    }
}
