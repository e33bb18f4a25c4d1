//! Reading rows, whatever the format.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::Fault;
use super::streams::Read;
use super::{DataError, Format, json_lines};

/// The rows of a file, one after the other.
///
/// A row that cannot be read is an error in its place; where the format allows it, the next row is
/// read all the same, so that the caller decides whether to stop.
pub struct Rows<T> {
    path: PathBuf,
    rows: Box<dyn Read<T>>,
}

impl<T> std::fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<T: DeserializeOwned + Send + 'static> Rows<T> {
    /// Opens a file whose name says its format.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref();
        Rows::open_as(path, Format::of(path)?)
    }

    /// Opens a file of this format, whatever its name.
    pub fn open_as(path: impl AsRef<Path>, format: Format) -> Result<Self, DataError> {
        let path = path.as_ref();
        let rows = open(path, format).map_err(|fault| fault.of(path))?;
        Ok(Rows { path: path.to_owned(), rows })
    }
}

impl<T> Iterator for Rows<T> {
    type Item = Result<T, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next().map(|row| row.map_err(|fault| fault.of(&self.path)))
    }
}

fn open<T: DeserializeOwned + Send + 'static>(
    path: &Path,
    format: Format,
) -> Result<Box<dyn Read<T>>, Fault> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(Fault::new("it is a folder, not a file"));
    }
    Ok(match format {
        Format::JsonLines => Box::new(json_lines::Reader::new(file)),
        #[cfg(feature = "csv")]
        Format::Csv => Box::new(super::csv::Reader::new(file)?),
        #[cfg(not(feature = "csv"))]
        Format::Csv => return Err(super::not_built("csv")),
        #[cfg(feature = "arrow")]
        Format::Arrow => Box::new(super::arrow::Reader::ipc(file)?),
        #[cfg(not(feature = "arrow"))]
        Format::Arrow => return Err(super::not_built("arrow")),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(super::parquet::read(file)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(super::not_built("parquet")),
    })
}
