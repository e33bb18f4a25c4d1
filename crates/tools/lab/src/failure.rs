//! The error of all experiments.

use actinium::{BuildError, WaitError};
use std::fmt;
use std::io;
use std::time::Duration;

/// How long a system may take to come to rest when nothing more is asked of it.
pub const REST: Duration = Duration::from_secs(600);

/// Why an experiment was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A setting is not allowed. The text names the setting as the command's flag, its value, and
    /// what is allowed.
    Asked(String),
    /// The experiment failed.
    Failed(String),
    /// The output could not be written: the kind of error, and its text.
    Output(io::ErrorKind, String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Asked(text) | Failure::Failed(text) | Failure::Output(_, text) => {
                f.write_str(text)
            }
        }
    }
}

impl std::error::Error for Failure {}

impl From<WaitError> for Failure {
    fn from(error: WaitError) -> Self {
        Failure::Failed(format!("a defect of the runtime: {error}"))
    }
}

/// A setting that the system does not accept was asked wrongly; the rest is the machine's fault.
impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Setting { .. } => Failure::Asked(error.to_string()),
            _ => Failure::Failed(error.to_string()),
        }
    }
}
