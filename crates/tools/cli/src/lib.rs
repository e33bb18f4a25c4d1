//! The `actinium` command.
//!
//! | module | what it is |
//! |---|---|
//! | [`cli`] | what can be typed |
//! | [`commands`] | one file per subcommand: it wires, and has no logic of its own |
//! | [`events`] | event-processing workloads: settings, plan, the run, the report |
//! | [`launch`] | several processes of one program: their settings, their output, their end |
//! | [`nodes`] | commands on several nodes: their settings, how a process joins the others |
//! | [`bind`] | to which PUs workers are bound |
//! | [`setting`] | a setting's value and where it came from: flag > environment > file > default |
//! | [`usage`] | what was asked wrongly, in one line |
//! | [`output`] | stdout, whose reader may have gone |
//!
//! stdout is data, stderr is chatter. Exit codes: 0 done, 1 it failed, 2 it was asked wrongly.

pub mod bind;
pub mod cli;
pub mod commands;
pub mod events;
pub mod failure;
pub mod launch;
pub mod nodes;
pub mod output;
pub mod parse;
pub mod setting;
pub mod usage;

use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::process::ExitCode;

pub use failure::Failure;

/// Runs the command with these arguments, the program's name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(arguments: &[OsString]) -> Result<(), Failure> {
    let parsed = cli::Cli::command().try_get_matches_from(arguments);
    let matches = match parsed {
        Ok(matches) => matches,
        Err(error) => return usage::explain(&error, arguments),
    };
    let cli =
        cli::Cli::from_arg_matches(&matches).map_err(|error| usage::failure(&error, arguments))?;
    cli.command.run(&matches)
}
