//! Errors of the nodes of a job.

use actinium_actor::{BuildError, WaitError};
use std::fmt;

/// Why a node did not do its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobError {
    /// A setting is not allowed: which, its value, and what is allowed.
    Setting(String),
    /// A node could not be started, or failed.
    Failed(String),
}

impl JobError {
    /// A node failed in this way.
    pub fn failed(error: impl fmt::Display) -> Self {
        JobError::Failed(error.to_string())
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::Setting(text) | JobError::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for JobError {}

impl From<BuildError> for JobError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Setting { .. } => JobError::Setting(error.to_string()),
            _ => JobError::failed(error),
        }
    }
}

impl From<WaitError> for JobError {
    fn from(error: WaitError) -> Self {
        JobError::Failed(format!("a defect of the runtime: {error}"))
    }
}

/// An error of a program that nodes run.
pub trait ProgramError: From<JobError> + Send {
    /// Adds what the fabric said last of its connections: it may be the cause of a failure.
    #[must_use]
    fn explained_by(self, notice: &str) -> Self;
}

impl ProgramError for JobError {
    fn explained_by(self, notice: &str) -> Self {
        match self {
            JobError::Failed(line) => {
                let told = "the last that was told of connections";
                JobError::Failed(format!("{line}; {told}: {notice}"))
            }
            JobError::Setting(_) => self,
        }
    }
}
