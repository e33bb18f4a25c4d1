//! The page of a run.

use crate::run::Outcome;
use crate::setting::Row;
use actinium_events::RunSummary;
use actinium_observe::number::{bytes, decimal, nanoseconds};
use actinium_observe::process::{CpuLoad, Load};
use actinium_report::html::Figure;
use actinium_workload::RunReport;

/// Returns how much of each CPU the process had during the run.
pub fn cpu_load(outcome: &Outcome) -> CpuLoad {
    CpuLoad::of(&[(String::new(), &Load::of(&outcome.samples))])
}

/// What a process used in a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    pub(crate) cpu_s: f64,
    pub(crate) threads_max: u64,
    pub(crate) memory_max_bytes: u64,
}

impl Used {
    /// The report of a run, without its settings.
    pub(crate) fn report<'a>(
        self,
        title: String,
        summary: &'a RunSummary,
        cpus: &'a CpuLoad,
    ) -> RunReport<'a> {
        let elapsed_s = summary.elapsed_ns as f64 * 1e-9;
        let on_average = format!("{} CPUs on average", decimal(self.cpu_s / elapsed_s, 2));
        let memory = bytes(self.memory_max_bytes);
        RunReport::new(title, summary)
            .cpus_of_process(cpus)
            .figure(Figure::new("CPU time", nanoseconds(self.cpu_s * 1e9)).note(on_average))
            .figure(Figure::new("Threads", self.threads_max).note("at most"))
            .figure(Figure::new("Memory", memory).note("at most in RAM"))
    }
}

/// Returns the report of a run, with these settings and what the process used.
pub fn report<'a>(
    title: String,
    outcome: &'a Outcome,
    cpus: &'a CpuLoad,
    settings: Vec<Row>,
) -> RunReport<'a> {
    let used = Used {
        cpu_s: outcome.cpu_s,
        threads_max: outcome.threads_max,
        memory_max_bytes: outcome.memory_max_bytes,
    };
    let report = used.report(title, &outcome.summary, cpus).graph(&outcome.graph);
    settings.into_iter().fold(report, |report, (name, value, source)| {
        report.setting(name, format!("{value} ({source})"))
    })
}
