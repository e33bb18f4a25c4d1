//! The event processor against what is ideal: overhead per module call, allocations, busy and
//! waiting workloads.
//!
//! Each figure is the median of [`REPS`] runs. Ratios are against the ideal that follows from the
//! times in the file, so they hold on any machine that is not busy with something else.

use crate::replays::{read, run};
use crate::{allocations, flows};
use actinium_events::{Figures, RunSummary, Settings};
use actinium_workload::plan::Plan;
use actinium_workload::{self as workload, Threads, Work, Workload};

/// Runs of which the median counts.
const REPS: usize = 5;

/// Measures a workload, the shipped one if none is named, in all sections or one; prints each line
/// when it is known.
pub(crate) fn measure(
    file: Option<&str>,
    section: Option<&str>,
    pairs: usize,
) -> Result<String, String> {
    let workload = read(file)?;
    println!("{}", workload.name);
    for (name, run) in SECTIONS {
        if section.is_none_or(|section| section == name) {
            run(&workload, pairs).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(String::new())
}

/// Of a workload; with so many pairs, if it compares.
type Section = (&'static str, fn(&Workload, usize) -> Result<(), String>);

/// The measurements, each with its name.
pub(crate) const SECTIONS: [Section; 6] = [
    ("overhead", |workload, _| overhead(workload)),
    ("allocations", |workload, _| allocated(workload)),
    ("memory", |workload, _| memory(workload)),
    ("busy", |workload, _| busy(workload)),
    ("wait", |workload, _| wait(workload)),
    ("flows", flows::section),
];

fn calls(summary: &RunSummary) -> u64 {
    summary.modules.iter().map(|module| module.calls).sum()
}

fn median(values: impl IntoIterator<Item = Result<f64, String>>) -> Result<f64, String> {
    let mut values = values.into_iter().collect::<Result<Vec<_>, _>>()?;
    values.sort_by(f64::total_cmp);
    Ok(values[values.len() / 2])
}

fn concurrent(workload: &Workload, scale: f64) -> Workload {
    let mut workload = workload.clone();
    workload.scale_times(scale);
    workload.modules.iter_mut().for_each(|module| module.threads = Threads::Concurrent);
    workload
}

/// Nanoseconds per call of a module that does nothing, on one worker.
fn overhead(workload: &Workload) -> Result<(), String> {
    let mut workload = concurrent(workload, 0.0);
    workload.set_work(Work::Busy);
    for (name, figures, target) in
        [("counts only", Figures::Counts, 120), ("with times", Figures::Times, 170)]
    {
        let settings = Settings::default().workers(1).slots(1).figures(figures);
        let ns = median((0..REPS).map(|_| {
            let summary = run(&workload, 2_000, &settings)?;
            Ok(summary.elapsed_ns as f64 / calls(&summary) as f64)
        }))?;
        println!(
            "overhead, {name}: {ns:.1} ns per module call, its mixing of inputs included (target {target})"
        );
    }
    Ok(())
}

/// Allocations per call, from the difference between a long and a short run.
fn allocated(workload: &Workload) -> Result<(), String> {
    allocations::count();
    for work in [Work::Busy, Work::Wait] {
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
        println!("allocations, {work:?}: {per_call:.5} per module call (target 0)");
    }
    Ok(())
}

/// Bytes on the heap of an event in flight, beside its products: from the difference between many
/// and few events in flight. All modules wait, so that all events are in flight at the same time.
fn memory(workload: &Workload) -> Result<(), String> {
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
    println!(
        "memory: {of_event:.0} bytes per event in flight, its products included (target 4096 beside them)"
    );
    Ok(())
}

/// Busy modules, all concurrent: two workers against the ideal of two CPUs.
fn busy(workload: &Workload) -> Result<(), String> {
    let mut workload = concurrent(workload, 0.01);
    workload.set_work(Work::Busy);
    let events = 100;
    let total_ns: u64 = (0..events).map(|event| event_ns(&workload, event)).sum();
    let settings = Settings::default().workers(2).slots(4);
    let ratio = median((0..REPS).map(|_| {
        let summary = run(&workload, events, &settings)?;
        Ok(total_ns as f64 / 2.0 / summary.elapsed_ns as f64)
    }))?;
    println!("busy, times x 0.01, 2 workers, 4 slots: {ratio:.3} of two CPUs (target 0.975)");
    Ok(())
}

fn event_ns(workload: &Workload, event: u64) -> u64 {
    let reached = workload::graph::reachable(workload);
    let modules = workload.modules.iter().zip(reached).filter(|(_, reached)| *reached);
    modules.map(|(module, _)| module.times.of(event)).sum()
}

/// Waiting modules, all concurrent: events per second against what the slots allow, each event
/// taking its critical path.
fn wait(workload: &Workload) -> Result<(), String> {
    // With more events in flight the times are less shortened: else the CPUs, not the waits, would
    // set the ideal.
    for (slots, scale) in [(64, 0.1), (1_024, 0.2), (4_096, 0.5)] {
        let mut workload = concurrent(workload, scale);
        workload.set_work(Work::Wait);
        let durations_ns = Plan::new(&workload).durations_ns;
        let events = slots as u64 * 4;
        let ideal_ns = ideal_ns(&durations_ns, slots, events);
        let settings = Settings::default().workers(2).slots(slots).figures(Figures::Counts);
        let mut cpu_ns = Vec::new();
        let ratio = median((0..3).map(|_| {
            let before = cpu_time_ns();
            let summary = run(&workload, events, &settings)?;
            cpu_ns.push((cpu_time_ns() - before) / calls(&summary) as f64);
            Ok(ideal_ns / summary.elapsed_ns as f64)
        }))?;
        cpu_ns.sort_by(f64::total_cmp);
        println!(
            "wait, times x {scale}, {slots} events in flight: {ratio:.3} of the ideal (target 0.97), {:.0} ns of CPU per module run (target 1,500)",
            cpu_ns[cpu_ns.len() / 2]
        );
    }
    Ok(())
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
