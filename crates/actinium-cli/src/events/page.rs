//! `--report`: a run, or a sweep, as one page.

use super::Settings;
use super::outcome::{Ideal, Outcome};
use super::report::Load;
use super::sweep::Point;
use actinium_events::Sample;
use actinium_events::workload::Workload;
use actinium_events::workload::plan::Plan;
use actinium_observe::number::{bytes, count, decimal, nanoseconds, percent};
use actinium_observe::report::{
    Bar, Bars, Column, Figure, Gantt, HeatMap, HeatRow, LineChart, Page, Scaling, ScalingCurve,
    Section, Series, Span, Table, Unit, Value,
};

/// All charts over time share their time axis.
const TIME: &str = "time";
/// Most columns of the load chart.
const COLUMNS_MAX: usize = 600;

/// The page of a run.
pub fn of_run(
    workload: &Workload,
    settings: &Settings,
    plan: &Plan,
    outcome: &Outcome,
    ideal: Option<Ideal>,
) -> Page {
    let page = head(plan, settings, outcome, ideal);
    page.section(over_time(settings, outcome))
        .section(waits(outcome))
        .section(last_events(workload, outcome))
        .section(modules(outcome))
        .section(critical_path(plan))
}

/// The page of a sweep: the curve, and the run of the last point.
pub fn of_sweep(workload: &Workload, settings: &Settings, plan: &Plan, points: &[Point]) -> Page {
    let Some(last) = points.last() else { return Page::new(title(plan)) };
    let page = head(plan, settings, &last.outcome, last.ideal).section(scaling(plan, points));
    page.section(over_time(settings, &last.outcome))
        .section(waits(&last.outcome))
        .section(last_events(workload, &last.outcome))
        .section(modules(&last.outcome))
        .section(critical_path(plan))
}

fn title(plan: &Plan) -> String {
    if plan.name.is_empty() { "event processing".to_owned() } else { plan.name.clone() }
}

fn head(plan: &Plan, settings: &Settings, outcome: &Outcome, ideal: Option<Ideal>) -> Page {
    let summary = &outcome.summary;
    let mut words = format!(
        "{} events through {} modules in {}",
        count(summary.events),
        count(plan.modules as u64),
        nanoseconds(outcome.elapsed_s() * 1e9)
    );
    if summary.stopped {
        words += &format!("; interrupted before all {} were done", count(outcome.events_due));
    }
    if summary.failed > 0 {
        words += &format!("; {} failed", count(summary.failed));
    }
    let per_s = outcome.events_per_s();
    let of_ideal = ideal.map_or_else(String::new, |ideal| {
        format!(
            "{} of the ideal, {}",
            percent(per_s / ideal.events_per_s),
            decimal(ideal.events_per_s, 2)
        )
    });
    let cpus = format!("{} CPUs on average", decimal(outcome.cpu_s / outcome.elapsed_s(), 2));
    let mut page = Page::new(title(plan))
        .summary(words)
        .command(command(settings))
        .figure(Figure::new("events/s", decimal(per_s, 2)).note(of_ideal))
        .figure(Figure::new("elapsed", nanoseconds(outcome.elapsed_s() * 1e9)))
        .figure(Figure::new("CPU time", nanoseconds(outcome.cpu_s * 1e9)).note(cpus))
        .figure(Figure::new("events in flight", count(summary.in_flight_max)).note("at most"))
        .figure(Figure::new("threads", outcome.threads_max).note("at most"))
        .figure(Figure::new("memory", bytes(outcome.memory_max_bytes)).note("at most in RAM"));
    if let Some(ceiling) = plan.ceilings.first() {
        let limit = format!("events/s at most through {}", ceiling.name);
        page = page.figure(Figure::new("ceiling", decimal(ceiling.events_per_s, 2)).note(limit));
    }
    for (name, value, source) in settings.rows() {
        page = page.setting(name, format!("{value} ({source})"));
    }
    page
}

/// What one would type for the same run.
fn command(settings: &Settings) -> String {
    let mut command = format!("actinium events {}", settings.config);
    for (name, value, source) in settings.rows() {
        match (name, source) {
            (_, crate::setting::Source::Default | crate::setting::Source::File) => {}
            ("thread-type", _) => {
                for change in &settings.thread_types.value {
                    command += &format!(" --thread-type '{change}'");
                }
            }
            _ => command += &format!(" --{name} {value}"),
        }
    }
    command
}

fn seconds(sample: &Sample) -> f64 {
    sample.at_ns as f64 * 1e-9
}

fn over_time(settings: &Settings, outcome: &Outcome) -> Section {
    let samples = &outcome.summary.samples;
    let of =
        |value: fn(&Sample) -> f64| samples.iter().map(|it| (seconds(it), value(it))).collect();
    let active = LineChart::new("Threads active", Unit::Count)
        .steps()
        .series(Series::new("workers that run a module", of(|sample| sample.running as f64)))
        .mark("workers", settings.workers.value as f64)
        .link(TIME);
    let in_flight = LineChart::new("Events in flight", Unit::Count)
        .steps()
        .series(Series::new("events", of(|sample| sample.in_flight as f64)))
        .mark("slots", settings.slots.value as f64)
        .link(TIME);
    Section::new("Over time")
        .text("Gaps in the load are time that was lost: drag to look closer, all charts move together.")
        .chart(active)
        .chart(load(outcome))
        .chart(workers(samples))
        .chart(in_flight)
}

/// The load of each CPU, in steps of the same length.
fn load(outcome: &Outcome) -> HeatMap {
    let load = Load::of(&outcome.samples);
    let length = load.end_s().last().copied().unwrap_or(0.0);
    let columns = load.end_s().len().clamp(1, COLUMNS_MAX);
    let step_s = length / columns as f64;
    let mut chart = HeatMap::new("Load of each CPU", Unit::Share, step_s)
        .note("CPU time of this process on each CPU, by the system's own accounting")
        .full(1.0)
        .link(TIME);
    for (cpu, shares) in load.cpus() {
        chart = chart.row(HeatRow::new(
            format!("CPU {cpu}"),
            resample(load.end_s(), shares, columns, step_s),
        ));
    }
    chart
}

/// The mean of each column over steps of uneven length.
fn resample(end_s: &[f64], shares: &[f64], columns: usize, step_s: f64) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    let mut begin = 0.0;
    for (&end, &share) in end_s.iter().zip(shares) {
        let (first, last) = ((begin / step_s) as usize, (end / step_s) as usize);
        for (column, sum) in sums.iter_mut().enumerate().take(last.min(columns - 1) + 1).skip(first)
        {
            let (from, to) = (column as f64 * step_s, (column + 1) as f64 * step_s);
            *sum += share * (end.min(to) - begin.max(from)).max(0.0) / step_s;
        }
        begin = end;
    }
    sums
}

/// How much of each worker's time goes into modules.
fn workers(samples: &[Sample]) -> HeatMap {
    let step_s = match samples {
        [first, .., last] => (seconds(last) - seconds(first)) / (samples.len() - 1) as f64,
        _ => 1.0,
    };
    let count = samples.first().map_or(0, |sample| sample.busy.len());
    let mut chart = HeatMap::new("Workers in modules", Unit::Share, step_s)
        .note("share of the time in which each worker ran a module; the rest is the runtime's own work, or idle")
        .full(1.0)
        .link(TIME);
    for worker in 0..count {
        let values = samples
            .iter()
            .map(|sample| sample.busy.get(worker).map_or(f64::NAN, |&busy| busy.into()));
        chart = chart.row(HeatRow::new(format!("worker {worker}"), values.collect()));
    }
    chart
}

/// Tasks that wait for each serial module and resource.
fn waits(outcome: &Outcome) -> Section {
    const SHOWN: usize = 8;
    let summary = &outcome.summary;
    let mut order: Vec<usize> = (0..summary.resources.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(summary.resources[index].waited_ns));
    let mut chart = LineChart::new("Tasks waiting for their turn", Unit::Count).steps().link(TIME);
    for &index in order.iter().take(SHOWN).filter(|&&index| summary.resources[index].waited_ns > 0)
    {
        let value = |sample: &Sample| {
            let waiting = sample.waiting.get(index).copied().unwrap_or(0);
            (seconds(sample), f64::from(waiting))
        };
        let points = summary.samples.iter().map(value).collect();
        chart = chart.series(Series::new(summary.resources[index].name.as_str(), points));
    }
    let bars = summary.resources.iter().filter(|resource| resource.waited_ns > 0);
    let bars =
        bars.map(|resource| Bar::new(resource.name.as_str(), resource.waited_ns as f64 * 1e-9));
    Section::new("Waits for serial modules and resources")
        .text("What takes one event at a time holds up the others: a queue that only grows is a ceiling.")
        .chart(chart)
        .chart(Bars::new("Time waited", Unit::Seconds, bars.collect()))
}

/// What each worker did at the end.
fn last_events(workload: &Workload, outcome: &Outcome) -> Section {
    let summary = &outcome.summary;
    let label =
        |module: u32| summary.modules.get(module as usize).map_or("", |module| &module.label);
    let spans = summary.spans.iter().map(|span| Span {
        lane: span.worker as usize,
        start_s: span.start_ns as f64 * 1e-9,
        end_s: span.end_ns as f64 * 1e-9,
        label: label(span.module).to_owned(),
        kind: format!("event {}", span.event),
        detail: format!("event {}, slot {}", span.event, span.slot),
    });
    let lanes = (0..summary.workers).map(|worker| format!("worker {worker}")).collect();
    let waits =
        workload.modules.iter().any(|module| module.work == actinium_events::workload::Work::Wait);
    let note = match waits {
        true => {
            "the last module runs of each worker, coloured by event; a module that waits shows only its start"
        }
        false => "the last module runs of each worker, coloured by event",
    };
    Section::new("The last events")
        .text("Zoom with the wheel or by dragging.")
        .chart(Gantt::new("Modules on workers", lanes, spans.collect()).note(note).link(TIME))
}

fn modules(outcome: &Outcome) -> Section {
    let modules = &outcome.summary.modules;
    let bars = |of: fn(&actinium_events::ModuleFigures) -> u64| -> Vec<Bar> {
        let bars = modules.iter().filter(|module| of(module) > 0);
        bars.map(|module| {
            let calls = format!("{} calls", count(module.calls));
            Bar::new(module.label.as_str(), of(module) as f64 * 1e-9).detail(calls)
        })
        .collect()
    };
    let columns = vec![
        Column::text("module"),
        Column::number("calls", Unit::Count),
        Column::number("time", Unit::Seconds),
        Column::number("per call", Unit::Seconds),
        Column::number("wait for inputs per call", Unit::Seconds),
        Column::number("wait for resource per call", Unit::Seconds),
        Column::number("failures", Unit::Count),
    ];
    let mut table = Table::new("All modules", columns);
    for module in modules {
        let per_call = |ns: u64| match module.calls {
            0 => Value::Missing,
            calls => Value::Number(ns as f64 * 1e-9 / calls as f64),
        };
        table = table.row(vec![
            Value::Text(module.label.clone()),
            Value::Number(module.calls as f64),
            Value::Number(module.busy_ns as f64 * 1e-9),
            per_call(module.busy_ns),
            per_call(module.wait_start_ns.saturating_sub(module.wait_resource_ns)),
            per_call(module.wait_resource_ns),
            Value::Number(module.failures as f64),
        ]);
    }
    Section::new("Modules")
        .chart(Bars::new(
            "Top modules by time on workers",
            Unit::Seconds,
            bars(|module| module.busy_ns),
        ))
        .chart(
            Bars::new(
                "Top modules by stall",
                Unit::Seconds,
                bars(|module| module.wait_resource_ns),
            )
            .note("time in the queue of a serial module or resource"),
        )
        .chart(table)
}

/// From the plan: what no number of workers makes faster.
fn critical_path(plan: &Plan) -> Section {
    let path = &plan.critical_path;
    let mut table = Table::new(
        format!("Critical path of event {}", path.event),
        vec![
            Column::text("module"),
            Column::number("time", Unit::Seconds),
            Column::number("since the event's begin", Unit::Seconds),
            Column::number("of events on their critical path", Unit::Share),
        ],
    );
    let mut since = 0.0;
    for module in &path.modules {
        let time = module.time_ns as f64 * 1e-9;
        table = table.row(vec![
            Value::Text(module.label.clone()),
            Value::Number(time),
            Value::Number(since),
            Value::Number(module.share_of_events),
        ]);
        since += time;
    }
    let bars = path
        .modules
        .iter()
        .map(|module| Bar::new(module.label.as_str(), module.time_ns as f64 * 1e-9));
    let words = format!(
        "No event is done sooner than its longest chain of modules: {} on average ({} to {}), of {} in all. So one event can use {} workers.",
        nanoseconds(path.time_ns.mean),
        nanoseconds(path.time_ns.min),
        nanoseconds(path.time_ns.max),
        nanoseconds(plan.total_ns.mean),
        decimal(plan.parallelism.mean, 2),
    );
    Section::new("Critical path")
        .text(words)
        .chart(Bars::new("Where its time goes", Unit::Seconds, bars.collect()))
        .chart(table)
}

fn scaling(plan: &Plan, points: &[Point]) -> Section {
    let measured: Vec<(f64, f64)> =
        points.iter().map(|point| (point.slots as f64, point.outcome.events_per_s())).collect();
    let ideal: Vec<(f64, f64)> = points
        .iter()
        .filter_map(|point| Some((point.slots as f64, point.ideal?.events_per_s)))
        .collect();
    let mut chart =
        Scaling::new("Throughput against slots", "slots", Unit::Other("events/s".to_owned()))
            .curve(ScalingCurve::new("measured", &measured))
            .curve(ScalingCurve::new("ideal by list scheduling", &ideal));
    if let Some(limit) = plan.ceilings.first() {
        chart = chart.ceiling(format!("through {}", limit.name), limit.events_per_s);
    }
    Section::new("Scaling")
        .text("Perfect scaling is the first point in proportion. The ideal knows of workers, limits and critical paths; it has no overhead.")
        .chart(chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uneven_steps_become_even_columns() {
        // Half of the first second, all of the next three, nothing of the fifth.
        let even = resample(&[1.0, 4.0, 5.0], &[0.5, 1.0, 0.0], 5, 1.0);
        assert_eq!(even, [0.5, 1.0, 1.0, 1.0, 0.0]);
        let coarse = resample(&[1.0, 4.0, 5.0], &[0.5, 1.0, 0.0], 2, 2.5);
        assert_eq!(coarse, [0.8, 0.6]);
        assert_eq!(resample(&[], &[], 1, 0.0), [0.0]);
    }
}
