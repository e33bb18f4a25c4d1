//! `actinium man`.

use actinium_app::Failure;
use actinium_app::output;
use clap::Command;
use clap_mangen::Man;

/// Arguments of `actinium man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  actinium man probe | man -l -
  actinium man > ~/.local/share/man/man1/actinium.1")]
pub struct Args {
    /// The command that the page is about; without it, `actinium` itself.
    // `cli` says which there are.
    command: Option<String>,
}

/// Prints the page of the whole command, or of a subcommand.
///
/// # Errors
/// If stdout can not be written.
pub fn run(args: &Args, mut root: Command) -> Result<(), Failure> {
    root.build();
    let about = args.command.as_deref().and_then(|name| root.find_subcommand(name).cloned());
    let command = about.unwrap_or(root);
    let mut page = Vec::new();
    Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::Failed(format!("can not make the page: {error}")))?;
    output::print(page)
}
