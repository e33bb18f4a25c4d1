//! What a program that runs workloads can be told, and does then.

use super::run::{Notes, Task};
use super::settings::{self, EventsArgs, Sweep, SweepOf};
use super::written::Written;
use super::{SCHEMA_VERSION, Settings, jobs, load, page, plan, report, sweep, validate};
use crate::output::{self, OutputArgs, ReportArgs, ShowArgs};
use crate::setting::Source;
use crate::{DrawArgs, Failure, TraceArgs};
use actinium_events::drawing::Drawing;
use actinium_workload::plan::Plan;
use actinium_workload::registry::Registry;
use actinium_workload::{Workload, graph};
use clap::ArgMatches;
use std::path::PathBuf;
#[cfg(feature = "nodes")]
use std::sync::PoisonError;

/// What a program that runs workloads and jobs can be told.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct EventsCommand {
    #[command(flatten)]
    events: EventsArgs,

    /// Check the file, print all that is wrong with it, and end
    #[arg(long, help_heading = "Instead of running", conflicts_with_all = ["plan", "draw", "sweep", "report", "trace", "written"])]
    #[cfg_attr(feature = "nodes", arg(conflicts_with = "fabric"))]
    validate: bool,

    /// Print modules, levels, times, critical path, limits and the ideal rate, and end
    #[arg(long, help_heading = "Instead of running", conflicts_with_all = ["draw", "sweep", "report", "trace", "written"])]
    #[cfg_attr(feature = "nodes", arg(conflicts_with = "fabric"))]
    plan: bool,

    #[command(flatten)]
    draw: DrawArgs,

    /// Run once for each number of slots or workers, and compare with perfect scaling. jobs=N,N,..:
    /// N processes of one thread beside one of N threads; each thread has the --events
    #[arg(long, value_name = "slots|workers|jobs=N,N,...", value_parser = settings::sweep, conflicts_with_all = ["slots", "written", "draw", "trace"])]
    #[cfg_attr(feature = "nodes", arg(conflicts_with = "fabric"))]
    sweep: Option<Sweep>,

    /// Run each point of a sweep so often: figures are medians, with their ranges
    #[arg(long, value_name = "N", value_parser = settings::repeat, requires = "sweep")]
    repeat: Option<u64>,

    /// Print 'ready', and begin when a line comes on stdin: so several processes begin at the same
    /// time, as the jobs of --sweep do
    #[arg(long, conflicts_with_all = ["sweep", "report", "trace", "written"])]
    begin_together: bool,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    trace: TraceArgs,

    /// Write a line for each event to this file, in the order in which its outputs ran: its number,
    /// and a checksum of what its paths' ends saw
    #[arg(long = "output", value_name = "FILE", help_heading = "Output")]
    written: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    show: ShowArgs,
}

/// Does what was asked. The program has modules of these types, and is called like that (with its
/// subcommand, if it has one).
///
/// # Errors
/// If a setting or the file is not allowed, the run fails or stdout can not be written.
pub fn run(
    args: &EventsCommand,
    matches: &ArgMatches,
    registry: &Registry,
    called: &str,
) -> Result<(), Failure> {
    if args.validate {
        return validate::run(&args.events, registry, args.output.json);
    }
    let mut loaded = load::read(&args.events, registry, args.plan)?;
    let settings = Settings::resolve(&args.events, matches, &loaded, called)?;
    if args.show.show_settings {
        return args.output.settings(SCHEMA_VERSION, &settings, settings.all_rows());
    }
    load::bend(&mut loaded, &settings)?;
    if !args.output.quiet && !args.output.json && !loaded.warnings.list().is_empty() {
        let count = loaded.warnings.list().len();
        let file = args.events.config.display();
        output::note(&format!("{file}: warnings: {count}; --validate lists them"));
    }
    if args.plan {
        return plan::run(&loaded.workload, &settings, args.output.json);
    }
    if let Some(draw) = &args.draw.draw {
        return draw.write(&drawing(&loaded.workload));
    }
    args.report.check()?;
    args.trace.check()?;
    let plan = Plan::new(&loaded.workload);
    let notes = Notes {
        report: args.report.report.is_some(),
        quiet: args.output.quiet,
        together: args.begin_together,
    };
    let trace = &args.trace;
    let task = Task { loaded: &loaded, registry, settings: &settings, plan: &plan, notes, trace };
    #[cfg(feature = "nodes")]
    if let Some(kind) = settings.nodes.fabric.value {
        if args.trace.trace.is_some() {
            let line = "--trace: not together with --fabric: ACTINIUM_TRACE=FILE traces each node's system";
            return Err(Failure::Asked(line.to_owned()));
        }
        return over_nodes(args, &task, kind);
    }
    #[cfg(feature = "nodes")]
    if let (false, Some(remark)) = (args.output.quiet, crate::nodes::remark_alone()) {
        output::note(remark);
    }
    match &args.sweep {
        None => once(args, &task),
        Some(sweep) => all(args, &task, sweep),
    }
}

fn once(args: &EventsCommand, task: &Task<'_>) -> Result<(), Failure> {
    let Task { settings, plan, .. } = *task;
    let create = if task.loaded.job.is_some() { Written::of_job } else { Written::create };
    let written = args.written.as_deref().map(create).transpose()?;
    if args.begin_together {
        jobs::wait_for_others()?;
    }
    let outcome = task.once(written)?;
    let (slots, workers) = (settings.run.slots.value, settings.run.workers.value);
    let ideal = task.ideal(slots, workers, outcome.run.finished());
    let report = report::Report::new(settings, plan, &outcome, ideal);
    args.report.write_or_json(&report, || page::of_run(settings, plan, &outcome, ideal))?;
    args.output.report(&report, report::Report::text)?;
    report.verdict()
}

fn all(args: &EventsCommand, task: &Task<'_>, sweep: &Sweep) -> Result<(), Failure> {
    let Task { settings, plan, .. } = *task;
    if sweep.of != SweepOf::Slots && settings.run.workers.source == Source::Flag {
        let line = format!("--workers: not together with --sweep {}", sweep.of.name());
        return Err(Failure::Asked(line));
    }
    let sweep = &Sweep { repeat: args.repeat.unwrap_or(1), ..sweep.clone() };
    let (points, last) = task.sweep(sweep)?;
    let report = sweep::Report::new(settings, &plan.name, sweep, &points);
    args.report
        .write_or_json(&report, || page::of_sweep(settings, plan, sweep, &points, last.as_ref()))?;
    args.output.report(&report, |report, _| report.table().to_string())?;
    points.iter().try_for_each(sweep::Point::verdict)
}

/// The workload's graph, with the critical path of the event nearest to the mean.
fn drawing(workload: &Workload) -> Drawing {
    let mut drawing = graph::drawing(workload);
    let path = Plan::new(workload).critical_path;
    if path.length_ns() > 0 {
        drawing.mark(&path.modules.iter().map(|it| &it.label).collect::<Vec<_>>());
    }
    drawing
}

/// Elsewhere another process tells what came of it.
#[cfg(feature = "nodes")]
fn over_nodes(
    args: &EventsCommand,
    task: &Task<'_>,
    kind: crate::nodes::FabricKind,
) -> Result<(), Failure> {
    use super::cluster;
    use actinium_events_cluster::ClusterFigures;
    use std::sync::{Arc, Mutex};

    let Task { loaded, settings, plan, .. } = *task;
    let written = Arc::new(Mutex::new(None));
    let outcome = match &loaded.job {
        Some(_) if args.written.is_some() => {
            let line =
                "--output: with --fabric only for a replay: a job's modules write its results";
            return Err(Failure::Asked(line.to_owned()));
        }
        Some(job) => {
            let fabric = crate::nodes::fabric(kind, &settings.nodes)?;
            let own = cluster::own::OwnJob { task: *task, job, fabric: fabric.clone() };
            actinium_cluster::job::run(fabric, output::note, &own)?
        }
        None => {
            let created = args.written.as_deref().map(Written::create).transpose()?;
            *written.lock().unwrap_or_else(PoisonError::into_inner) = created;
            let lines = args.written.as_ref().map(|_| Written::lines(&written));
            let fabric = crate::nodes::fabric(kind, &settings.nodes)?;
            let (down_after, quiet) = (fabric.down_after(), args.output.quiet);
            let job = cluster::job(fabric, &loaded.workload, settings, quiet, lines, down_after);
            actinium_events_cluster::run(&job)?
        }
    };
    let Some(outcome) = outcome else { return Ok(()) };
    let written = Written::take(&written).map_or(Ok(()), Written::finish);
    let figures = ClusterFigures::new(&outcome);
    let report = cluster::report::Report::new(settings, plan, &figures, loaded.job.is_some());
    if let Some(remark) = report.remark() {
        output::note(remark);
    }
    args.report.write(|| cluster::page::page(settings, plan, &figures))?;
    args.output.report(&report, cluster::report::Report::text)?;
    written.and_then(|()| report.verdict())
}
