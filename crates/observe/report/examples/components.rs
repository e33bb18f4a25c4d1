//! Every component of a report on one page, with made-up data: `cargo run --example components --
//! report.html`.
//!
//! It is what the components' authors look at, and what the test in a real browser draws.

use std::path::PathBuf;
use std::process::ExitCode;

use actinium_report::html::{
    Bar, Bars, Column, Figure, Gantt, HeatMap, HeatRow, LineChart, Page, Scaling, ScalingCurve,
    ScalingPoint, Section, Series, Span, Table, Unit,
};

#[allow(dead_code, reason = "the test includes this file for its page")]
fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: components REPORT.html");
        return ExitCode::from(2);
    };
    match page().write(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("components: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The page.
pub(crate) fn page() -> Page {
    Page::new("Reconstruction: 200 events, 8 workers")
        .summary("461 modules ran 92,200 times in 12.4 s. Made-up data that look like a run of an event graph.")
        .command("actinium events workloads/reconstruction.toml --slots 16 --workers 8 --report report.html")
        .figure(Figure::new("Throughput", "16.1 events/s").note("97.4 % of the ideal, 16.5 events/s"))
        .figure(Figure::new("Elapsed", "12.4 s").note("for 200 events"))
        .figure(Figure::new("CPU time", "96.8 s").note("7.81 CPUs on average"))
        .figure(Figure::new("Peak memory", "214.5 MiB"))
        .figure(Figure::new("Peak threads", "9"))
        .setting("workers", 8)
        .setting("slots", 16)
        .setting("policy", "affine")
        .setting("mode", "busy")
        .setting("time scale", "1.00")
        .setting("order", "as completed")
        .section(over_time())
        .section(last_events())
        .section(modules())
        .section(scaling())
}

fn over_time() -> Section {
    let mut random = Random(1);
    let mut busy = Vec::new();
    let mut waiting = Vec::new();
    let mut in_flight = Vec::new();
    let mut queues = vec![Vec::new(); 3];
    for n in 0..20_000_u32 {
        let time = f64::from(n) * 12.4 / 20_000.0;
        let ramp = (time / 0.4).min(1.0) * ((12.4 - time) / 0.8).min(1.0);
        busy.push((time, (ramp * 8.0 - random.next() * 1.4).round().max(0.0)));
        waiting.push((time, (random.next() * 1.6 * ramp).floor()));
        in_flight.push((time, (ramp * 16.0 - random.next() * 0.9).ceil().max(0.0)));
        for (at, queue) in (1..).zip(&mut queues) {
            let wave = (time * f64::from(at) * 1.3).sin() + 1.0;
            queue.push((time, (wave * 3.0 * ramp + random.next()).floor()));
        }
    }
    let threads = LineChart::new("Threads active", Unit::Count)
        .note("What the threads did at each instant.")
        .steps()
        .stacked()
        .link("run")
        .series(Series::new("busy", busy))
        .series(Series::new("looking for work", waiting));
    let rows = (0..8).map(|cpu| {
        let load = |n: u32| {
            let edge = (f64::from(n) / 10.0).min(1.0) * (f64::from(248 - n) / 16.0).min(1.0);
            let pause = if cpu > 5 && (90..130).contains(&n) { 0.35 } else { 1.0 };
            edge * pause * (0.82 + 0.18 * random.next())
        };
        HeatRow::new(format!("CPU {cpu}"), (0..248).map(load).collect())
    });
    let load =
        HeatMap { rows: rows.collect(), ..HeatMap::new("Load of each CPU", Unit::Share, 0.05) }
            .note("The share of each 50 ms that a CPU was busy.")
            .full(1.0)
            .link("run");
    let in_flight = LineChart::new("Events in flight", Unit::Count)
        .steps()
        .link("run")
        .mark("slots", 16.0)
        .series(Series::new("in flight", in_flight));
    let names = ["input (exclusive)", "geometry (exclusive)", "output (serial)"];
    let waiting = names.into_iter().zip(queues).fold(
        LineChart::new("Tasks waiting for a resource", Unit::Count).steps().link("run"),
        |chart, (name, points)| chart.series(Series::new(name, points)),
    );
    Section::new("Over time")
        .text("Drag over a chart to look closer; the charts of this section move together.")
        .chart(threads)
        .chart(load)
        .chart(in_flight)
        .chart(waiting)
}

fn last_events() -> Section {
    let mut random = Random(2);
    let mut spans = Vec::new();
    for lane in 0..8 {
        let mut time = 11.6 + random.next() * 0.01;
        while time < 12.4 {
            let length = 0.000_4 + random.next().powi(6) * 0.05;
            let event = 180 + (random.next() * 12.0) as u32;
            spans.push(Span {
                lane,
                start_s: time,
                end_s: time + length,
                label: format!("module{:03}", (random.next() * 461.0) as u32),
                kind: format!("event {event}"),
                detail: String::from("waited 1.2 ms for its inputs"),
            });
            time += length + random.next().powi(12) * 0.02;
        }
    }
    let lanes = (0..8).map(|worker| format!("worker {worker}")).collect();
    Section::new("The last events")
        .chart(Gantt::new("Modules on workers", lanes, spans).note("Colours tell events apart."))
}

fn modules() -> Section {
    let mut random = Random(3);
    let names =
        ["siPixelClusters", "initialStepTracks", "muons1stStep", "ecalRecHits", "pfCandidates"];
    let modules: Vec<(String, f64, f64)> = (0..461)
        .map(|n| {
            let name = format!("{}{n}", names[n % names.len()]);
            (name, random.next().powi(9) * 3.2, random.next().powi(12) * 0.9)
        })
        .collect();
    let bars = |value: fn(&(String, f64, f64)) -> f64| {
        modules.iter().map(|module| Bar::new(&*module.0, value(module))).collect()
    };
    let columns = vec![
        Column::text("module"),
        Column::text("threads"),
        Column::number("calls", Unit::Count),
        Column::number("time", Unit::Seconds),
        Column::number("waited", Unit::Seconds),
        Column::number("share", Unit::Share),
    ];
    let total: f64 = modules.iter().map(|module| module.1).sum();
    let table = modules.iter().fold(Table::new("All modules", columns), |table, module| {
        let kind = if module.0.len().is_multiple_of(7) { "serial" } else { "concurrent" };
        let calls = 200_u64;
        table.row(vec![
            module.0.as_str().into(),
            kind.into(),
            calls.into(),
            module.1.into(),
            (module.2 > 1e-6).then_some(module.2).into(),
            (module.1 / total).into(),
        ])
    });
    Section::new("Modules")
        .chart(Bars::new("Longest running", Unit::Seconds, bars(|module| module.1)).top(12))
        .chart(
            Bars::new("Longest waiting for a resource", Unit::Seconds, bars(|module| module.2))
                .top(12),
        )
        .chart(table)
}

fn scaling() -> Section {
    let reached = |x: f64| 1.09 * x / (1.0 + 0.004 * x);
    let points = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(|x: f64| {
        let y = reached(x).min(46.0);
        ScalingPoint { x, y, range: Some((y * 0.96, y * 1.02)) }
    });
    let pool =
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(|x: f64| (x, reached(x).powf(0.86).min(30.0)));
    let chart = Scaling::new("Throughput against slots", "slots", Unit::PerSecond)
        .curve(ScalingCurve { label: "affine".into(), points: points.to_vec() })
        .curve(ScalingCurve::new("pool", &pool))
        .ceiling("input, one event at a time", 54.0);
    let latency = LineChart::new("Time of an event", Unit::Seconds)
        .x("slots", Unit::Count)
        .series(Series::new(
            "median",
            (0..=64).map(|n| (f64::from(n), 0.9 + f64::from(n) * 0.01)).collect(),
        ))
        .series(Series::new(
            "p99",
            (0..=64).map(|n| (f64::from(n), 1.4 + f64::from(n * n) * 0.000_5)).collect(),
        ));
    Section::new("Scaling").chart(chart).chart(latency)
}

/// Numbers from 0 to 1 that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
