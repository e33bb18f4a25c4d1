//! The `actinium` command.
//!
//! | module | what it is |
//! |---|---|
//! | [`cli`] | what can be typed |
//! | [`commands`] | one file per subcommand: it wires, and has no logic of its own |
//!
//! Flags that several subcommands share, failures, signals and output are `actinium-app`'s.
//!
//! stdout is data, stderr is chatter. Exit codes: 0 done, 1 it failed, 2 it was asked wrongly.

pub mod cli;
pub mod commands;

use std::process::ExitCode;

/// Runs the command with this process's arguments.
pub fn main() -> ExitCode {
    actinium_app::main(|cli: cli::Cli, matches| {
        cli.observe()?;
        cli.command.run(matches)
    })
}
