//! The report of a run: tables, or JSON.

use super::figures::{Figures, verdict};
use super::outcome::{Ideal, Outcome};
use super::{SCHEMA_VERSION, Settings};
use crate::Failure;
use actinium::topology::PuId;
use actinium_events::{Failure as EventFailure, ModuleFigures, PathFigures, ResourceFigures};
use actinium_observe::number::{bytes, decimal, nanoseconds, percent};
use actinium_observe::process::Load;
use actinium_report::{Cell, Column, Table};
use actinium_workload::plan::Plan;
use serde::Serialize;
use std::fmt::Write;

/// Most modules, paths and failures that tables show; the JSON has them all.
const MODULES_SHOWN: usize = 20;
const PATHS_SHOWN: usize = 5;
const FAILURES_SHOWN: usize = 5;

/// All figures of a run. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    schema_version: u32,
    actinium_version: &'static str,
    settings: &'a Settings,
    workload: &'a str,
    events: u64,
    events_due: u64,
    failed: u64,
    retries: u64,
    abandoned: u64,
    interrupted: bool,
    elapsed_s: f64,
    events_per_s: f64,
    cpu_s: f64,
    /// CPU time that was used, by the elapsed time.
    cpus_used: f64,
    ideal: Option<Ideal>,
    /// Elapsed time by the ideal's: 1 is perfect.
    wall_by_ideal: Option<f64>,
    module_calls: u64,
    /// The PU that each worker was bound to, if to any.
    worker_pus: &'a [Option<PuId>],
    threads_max: u64,
    memory_max_bytes: u64,
    in_flight_max: u64,
    /// Mixes all events' products.
    checksum: String,
    modules: &'a [ModuleFigures],
    paths: &'a [PathFigures],
    resources: &'a [ResourceFigures],
    failures: &'a [EventFailure],
    /// CPU time on each CPU over time.
    load: Load,
}

impl<'a> Report<'a> {
    /// Creates the report of a run.
    pub fn new(
        settings: &'a Settings,
        plan: &'a Plan,
        outcome: &'a Outcome,
        ideal: Option<Ideal>,
    ) -> Self {
        let summary = &outcome.summary;
        let elapsed_s = outcome.elapsed_s();
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            settings,
            workload: &plan.name,
            events: summary.events,
            events_due: outcome.events_due,
            failed: summary.failed,
            retries: summary.retries,
            abandoned: summary.abandoned,
            interrupted: summary.stopped,
            elapsed_s,
            events_per_s: outcome.events_per_s(),
            cpu_s: outcome.cpu_s,
            cpus_used: outcome.cpu_s / elapsed_s,
            ideal,
            wall_by_ideal: ideal.map(|ideal| elapsed_s / ideal.elapsed_s),
            module_calls: outcome.calls(),
            worker_pus: &summary.pus,
            threads_max: outcome.threads_max,
            memory_max_bytes: outcome.memory_max_bytes,
            in_flight_max: summary.in_flight_max,
            checksum: format!("{:016x}", outcome.checksum),
            modules: &summary.modules,
            paths: &summary.paths,
            resources: &summary.resources,
            failures: &summary.failures,
            load: Load::of(&outcome.samples),
        }
    }

    /// Returns the report as text: tables, and remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = self.figures().to_string();
        let tables = Tables {
            modules: self.modules,
            paths: self.paths,
            resources: self.resources,
            elapsed_s: self.elapsed_s,
        };
        text += &tables.text();
        for failure in self.failures.iter().take(FAILURES_SHOWN) {
            writeln!(text, "\nfailed: {}", failure_line(failure)).expect("a String takes all");
        }
        if !quiet {
            text += &self.remarks();
        }
        text
    }

    fn figures(&self) -> Table {
        let counts =
            [("failed", self.failed), ("retries", self.retries), ("abandoned", self.abandoned)];
        let mut figures = Figures::new(self.events, self.events_due, self.interrupted, &counts);
        figures.row("elapsed", nanoseconds(self.elapsed_s * 1e9), "");
        figures.row("events/s", decimal(self.events_per_s, 2), "");
        let cpus = format!("{} CPUs on average", decimal(self.cpus_used, 2));
        figures.row("CPU time", nanoseconds(self.cpu_s * 1e9), &cpus);
        match self.ideal {
            Some(ideal) => {
                let of = format!(
                    "{} events/s in {}, by {}",
                    decimal(ideal.events_per_s, 2),
                    nanoseconds(ideal.elapsed_s * 1e9),
                    ideal.by
                );
                figures.row("ideal", percent(self.events_per_s / ideal.events_per_s), &of);
                let ratio = self.wall_by_ideal.unwrap_or(f64::NAN);
                figures.row("wall / ideal", decimal(ratio, 3), "elapsed time by the ideal's");
            }
            None => figures.row("ideal", "-", "modules take no time"),
        }
        let per_call = self.cpu_s * 1e9 / self.module_calls as f64;
        let per_call = format!("{} of CPU time each", nanoseconds(per_call.round()));
        figures.row("module calls", self.module_calls, &per_call);
        figures.row("events in flight", self.in_flight_max, "at most");
        figures.row("threads", self.threads_max, "at most");
        figures.row("memory", bytes(self.memory_max_bytes), "at most in RAM");
        figures.row("checksum", self.checksum.as_str(), "of all products");
        figures.table()
    }

    /// Returns the remarks that a reader needs to understand the tables.
    fn remarks(&self) -> String {
        format!(
            "\nsettings   {}\nwaits      per call: for inputs from the event's begin, for the resource in its queue\n",
            self.settings.line()
        )
    }

    /// Whether the run did what it was asked to do.
    ///
    /// # Errors
    /// If events failed, or it was interrupted.
    pub fn verdict(&self) -> Result<(), Failure> {
        let first = self.failures.first().map(failure_line);
        verdict(self.events, self.events_due, self.interrupted, self.failed, first)
    }
}

/// The figures behind the tables of modules, paths and resources.
pub(super) struct Tables<'a> {
    pub(super) modules: &'a [ModuleFigures],
    pub(super) paths: &'a [PathFigures],
    pub(super) resources: &'a [ResourceFigures],
    pub(super) elapsed_s: f64,
}

impl Tables<'_> {
    /// Returns all tables, each with its title.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut section = |title: &str, table: Table| {
            write!(text, "\n{title}\n{table}").expect("a String takes all");
        };
        section("modules by time", self.module_table());
        if self.resources.iter().any(|resource| resource.waited_ns > 0) {
            section("waits for serial modules and resources", self.resource_table());
        }
        section("paths, the slowest first", self.path_table());
        text
    }

    fn module_table(&self) -> Table {
        let mut table = Table::new([
            Column::left("module"),
            Column::right("calls"),
            Column::right("time"),
            Column::right("per call"),
            Column::right("wait for inputs"),
            Column::right("wait for resource"),
            Column::right("at home"),
            Column::right("failures"),
        ]);
        let mut modules: Vec<&ModuleFigures> = self.modules.iter().collect();
        modules.sort_by_key(|module| std::cmp::Reverse(module.busy_ns));
        for module in modules.iter().take(MODULES_SHOWN) {
            let per_call = |ns: u64| match module.calls {
                0 => Cell::from("-"),
                calls => nanoseconds((ns as f64 / calls as f64).round()).into(),
            };
            table.row([
                module.label.as_str().into(),
                module.calls.into(),
                nanoseconds(module.busy_ns as f64).into(),
                per_call(module.busy_ns),
                per_call(module.wait_start_ns.saturating_sub(module.wait_resource_ns)),
                per_call(module.wait_resource_ns),
                module.at_home.filter(|_| module.calls > 0).map_or_else(
                    || Cell::from("-"),
                    |calls| percent(calls as f64 / module.calls as f64).into(),
                ),
                module.failures.into(),
            ]);
        }
        if modules.len() > MODULES_SHOWN {
            let rest = &modules[MODULES_SHOWN..];
            let sum =
                |of: fn(&ModuleFigures) -> u64| rest.iter().map(|module| of(module)).sum::<u64>();
            let empty = || Cell::from("");
            table.row([
                format!("and {} more", rest.len()).into(),
                sum(|module| module.calls).into(),
                nanoseconds(sum(|module| module.busy_ns) as f64).into(),
                empty(),
                empty(),
                empty(),
                empty(),
                sum(|module| module.failures).into(),
            ]);
        }
        table
    }

    fn resource_table(&self) -> Table {
        let mut table = Table::new([
            Column::left("resource"),
            Column::right("waited"),
            Column::right("waiting on average"),
        ]);
        let mut resources: Vec<&ResourceFigures> = self.resources.iter().collect();
        resources.sort_by_key(|resource| std::cmp::Reverse(resource.waited_ns));
        for resource in resources.iter().take(PATHS_SHOWN).filter(|resource| resource.waited_ns > 0)
        {
            table.row([
                resource.name.as_str().into(),
                nanoseconds(resource.waited_ns as f64).into(),
                decimal(resource.waited_ns as f64 * 1e-9 / self.elapsed_s, 2).into(),
            ]);
        }
        table
    }

    fn path_table(&self) -> Table {
        let mut table = Table::new([
            Column::left("path"),
            Column::right("events"),
            Column::right("passed"),
            Column::right("mean time"),
            Column::right("longest"),
        ]);
        let mut paths: Vec<&PathFigures> = self.paths.iter().collect();
        let mean = |path: &PathFigures| path.total_ns as f64 / path.events.max(1) as f64;
        paths.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        for path in paths.iter().take(PATHS_SHOWN) {
            table.row([
                path.name.as_str().into(),
                path.events.into(),
                path.passed.into(),
                nanoseconds(mean(path).round()).into(),
                nanoseconds(path.max_ns as f64).into(),
            ]);
        }
        if paths.len() > PATHS_SHOWN {
            let more = format!("and {} more", paths.len() - PATHS_SHOWN);
            table.row([more.into(), "".into(), "".into(), "".into(), "".into()]);
        }
        table
    }
}

fn failure_line(failure: &EventFailure) -> String {
    match failure.event {
        Some(event) => format!("module '{}', event {event}: {}", failure.module, failure.cause),
        None => format!("module '{}': {}", failure.module, failure.cause),
    }
}
