//! The subcommands: each takes what was typed, and passes it on.

pub mod completions;
pub mod elastic;
pub mod events;
pub mod launch;
pub mod locality;
pub mod man;
pub mod memory;
pub mod probe;
pub mod sim;
pub mod topology;
pub mod wire;

use crate::Failure;
use crate::cli::Command;
use clap::ArgMatches;

/// Runs a subcommand.
///
/// # Errors
/// If it was asked wrongly, or fails.
pub fn run(command: &Command, matches: &ArgMatches) -> Result<(), Failure> {
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    match command {
        Command::Topology(args) => topology::run(args),
        Command::Events(args) => events::run(args, matches),
        Command::Memory(args) => memory::run(args, matches),
        Command::Probe(args) => probe::run(args, matches),
        Command::Launch(args) => launch::run(args),
        Command::Locality(args) => locality::run(args, matches),
        Command::Elastic(args) => elastic::run(args, matches),
        Command::Wire(args) => wire::run(args, matches),
        Command::Sim(args) => sim::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}
