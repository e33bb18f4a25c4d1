//! `actinium elastic`.

use super::tracing::TraceArgs;
use actinium::{Policy, Workers};
use actinium_app::BindArgs;
use actinium_app::Failure;
use actinium_app::output::{OutputArgs, ShowArgs};
use actinium_app::parse::{from_to, policy, workers};
use actinium_app::setting::{Parsed, Setting};
use actinium_lab::elastic::{self, Settings, report};
use clap::ArgMatches;

/// Most actors that share the series, and most that do nothing: each takes some hundred bytes.
const ACTORS_MAX: u64 = 1 << 24;
/// Most terms of the series, and most hops.
const COUNT_MAX: u64 = 1_000_000_000_000;
/// More runs than anybody waits for.
const REPEAT_MAX: u64 = 1_000;
/// Longest idle time, in milliseconds.
const IDLE_MAX: u64 = 60_000;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Measure what elastic workers cost and how fast they come.

Pi is computed by actors that each sum a share of the series in a closed loop, with 1 to --workers workers: all of them from the start, and \
elastic from one. Then bursts of work are sent to an elastic system at rest, which is afterwards left alone to see what rest costs; and two actors \
exchange messages while --bystanders others do nothing.";

/// Arguments of `actinium elastic`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// Most worker threads: Pi is computed with 1 to N; 'all': as many as the cpuset and the CPU
    /// quota allow [env: ACTINIUM_WORKERS]
    #[arg(long, value_name = "N|all", default_value = "all", value_parser = workers)]
    workers: Workers,

    #[command(flatten)]
    bind: BindArgs,

    /// Scheduling policy: affine, or affine with parameters, as affine,colocate_after=8
    /// [env: ACTINIUM_POLICY]
    #[arg(long, value_name = "POLICY", default_value = "affine", value_parser = policy)]
    policy: Policy,

    /// Terms of the series that sums up to Pi
    #[arg(long, value_name = "N", default_value = "200000000", value_parser = from_to::<1, COUNT_MAX>)]
    terms: u64,

    /// Actors that share the terms
    #[arg(long, value_name = "N", default_value = "100", value_parser = from_to::<1, 1_048_576>)]
    actors: u64,

    /// Messages by which each actor gets its share: the next is sent when the previous one is done
    #[arg(long, value_name = "N", default_value = "10", value_parser = from_to::<1, 1_048_576>)]
    slices: u64,

    /// Bursts of work, each on a system that has come to rest; 0: no burst and no idle test
    #[arg(long, value_name = "N", default_value = "20", value_parser = from_to::<0, REPEAT_MAX>)]
    bursts: u64,

    /// Milliseconds for which the system is left alone to see what CPU time it uses
    #[arg(long, value_name = "MS", default_value = "1000", value_parser = from_to::<1, IDLE_MAX>)]
    idle: u64,

    /// Numbers of actors that do nothing while two others exchange messages, separated by commas
    #[arg(long, value_name = "N,...", default_value = "0,8000,1000000", value_delimiter = ',', value_parser = from_to::<0, ACTORS_MAX>)]
    bystanders: Vec<u64>,

    /// Messages that those two exchange; 0: no such test
    #[arg(long, value_name = "N", default_value = "2000000", value_parser = from_to::<0, COUNT_MAX>)]
    hops: u64,

    /// Runs of each measurement, taking turns; figures are medians
    #[arg(long, value_name = "N", default_value = "5", value_parser = from_to::<1, REPEAT_MAX>)]
    repeat: u64,

    #[command(flatten)]
    trace: TraceArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    show: ShowArgs,
}

impl Args {
    /// The settings of this call: flag > environment > default.
    fn resolve(&self, matches: &ArgMatches) -> Result<Settings, Failure> {
        let number = |value: u64, id| Setting::parsed(value, matches, id);
        let workers = Setting::parsed(self.workers, matches, "workers")
            .or_env("ACTINIUM_WORKERS", workers)?;
        let settings = Settings {
            policy: Setting::parsed(self.policy, matches, "policy")
                .or_env("ACTINIUM_POLICY", policy)?,
            terms: number(self.terms, "terms"),
            actors: number(self.actors, "actors"),
            slices: number(self.slices, "slices"),
            bursts: number(self.bursts, "bursts"),
            idle_ms: number(self.idle, "idle"),
            bystanders: Setting::parsed(self.bystanders.clone(), matches, "bystanders"),
            hops: number(self.hops, "hops"),
            repeat: number(self.repeat, "repeat"),
            ..Settings::new(workers, self.bind.resolve(matches)?)?
        };
        settings.check()?;
        Ok(settings)
    }
}

/// Measures and prints the figures.
///
/// # Errors
/// If a setting is not allowed, a run fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let settings = args.resolve(matches)?;
    if args.show.show_settings {
        return args.output.settings(report::SCHEMA_VERSION, &settings, settings.rows());
    }
    let report = args.trace.during(|| elastic::run(settings, args.output.quiet))?;
    args.output.report(&report, report::Report::text)?;
    report.verdict()
}
