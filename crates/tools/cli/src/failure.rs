//! The failures of the command: each becomes one line on stderr and an exit code.

use actinium::{BuildError, WaitError};
use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Why the command did not do what it was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The command line or the environment is wrong: exit code 2. The line names the flag or
    /// variable, its value and what is allowed.
    Asked(String),
    /// The command failed: exit code 1.
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
    /// Says so on stderr. If nobody can read that either, the exit code has to do.
    pub fn report(&self) -> ExitCode {
        if *self != Failure::ReaderGone {
            let _ = writeln!(std::io::stderr(), "actinium: {self}");
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

impl From<actinium_lab::Failure> for Failure {
    fn from(failure: actinium_lab::Failure) -> Self {
        match failure {
            actinium_lab::Failure::Asked(text) => Failure::Asked(text),
            actinium_lab::Failure::Output(ErrorKind::BrokenPipe, _) => Failure::ReaderGone,
            other => Failure::Failed(other.to_string()),
        }
    }
}

impl From<WaitError> for Failure {
    fn from(error: WaitError) -> Self {
        actinium_lab::Failure::from(error).into()
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        actinium_lab::Failure::from(error).into()
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
