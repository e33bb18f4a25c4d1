//! `actinium sim`.

use crate::sim::{Settings, SimArgs, calibrate, report, run, sweep};
use crate::{Failure, output};

/// What it does, in `--help`.
pub(crate) const ABOUT: &str = "\
Simulate the published executor experiments on machines that are not at hand.

A discrete-event simulation of workers, queues, caches and wake-ups, which asks the policies that the runtime runs: pinned, pool, stealing and \
affine. One seed gives one result. Each table compares the four policies at several sizes of state, says by how much affine wins or falls short, \
how fair it is, and how often homes move. docs/sim.md says what is modelled, and what is not.";

/// What can be typed after `actinium sim`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
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

/// Simulates, and prints what came of it.
///
/// # Errors
/// If a setting is not allowed, a run fails or stdout can not be written.
pub fn run(args: &Args) -> Result<(), Failure> {
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
