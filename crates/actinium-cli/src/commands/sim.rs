//! `actinium sim`.

use crate::sim::cluster::{self, ClusterArgs};
use crate::sim::{Settings, SimArgs, calibrate, report, run, sweep};
use crate::{Failure, output};
use actinium_observe::report::writable;
use std::path::PathBuf;

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

    /// Print JSON, with a schema_version, instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print the tables only: no progress bar on stderr, no remarks below the tables
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
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

    /// Write a report to this file: one page of HTML that needs nothing else
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Print JSON, with a schema_version, instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print the tables only: no progress bar on stderr, no remarks below the tables
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

fn run_cluster(args: &Cluster) -> Result<(), Failure> {
    let settings = cluster::Settings::settle(&args.cluster)?;
    if let Some(path) = &args.report {
        writable(path).map_err(|error| Failure::Asked(format!("--report: {error}")))?;
    }
    let sizes = cluster::run::run(&settings, args.quiet)?;
    let report = cluster::report::Report::new(settings, &sizes);
    if let Some(path) = &args.report {
        let page = cluster::page::of(&report);
        page.write(path).map_err(|error| Failure::Failed(error.to_string()))?;
    }
    match args.json {
        true => output::print_json(&report),
        false => output::print(report.text(args.quiet)),
    }
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
        return match args.json {
            true => output::print_json(&report),
            false => output::print(report.text(args.quiet)),
        };
    }
    if args.sweep {
        let report = sweep::sweep(&settings, args.quiet)?;
        return match args.json {
            true => output::print_json(&report),
            false => output::print(report.text(args.quiet)),
        };
    }
    let cells = settings.cells();
    let figures = run::run(&settings, &cells, &settings.policies(), args.quiet)?;
    let report = report::Report::new(&settings, &cells, figures);
    match args.json {
        true => output::print_json(&report),
        false => output::print(report.text(args.quiet)),
    }
}
