//! Many files of rows, one after the other.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::Fault;
use super::{DataError, Format, Rows};

/// The rows of a list of files, one file after the other, each in the format that its name says.
///
/// A file is opened when the one before it has been read. That all files are there, and that their
/// formats are known, is checked at once.
#[derive(Debug)]
pub struct Files<T> {
    left: VecDeque<PathBuf>,
    rows: Option<Rows<T>>,
}

impl<T: DeserializeOwned + Send + 'static> Files<T> {
    /// Takes a list of files.
    ///
    /// # Errors
    /// If one of them is not there, or its name says no format.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, DataError> {
        let left: VecDeque<PathBuf> =
            paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        for path in &left {
            Format::of(path)?;
            fs::metadata(path).map_err(|error| Fault::new(error).of(path))?;
        }
        Ok(Files { left, rows: None })
    }
}

impl<T: DeserializeOwned + Send + 'static> Iterator for Files<T> {
    type Item = Result<T, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.as_mut().and_then(Iterator::next) {
                return Some(row);
            }
            match Rows::open(self.left.pop_front()?) {
                Ok(rows) => self.rows = Some(rows),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
