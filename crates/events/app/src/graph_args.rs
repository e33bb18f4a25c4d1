//! A graph's run from its flags to its verdict.

use crate::figures::RunFigures;
use crate::output::{OutputArgs, ReportArgs, ShowArgs};
use crate::run::{Outcome, Runner, progress};
use crate::settings::{FileSettings, RunArgs, RunSettings};
use crate::{DrawArgs, Failure, TraceArgs, name, page, tables};
use actinium_events::{Graph, Processor};
use actinium_report::html::{Page, Section};
use clap::ArgMatches;
use serde::Serialize;
use std::time::Duration;

/// Of the JSON that is printed. Rises when a field goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 1;
/// How often a run is sampled for its page: it may take seconds, or a day.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);

/// The flags of a program that runs a graph of events. Flatten them into the program's own.
#[derive(Clone, Debug, clap::Args)]
pub struct GraphArgs {
    #[command(flatten)]
    run: RunArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    trace: TraceArgs,

    #[command(flatten)]
    draw: DrawArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    show: ShowArgs,
}

/// All figures, as JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema_version: u32,
    actinium_version: &'static str,
    command: &'a str,
    workload: &'a str,
    settings: &'a RunSettings,
    #[serde(flatten)]
    figures: &'a RunFigures<'a>,
}

impl GraphArgs {
    /// Runs the graph that this makes, as the flags and the environment want it. A progress bar
    /// stands on stderr meanwhile, and Ctrl-C ends the run orderly. Then it prints the figures and
    /// writes the page, as the flags want it.
    ///
    /// # Errors
    /// If a setting is not allowed, the graph can not be made or run, events failed, the run was
    /// interrupted, or its figures can not be written.
    pub fn run<E>(
        &self,
        matches: &ArgMatches,
        graph: impl FnOnce(&RunSettings) -> Result<Graph, E>,
    ) -> Result<(), Failure>
    where
        Failure: From<E>,
    {
        self.run_then(matches, graph, |_| Ok(Vec::new()))
    }

    /// Runs a graph like [`GraphArgs::run`], and calls `then` when all events are over. The
    /// sections that it returns come first on the page.
    ///
    /// # Errors
    /// Those of [`GraphArgs::run`], and those of `then`.
    pub fn run_then<E>(
        &self,
        matches: &ArgMatches,
        graph: impl FnOnce(&RunSettings) -> Result<Graph, E>,
        then: impl FnOnce(&Outcome) -> Result<Vec<Section>, Failure>,
    ) -> Result<(), Failure>
    where
        Failure: From<E>,
    {
        let settings = self.run.resolve(matches, FileSettings::default())?;
        if self.show.show_settings {
            return self.output.settings(SCHEMA_VERSION, &settings, settings.rows());
        }
        self.report.check()?;
        self.trace.check()?;
        let graph = graph(&settings)?;
        if let Some(draw) = &self.draw.draw {
            return draw.write(&graph.drawing());
        }
        let mut of_processor =
            settings.processor(self.report.report.is_some().then_some(SAMPLE_EVERY));
        of_processor.events_max = settings.events.value;
        let due = settings.events.value;
        let progress = progress(due, "events", self.output.quiet);
        let processor = self.trace.observe(Processor::new(graph, of_processor));
        let outcome = Runner::new()?.run(processor, due, progress)?;
        let sections = then(&outcome)?;
        let figures = RunFigures::new(&outcome);
        let (command, workload) = (command(), name::program());
        let report = Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            command: &command,
            workload: &workload,
            settings: &settings,
            figures: &figures,
        };
        self.report.write_or_json(&report, || page(&settings, &outcome, &command, sections))?;
        self.output.report(&report, |_, quiet| text(&settings, &figures, quiet))?;
        figures.verdict()
    }
}

fn text(settings: &RunSettings, figures: &RunFigures<'_>, is_quiet: bool) -> String {
    let mut table = figures.times();
    figures.uses(&mut table);
    let remarks = if is_quiet { String::new() } else { tables::remarks(settings.rows()) };
    format!("{}{}{remarks}", table.table(), figures.details())
}

/// What was typed.
fn command() -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy()));
    std::iter::once(name::program()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn page(settings: &RunSettings, outcome: &Outcome, command: &str, sections: Vec<Section>) -> Page {
    let cpus = page::cpu_load(outcome);
    let report = page::report(name::program(), outcome, &cpus, settings.rows());
    let mut page = report.command(command).page();
    page.sections.splice(0..0, sections);
    page
}

/// An argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./,:+%@".contains(c);
    match !argument.is_empty() && argument.chars().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    }
}
