//! `actinium elastic`.

use crate::Failure;
use crate::elastic::settings::ElasticArgs;
use crate::elastic::{Settings, burst, hop, pi, report};
use crate::output::{OutputArgs, ShowArgs};
use actinium_observe::Progress;
use clap::ArgMatches;

/// What it does, in `--help`.
pub(crate) const ABOUT: &str = "\
Measure what elastic workers cost and how fast they come.

Pi is computed by actors that each sum a share of the series in a closed loop, with 1 to --workers workers: all of them from the start, and \
elastic from one. Then bursts of work are sent to an elastic system at rest, which is afterwards left alone to see what rest costs; and two actors \
exchange messages while --bystanders others do nothing.";

/// What can be typed after `actinium elastic`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    #[command(flatten)]
    elastic: ElasticArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    show: ShowArgs,
}

/// Measures and prints the figures.
///
/// # Errors
/// If a setting is not allowed, a run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let settings = Settings::settle(&args.elastic, matches)?;
    if args.show.show_settings {
        return args.output.settings(report::SCHEMA_VERSION, &settings, settings.rows());
    }
    let (hops, bursts) = (settings.hops.value, settings.bursts.value);
    let runs_of_pi = 2 * settings.workers.value as u64 * settings.repeat.value;
    let runs_of_hops =
        if hops == 0 { 0 } else { settings.bystanders.value.len() as u64 * settings.repeat.value };
    let runs = runs_of_pi + bursts + runs_of_hops;
    let progress =
        if args.output.quiet { Progress::hidden(runs) } else { Progress::new(runs, "runs") };
    let mut done = 0;
    let mut note = || {
        done += 1;
        progress.set(done);
    };
    let of_pi = pi::measure(&settings, &mut note)?;
    let of_burst = match bursts {
        0 => None,
        _ => Some(burst::measure(&settings, &mut note)?),
    };
    let of_hops = match hops {
        0 => Vec::new(),
        _ => hop::measure(&settings, &mut note)?,
    };
    let report = report::Report::new(settings, of_pi, of_burst.as_ref(), &of_hops);
    args.output.report(&report, report::Report::text)?;
    report.verdict()
}
