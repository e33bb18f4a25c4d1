//! `--output`: a line for each event, in the order in which its outputs ran.

use crate::Failure;
use actinium_events::replay::part::Sights;
use actinium_observe::file::NewFile;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file, which appears when it is whole.
#[derive(Debug)]
pub struct Written {
    path: PathBuf,
    file: BufWriter<NewFile>,
    error: Option<std::io::Error>,
}

/// What the ends of an event's paths saw, in one number.
pub fn sum(sights: &Sights) -> u64 {
    sights.iter().fold(0, |sum, (_, seen)| sum.wrapping_add(*seen))
}

impl Written {
    /// Begins it.
    ///
    /// # Errors
    /// If it can not be made there.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let asked = |error| Failure::Asked(format!("--output: {error}"));
        let mut file = BufWriter::new(NewFile::create(path).map_err(asked)?);
        let error = writeln!(file, "event,checksum").err();
        Ok(Written { path: path.to_owned(), file, error })
    }

    /// An event, with the checksum of what its paths' ends saw. Nothing is written after an error, which [`Written::finish`] tells.
    pub fn line(&mut self, event: u64, checksum: u64) {
        if self.error.is_none() {
            self.error = writeln!(self.file, "{event},{checksum:016x}").err();
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// If not all could be written: then there is no file.
    pub fn finish(mut self) -> Result<(), Failure> {
        let failed = |error: String| Failure::Failed(format!("--output: {error}"));
        let path = self.path.display().to_string();
        let in_file = |error: std::io::Error| failed(format!("{path}: {error}"));
        if let Some(error) = self.error.take() {
            return Err(in_file(error));
        }
        let file = self.file.into_inner().map_err(|error| in_file(error.into_error()))?;
        file.finish().map_err(|error| failed(error.to_string()))
    }
}
