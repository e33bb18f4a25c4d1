//! `actinium wire convert`.

use super::{FILE_BYTES_MAX, read};
use crate::{Failure, output};
use actinium_wire::recording::{Recording, append_hello, append_message};
use actinium_wire::{Encoding, Limits, Value};
use std::path::PathBuf;

/// What can be typed after `actinium wire convert`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The recorded stream
    file: PathBuf,

    /// What the file is expected to hold; without it, whatever it holds
    #[arg(long, value_name = "ENCODING", value_parser = encoding)]
    from: Option<Encoding>,

    /// What is to be written: binary, self-describing, text or xml
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
    let name = args.file.display();
    let limits = Limits { frame_bytes: u32::MAX as usize, ..Limits::default() };
    let recording = Recording::read(read(&args.file, FILE_BYTES_MAX)?.into(), &limits)
        .map_err(|error| Failure::Asked(format!("{name}: {error}")))?;
    let mut out = Vec::new();
    let failed = |problem: String| Failure::Failed(format!("{name}: {problem}"));
    append_hello(args.to, &recording.hello, &mut out).map_err(failed)?;
    let mut message = Vec::new();
    for (index, recorded) in recording.messages.iter().enumerate() {
        let (number, offset) = (index + 1, recorded.offset);
        let problem = |problem: String| {
            Failure::Asked(format!("{name}: message {number} at offset {offset}: {problem}"))
        };
        if let Some(from) = args.from.filter(|from| *from != recorded.encoding) {
            let line = format!("expected {from} (--from), found {}", recorded.encoding);
            return Err(problem(line));
        }
        let schema = &recording.hello.schema;
        let value = Value::decode(recorded.encoding, &recorded.payload, schema, &limits)
            .map_err(|error| problem(error.to_string()))?;
        message.clear();
        value.encode(args.to, &mut message).map_err(|error| problem(error.to_string()))?;
        append_message(args.to, &message, &mut out).map_err(problem)?;
    }
    match &args.output {
        None => output::print(out),
        Some(path) => std::fs::write(path, out)
            .map_err(|error| Failure::Failed(format!("{}: {error}", path.display()))),
    }
}
