//! `--output`: a line for each event, in the order in which its outputs ran.

use crate::Failure;
use actinium_observe::file::NewFile;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The file, which appears when it is whole.
#[derive(Debug)]
pub struct Written {
    path: PathBuf,
    file: BufWriter<NewFile>,
    error: Option<std::io::Error>,
}

impl Written {
    /// Creates the file.
    ///
    /// # Errors
    /// If it can not be made there.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        Self::with_heading(path, "event,checksum")
    }

    /// Creates the file for a job, whose events have no checksums.
    ///
    /// # Errors
    /// If it can not be made there.
    pub fn of_job(path: &Path) -> Result<Self, Failure> {
        Self::with_heading(path, "event")
    }

    fn with_heading(path: &Path, heading: &str) -> Result<Self, Failure> {
        let asked = |error| Failure::Asked(format!("--output: {error}"));
        let mut file = BufWriter::new(NewFile::create(path).map_err(asked)?);
        let error = writeln!(file, "{heading}").err();
        Ok(Written { path: path.to_owned(), file, error })
    }

    /// An event, and in a replay the checksum of what its paths' ends saw. Nothing is written after
    /// an error, which [`Written::finish`] tells.
    pub fn line(&mut self, event: u64, checksum: Option<u64>) {
        if self.error.is_none() {
            let written = match checksum {
                Some(checksum) => writeln!(self.file, "{event},{checksum:016x}"),
                None => writeln!(self.file, "{event}"),
            };
            self.error = written.err();
        }
    }

    /// Writes lines to a file that is shared, until it is taken.
    pub fn lines(file: &Arc<Mutex<Option<Self>>>) -> Box<dyn FnMut(u64, u64) + Send> {
        let file = file.clone();
        Box::new(move |event, checksum| {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.iter_mut().for_each(|file| file.line(event, Some(checksum)));
        })
    }

    /// Takes a file that is shared.
    pub fn take(file: &Mutex<Option<Self>>) -> Option<Self> {
        file.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Completes the file.
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
