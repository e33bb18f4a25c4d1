//! What the machine gives: cores that more threads want than there are.

use super::finding::{Diagnosis, Finding, Severity};
use super::thresholds::{READY_CPUS, READY_S, READY_SHARE};
use super::view::{count, percent, sum};
use crate::flight::{Flight, Look, WorkerLook};
use actinium_observe::process::ProcessFigures;

/// What to do about threads that have no CPU: its own are too many, or others leave it too little.
fn advice(is_own: bool) -> &'static str {
    if is_own {
        "Use as many workers as there are hardware threads for them (SystemBuilder::workers, \
         ACTINIUM_WORKERS=all), and leave some to other threads of the program that compute."
    } else {
        "Find what else runs there (top, or pidstat -u), and give each program PUs of its own \
         (SystemBuilder::bind, ACTINIUM_BIND, taskset); or use fewer workers. On a virtual machine, \
         ask for CPUs that are not shared."
    }
}

/// How many CPUs threads wanted that were on one and ready for one for so long, and for which share
/// of that time they had none; `None` if they wanted hardly any, or waited hardly ever.
fn wanted(seconds: f64, cpu_s: f64, ready_s: f64) -> Option<(f64, f64)> {
    let wanted = (cpu_s + ready_s) / seconds.max(f64::MIN_POSITIVE);
    let share = ready_s / (cpu_s + ready_s).max(f64::MIN_POSITIVE);
    let waits = seconds >= READY_S && wanted >= READY_CPUS && share >= READY_SHARE;
    waits.then_some((wanted, share))
}

/// How many CPUs a process wanted in the time that it was watched, and for which share of that it
/// had none; `None` if it wanted hardly any, or waited hardly ever.
pub(crate) fn wanted_cpus(process: &ProcessFigures) -> Option<(f64, f64)> {
    wanted(process.elapsed_s, process.cpu_s, process.ready_s)
}

/// A process whose threads were ready to run, and had no CPU.
pub(super) fn oversubscribed_run(process: &ProcessFigures) -> Option<Finding> {
    let (wanted, share) = wanted_cpus(process)?;
    let usable = process.cpus_allowed.len();
    let text = format!(
        "The threads of the process were ready to run, and had no CPU, for {} of the time that they \
         wanted one: they wanted {wanted:.1} CPUs, and got {:.1} of the {usable} that it may use.",
        percent(share),
        process.cpu_s / process.elapsed_s,
    );
    // Others can take CPUs away, but not make its own threads want more than there are.
    let is_own = wanted > usable as f64;
    let finding = Finding::new(Diagnosis::OversubscribedCores, Severity::Warning, text);
    let finding = finding.advise(advice(is_own)).figure("wanted_cpus", wanted);
    Some(finding.figure("ready_share", share).figure("usable_cpus", usable as f64))
}

/// Workers whose threads are ready to run, and have no CPU.
pub(super) fn oversubscribed(flight: &Flight) -> Vec<Finding> {
    let (Some(first), Some(last)) = (flight.looks.first(), flight.looks.last()) else {
        return Vec::new();
    };
    let seconds = last.at_s - first.at_s;
    let delta = |of: fn(&WorkerLook) -> u64| {
        let pairs = first.workers.iter().zip(&last.workers);
        sum(pairs.map(|(a, b)| of(b).saturating_sub(of(a)))) as f64 * 1e-9
    };
    let (cpu_s, ready_s) = (delta(|it| it.cpu_ns), delta(|it| it.ready_ns));
    let Some((wanted, share)) = wanted(seconds, cpu_s, ready_s) else { return Vec::new() };
    let machine = |of: fn(&crate::flight::CpuLook) -> u64| {
        let all = |look: &Look| sum(look.cpus.values().map(of));
        all(last).saturating_sub(all(first)) as f64 * 1e-9 / seconds
    };
    let own = last.process_cpu_ns.saturating_sub(first.process_cpu_ns) as f64 * 1e-9 / seconds;
    let others = (machine(|it| it.busy_ns) - own).max(0.0);
    let stolen = machine(|it| it.stolen_ns);
    let workers = flight.workers.len();
    let mut text = format!(
        "The threads of the {} were ready to run, and had no CPU, for {} of the time that they \
         wanted one: they wanted {wanted:.1} CPUs, and the process may use {}.",
        count(workers as u64, "worker"),
        percent(share),
        flight.pus,
    );
    text += &format!(" Others on this machine used {others:.1} CPUs meanwhile");
    text +=
        &if stolen > 0.05 { format!(", and its host took {stolen:.1}.") } else { ".".to_owned() };
    let is_own = wanted > f64::from(flight.pus) && workers as u64 > u64::from(flight.pus);
    let finding = Finding::new(Diagnosis::OversubscribedCores, Severity::Warning, text);
    let finding =
        finding.advise(advice(is_own)).figure("wanted_cpus", wanted).figure("ready_share", share);
    vec![
        finding
            .figure("usable_cpus", f64::from(flight.pus))
            .figure("workers", workers as f64)
            .figure("others_cpus", others)
            .figure("stolen_cpus", stolen),
    ]
}
