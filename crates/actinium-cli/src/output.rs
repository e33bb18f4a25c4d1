//! stdout. Its reader may go when it has seen enough (`actinium probe | head -3`): that is no failure.

use crate::Failure;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};

/// Writes text to stdout.
///
/// # Errors
/// If it cannot be written; [`Failure::ReaderGone`] if nobody reads it any more.
pub fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()).map_err(failure)
}

/// Writes a value as JSON to stdout.
///
/// # Errors
/// As [`print()`].
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::Failed(format!("can not write JSON: {error}")))?;
    print(text + "\n")
}

/// Writes a line to stderr. If nobody can read that, there is nobody to tell.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr(), "actinium: {line}");
}

/// What it means that stdout could not be written.
pub(crate) fn failure(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Failed(format!("can not write to stdout: {error}")),
    }
}
