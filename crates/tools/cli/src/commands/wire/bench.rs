//! `actinium wire bench`.

use actinium_app::Failure;
use actinium_app::output::{OutputArgs, ReportArgs};
use actinium_app::parse::one_of;
use actinium_app::setting::{Parsed, Setting};
use actinium_lab::wire::bench::{self, Settings, Which};
use actinium_lab::wire::report::Report;
use actinium_wire::Encoding;
use actinium_wire::link::ENCODING_VARIABLE;
use clap::ArgMatches;

/// The messages.
const MESSAGES: &[(&str, &str)] = &[
    ("control", "Three fields"),
    ("order", "Nested, strings, 20 items"),
    ("telemetry", "1,000 numbers"),
];

/// Arguments of `actinium wire bench`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// The encodings, separated by commas; 'all': every one [env: ACTINIUM_ENCODING]
    #[arg(long, value_name = "NAME,..", default_value = "all", value_parser = encodings)]
    encoding: Encodings,

    /// The messages: control (3 fields), order (nested, 20 items), telemetry (1,000 f64)
    #[arg(
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        default_value = "control,order,telemetry",
        value_parser = one_of::<Which>(MESSAGES)
    )]
    message: Vec<Which>,

    /// Milliseconds for each message in each encoding
    #[arg(long, value_name = "MS", default_value = "200", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    time: u64,

    /// Messages over the loopback link, per message and encoding; 0: no link
    #[arg(long, value_name = "N", default_value = "20000", value_parser = clap::value_parser!(u64).range(0..=100_000_000))]
    link_messages: u64,

    /// Checksums on the link's frames
    #[arg(long)]
    checksum: bool,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Debug)]
struct Encodings(Vec<Encoding>);

fn encodings(text: &str) -> Result<Encodings, String> {
    match text {
        "all" => Ok(Encodings(Encoding::ALL.to_vec())),
        list => list.split(',').map(str::parse).collect::<Result<_, _>>().map(Encodings),
    }
}

/// Measures, and prints.
///
/// # Errors
/// If a setting is not allowed, the measurement fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let chosen = Setting::parsed(args.encoding.clone(), matches, "encoding")
        .or_env(ENCODING_VARIABLE, encodings)?;
    args.report.check()?;
    let settings = Settings {
        encodings: chosen.value.0,
        messages: args.message.clone(),
        time_ms: args.time,
        link_messages: args.link_messages,
        checksum: args.checksum,
    };
    let report = bench::run(&settings)?;
    args.report.write(|| report.page())?;
    args.output.report(&report, Report::text)?;
    report.verdict()
}
