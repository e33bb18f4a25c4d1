//! `actinium wire`.

use crate::Failure;
use crate::wire::{bench, convert, decode};
use clap::ArgMatches;

/// What it does, in `--help`.
pub(crate) const ABOUT: &str = "\
Encodings: measure what each costs, convert recorded streams, explain bytes.

The encodings are binary (compact, readable with the types only), self-describing (MessagePack), text (JSON, one message a line) and xml. \
ACTINIUM_ENCODING says in which of them a process's links speak. docs/wire.md has the formats.";

/// What can be typed after `actinium wire`.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Measure time and size of three messages in each encoding, by themselves and over a loopback link
    Bench(bench::Args),
    /// Convert a recorded stream to another encoding
    Convert(convert::Args),
    /// Explain bytes: frames, hellos, messages
    Decode(decode::Args),
}

/// Does what was asked.
///
/// # Errors
/// If it was asked wrongly, or fails.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    match &args.command {
        Command::Bench(args) => bench::run(args, matches),
        Command::Convert(args) => convert::run(args),
        Command::Decode(args) => decode::run(args),
    }
}
