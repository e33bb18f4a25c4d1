//! `actinium probe`.

use crate::Failure;
use crate::nodes::FabricKind;
use crate::output::{self, OutputArgs, ReportArgs, ShowArgs};
use crate::probe::settings::ProbeArgs;
use crate::probe::{Settings, cluster, report, run};
use clap::ArgMatches;

/// What it does, in `--help`.
pub(crate) const ABOUT: &str = "\
Measure throughput and delivery latency of messages between many actors.

Each actor sends PING to the next of the others, round robin from a random start, and waits for its PING_REPLY, with at \
most --in-flight requests outstanding; each answers the PINGs of the others. It ends when every actor has had its \
--messages replies. Pings and replies both count as messages: each is delivered and handled.

Latencies are true ones, from send to handling, of a sample of the sends (the report says how many). The elapsed time leaves out start-up and \
warm-up. With --fabric, actors of several nodes ping each other, times are those from a ping to its reply (two hosts' clocks can not time one way), and the \
figures are of all nodes and of each, as are threads active and the load of each CPU over time; --report, only with --fabric, draws them. \
Where the period of a worker or actor is given, it is 1 / throughput, which is no latency.";

/// What can be typed after `actinium probe`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    #[command(flatten)]
    probe: ProbeArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    show: ShowArgs,
}

/// Runs the probe and prints its figures.
///
/// # Errors
/// If a setting is not allowed, the run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let settings = Settings::settle(&args.probe, matches)?;
    if args.show.show_settings {
        return args.output.settings(report::SCHEMA_VERSION, &settings, settings.all_rows());
    }
    if let Some(kind) = settings.nodes.fabric.value {
        return over_nodes(args, &settings, kind);
    }
    if args.report.report.is_some() {
        return Err(Failure::Asked("--report: only with --fabric".to_owned()));
    }
    let outcome = run::run(&settings, args.output.quiet)?;
    let report = report::Report::new(settings, &outcome);
    args.output.report(&report, report::Report::text)?;
    report.verdict()
}

/// Elsewhere another process shows what all have measured.
fn over_nodes(args: &Args, settings: &Settings, kind: FabricKind) -> Result<(), Failure> {
    args.report.check()?;
    let Some(report) = cluster::run(kind, settings)? else { return Ok(()) };
    report.remark().into_iter().for_each(output::note);
    args.report.write(|| cluster::page::page(&report))?;
    args.output.report(&report, cluster::report::ClusterReport::text)?;
    report.verdict()
}
