//! `actinium wire typescript`.

use actinium_app::Failure;
use actinium_app::output;
use actinium_lab::wire::file;
use actinium_wire::{Description, Encoding, Limits, typescript};
use std::io::Read;
use std::path::PathBuf;

/// Most bytes of a description.
const BYTES_MAX: u64 = 4 << 20;

/// Arguments of `actinium wire typescript`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Description of the protocol by a gateway, as JSON (curl http://HOST/NAME); '-' is stdin
    file: PathBuf,
}

/// Makes the client.
///
/// # Errors
/// If the file is no description, has what TypeScript has no counterpart for, or stdout can not be
/// written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let name = args.file.display();
    let asked = |problem: String| Failure::Asked(format!("{name}: {problem}"));
    let json = match args.file.as_os_str() == "-" {
        false => file::read(&args.file, BYTES_MAX)?,
        true => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().take(BYTES_MAX).read_to_end(&mut bytes);
            read.map_err(|error| asked(error.to_string()))?;
            bytes
        }
    };
    let decoded = Encoding::Text.decode_slice::<Description>(&json, &Limits::default());
    let description = decoded.map_err(|error| asked(error.to_string()))?;
    output::print(typescript::module(&description).map_err(asked)?)
}
