//! `actinium wire convert`.

use actinium_app::Failure;
use actinium_app::output;
use actinium_lab::wire::convert::convert;
use actinium_lab::wire::file::{FILE_BYTES_MAX, read};
use actinium_wire::Encoding;
use std::path::PathBuf;

/// Arguments of `actinium wire convert`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The recorded stream
    file: PathBuf,

    /// Encoding that the file is expected to hold; without it, any
    #[arg(long, value_name = "ENCODING", value_parser = encoding)]
    from: Option<Encoding>,

    /// Encoding to write: binary, self-describing, text or xml
    #[arg(long, value_name = "ENCODING", value_parser = encoding)]
    to: Encoding,

    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn encoding(name: &str) -> Result<Encoding, String> {
    name.parse()
}

/// Converts. Nothing is written unless all of it could be converted.
///
/// # Errors
/// If the file is no recording, holds something else than was said, or can not be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let recorded = read(&args.file, FILE_BYTES_MAX)?;
    let out = convert(&args.file.display().to_string(), recorded, args.from, args.to)?;
    match &args.output {
        None => output::print(out),
        Some(path) => std::fs::write(path, out)
            .map_err(|error| Failure::Failed(format!("{}: {error}", path.display()))),
    }
}
