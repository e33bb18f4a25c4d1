//! The traits that each format implements: a reader and a writer of rows.

use actinium_observe::file::NewFile;

use super::error::Fault;

/// Rows of one format, in order. After the end it stays at the end.
pub(super) trait Read<T>: Send {
    /// The next row. An error after which nothing can be read ends the file.
    fn next(&mut self) -> Option<Result<T, Fault>>;
}

/// Rows of one format on their way to a file.
pub(super) trait Write<T>: Send {
    /// Takes a row.
    fn row(&mut self, row: &T) -> Result<(), Fault>;
    /// Writes what is still to be written, and answers with the file.
    fn end(self: Box<Self>) -> Result<NewFile, Fault>;
}
