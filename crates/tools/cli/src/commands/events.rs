//! `actinium events`.

use crate::events::run::Notes;
use crate::events::settings::{self, EventsArgs, Sweep};
use crate::events::written::Written;
use crate::events::{
    SCHEMA_VERSION, Settings, cluster, load, page, plan, report, run as running, sweep, validate,
};
use actinium_app::Failure;
use actinium_app::nodes::{self, FabricKind};
use actinium_app::output::{self, OutputArgs, ReportArgs, ShowArgs};
use actinium_events_cluster::ClusterFigures;
use actinium_workload::Workload;
use actinium_workload::plan::Plan;
use clap::ArgMatches;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Run a workload of event processing: read it, plan it, run it, report on it.

A workload is a graph of modules with the time that each takes for each event, and paths that need some of them. Each event is run through \
the modules that its paths need; --slots events are in flight at a time. Modules that compute keep a worker busy for their time, \
modules that wait hold no thread. docs/events.md has the formats.";

/// Arguments of `actinium events`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  actinium events workloads/imaging.toml --plan
  actinium events workloads/reconstruction.toml --time-scale 0.01 --report report.html
  actinium events reco.config --mode wait --slots 1024 --events 4096
  actinium events reco.config --sweep slots=1,2,4,8 --time-scale 0.01 --report scaling.html
  mpiexec -n 4 actinium events reco.config --fabric mpi --order input --output events.csv"
)]
pub struct Args {
    #[command(flatten)]
    events: EventsArgs,

    /// Check the file, print all that is wrong with it, and end
    #[arg(long, help_heading = "Instead of running", conflicts_with_all = ["plan", "sweep", "report", "written", "fabric"])]
    validate: bool,

    /// Print modules, levels, times, critical path, limits and the ideal rate, and end
    #[arg(long, help_heading = "Instead of running", conflicts_with_all = ["sweep", "report", "written", "fabric"])]
    plan: bool,

    /// Run once for each number of slots, and compare with perfect scaling
    #[arg(long, value_name = "slots=N,N,...", value_parser = settings::sweep, conflicts_with_all = ["slots", "written", "fabric"])]
    sweep: Option<Sweep>,

    #[command(flatten)]
    report: ReportArgs,

    /// Write a line for each event to this file, in the order in which its outputs ran: its number,
    /// and a checksum of what its paths' ends saw
    #[arg(long = "output", value_name = "FILE", help_heading = "Output")]
    written: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    show: ShowArgs,
}

/// Does what was asked.
///
/// # Errors
/// If a setting or the file is not allowed, the run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    if args.validate {
        return validate::run(&args.events, args.output.json);
    }
    let (mut workload, warnings) = load::read(&args.events)?;
    let settings = Settings::resolve(&args.events, matches, &workload.options, &workload.source)?;
    if args.show.show_settings {
        return args.output.settings(SCHEMA_VERSION, &settings, settings.all_rows());
    }
    load::bend(&mut workload, &settings)?;
    if !args.output.quiet && !args.output.json && !warnings.list().is_empty() {
        let count = warnings.list().len();
        let file = args.events.config.display();
        output::note(&format!("{file}: warnings: {count}; --validate lists them"));
    }
    if args.plan {
        return plan::run(&workload, &settings, args.output.json);
    }
    args.report.check()?;
    let written = args.written.as_deref().map(Written::create).transpose()?;
    let plan = Plan::new(&workload);
    if let Some(kind) = settings.nodes.fabric.value {
        return over_nodes(args, &workload, &settings, &plan, written, kind);
    }
    let notes = Notes { report: args.report.report.is_some(), quiet: args.output.quiet };
    match &args.sweep {
        None => once(args, &workload, &settings, &plan, notes, written),
        Some(sweep) => all(args, &workload, &settings, &plan, notes, sweep),
    }
}

fn once(
    args: &Args,
    workload: &Workload,
    settings: &Settings,
    plan: &Plan,
    notes: Notes,
    written: Option<Written>,
) -> Result<(), Failure> {
    let outcome = running::once(workload, settings, plan, notes, written)?;
    let ideal = running::ideal(workload, settings, plan, settings.run.slots.value, &outcome);
    let report = report::Report::new(settings, plan, &outcome, ideal);
    args.report.write(|| page::of_run(settings, plan, &outcome, ideal))?;
    args.output.report(&report, report::Report::text)?;
    report.verdict()
}

/// Elsewhere another process tells what came of it.
fn over_nodes(
    args: &Args,
    workload: &Workload,
    settings: &Settings,
    plan: &Plan,
    written: Option<Written>,
    kind: FabricKind,
) -> Result<(), Failure> {
    let written = Arc::new(Mutex::new(written));
    let lines = args.written.as_ref().map(|_| Written::lines(&written));
    let fabric = nodes::fabric(kind, &settings.nodes)?;
    let down_after = fabric.down_after();
    let job = cluster::job(fabric, workload, settings, args.output.quiet, lines, down_after);
    let Some(outcome) = actinium_events_cluster::run(&job)? else { return Ok(()) };
    let written = Written::take(&written).map_or(Ok(()), Written::finish);
    let figures = ClusterFigures::new(&outcome);
    let report = cluster::report::Report::new(settings, plan, &figures);
    if let Some(remark) = report.remark() {
        output::note(remark);
    }
    args.report.write(|| cluster::page::page(settings, plan, &figures))?;
    args.output.report(&report, cluster::report::Report::text)?;
    written.and_then(|()| report.verdict())
}

fn all(
    args: &Args,
    workload: &Workload,
    settings: &Settings,
    plan: &Plan,
    notes: Notes,
    sweep: &Sweep,
) -> Result<(), Failure> {
    let points = running::sweep(workload, settings, plan, notes, &sweep.slots)?;
    let report = sweep::Report::new(settings, &points);
    args.report.write(|| page::of_sweep(settings, plan, &points))?;
    args.output.report(&report, |report, _| report.table().to_string())?;
    points.iter().try_for_each(|point| {
        report::Report::new(settings, plan, &point.outcome, point.ideal).verdict()
    })
}
