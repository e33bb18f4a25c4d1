//! Errors in files of events, with their place.

use std::fmt;
use std::path::{Path, PathBuf};

/// An error in a file of events, with its place. The text reads `muons.jsonl:17:34: muons[1].pt:
/// invalid type: ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataError {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1, in a file that has lines.
    pub line: Option<u64>,
    /// The column in bytes, counted from 1.
    pub column: Option<u64>,
    /// The row, counted from 1 and without a heading.
    pub row: Option<u64>,
    /// The field, as `muons[1].pt`.
    pub field: Option<String>,
    /// A description of the error.
    pub cause: String,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match (self.line, self.column, self.row) {
            (Some(line), Some(column), _) => write!(f, ":{line}:{column}")?,
            (Some(line), None, _) => write!(f, ":{line}")?,
            (None, _, Some(row)) => write!(f, ": row {row}")?,
            (None, _, None) => {}
        }
        if let Some(field) = &self.field {
            write!(f, ": {field}")?;
        }
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for DataError {}

/// A [`DataError`] before the file's name is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Fault {
    pub(super) line: Option<u64>,
    pub(super) column: Option<u64>,
    pub(super) row: Option<u64>,
    pub(super) field: Option<String>,
    pub(super) cause: String,
}

impl Fault {
    pub(super) fn new(cause: impl fmt::Display) -> Fault {
        Fault { cause: cause.to_string(), ..Fault::default() }
    }

    pub(super) fn of(self, path: &Path) -> DataError {
        let Fault { line, column, row, field, cause } = self;
        DataError { path: path.to_owned(), line, column, row, field, cause }
    }
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault::new(error)
    }
}
