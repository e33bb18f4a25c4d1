//! `actinium completions`.

use actinium_app::Failure;
use actinium_app::output;
use clap::Command;
use clap_complete::Shell;

/// Arguments of `actinium completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  actinium completions bash > ~/.local/share/bash-completion/completions/actinium
  actinium completions fish > ~/.config/fish/completions/actinium.fish")]
pub struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the completions of the whole command.
///
/// # Errors
/// If stdout can not be written.
pub fn run(args: &Args, mut whole: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut whole, "actinium", &mut script);
    output::print(script)
}
