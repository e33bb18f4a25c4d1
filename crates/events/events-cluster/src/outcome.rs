//! The outcome of a run over several nodes.

use crate::figures::NodeFigures;
use actinium_cluster::RemoteDownReason;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::job::JobError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Takes, for each event in the order in which its outputs ran, its number and a checksum of what
/// the ends of its paths saw.
pub type EventLines = Box<dyn FnMut(u64, u64) + Send>;

/// The outcome of a run over several nodes.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterOutcome {
    /// The outcome of the whole run, as the queue has it.
    pub run: RunOutcome,
    /// Nodes that went down on the way.
    pub gone: Vec<Gone>,
    /// Figures of the others, in order.
    pub nodes: Vec<NodeFigures>,
}

impl ClusterOutcome {
    /// Makes an error of a run in which anything failed. One that was stopped has not failed, nor
    /// has one of which nodes went down.
    ///
    /// # Errors
    /// If anything failed: the first of it.
    pub fn into_result(self) -> Result<Self, JobError> {
        match (&self.run.error, self.run.failures.first()) {
            (Some(error), _) => Err(JobError::failed(error)),
            (None, Some(first)) => Err(JobError::failed(first)),
            (None, None) if self.run.failed > 0 => {
                Err(JobError::failed(format!("{} events failed", self.run.failed)))
            }
            (None, None) => Ok(self),
        }
    }
}

/// A module's failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// On which node.
    pub node: u32,
    /// The event's number.
    pub event: u64,
    /// The module's label.
    pub module: String,
    /// The module's error message.
    pub cause: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failed { node, event, module, cause } = self;
        write!(f, "event {event} failed on node {node} in module '{module}': {cause}")
    }
}

/// A node that went down before it had told its figures.
#[derive(Clone, Debug, Serialize)]
pub struct Gone {
    /// The node's number.
    pub node: u32,
    /// The reason why it is down.
    pub why: String,
    /// The number of its events that were given to other nodes.
    pub given_again: u64,
}

/// The outcome of a run, as the queue has it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunOutcome {
    /// Events that went through.
    pub done: u64,
    /// Events that failed.
    pub failed: u64,
    /// Events that were given to a node and given up.
    pub abandoned: u64,
    /// Whether somebody wanted it to stop.
    pub interrupted: bool,
    /// What ended it before all events were over, if something did: the source, a transition, the
    /// outputs or a node's graph has failed.
    pub error: Option<String>,
    /// The time from when the first event was given to a node until the outputs of the last had
    /// run.
    pub elapsed: Duration,
    /// The first failures.
    pub failures: Vec<Failed>,
    /// Events that each node had, for those that are gone, too.
    pub ran: BTreeMap<u32, u64>,
    /// The nodes that will send their figures.
    pub members: Vec<u32>,
    /// Of a replay: mixes what the ends of all events' paths saw.
    pub checksum: u64,
}

/// Why a node's actor is gone.
pub(crate) fn why_down(node: NodeId, reason: &RemoteDownReason) -> String {
    match reason {
        RemoteDownReason::NodeDown(Some(reason)) => reason.to_string(),
        RemoteDownReason::NodeDown(None) => "it went down".to_owned(),
        RemoteDownReason::Ended(_) => "its part of the run has ended".to_owned(),
        RemoteDownReason::Failed(why) => why.clone(),
        reason => format!("{node}: {reason:?}"),
    }
}
