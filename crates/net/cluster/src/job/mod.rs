//! The processes of a job: one program, of which each node runs its part.
//!
//! [`Node::join`](crate::Node::join) makes a program's system a node of the job that its process
//! belongs to, as [`JobFabric::from_env`] finds out. The rest is for programs whose first node
//! reports on all.
//!
//! [`run()`] joins this process to the others and runs its part of a [`Program`]. A [`JobNode`] is
//! a node that has joined, with its system of actors. [`gather()`] brings to the first node what
//! all have to say, in [`pieces`] that fit in frames.
//!
//! ```
//! use actinium_actor::System;
//! use actinium_cluster::fabric::Fabric;
//! use actinium_cluster::job::{self, JobError, JobFabric, JobNode, Program};
//!
//! /// Each node says its number; the first one knows all.
//! struct Numbers;
//!
//! impl Program for Numbers {
//!     type Report = Vec<u32>;
//!     type Error = JobError;
//!
//!     fn run<F: Fabric + 'static>(
//!         &self,
//!         fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
//!     ) -> Result<Option<Vec<u32>>, JobError> {
//!         let system = System::builder().workers(1).build()?;
//!         let node = JobNode::join(system, job::config(job::DOWN_AFTER)?, fabric, |_| ())?;
//!         let team = node.team("numbers")?;
//!         job::gather(&node, &team, node.id().0)
//!     }
//! }
//!
//! let all = job::run(JobFabric::InProcess(3), |_| (), &Numbers)?;
//! assert_eq!(all, Some(vec![0, 1, 2]));
//! # Ok::<(), JobError>(())
//! ```

mod environment;
mod error;
mod fabric;
mod gather;
mod join;
mod join_error;
mod join_node;
mod node;
pub mod pieces;
mod pod;
mod slurm;
mod surroundings;

pub use error::{JobError, ProgramError};
pub use fabric::{JobFabric, is_mpi_job};
pub use gather::gather;
pub use join::JoinSettings;
pub use join_error::{JoinError, JoinFault};
pub use node::{DOWN_AFTER, FIRST, JobNode, MEETING, config};

use crate::fabric::in_process::{InProcess, Network};
use crate::fabric::{Fabric, NodeId};
use std::thread;

/// The program that each node of a job runs.
pub trait Program: Sync {
    /// The report that the first node makes of the run.
    type Report: Send;
    /// How a node fails.
    type Error: ProgramError;

    /// Runs one node's part. None: another node tells what came of it.
    ///
    /// # Errors
    /// If the node can not be started, or fails.
    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<Self::Report>, Self::Error>;
}

/// Runs this process's part: of several nodes, if they are in this process. None: another process
/// tells what came of it.
///
/// `note` is told, a line at a time and on any thread, who is refused a connection (Zenoh).
///
/// # Errors
/// If a node can not be started, or fails.
pub fn run<P: Program>(
    fabric: JobFabric,
    note: impl Fn(&str) + Send + Sync + 'static,
    program: &P,
) -> Result<Option<P::Report>, P::Error> {
    match fabric {
        JobFabric::InProcess(nodes) => {
            drop(note);
            in_process(nodes, program)
        }
        #[cfg(feature = "mpi")]
        JobFabric::Mpi => program.run(crate::fabric::mpi::Mpi::start),
        #[cfg(feature = "zenoh")]
        JobFabric::Zenoh(config) => zenoh(*config, note, program),
    }
}

/// Several nodes of this process.
fn in_process<P: Program>(nodes: u32, program: &P) -> Result<Option<P::Report>, P::Error> {
    let network = Network::new();
    // All join before any starts: so each knows all from the first.
    let fabrics: Vec<InProcess> = (0..nodes).map(|index| network.node(NodeId(index))).collect();
    let results: Vec<Result<Option<P::Report>, P::Error>> = thread::scope(|scope| {
        let start = |fabric| scope.spawn(move || program.run(move || Ok(fabric)));
        let threads: Vec<_> = fabrics.into_iter().map(start).collect();
        let panicked = |_| Err(JobError::failed("a node panicked").into());
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    let all = results.into_iter().collect::<Result<Vec<_>, P::Error>>()?;
    Ok(all.into_iter().flatten().next())
}

/// One of several processes. The first tells what came of it.
#[cfg(feature = "zenoh")]
fn zenoh<P: Program>(
    config: crate::fabric::zenoh::ZenohConfig,
    note: impl Fn(&str) + Send + Sync + 'static,
    program: &P,
) -> Result<Option<P::Report>, P::Error> {
    use crate::fabric::zenoh::{Zenoh, tell_notices};
    use std::sync::{Arc, Mutex, PoisonError};
    /// The number of notices, of those that only explain a failure, that are kept.
    const KEPT: usize = 8;
    let kept: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = kept.clone();
    // What is refused is told at once. That somebody is not there yet is normal, and only told of
    // who never came.
    tell_notices(move |line| {
        let mut kept = keep.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().any(|known| known == line) || kept.len() == KEPT {
            return;
        }
        let is_refusal = ["refused:", "certificate", "alert", "number of its own"];
        if is_refusal.iter().any(|part| line.contains(part)) {
            note(line);
        }
        kept.push(line.to_owned());
    });
    program.run(move || Zenoh::start(&config)).map_err(|failure| {
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.last() {
            Some(last) => failure.explained_by(last),
            None => failure,
        }
    })
}
