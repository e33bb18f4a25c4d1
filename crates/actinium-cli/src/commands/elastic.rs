//! `actinium elastic`.

use crate::elastic::settings::ElasticArgs;
use crate::elastic::{Settings, burst, hop, pi, report};
use crate::setting::SettingsReport;
use crate::{Failure, output};
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

    /// Print JSON, with a schema_version, instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print the tables only: no progress bar on stderr, and not why workers were called
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,

    /// Print each setting, its value and where that came from (flag, env, default), and end
    #[arg(long, help_heading = "Output")]
    show_settings: bool,
}

/// Measures and prints the figures.
///
/// # Errors
/// If a setting is not allowed, a run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let settings = Settings::settle(&args.elastic, matches)?;
    if args.show_settings {
        return match args.json {
            true => output::print_json(&SettingsReport::new(report::SCHEMA_VERSION, &settings)),
            false => output::print(settings.table().to_string()),
        };
    }
    let (hops, bursts) = (settings.hops.value, settings.bursts.value);
    let runs_of_pi = 2 * settings.workers.value as u64 * settings.repeat.value;
    let runs_of_hops =
        if hops == 0 { 0 } else { settings.bystanders.value.len() as u64 * settings.repeat.value };
    let runs = runs_of_pi + bursts + runs_of_hops;
    let progress = if args.quiet { Progress::hidden(runs) } else { Progress::new(runs, "runs") };
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
    match args.json {
        true => output::print_json(&report)?,
        false => output::print(report.text(args.quiet))?,
    }
    report.verdict()
}
