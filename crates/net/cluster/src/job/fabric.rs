//! The fabric between the nodes of a job.

use super::environment::{Environment, of_this_process};
use super::join_error::JoinError;
use super::node::DOWN_AFTER;
use super::surroundings::{self, Build, Found, find};
use crate::link::LinkConfig;
use std::time::Duration;

/// The fabric that moves frames between the nodes of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobFabric {
    /// This number of nodes, all in this process.
    InProcess(u32),
    /// This process is a rank of an MPI job.
    #[cfg(feature = "mpi")]
    Mpi,
    /// This process is one of several that reach each other by Zenoh.
    #[cfg(feature = "zenoh")]
    Zenoh(Box<crate::fabric::zenoh::ZenohConfig>),
}

/// Whether a launcher of MPI, or Slurm, has started this process.
pub fn is_mpi_job() -> bool {
    surroundings::is_mpi_job(&Environment::new(&of_this_process))
}

impl JobFabric {
    /// Returns the fabric that joins this process to its job: the one that the environment's
    /// variables say. [`Node::join`](crate::Node::join) names them. A process that nobody has
    /// started as one of several is the only node.
    ///
    /// # Errors
    /// If a variable is missing or not allowed, or the fabric is not in this build.
    pub fn from_env() -> Result<Self, JoinError> {
        Self::of(find(&Environment::new(&of_this_process), Build::THIS)?)
    }

    fn of(found: Found) -> Result<Self, JoinError> {
        match found {
            Found::Alone => Ok(JobFabric::InProcess(1)),
            #[cfg(feature = "mpi")]
            Found::Mpi => Ok(JobFabric::Mpi),
            #[cfg(feature = "zenoh")]
            Found::Zenoh(asked) => {
                let fault = |fault| JoinError::of_setting(fault, |name| asked.variable(name));
                Ok(JobFabric::Zenoh(Box::new(asked.settings.config().map_err(fault)?)))
            }
            #[cfg(not(all(feature = "mpi", feature = "zenoh")))]
            _ => unreachable!("what this build lacks is not found"),
        }
    }

    /// Whether all nodes are in this process.
    pub fn is_in_process(&self) -> bool {
        matches!(self, JobFabric::InProcess(_))
    }

    /// Returns how long a node of the job may be silent before it is down. Over Zenoh that is what
    /// links have by default, so that a node that was killed is soon noticed. Elsewhere a node does
    /// not die alone, and a busy machine may keep one silent for longer.
    pub fn down_after(&self) -> Duration {
        match self.lets_join_later() {
            true => Duration::from_nanos(LinkConfig::default().down_after_ns),
            false => DOWN_AFTER,
        }
    }

    /// Whether nodes may join later than others, or once more.
    pub fn lets_join_later(&self) -> bool {
        match self {
            #[cfg(feature = "zenoh")]
            JobFabric::Zenoh(_) => true,
            _ => false,
        }
    }
}
