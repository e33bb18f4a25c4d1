//! A workload over several nodes: each runs events of a shared queue, and the first keeps the queue and runs the outputs.
//!
//! [`queue`] says who runs what, [`host`] is its actor, on the first node; [`guest`] is each node's own, [`words`] is what they say to each other. [`node`] is
//! one node's part, [`figures`] are what a node has measured, [`report`] and [`page`] show those of all.

pub mod figures;
pub mod guest;
pub mod host;
pub mod node;
pub mod page;
pub mod queue;
pub mod report;
pub mod words;

use super::Settings;
use super::written::Written;
use crate::Failure;
use crate::nodes::{self, FabricKind, Program};
use actinium_cluster::fabric::Fabric;
use actinium_events::workload::Workload;
use report::ClusterOutcome;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is run.
#[derive(Debug)]
pub struct Job<'a> {
    /// The fabric.
    pub kind: FabricKind,
    /// The workload, bent as the flags want.
    pub workload: &'a Workload,
    /// All settings.
    pub settings: &'a Settings,
    /// Whether there is no progress bar.
    pub quiet: bool,
    /// Where a line goes for each event: the first node takes it.
    pub written: Mutex<Option<Written>>,
    /// A node that is not heard for so long is down.
    pub down_after: Duration,
    /// Events that are over, as far as the first node knows; it writes it.
    pub progress: Arc<AtomicU64>,
}

/// Runs this process's part. None: another process tells what came of it.
///
/// # Errors
/// If it was asked wrongly, or a node fails.
pub fn run(job: &Job<'_>) -> Result<Option<ClusterOutcome>, Failure> {
    nodes::run(job.kind, &job.settings.nodes, job)
}

impl Program for Job<'_> {
    type Report = ClusterOutcome;

    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<ClusterOutcome>, Failure> {
        node::run(self, fabric)
    }
}
