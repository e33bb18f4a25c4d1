//! Programs that run on several nodes: their flags, and the fabric between the nodes.
//!
//! [`NodesArgs`] say on which nodes and by which fabric, and how a process finds the others over
//! Zenoh. [`fabric()`] makes a job's fabric of them, over which [`actinium_cluster::job::run`] runs
//! a program. [`Terminal`] shows a workload that
//! [`actinium_events_cluster::run`] runs.
//!
//! ```no_run
//! use actinium_app::nodes::{self, FabricKind, Nodes, NodesArgs};
//! use actinium_app::{Failure, clap, output};
//! use actinium_cluster::job;
//! # use actinium_cluster::fabric::Fabric;
//! # use actinium_cluster::job::{JobError, Program};
//! # struct Work;
//! # impl Program for Work {
//! #     type Report = u32;
//! #     type Error = JobError;
//! #     fn run<F: Fabric + 'static>(
//! #         &self,
//! #         _: impl FnOnce() -> Result<F, String> + Send + 'static,
//! #     ) -> Result<Option<u32>, JobError> {
//! #         Ok(None)
//! #     }
//! # }
//!
//! #[derive(clap::Parser)]
//! struct Args {
//!     #[command(flatten)]
//!     nodes: NodesArgs,
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     actinium_app::main(|args: Args, matches| {
//!         let nodes = Nodes::resolve(&args.nodes, matches)?;
//!         let kind = nodes.fabric.value.unwrap_or(FabricKind::InProcess);
//!         let report = job::run(nodes::fabric(kind, &nodes)?, output::note, &Work)?;
//!         // None: another process of the job has the report.
//!         report.map_or(Ok(()), |report| output::print(format!("{report}\n")))
//!     })
//! }
//! ```

mod join;
mod settings;
mod terminal;

pub use join::{Join, JoinArgs};
pub use settings::{FabricArgs, FabricKind, Nodes, NodesArgs};
pub use terminal::Terminal;

use crate::Failure;
use actinium_cluster::job::{self, JobError, JobFabric, ProgramError};
use actinium_cluster::route::Route;

/// The fabric of a job, as the flags have it.
///
/// # Errors
/// If it was asked wrongly, or is not in this build.
pub fn fabric(kind: FabricKind, nodes: &Nodes) -> Result<JobFabric, Failure> {
    match kind {
        FabricKind::InProcess => Ok(JobFabric::InProcess(nodes.in_process())),
        FabricKind::Mpi => mpi(nodes),
        FabricKind::Zenoh => zenoh(nodes),
    }
}

/// Parses a route of messages through the nodes of a cluster.
///
/// # Errors
/// If there is no such route.
pub fn route(text: &str) -> Result<Route, String> {
    let named = Route::ALL.into_iter().find(|route| route.name() == text);
    named.ok_or_else(|| format!("'{text}' is not allowed: direct, 2d, 3d"))
}

/// Returns a remark on how the nodes were started, if there is one.
pub fn remark(kind: FabricKind) -> Option<&'static str> {
    (kind == FabricKind::Mpi && !job::is_mpi_job())
        .then_some("--fabric mpi outside mpiexec: a job of one node")
}

/// Returns a remark for a process without `--fabric` that a launcher has started as one of several:
/// each would do the whole by itself.
pub fn remark_alone() -> Option<&'static str> {
    let is_one_of_several = job::is_mpi_job() || std::env::var_os("ACTINIUM_NODE").is_some();
    is_one_of_several.then_some(
        "this process is one of several, and does the whole by itself, as each of them does: \
         with --fabric they share it",
    )
}

/// Returns the MPI fabric, for one rank of an MPI job.
#[cfg(feature = "mpi")]
fn mpi(nodes: &Nodes) -> Result<JobFabric, Failure> {
    if nodes.count.value.is_some() {
        let line = "--nodes: not allowed with --fabric mpi: mpiexec -n says how many there are";
        return Err(Failure::Asked(line.to_owned()));
    }
    Ok(JobFabric::Mpi)
}

#[cfg(not(feature = "mpi"))]
fn mpi(_nodes: &Nodes) -> Result<JobFabric, Failure> {
    let line = "--fabric: 'mpi' is not in this build: it needs the feature mpi \
                (cargo build --features mpi)";
    Err(Failure::Asked(line.to_owned()))
}

/// Returns the Zenoh fabric, for one of several processes.
#[cfg(feature = "zenoh")]
fn zenoh(nodes: &Nodes) -> Result<JobFabric, Failure> {
    let Some(join) = &nodes.join else { unreachable!("resolved for this fabric") };
    Ok(JobFabric::Zenoh(Box::new(join.config()?)))
}

#[cfg(not(feature = "zenoh"))]
fn zenoh(_nodes: &Nodes) -> Result<JobFabric, Failure> {
    let line = "--fabric: 'zenoh' is not in this build: it needs the feature zenoh \
                (cargo build --features zenoh)";
    Err(Failure::Asked(line.to_owned()))
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Setting(line) => Failure::Asked(line),
            JobError::Failed(line) => Failure::Failed(line),
        }
    }
}

impl ProgramError for Failure {
    fn explained_by(self, notice: &str) -> Self {
        match self {
            Failure::Failed(line) => JobError::Failed(line).explained_by(notice).into(),
            other => other,
        }
    }
}
