//! `actinium sim`.

use crate::Failure;
use crate::output::{OutputArgs, ReportArgs};
use crate::sim::cluster::{self, ClusterArgs};
use crate::sim::{Settings, SimArgs, calibrate, report, run, sweep};

/// What it does, in `--help`.
pub(crate) const ABOUT: &str = "\
Simulate the published executor experiments on machines that are not at hand.

A discrete-event simulation of workers, queues, caches and wake-ups, which asks the policies that the runtime runs: pinned, pool, stealing and \
affine. One seed gives one result. Each table compares the four policies at several sizes of state, says by how much affine wins or falls short, \
how fair it is, and how often homes move. docs/sim.md says what is modelled, and what is not.";

/// What can be typed after `actinium sim`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,

    #[command(flatten)]
    sim: SimArgs,

    /// Try other values of affine's constants, one at a time, and say what they change
    #[arg(long, conflicts_with = "calibrate")]
    sweep: bool,

    /// Measure this machine's costs, simulate it, run the same for real, and print the error (about half a minute); of the other
    /// settings, only --messages, --batch, --seed and --set count
    #[arg(long, conflicts_with_all = ["machine", "grid"])]
    calibrate: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// What else can be simulated.
#[derive(Debug, clap::Subcommand)]
pub enum What {
    /// Simulate clusters of many nodes: gathering, routes, the end of all work, and deaths
    #[command(long_about = ABOUT_CLUSTER)]
    Cluster(Cluster),
}

const ABOUT_CLUSTER: &str = "\
Simulate clusters of many nodes: gathering, routes, the end of all work, and deaths.

All nodes send to all others, in frames that leave when the runtime's own code says so, straight or through a square or cube of nodes (2d, 3d), over \
links with LogGP parameters. Beside that: how long the four-counter method takes to see that all work is done, and after how long the \
runtime's own links have noticed that a node has died. One seed gives one result. docs/sim.md says what is not modelled.";

/// What can be typed after `actinium sim cluster`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Cluster {
    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    output: OutputArgs,
}

fn run_cluster(args: &Cluster) -> Result<(), Failure> {
    let settings = cluster::Settings::settle(&args.cluster)?;
    args.report.check()?;
    let sizes = cluster::run::run(&settings, args.output.quiet)?;
    let report = cluster::report::Report::new(settings, &sizes);
    args.report.write(|| cluster::page::of(&report))?;
    args.output.report(&report, cluster::report::Report::text)
}

/// Simulates, and prints what came of it.
///
/// # Errors
/// If a setting is not allowed, a run fails or stdout can not be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    if let Some(What::Cluster(cluster)) = &args.what {
        return run_cluster(cluster);
    }
    let settings = Settings::settle(&args.sim)?;
    if args.calibrate {
        let report = calibrate::calibrate(&settings)?;
        return args.output.report(&report, calibrate::Report::text);
    }
    if args.sweep {
        let report = sweep::sweep(&settings, args.output.quiet)?;
        return args.output.report(&report, sweep::Report::text);
    }
    let cells = settings.cells();
    let figures = run::run(&settings, &cells, &settings.policies(), args.output.quiet)?;
    let report = report::Report::new(&settings, &cells, figures);
    args.output.report(&report, report::Report::text)
}
