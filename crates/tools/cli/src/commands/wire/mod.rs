//! `actinium wire`.

pub mod bench;
pub mod convert;
pub mod decode;
pub mod draw;
pub mod tap;
pub mod typescript;

use actinium_app::Failure;
use clap::ArgMatches;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Encodings and protocols: measure what each encoding costs, convert recorded streams, explain bytes, draw protocols, listen to a link, make clients.

The encodings are binary (compact, readable with the types only), self-describing (MessagePack), text (JSON, one message a line) and xml. \
ACTINIUM_ENCODING says in which of them a process's links speak. docs/wire.md has the formats.";

/// Arguments of `actinium wire`.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Measure time and size of three messages in each encoding, by themselves and over a loopback
    /// link
    Bench(bench::Args),
    /// Convert a recorded stream to another encoding
    Convert(convert::Args),
    /// Explain bytes: frames, hellos, messages
    Decode(decode::Args),
    /// Draw the protocols that a file of Rust declares
    Draw(draw::Args),
    /// Print the live messages of a program's nodes and gateways, or of a link
    #[command(long_about = tap::ABOUT)]
    Tap(Box<tap::Args>),
    /// Make a protocol's client in TypeScript, from what a gateway says of it
    #[command(name = "typescript")]
    TypeScript(typescript::Args),
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
        Command::Draw(args) => draw::run(args),
        Command::Tap(args) => tap::run(args),
        Command::TypeScript(args) => typescript::run(args),
    }
}
