//! The probe over several nodes: each has its workers and actors, and actors ping those of all nodes.
//!
//! [`actors`] are what is measured, [`join`] says how a process finds the others, [`node`] is one node's part, [`figures`] are what a node has measured, and [`report`] shows those of all.

pub mod actors;
pub mod figures;
pub mod join;
pub mod node;
pub mod report;

use super::settings::{FabricKind, Placement, Settings};
use crate::Failure;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Network;
use figures::NodeFigures;
use report::ClusterReport;
use std::thread;

/// Runs this process's part of the probe. None: another process shows what all have measured.
///
/// # Errors
/// If it was asked wrongly, or a node fails.
pub fn run(kind: FabricKind, settings: &Settings) -> Result<Option<ClusterReport>, Failure> {
    check(settings)?;
    match kind {
        FabricKind::InProcess => in_process(settings).map(Some),
        FabricKind::Mpi => mpi(settings),
        FabricKind::Zenoh => zenoh(settings),
    }
}

/// What the probe of one node can and that of several can not.
fn check(settings: &Settings) -> Result<(), Failure> {
    if settings.placement.value != Placement::Policy {
        let line = "--placement: 'spread' is not allowed with --fabric: policy";
        return Err(Failure::Asked(line.to_owned()));
    }
    if settings.repeat.value > 1 {
        let repeat = settings.repeat.value;
        return Err(Failure::Asked(format!(
            "--repeat: '{repeat}' is not allowed with --fabric: 1"
        )));
    }
    Ok(())
}

/// Several nodes of this process.
fn in_process(settings: &Settings) -> Result<ClusterReport, Failure> {
    let network = Network::new();
    let nodes = settings.nodes.value.unwrap_or(DEFAULT_NODES);
    // All join before any starts: so each knows all from the first.
    let fabrics: Vec<_> = (0..nodes).map(|index| network.node(NodeId(index))).collect();
    let results: Vec<Result<Vec<NodeFigures>, Failure>> = thread::scope(|scope| {
        let start = |fabric| scope.spawn(move || node::run(settings, move || Ok(fabric)));
        let threads: Vec<_> = fabrics.into_iter().map(start).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|result| {
                result.unwrap_or_else(|_| Err(Failure::Failed("a node panicked".to_owned())))
            })
            .collect()
    });
    let mut all = results.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    Ok(ClusterReport::new(settings.clone(), "in-process", all.swap_remove(0), None))
}

/// Nodes of a process, if nothing is said.
const DEFAULT_NODES: u32 = 2;

/// One rank of an MPI job.
#[cfg(feature = "mpi")]
fn mpi(settings: &Settings) -> Result<Option<ClusterReport>, Failure> {
    if settings.nodes.value.is_some() {
        let line = "--nodes: not allowed with --fabric mpi: mpiexec -n says how many there are";
        return Err(Failure::Asked(line.to_owned()));
    }
    let all = node::run(settings, actinium_cluster::fabric::mpi::Mpi::start)?;
    let launchers = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_PROCID"];
    let is_launched = launchers.iter().any(|variable| std::env::var_os(variable).is_some());
    let remark = (!is_launched).then_some("--fabric mpi outside mpiexec: a job of one node");
    let is_root = all.first().is_some_and(|first| first.is_own);
    Ok(is_root.then(|| ClusterReport::new(settings.clone(), "mpi", all, remark)))
}

#[cfg(not(feature = "mpi"))]
fn mpi(_settings: &Settings) -> Result<Option<ClusterReport>, Failure> {
    let line = "--fabric: 'mpi' is not in this build: it needs the feature mpi \
                (cargo build -p actinium-cli --features mpi)";
    Err(Failure::Asked(line.to_owned()))
}

/// One of several processes. The first shows what all have measured.
#[cfg(feature = "zenoh")]
fn zenoh(settings: &Settings) -> Result<Option<ClusterReport>, Failure> {
    use actinium_cluster::fabric::zenoh::{Zenoh, tell_notices};
    use std::sync::{Arc, Mutex, PoisonError};
    /// Of notices that only explain a failure, so many are kept.
    const KEPT: usize = 8;
    let Some(join) = &settings.join else { unreachable!("settled for this fabric") };
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
    let is_root = config.node == NodeId(0);
    let all = node::run(settings, move || Zenoh::start(&config)).map_err(|failure| {
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        match (failure, kept.last()) {
            (Failure::Failed(line), Some(last)) => {
                Failure::Failed(format!("{line}; the last that was told of connections: {last}"))
            }
            (failure, _) => failure,
        }
    })?;
    Ok(is_root.then(|| ClusterReport::new(settings.clone(), "zenoh", all, None)))
}

#[cfg(not(feature = "zenoh"))]
fn zenoh(_settings: &Settings) -> Result<Option<ClusterReport>, Failure> {
    let line = "--fabric: 'zenoh' is not in this build: it needs the feature zenoh \
                (cargo build -p actinium-cli --features zenoh)";
    Err(Failure::Asked(line.to_owned()))
}
