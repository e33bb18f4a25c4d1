//! `actinium locality`.

use crate::Failure;
use crate::locality::settings::LocalityArgs;
use crate::locality::{Settings, grid, page, report};
use crate::output::{OutputArgs, ReportArgs, ShowArgs};
use clap::ArgMatches;

/// What it does, in `--help`.
pub(crate) const ABOUT: &str = "\
Compare the scheduling policies on actors that each work on a state of their own, by the size of that state.

Each actor sends itself the next message when the previous one is done; a message reads and writes --accesses random places of its state. \
Fixed assignment keeps states in their caches, stealing keeps workers busy: this shows what each costs, with the same longest turn \
(--batch) for all policies, and how fair each was. The policies take turns, cell by cell; figures are medians of --repeat runs.";

/// What can be typed after `actinium locality`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  actinium locality
  actinium locality --actors 6,18,24,240,8000 --accesses 20,100 --report locality.html
  actinium locality --variant map --policy pinned,affine
  actinium locality --state 64 --packed"
)]
pub struct Args {
    #[command(flatten)]
    locality: LocalityArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    show: ShowArgs,
}

/// Runs the experiment and prints its figures.
///
/// # Errors
/// If a setting is not allowed, a run fails or the output can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let settings = Settings::settle(&args.locality, matches)?;
    if args.show.show_settings {
        return args.output.settings(report::SCHEMA_VERSION, &settings, settings.rows());
    }
    args.report.check()?;
    let measured = grid::measure(&settings, args.output.quiet)?;
    let report = report::Report::new(settings, measured);
    args.report.write(|| page::of(&report))?;
    args.output.report(&report, report::Report::text)?;
    report.verdict()
}
