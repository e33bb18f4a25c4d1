//! Writing rows, whatever the format.

use std::path::{Path, PathBuf};

use actinium_observe::file::NewFile;
use serde::{Serialize, de::DeserializeOwned};

use super::error::Fault;
use super::streams::Write;
use super::{DataError, Format, json_lines};

/// A file of rows, which appears when it is finished. If it is dropped before, or cannot be
/// written, whatever was there stays.
pub struct RowFile<T> {
    path: PathBuf,
    rows: Box<dyn Write<T>>,
    written: u64,
    /// The first error; after it the file cannot be finished.
    failed: Option<DataError>,
}

impl<T> std::fmt::Debug for RowFile<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct("RowFile");
        text.field("path", &self.path).field("written", &self.written).finish_non_exhaustive()
    }
}

// `DeserializeOwned`, because Arrow and Parquet want to know a row's fields before the first row,
// and serde tells them only by pretending to read one.
impl<T: Serialize + DeserializeOwned + 'static> RowFile<T> {
    /// Begins a file whose name says its format.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref();
        RowFile::create_as(path, Format::of(path)?)
    }

    /// Begins a file of this format, whatever its name.
    pub fn create_as(path: impl AsRef<Path>, format: Format) -> Result<Self, DataError> {
        let path = path.as_ref();
        let rows = create(path, format).map_err(|fault| fault.of(path))?;
        Ok(RowFile { path: path.to_owned(), rows, written: 0, failed: None })
    }

    /// Adds a row. After an error the file cannot be finished: a row in it may be half.
    pub fn write(&mut self, row: &T) -> Result<(), DataError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let written = self.rows.row(row).map_err(|mut fault| {
            fault.row.get_or_insert(self.written + 1);
            fault.of(&self.path)
        });
        match written {
            Ok(()) => {
                self.written += 1;
                Ok(())
            }
            Err(error) => {
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Puts the file in its place; answers with the number of rows.
    pub fn finish(self) -> Result<u64, DataError> {
        let RowFile { path, rows, written, failed } = self;
        if let Some(error) = failed {
            return Err(error);
        }
        let file = rows.end().map_err(|fault| fault.of(&path))?;
        file.finish().map_err(|error| Fault::new(error.cause).of(&path))?;
        Ok(written)
    }
}

fn create<T: Serialize + DeserializeOwned + 'static>(
    path: &Path,
    format: Format,
) -> Result<Box<dyn Write<T>>, Fault> {
    let file = || NewFile::create(path).map_err(|error| Fault::new(error.cause));
    Ok(match format {
        Format::JsonLines => Box::new(json_lines::Writer::new(file()?)),
        #[cfg(feature = "csv")]
        Format::Csv => Box::new(super::csv::Writer::new(file()?)),
        #[cfg(not(feature = "csv"))]
        Format::Csv => return Err(super::not_built("csv")),
        #[cfg(feature = "arrow")]
        Format::Arrow => Box::new(super::arrow::Writer::ipc::<T>(file()?)?),
        #[cfg(not(feature = "arrow"))]
        Format::Arrow => return Err(super::not_built("arrow")),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(super::parquet::write::<T>(file()?)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(super::not_built("parquet")),
    })
}
