//! Commands that run on several nodes: what all of these share.
//!
//! [`settings`] say on which nodes and by which fabric, [`join`] how a process finds the others over Zenoh. [`run()`] runs this process's part of a
//! [`Program`], [`Started`] is a node that has joined. [`gather()`] brings to the first what all have to say, in [`pieces`] that fit in frames.

mod gather;
pub mod join;
pub mod pieces;
pub mod settings;
mod started;

pub use gather::gather;
pub use settings::{FabricArgs, FabricKind, Nodes, NodesArgs};
pub(crate) use started::failed;
pub use started::{DOWN_AFTER, MEETING, Started, config};

use crate::Failure;
use actinium_cluster::fabric::in_process::{InProcess, Network};
use actinium_cluster::fabric::{Fabric, NodeId};
use std::thread;

/// The node that tells what came of it, keeps queues, and is there in any cluster.
pub const FIRST: NodeId = NodeId(0);

/// What each node runs.
pub trait Program: Sync {
    /// What the first node makes of it.
    type Report: Send;

    /// Runs one node's part. None: another node tells what came of it.
    ///
    /// # Errors
    /// If the node can not be started, or fails.
    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<Self::Report>, Failure>;
}

/// Runs this process's part: of several nodes, if they are in this process. None: another process tells what came of it.
///
/// # Errors
/// If it was asked wrongly, or a node fails.
pub fn run<P: Program>(
    kind: FabricKind,
    nodes: &Nodes,
    program: &P,
) -> Result<Option<P::Report>, Failure> {
    match kind {
        FabricKind::InProcess => in_process(nodes.in_process(), program),
        FabricKind::Mpi => mpi(nodes, program),
        FabricKind::Zenoh => zenoh(nodes, program),
    }
}

/// What is to be said of how a node was started.
pub fn remark(kind: FabricKind) -> Option<&'static str> {
    let launchers = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_PROCID"];
    let is_launched = launchers.iter().any(|variable| std::env::var_os(variable).is_some());
    (kind == FabricKind::Mpi && !is_launched)
        .then_some("--fabric mpi outside mpiexec: a job of one node")
}

/// Several nodes of this process.
fn in_process<P: Program>(nodes: u32, program: &P) -> Result<Option<P::Report>, Failure> {
    let network = Network::new();
    // All join before any starts: so each knows all from the first.
    let fabrics: Vec<InProcess> = (0..nodes).map(|index| network.node(NodeId(index))).collect();
    let results: Vec<Result<Option<P::Report>, Failure>> = thread::scope(|scope| {
        let start = |fabric| scope.spawn(move || program.run(move || Ok(fabric)));
        let threads: Vec<_> = fabrics.into_iter().map(start).collect();
        let panicked = |_| Err(Failure::Failed("a node panicked".to_owned()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    let all = results.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    Ok(all.into_iter().flatten().next())
}

/// One rank of an MPI job.
#[cfg(feature = "mpi")]
fn mpi<P: Program>(nodes: &Nodes, program: &P) -> Result<Option<P::Report>, Failure> {
    if nodes.count.value.is_some() {
        let line = "--nodes: not allowed with --fabric mpi: mpiexec -n says how many there are";
        return Err(Failure::Asked(line.to_owned()));
    }
    program.run(actinium_cluster::fabric::mpi::Mpi::start)
}

#[cfg(not(feature = "mpi"))]
fn mpi<P: Program>(_nodes: &Nodes, _program: &P) -> Result<Option<P::Report>, Failure> {
    let line = "--fabric: 'mpi' is not in this build: it needs the feature mpi \
                (cargo build -p actinium-cli --features mpi)";
    Err(Failure::Asked(line.to_owned()))
}

/// One of several processes. The first tells what came of it.
#[cfg(feature = "zenoh")]
fn zenoh<P: Program>(nodes: &Nodes, program: &P) -> Result<Option<P::Report>, Failure> {
    use actinium_cluster::fabric::zenoh::{Zenoh, tell_notices};
    use std::sync::{Arc, Mutex, PoisonError};
    /// Of notices that only explain a failure, so many are kept.
    const KEPT: usize = 8;
    let Some(join) = &nodes.join else { unreachable!("settled for this fabric") };
    let config = join.config()?;
    let kept: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = kept.clone();
    // What is refused is told at once. That somebody is not there yet is normal, and only told of who never came.
    tell_notices(move |line| {
        let mut kept = keep.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().any(|known| known == line) || kept.len() == KEPT {
            return;
        }
        let is_refusal = ["refused:", "certificate", "alert", "number of its own"];
        if is_refusal.iter().any(|part| line.contains(part)) {
            crate::output::note(line);
        }
        kept.push(line.to_owned());
    });
    program.run(move || Zenoh::start(&config)).map_err(|failure| {
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        match (failure, kept.last()) {
            (Failure::Failed(line), Some(last)) => {
                Failure::Failed(format!("{line}; the last that was told of connections: {last}"))
            }
            (failure, _) => failure,
        }
    })
}

#[cfg(not(feature = "zenoh"))]
fn zenoh<P: Program>(_nodes: &Nodes, _program: &P) -> Result<Option<P::Report>, Failure> {
    let line = "--fabric: 'zenoh' is not in this build: it needs the feature zenoh \
                (cargo build -p actinium-cli --features zenoh)";
    Err(Failure::Asked(line.to_owned()))
}
