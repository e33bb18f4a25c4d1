//! `actinium wire bench`.

use super::loopback::{self, OnLink};
use super::measure::{self, Cost};
use super::{messages, monitor, report};
use crate::Failure;
use crate::output::{OutputArgs, ReportArgs};
use crate::setting::Setting;
use actinium_wire::link::ENCODING_VARIABLE;
use actinium_wire::{Encoding, Message};
use clap::{ArgMatches, ValueEnum};
use serde::Serialize;
use std::time::Duration;

/// What can be typed after `actinium wire bench`.
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
        default_value = "control,order,telemetry"
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

/// One of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Three fields.
    Control,
    /// Nested, strings, 20 items.
    Order,
    /// 1,000 numbers.
    Telemetry,
}

/// What was measured of one message in one encoding.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The message's name.
    pub message: &'static str,
    /// How it was encoded.
    pub encoding: Encoding,
    /// By itself.
    #[serde(flatten)]
    pub cost: Cost,
    /// Encode and decode, over binary's.
    pub cpu_to_binary: Option<f64>,
    /// Over binary's.
    pub bytes_to_binary: Option<f64>,
    /// On the link.
    pub link: Option<OnLink>,
    /// CPU time on the link, over binary's.
    pub link_cpu_to_binary: Option<f64>,
}

/// Measures, and prints.
///
/// # Errors
/// If a setting is not allowed, the measurement fails or stdout can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let chosen = Setting::parsed(args.encoding.clone(), matches, "encoding")
        .or_env(ENCODING_VARIABLE, encodings)?;
    args.report.check()?;
    let mut rows = Vec::new();
    for which in &args.message {
        let measured = match which {
            Which::Control => all(&messages::control(), &chosen.value.0, args),
            Which::Order => all(&messages::order(), &chosen.value.0, args),
            Which::Telemetry => all(&messages::telemetry(), &chosen.value.0, args),
        };
        rows.extend(measured.map_err(Failure::Failed)?);
    }
    let monitor_ns = monitor::cost(Duration::from_millis(args.time)).map_err(Failure::Failed)?;
    let report = report::Report::new(rows, monitor_ns, args.checksum, args.time);
    args.report.write(|| report.page())?;
    args.output.report(&report, report::Report::text)?;
    report.verdict()
}

fn all<M: Message + Clone + PartialEq + Sync>(
    message: &M,
    encodings: &[Encoding],
    args: &Args,
) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for &encoding in encodings {
        let cost = measure::cost(message, encoding, Duration::from_millis(args.time))?;
        let link = match args.link_messages {
            0 => None,
            count => Some(loopback::measure(message, encoding, count, args.checksum)?),
        };
        rows.push(Row {
            message: M::NAME,
            encoding,
            cost,
            cpu_to_binary: None,
            bytes_to_binary: None,
            link,
            link_cpu_to_binary: None,
        });
    }
    let binary = rows.iter().find(|row| row.encoding == Encoding::Binary).cloned();
    if let Some(binary) = binary {
        for row in &mut rows {
            row.cpu_to_binary = Some(row.cost.both_ns() / binary.cost.both_ns());
            row.bytes_to_binary = Some(row.cost.bytes as f64 / binary.cost.bytes as f64);
            row.link_cpu_to_binary = row
                .link
                .as_ref()
                .zip(binary.link.as_ref())
                .map(|(own, binary)| own.cpu_ns / binary.cpu_ns);
        }
    }
    Ok(rows)
}
