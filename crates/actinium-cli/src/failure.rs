//! How the command fails: one line on stderr and an exit code.

use actinium::BuildError;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// Why the command did not do what it was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// It was asked wrongly: exit code 2. The line names the flag or variable, its value and what is allowed.
    Asked(String),
    /// It failed: exit code 1.
    Failed(String),
    /// A program that it had started ended with this exit code, which becomes its own.
    Ended {
        /// The exit code.
        code: u8,
        /// Which, and how.
        what: String,
    },
    /// Whoever read stdout has gone, having seen enough: exit code 0, and nothing is said.
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

/// One line, whatever stands in it: a value that was typed may hold line ends and control characters.
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
