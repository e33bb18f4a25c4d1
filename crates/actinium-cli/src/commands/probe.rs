//! `actinium probe`.

use crate::probe::settings::ProbeArgs;
use crate::probe::{Settings, report, run};
use crate::setting::SettingsReport;
use crate::{Failure, output};
use clap::ArgMatches;

/// What it does, in `--help`.
pub(crate) const ABOUT: &str = "\
Measure throughput and delivery latency of messages between many actors.

Each actor sends PING to the next of the others, round robin from a random start, and waits for its PING_REPLY, with at \
most --in-flight requests outstanding; each answers the PINGs of the others. It ends when every actor has had its \
--messages replies. Pings and replies both count as messages: each is delivered and handled.

Latencies are true ones, from send to handling, of a sample of the sends (the report says how many). The elapsed time leaves out start-up and \
warm-up. Where the period of a worker or actor is given, it is 1 / throughput, which is no latency.";

/// What can be typed after `actinium probe`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    #[command(flatten)]
    probe: ProbeArgs,

    /// Print JSON, with a schema_version, instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print the table only: no progress bar on stderr, no remarks below the table
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,

    /// Print each setting, its value and where that came from (flag, env, default), and end
    #[arg(long, help_heading = "Output")]
    show_settings: bool,
}

/// Runs the probe and prints its figures.
///
/// # Errors
/// If a setting is not allowed, the run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let settings = Settings::settle(&args.probe, matches)?;
    if args.show_settings {
        return match args.json {
            true => output::print_json(&SettingsReport::new(report::SCHEMA_VERSION, &settings)),
            false => output::print(settings.table().to_string()),
        };
    }
    let outcome = run::run(&settings, args.quiet)?;
    let report = report::Report::new(settings, &outcome);
    match args.json {
        true => output::print_json(&report)?,
        false => output::print(report.text(args.quiet))?,
    }
    report.verdict()
}
