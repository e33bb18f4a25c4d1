//! The page of a run.

use crate::run::Outcome;
use crate::setting::Row;
use actinium_observe::number::{bytes, decimal, nanoseconds};
use actinium_observe::process::{CpuLoad, Load};
use actinium_report::html::Figure;
use actinium_workload::RunReport;

/// Returns how much of each CPU the process had during the run.
pub fn cpu_load(outcome: &Outcome) -> CpuLoad {
    CpuLoad::of(&[(String::new(), &Load::of(&outcome.samples))])
}

/// Returns the report of a run, with these settings and what the process used.
pub fn report<'a>(
    title: String,
    outcome: &'a Outcome,
    cpus: &'a CpuLoad,
    settings: Vec<Row>,
) -> RunReport<'a> {
    let on_average = format!("{} CPUs on average", decimal(outcome.cpu_s / outcome.elapsed_s(), 2));
    let memory = bytes(outcome.memory_max_bytes);
    let report = RunReport::new(title, &outcome.summary)
        .cpus_of_process(cpus)
        .figure(Figure::new("CPU time", nanoseconds(outcome.cpu_s * 1e9)).note(on_average))
        .figure(Figure::new("Threads", outcome.threads_max).note("at most"))
        .figure(Figure::new("Memory", memory).note("at most in RAM"));
    settings.into_iter().fold(report, |report, (name, value, source)| {
        report.setting(name, format!("{value} ({source})"))
    })
}
