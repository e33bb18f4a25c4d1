//! A workload over several nodes: each runs events of a shared queue, and the first keeps the queue
//! and runs the outputs.
//!
//! [`run()`] runs this process's part of a [`Job`]. On the first node it returns the
//! [`ClusterOutcome`], of which [`ClusterFigures`] makes the figures that a report shows.
//!
//! | module | what is in it |
//! |---|---|
//! | `queue` | which node runs which event: plain state without messages |
//! | `protocol` | the messages between coordinator and agents |
//! | `agent` | each node's actor: it feeds the node's processor |
//! | `coordinator` | the first node's actor: it keeps the queue and feeds the outputs |
//! | `node` | one node's part: its processors, its actors, its end |
//! | [`figures`] | the figures of a node, and those of several together |
//! | [`outcome`] | the outcome of a run |
//! | [`totals`] | the sums, rates and latencies of a run |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod agent;
mod coordinator;
pub mod figures;
mod job;
mod node;
pub mod outcome;
mod protocol;
mod queue;
pub mod totals;

pub use figures::NodeFigures;
pub use job::{ClusterStopper, EventLines, Job, Observer};
pub use outcome::{ClusterOutcome, Failed, Gone, RunOutcome};
pub use totals::{ClusterFigures, Levels, NodeTotals};

use actinium_cluster::fabric::Fabric;
use actinium_cluster::job::{JobError, Program};

/// Runs this process's part. None: another process tells what came of it.
///
/// # Errors
/// If a setting is not allowed, or a node fails.
pub fn run(job: &Job<'_>) -> Result<Option<ClusterOutcome>, JobError> {
    let observer = job.observer.clone();
    actinium_cluster::job::run(job.fabric.clone(), move |line| observer.note(line), job)
}

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
