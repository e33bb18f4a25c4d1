//! The figures of runs as tables of text.

use crate::Failure;
use crate::figures::RunFigures;
use actinium_events::{Failure as EventFailure, ModuleFigures, PathFigures, ResourceFigures};
use actinium_observe::number::{bytes, count, decimal, nanoseconds, percent};
use actinium_report::setting::Row;
use actinium_report::{Cell, Column, Table};
use std::fmt::Write;

/// Most modules, paths and failures that tables show; the JSON has them all.
const MODULES_SHOWN: usize = 20;
const PATHS_SHOWN: usize = 5;
const FAILURES_SHOWN: usize = 5;

/// Numbers of a run's events, by what became of them.
#[derive(Clone, Copy, Debug)]
pub struct Events {
    /// Events that went through.
    pub events: u64,
    /// Number of events to be run, if that was known.
    pub due: Option<u64>,
    /// Whether the run was interrupted.
    pub interrupted: bool,
}

/// A table with a figure in each row.
#[derive(Clone, Debug)]
pub struct FigureTable(Table);

impl FigureTable {
    /// Begins with how many events were run, how many were due if it was interrupted, and those of
    /// these counts that are not 0.
    pub fn new(events: Events, counts: &[(&str, u64)]) -> Self {
        let columns = [Column::left("figure"), Column::right("value"), Column::left("remark")];
        let mut table = FigureTable(Table::new(columns));
        let remark = match (events.interrupted, events.due) {
            (false, _) => String::new(),
            (true, None) => "interrupted".to_owned(),
            (true, Some(due)) => format!("interrupted: {} were due", count(due)),
        };
        table.row("events", events.events, &remark);
        for &(name, number) in counts.iter().filter(|&&(_, number)| number > 0) {
            table.row(name, number, "");
        }
        table
    }

    /// Adds a row.
    pub fn row(&mut self, name: &str, value: impl Into<Cell>, remark: &str) {
        self.0.row([name.into(), value.into(), remark.into()]);
    }

    /// Returns a table of all figures.
    pub fn table(self) -> Table {
        self.0
    }
}

impl Events {
    /// Whether the run did what it was asked to do, if so many events failed and this was the first
    /// failure.
    ///
    /// # Errors
    /// If events failed, or it was interrupted.
    pub fn verdict(self, failed: u64, first: Option<String>) -> Result<(), Failure> {
        if self.interrupted {
            let due = self.due.map_or(String::new(), |due| format!(" of {}", count(due)));
            let line = format!("interrupted after {}{due} events", count(self.events));
            return Err(Failure::Failed(line));
        }
        match (failed, first) {
            (0, None) => Ok(()),
            (failed, first) => {
                let (failed, first) = (count(failed), first.unwrap_or_default());
                Err(Failure::Failed(format!("{failed} events failed; the first: {first}")))
            }
        }
    }
}

impl RunFigures<'_> {
    fn about(&self) -> Events {
        Events { events: self.events, due: self.events_due, interrupted: self.interrupted }
    }

    /// Begins a table of the figures: events, times.
    pub fn times(&self) -> FigureTable {
        let counts =
            [("failed", self.failed), ("retries", self.retries), ("abandoned", self.abandoned)];
        let mut table = FigureTable::new(self.about(), &counts);
        table.row("elapsed", nanoseconds(self.elapsed_s * 1e9), "");
        table.row("events/s", decimal(self.events_per_s, 2), "");
        let cpus = format!("{} CPUs on average", decimal(self.cpus_used, 2));
        table.row("CPU time", nanoseconds(self.cpu_s * 1e9), &cpus);
        table
    }

    /// Adds the other figures to that table: calls, and what was used.
    pub fn uses(&self, table: &mut FigureTable) {
        let per_call = self.cpu_s * 1e9 / self.module_calls as f64;
        let per_call = format!("{} of CPU time each", nanoseconds(per_call.round()));
        table.row("module calls", self.module_calls, &per_call);
        table.row("events in flight", self.in_flight_max, "at most");
        table.row("threads", self.threads_max, "at most");
        table.row("memory", bytes(self.memory_max_bytes), "at most in RAM");
    }

    /// Returns the tables of modules, paths and resources, and the first failures.
    pub fn details(&self) -> String {
        let tables = Tables {
            modules: self.modules,
            paths: self.paths,
            resources: self.resources,
            elapsed_s: self.elapsed_s,
        };
        let mut text = tables.text();
        for failure in self.failures.iter().take(FAILURES_SHOWN) {
            writeln!(text, "\nfailed: {}", failure_line(failure)).expect("a String takes all");
        }
        text
    }

    /// Whether the run did what it was asked to do.
    ///
    /// # Errors
    /// If events failed, or it was interrupted.
    pub fn verdict(&self) -> Result<(), Failure> {
        self.about().verdict(self.failed, self.failures.first().map(failure_line))
    }
}

/// The figures behind the tables of modules, paths and resources.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// Figures of each module.
    pub modules: &'a [ModuleFigures],
    /// Figures of each path.
    pub paths: &'a [PathFigures],
    /// Figures of each resource.
    pub resources: &'a [ResourceFigures],
    /// The time that the run took.
    pub elapsed_s: f64,
}

impl Tables<'_> {
    /// Returns all tables, each with its title.
    pub fn text(&self) -> String {
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

/// Returns the remarks that a reader needs to understand the tables: the settings, and what is
/// called a wait.
pub fn remarks(settings: Vec<Row>) -> String {
    format!(
        "\nsettings   {}\nwaits      per call: for inputs from the event's begin, for the resource in its queue\n",
        settings_line(settings)
    )
}

/// Returns name and value of each setting, in a line.
pub fn settings_line(settings: Vec<Row>) -> String {
    let all = settings.into_iter().map(|(name, value, _)| format!("{name} {value}"));
    all.collect::<Vec<_>>().join(", ")
}
