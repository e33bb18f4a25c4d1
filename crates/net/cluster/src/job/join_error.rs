//! Errors of a program that joins its job.

use super::error::JobError;
use crate::node::StartError;
use std::fmt;

/// A setting that is missing or not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinFault {
    /// The setting is missing.
    Missing {
        /// The setting, as the flag has it: `tls-ca`.
        setting: &'static str,
        /// The meaning of the setting, for people.
        what: &'static str,
    },
    /// The setting's value is not allowed.
    Wrong {
        /// The setting, as the flag has it.
        setting: String,
        /// The value, and what is allowed.
        problem: String,
    },
}

impl fmt::Display for JoinFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinFault::Missing { setting, what } => write!(f, "{setting}: needed: {what}"),
            JoinFault::Wrong { setting, problem } => write!(f, "{setting}: {problem}"),
        }
    }
}

impl std::error::Error for JoinFault {}

/// Why a program did not join its job ([`Node::join`](crate::Node::join)).
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// An environment variable is missing that others need.
    Missing {
        /// The variable.
        variable: String,
        /// Its meaning, for people.
        what: &'static str,
    },
    /// An environment variable's value is not allowed.
    Wrong {
        /// The variable.
        variable: String,
        /// Its value, and what is allowed.
        problem: String,
    },
    /// The job needs a fabric that is not in this build.
    Feature {
        /// The feature of `actinium` (and of `actinium-cluster`) that the program lacks.
        feature: &'static str,
        /// The variable that says so, with its value: `OMPI_COMM_WORLD_SIZE=4`.
        said_by: String,
    },
    /// The node did not start.
    Start(StartError),
}

impl JoinError {
    pub(super) fn wrong(variable: &str, problem: impl Into<String>) -> Self {
        JoinError::Wrong { variable: variable.to_owned(), problem: problem.into() }
    }

    /// A setting of Zenoh is missing or not allowed. `variable` knows which variable had it.
    pub(super) fn of_setting(fault: JoinFault, variable: impl Fn(&str) -> String) -> Self {
        match fault {
            JoinFault::Missing { setting, what } => {
                JoinError::Missing { variable: variable(setting), what }
            }
            JoinFault::Wrong { setting, problem } => {
                JoinError::Wrong { variable: variable(&setting), problem }
            }
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Missing { variable, what } => {
                let setter = match variable.starts_with("SLURM_") {
                    true => "srun",
                    false => "actinium launch",
                };
                write!(f, "{variable}: needed: {what} ('{setter}' sets it)")
            }
            JoinError::Wrong { variable, problem } => write!(f, "{variable}: {problem}"),
            JoinError::Feature { feature, said_by } => write!(
                f,
                "{said_by}: this process belongs to a job of several, and '{feature}' is not in \
                 this build: it needs the feature {feature} (cargo build --features {feature}), or \
                 ACTINIUM_FABRIC=in-process to run alone"
            ),
            JoinError::Start(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<StartError> for JoinError {
    fn from(error: StartError) -> Self {
        JoinError::Start(error)
    }
}

impl From<JoinError> for JobError {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Start(error) => JobError::failed(error),
            _ => JobError::Setting(error.to_string()),
        }
    }
}
