//! A program from its arguments to its exit code.

use crate::{Failure, usage};
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// Parses the arguments of this process, calls the program with them, and returns its exit code: 0
/// if it is done, 1 if it failed, 2 if it was asked wrongly. A failure is one line on stderr.
///
/// The program also gets what clap has matched, which says of each value whether a flag gave it.
pub fn main<P: Parser>(program: impl FnOnce(P, &ArgMatches) -> Result<(), Failure>) -> ExitCode {
    main_of(<P as CommandFactory>::command(), program)
}

/// Like [`main`], for a command that is put together.
pub(crate) fn main_of<P: FromArgMatches>(
    command: Command,
    program: impl FnOnce(P, &ArgMatches) -> Result<(), Failure>,
) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match run(&command, &arguments, program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run<P: FromArgMatches>(
    command: &Command,
    arguments: &[OsString],
    program: impl FnOnce(P, &ArgMatches) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let matches = match command.clone().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return usage::explain(&error, command, arguments),
    };
    let parsed = <P as FromArgMatches>::from_arg_matches(&matches)
        .map_err(|error| usage::failure(&error, command, arguments))?;
    program(parsed, &matches)
}
