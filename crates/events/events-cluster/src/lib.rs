//! A graph over several nodes: each runs events of a shared queue, and the first keeps the queue
//! and runs the outputs.
//!
//! [`ClusterProcessor`] runs a program's own graph on the nodes of its job.
//!
//! With the feature `replay`, [`run()`] runs this process's part of a [`Job`], which replays a
//! workload. On the first node it returns the [`ClusterOutcome`], of which [`ClusterFigures`] makes
//! the figures that a report shows.
//!
//! | module | what is in it |
//! |---|---|
//! | `queue` | which node runs which event: plain state without messages |
//! | `protocol` | the messages between coordinator and agents |
//! | `parts` | what a node runs: a replay, or a program's own graph |
//! | `inbox` | what feeds a graph |
//! | `agent` | each node's actor: it feeds the node's graph |
//! | `coordinator` | the first node's actor: it keeps the queue and feeds the outputs |
//! | `known` | the nodes that the coordinator knows |
//! | `reader`, `feeding` | a source at the first node, whose events are shared out |
//! | `launch` | a node's graphs and actors, ready to run |
//! | `processor`, `own` | a program's own graph |
//! | `node`, `replay` | one node's part of a replay |
//! | `ending` | waiting for the end |
//! | [`figures`] | the figures of a node, and those of several together |
//! | [`outcome`] | the outcome of a run |
//! | [`totals`] | the sums, rates and latencies of a run |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod agent;
mod coordinator;
mod ending;
mod feeding;
pub mod figures;
mod inbox;
#[cfg(feature = "replay")]
mod job;
mod known;
mod launch;
#[cfg(feature = "replay")]
mod node;
pub mod outcome;
mod own;
mod parts;
mod processor;
mod protocol;
mod queue;
mod reader;
#[cfg(feature = "replay")]
mod replay;
pub mod totals;

pub use figures::NodeFigures;
#[cfg(feature = "replay")]
pub use job::{ClusterStopper, Job, Observer};
pub use outcome::{ClusterOutcome, EventLines, Failed, Gone, RunOutcome};
pub use processor::{ClusterProcessor, ClusterRunning};
pub use totals::{ClusterFigures, Levels, NodeTotals};

#[cfg(feature = "replay")]
use actinium_cluster::fabric::Fabric;
#[cfg(feature = "replay")]
use actinium_cluster::job::{JobError, Program};

/// Runs this process's part. None: another process tells what came of it.
///
/// # Errors
/// If a setting is not allowed, or a node fails.
#[cfg(feature = "replay")]
pub fn run(job: &Job<'_>) -> Result<Option<ClusterOutcome>, JobError> {
    let observer = job.observer.clone();
    actinium_cluster::job::run(job.fabric.clone(), move |line| observer.note(line), job)
}

#[cfg(feature = "replay")]
impl Program for Job<'_> {
    type Report = ClusterOutcome;
    type Error = JobError;

    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<ClusterOutcome>, JobError> {
        node::run(self, fabric)
    }
}
