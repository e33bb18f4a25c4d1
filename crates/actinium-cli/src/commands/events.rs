//! `actinium events`.

use crate::events::settings::{EventsArgs, SettingsReport, Sweep, sweep};
use crate::events::{Settings, load, plan, validate};
use crate::{Failure, output};
use clap::ArgMatches;
use std::path::PathBuf;

/// What it does, in `--help`.
pub(crate) const ABOUT: &str = "\
Run a workload of event processing: read it, plan it, run it, report on it.

A workload is a graph of modules with the time that each takes for each event, and paths that need some of them. Each event is run through \
the modules that its paths need; --slots events are in flight at a time. Modules that compute keep a worker busy for their time, \
modules that wait hold no thread. docs/events.md has the formats.";

/// What can be typed after `actinium events`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  actinium events workloads/imaging.toml --plan
  actinium events workloads/reconstruction.toml --time-scale 0.01 --report report.html
  actinium events reco.config --mode wait --slots 1024 --events 4096
  actinium events reco.config --sweep slots=1,2,4,8 --time-scale 0.01 --report scaling.html"
)]
pub struct Args {
    #[command(flatten)]
    events: EventsArgs,

    /// Check the file, print all that is wrong with it, and end
    #[arg(long, help_heading = "Instead of running", conflicts_with_all = ["plan", "sweep", "report"])]
    validate: bool,

    /// Print modules, levels, times, critical path, limits and the ideal rate, and end
    #[arg(long, help_heading = "Instead of running", conflicts_with_all = ["sweep", "report"])]
    plan: bool,

    /// Run once for each number of slots, and compare with perfect scaling
    #[arg(long, value_name = "slots=N,N,...", value_parser = sweep, conflicts_with = "slots")]
    sweep: Option<Sweep>,

    /// Write a report to this file: one page of HTML that needs nothing else
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Print JSON, with a schema_version, instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print the tables only: no progress bar, no remarks
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,

    /// Print each setting, its value and where that came from (flag, env, file, default), and end
    #[arg(long, help_heading = "Output")]
    show_settings: bool,
}

/// Does what was asked.
///
/// # Errors
/// If a setting or the file is not allowed, the run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    if args.validate {
        return validate::run(&args.events, args.json);
    }
    let (mut workload, warnings) = load::read(&args.events)?;
    let settings = Settings::settle(&args.events, matches, &workload.options, &workload.source)?;
    if args.show_settings {
        return match args.json {
            true => output::print_json(&SettingsReport::new(&settings)),
            false => output::print(settings.table().to_string()),
        };
    }
    load::bend(&mut workload, &settings)?;
    if !args.quiet && !args.json && !warnings.list().is_empty() {
        let count = warnings.list().len();
        let file = args.events.config.display();
        output::note(&format!("{file}: warnings: {count}; --validate lists them"));
    }
    if args.plan {
        return plan::run(&workload, &settings, args.json);
    }
    Ok(())
}
