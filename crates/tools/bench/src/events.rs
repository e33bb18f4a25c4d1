//! The event processor against what is ideal: overhead per module call, allocations, busy and
//! waiting workloads.
//!
//! Each figure is the median of [`REPS`] runs. Ratios are against the ideal that follows from the
//! times in the file, so they hold on any machine that is not busy with something else.

use crate::measured::{Measured, Unit};
use crate::replays::{read, run};
use crate::{allocations, flows};
use actinium_events::{Figures, RunSummary, Settings};
use actinium_workload::plan::Plan;
use actinium_workload::replay::Checksum;
use actinium_workload::{self as workload, Role, Threads, Work, Workload};
use std::thread;
use std::time::Duration;

/// Runs of each figure.
const REPS: usize = 5;

/// Measures a workload, the shipped one if none is named, in all sections or one; prints each
/// section when it is known.
pub(crate) fn measure(
    file: Option<&str>,
    section: Option<&str>,
    pairs: usize,
) -> Result<String, String> {
    let workload = read(file)?;
    println!("{}", workload.name);
    let is_asked = |name: &str| section.is_none_or(|section| section == name);
    for (name, _) in SECTIONS.iter().filter(|(name, _)| is_asked(name)) {
        self::section(&workload, name)?.iter().for_each(|figure| println!("{}", figure.line()));
    }
    if is_asked(FLOWS) {
        print!(
            "{}",
            flows::compare(&workload, pairs).map_err(|it| format!("{FLOWS}: {it}"))?.text()
        );
    }
    Ok(String::new())
}

/// The figures of a section.
///
/// # Panics
/// If there is no such section.
pub(crate) fn section(workload: &Workload, name: &str) -> Result<Vec<Measured>, String> {
    let found = SECTIONS.iter().find(|(other, _)| *other == name);
    let (_, measure) = found.expect("the caller knows the sections");
    measure(workload).map_err(|error| format!("{name}: {error}"))
}

/// The section that compares with other schedulers of graphs.
const FLOWS: &str = "flows";

/// A section measures a workload.
type Section = fn(&Workload) -> Result<Vec<Measured>, String>;

/// The other sections, each with its name.
const SECTIONS: [(&str, Section); 5] = [
    ("overhead", overhead),
    ("allocations", allocated),
    ("memory", memory),
    ("busy", busy),
    ("wait", wait),
];

/// The names of all sections.
pub(crate) fn section_names() -> Vec<&'static str> {
    SECTIONS.iter().map(|(name, _)| *name).chain([FLOWS]).collect()
}

fn calls(summary: &RunSummary) -> u64 {
    summary.modules.iter().map(|module| module.calls).sum()
}

fn concurrent(workload: &Workload, scale: f64) -> Workload {
    let mut workload = workload.clone();
    workload.scale_times(scale);
    workload.modules.iter_mut().for_each(|module| module.threads = Threads::Concurrent);
    workload
}

/// Nanoseconds per call of a module that does nothing, on one worker.
fn overhead(workload: &Workload) -> Result<Vec<Measured>, String> {
    let mut workload = concurrent(workload, 0.0);
    workload.set_work(Work::Busy);
    let kinds = [("counts", Figures::Counts, "≤ 120 ns"), ("times", Figures::Times, "≤ 170 ns")];
    let measured = kinds.into_iter().map(|(name, figures, wanted)| {
        let settings = Settings::default().workers(1).slots(1).figures(figures);
        let ns = (0..REPS).map(|_| {
            let summary = run(&workload, 2_000, &settings)?;
            Ok(summary.elapsed_ns as f64 / calls(&summary) as f64)
        });
        Ok(Measured {
            what: format!("a module call with {name}, its mixing of inputs included"),
            unit: Unit::Nanoseconds,
            values: ns.collect::<Result<_, String>>()?,
            wanted,
        })
    });
    measured.collect()
}

/// Allocations per call, from the difference between a long and a short run.
fn allocated(workload: &Workload) -> Result<Vec<Measured>, String> {
    allocations::count();
    let measured = [Work::Busy, Work::Wait].into_iter().map(|work| {
        let mut workload = concurrent(workload, 0.0);
        workload.set_work(work);
        let settings = Settings::default().workers(2).slots(4);
        let counted = |events| {
            let before = allocations::so_far().calls;
            let summary = run(&workload, events, &settings)?;
            Ok::<_, String>((allocations::so_far().calls - before, calls(&summary)))
        };
        let (short, long) = (counted(500)?, counted(2_500)?);
        let per_call = (long.0 as f64 - short.0 as f64) / (long.1 - short.1) as f64;
        Ok(Measured {
            what: format!("allocations per module call, {work:?}"),
            unit: Unit::Number,
            values: vec![per_call],
            wanted: "0",
        })
    });
    measured.collect()
}

/// Bytes on the heap of an event in flight, with its products and without: from the difference
/// between many and few events in flight. All modules wait, so that all events are in flight at the
/// same time.
fn memory(workload: &Workload) -> Result<Vec<Measured>, String> {
    let (few, many) = (512, 2_048);
    allocations::count();
    let mut bytes = Vec::new();
    for slots in [few, many] {
        let mut workload = concurrent(workload, 0.1);
        workload.set_work(Work::Wait);
        let settings = Settings::default().workers(2).slots(slots).figures(Figures::Counts);
        let before = allocations::restart_peak();
        let summary = run(&workload, slots as u64 * 2, &settings)?;
        if summary.in_flight_max < slots as u64 {
            return Err(format!("only {} events were in flight", summary.in_flight_max));
        }
        bytes.push(allocations::peak() - before);
    }
    let of_event = (bytes[1] - bytes[0]) as f64 / (many - few) as f64;
    let products = product_bytes(workload) as f64;
    let kinds = [
        ("an event in flight, its products included", of_event, ""),
        ("an event in flight, beside its products", of_event - products, "≤ 4,096 B"),
    ];
    let measured = kinds.map(|(what, bytes, wanted)| Measured {
        what: what.to_owned(),
        unit: Unit::Bytes,
        values: vec![bytes],
        wanted,
    });
    Ok(measured.into())
}

/// Bytes of what the source and the producers of an event make: their values alone.
fn product_bytes(workload: &Workload) -> usize {
    let reached = workload::graph::reachable(workload);
    let modules = workload.modules.iter().zip(reached).filter(|(_, reached)| *reached);
    let producers = modules.filter(|(module, _)| module.role == Role::Producer).count();
    (producers + 1) * size_of::<Checksum>()
}

/// Busy modules, all concurrent: two workers against the ideal of two CPUs.
fn busy(workload: &Workload) -> Result<Vec<Measured>, String> {
    let mut workload = concurrent(workload, 0.01);
    workload.set_work(Work::Busy);
    let events = 100;
    let total_ns: u64 = (0..events).map(|event| event_ns(&workload, event)).sum();
    let settings = Settings::default().workers(2).slots(4);
    let ratios = (0..REPS).map(|_| {
        let summary = run(&workload, events, &settings)?;
        Ok(total_ns as f64 / 2.0 / summary.elapsed_ns as f64)
    });
    Ok(vec![Measured {
        what: "CPUs busy of two, times × 0.01, 4 events in flight".to_owned(),
        unit: Unit::Times,
        values: ratios.collect::<Result<_, String>>()?,
        wanted: "≥ 0.975",
    }])
}

fn event_ns(workload: &Workload, event: u64) -> u64 {
    let reached = workload::graph::reachable(workload);
    let modules = workload.modules.iter().zip(reached).filter(|(_, reached)| *reached);
    modules.map(|(module, _)| module.times.of(event)).sum()
}

/// Waiting modules, all concurrent: events per second against what the slots allow, each event
/// taking its critical path.
fn wait(workload: &Workload) -> Result<Vec<Measured>, String> {
    let mut measured = Vec::new();
    // With more events in flight the times are less shortened: else the CPUs, not the waits, would
    // set the ideal.
    for (slots, scale) in [(64, 0.1), (1_024, 0.2), (4_096, 0.5)] {
        let mut workload = concurrent(workload, scale);
        workload.set_work(Work::Wait);
        let durations_ns = Plan::new(&workload).durations_ns;
        let events = slots as u64 * 4;
        let ideal_ns = ideal_ns(&durations_ns, slots, events);
        let settings = Settings::default().workers(2).slots(slots).figures(Figures::Counts);
        let (mut cpu_ns, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let before = cpu_time_ns();
            let summary = run(&workload, events, &settings)?;
            cpu_ns.push((cpu_time_ns() - before) / calls(&summary) as f64);
            ratios.push(ideal_ns / summary.elapsed_ns as f64);
        }
        for (what, unit, values, wanted) in [
            ("CPU time of a waiting module", Unit::Nanoseconds, cpu_ns, "≤ 1.5 µs"),
            ("rate of waiting modules to the ideal", Unit::Times, ratios, "≥ 0.97"),
        ] {
            let what = format!("{what}, {slots} events in flight");
            measured.push(Measured { what, unit, values, wanted });
        }
    }
    measured.push(Measured {
        what: "CPU time of a sleep of a thread that only sleeps".to_owned(),
        unit: Unit::Nanoseconds,
        values: (0..3).map(|_| sleep_ns()).collect(),
        wanted: "",
    });
    Ok(measured)
}

/// What the system takes for one sleep: a worker with few events in flight sleeps between calls.
#[expect(clippy::disallowed_methods, reason = "the price of this sleep is what it measures")]
fn sleep_ns() -> f64 {
    let sleeps = 5_000;
    let before = cpu_time_ns();
    (0..sleeps).for_each(|_| thread::sleep(Duration::from_micros(200)));
    (cpu_time_ns() - before) / f64::from(sleeps)
}

/// Events that take turns at so many slots, each as long as its critical path.
fn ideal_ns(durations_ns: &[u64], slots: usize, events: u64) -> f64 {
    let mut free_at: std::collections::BinaryHeap<_> =
        (0..slots).map(|_| std::cmp::Reverse(0u64)).collect();
    let mut last_ns = 0;
    for event in 0..events {
        let std::cmp::Reverse(start_ns) = free_at.pop().expect("there are slots");
        let end_ns = start_ns + durations_ns[event as usize % durations_ns.len()];
        last_ns = last_ns.max(end_ns);
        free_at.push(std::cmp::Reverse(end_ns));
    }
    last_ns as f64
}

/// CPU time of this process, in nanoseconds, as exact as the system's clock ticks (10 ms).
fn cpu_time_ns() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = |field: usize| -> f64 {
        after_name.split_whitespace().nth(field).and_then(|text| text.parse().ok()).unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) * 10_000_000.0
}
