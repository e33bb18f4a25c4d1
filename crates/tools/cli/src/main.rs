//! The `actinium` command: see the library `actinium_cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    actinium_cli::main()
}
