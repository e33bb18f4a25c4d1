//! `actinium wire decode`.

use super::convert::encoding;
use actinium_app::Failure;
use actinium_app::output;
use actinium_lab::wire::decode;
use actinium_lab::wire::file::{FILE_BYTES_MAX, read};
use actinium_wire::Encoding;
use std::io::Read;
use std::path::PathBuf;

/// Arguments of `actinium wire decode`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Hexadecimal digits, with white space anywhere; '-': from stdin
    #[arg(required_unless_present = "file")]
    hex: Vec<String>,

    /// Take the bytes of this file instead
    #[arg(long, value_name = "FILE", conflicts_with = "hex")]
    file: Option<PathBuf>,

    /// The bytes are one message in this encoding, without a frame
    #[arg(long, value_name = "ENCODING", value_parser = encoding)]
    encoding: Option<Encoding>,

    /// A recording, whose hello says what the messages look like
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
}

/// Explains.
///
/// # Errors
/// If there is nothing that can be explained, or stdout can not be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let bytes = bytes(args)?;
    let schema = args
        .schema
        .as_ref()
        .map(|path| decode::schema(&path.display().to_string(), read(path, FILE_BYTES_MAX)?));
    let (table, explained) = decode::explain(&bytes, args.encoding, schema.transpose()?);
    output::print(table.to_string())?;
    explained
}

fn bytes(args: &Args) -> Result<Vec<u8>, Failure> {
    if let Some(path) = &args.file {
        return read(path, FILE_BYTES_MAX);
    }
    let mut text = args.hex.concat();
    if text == "-" {
        text.clear();
        let read = std::io::stdin().lock().take(FILE_BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| Failure::Asked(format!("stdin: {error}")))?;
    }
    decode::bytes(&text)
}
