//! `actinium explain`.

use actinium::monitor::{Finding, Flight, ReadError, Recording, diagnose, diagnose_run};
use actinium_app::{Failure, output};
use clap::ValueHint;
use serde::Serialize;
use std::path::Path;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Say in words what is wrong with a program: which actor is stuck or starves, whose mailbox grows, who holds back whom, what \
bounds the throughput, and what to do about it.

It reads what a flight recorder has written, or the recording of a run, or asks a program that runs. A program that is linked with \
the feature 'monitor' keeps its last seconds if ACTINIUM_FLIGHT names a file, and writes them on a panic, when nothing moves, and on \
SIGUSR1. So does each command of this one.";

/// The version of what `--json` prints.
const SCHEMA_VERSION: u32 = 1;

/// Arguments of `actinium explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ACTINIUM_FLIGHT=flight.json actinium probe & kill -USR1 $!
  actinium explain flight.json
  actinium explain 127.0.0.1:7070 --json

Exit code: 0, whether something is wrong or not; 2 if FILE can not be read or nobody answers at ADDRESS.")]
pub struct Args {
    /// A flight recorder's file, a recording of a run (ACTINIUM_REPORT=run.json), or the address of
    /// a program that serves its last seconds.
    #[arg(value_name = "FILE|ADDRESS", value_hint = ValueHint::FilePath)]
    what: String,
    /// The token that the program at ADDRESS asks for.
    #[arg(long, env = "ACTINIUM_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Explained<'a> {
    schema_version: u32,
    /// What was read: `flight` or `recording`.
    of: &'static str,
    /// The length of what was looked at.
    seconds: f64,
    /// Why a flight recorder has written it.
    reason: Option<&'a str>,
    findings: &'a [Finding],
}

/// Prints what is wrong.
///
/// # Errors
/// If the file can not be read, or nobody answers.
pub fn run(args: &Args) -> Result<(), Failure> {
    let asked = |error: ReadError| Failure::Asked(error.to_string());
    let path = Path::new(&args.what);
    if !path.exists() && is_address(&args.what) {
        let flight = Flight::fetch(&args.what, args.token.as_deref()).map_err(asked)?;
        return print_flight(args, &flight);
    }
    let text = std::fs::read(path);
    let text = text.map_err(|cause| asked(ReadError::Io { path: path.to_owned(), cause }))?;
    if Flight::is_one(&text) {
        return print_flight(args, &Flight::parse(&text, path).map_err(asked)?);
    }
    let recording = Recording::read(path).map_err(asked)?;
    let seconds = recording.samples.last().map_or(0.0, |it| it.at_s);
    let findings = diagnose_run(&recording);
    print(args, &Explained { of: "recording", seconds, reason: None, findings: &findings, ..NONE })
}

/// Nothing was read.
const NONE: Explained<'static> =
    Explained { schema_version: SCHEMA_VERSION, of: "", seconds: 0.0, reason: None, findings: &[] };

/// Whether it has the form of an address, and not of a file.
fn is_address(what: &str) -> bool {
    let port = what.rsplit_once(':').map(|(_, port)| port.trim_end_matches('/'));
    what.starts_with("http://") || port.is_some_and(|port| port.parse::<u16>().is_ok())
}

fn print_flight(args: &Args, flight: &Flight) -> Result<(), Failure> {
    let reason = Some(flight.reason.text.as_str());
    let (seconds, findings) = (flight.seconds(), diagnose(flight));
    print(args, &Explained { of: "flight", seconds, reason, findings: &findings, ..NONE })
}

fn print(args: &Args, explained: &Explained<'_>) -> Result<(), Failure> {
    if args.json {
        return output::print_json(explained);
    }
    let Explained { of, seconds, reason, findings, .. } = explained;
    let why = reason.map_or_else(String::new, |reason| format!(", written because: {reason}"));
    let mut text = format!("{seconds:.1} s of a {of}{why}\n");
    if findings.is_empty() {
        text += "\nNothing is found to be wrong.\n";
        if *of == "recording" {
            text += "A recording shows few ills: a flight recorder's file shows more.\n";
        }
    }
    findings.iter().for_each(|finding| text += &format!("\n{finding}\n"));
    output::print(text)
}
