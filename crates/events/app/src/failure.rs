//! The failures of a program: each becomes one line on stderr and an exit code.

use crate::name::program;
use actinium_actor::{BuildError, WaitError};
use actinium_events::data::DataError;
use actinium_events::{GraphErrors, StartError};
use actinium_report::setting::WrongSetting;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// The reason why a program did not do what it was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The command line or the environment is wrong: exit code 2. The line names the flag or
    /// variable, its value and what is allowed.
    Asked(String),
    /// The program failed: exit code 1.
    Failed(String),
    /// A program that it had started ended with this exit code, which becomes its own.
    Ended {
        /// The exit code.
        code: u8,
        /// The name of the program, and the way in which it ended.
        what: String,
    },
    /// The reader of stdout has closed it, having seen enough: exit code 0, and nothing is printed.
    ReaderGone,
}

impl Failure {
    /// Writes the failure to stderr, behind the name of the program, and returns the exit code.
    pub fn report(&self) -> ExitCode {
        if *self != Failure::ReaderGone {
            // If nobody can read that either, the exit code has to do.
            let _ = writeln!(std::io::stderr(), "{}: {self}", program());
        }
        match self {
            Failure::Asked(_) => ExitCode::from(2),
            Failure::Failed(_) => ExitCode::from(1),
            Failure::Ended { code, .. } => ExitCode::from(*code),
            Failure::ReaderGone => ExitCode::SUCCESS,
        }
    }
}

/// One line, whatever stands in it: a value that was typed may hold line ends and control
/// characters.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Failure::Asked(text) | Failure::Failed(text) | Failure::Ended { what: text, .. } => {
                text
            }
            Failure::ReaderGone => "nobody reads the output any more",
        };
        text.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => write!(f, "{c}"),
        })
    }
}

impl std::error::Error for Failure {}

impl From<WrongSetting> for Failure {
    fn from(error: WrongSetting) -> Self {
        Failure::Asked(error.to_string())
    }
}

/// A file of events that can not be read or written is the wrong one.
impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Failure::Asked(error.to_string())
    }
}

/// A graph that does not fit together.
impl From<GraphErrors> for Failure {
    fn from(errors: GraphErrors) -> Self {
        Failure::Failed(errors.to_string())
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error.is_of_setting() {
            true => Failure::Asked(error.to_string()),
            false => Failure::Failed(error.to_string()),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line() {
        let failure = Failure::Asked("--policy: unknown policy 'a\nb\u{1b}[31m'".to_owned());
        assert_eq!(failure.to_string(), "--policy: unknown policy 'a\\nb\\u{1b}[31m'");
    }
}
