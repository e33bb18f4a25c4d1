//! The settings of a run over several nodes, and what it tells and is told meanwhile.

use crate::outcome::EventLines;
use actinium_cluster::job::{JobError, JobFabric};
use actinium_events::Settings;
use actinium_workload::Workload;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A workload that several nodes run together. Each is given the same.
pub struct Job<'a> {
    /// The fabric between the nodes.
    pub fabric: JobFabric,
    /// The workload.
    pub workload: &'a Workload,
    /// The workload's name in messages.
    pub name: String,
    /// Events in all.
    pub events: u64,
    /// The settings of each node's processors. Their order is that of all outputs, and what they
    /// say of errors holds for the whole run.
    pub processor: Settings,
    /// The settings that, beside the workload, decide the result of the run. A node with other
    /// settings is refused, and the refusal quotes this text.
    pub asked: String,
    /// How many nodes there are from the start, if that is known.
    pub nodes: Option<u32>,
    /// Takes a line for each event; the first node takes it.
    pub lines: Mutex<Option<EventLines>>,
    /// How long a node may be silent before it is down.
    pub down_after: Duration,
    /// Events that are over, as far as the first node knows; it writes it.
    pub progress: Arc<AtomicU64>,
    /// The program that runs this.
    pub observer: Arc<dyn Observer>,
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The program that runs a job: it is told what happens, and can stop it.
pub trait Observer: Send + Sync {
    /// Takes a line for people: who came, who went.
    fn note(&self, line: &str);

    /// A node of this process is about to run events. What this returns is called now and then with
    /// the number of events that are over, and is dropped when the node's events are.
    ///
    /// # Errors
    /// End the node.
    fn begin(
        &self,
        node: u32,
        stopper: ClusterStopper,
    ) -> Result<Box<dyn FnMut(u64) + Send>, JobError>;
}

/// Stops a run over several nodes.
pub struct ClusterStopper(pub(crate) Box<dyn Fn(bool) + Send + Sync>);

impl ClusterStopper {
    /// Ends the queue: no more events are begun, on any node.
    pub fn stop(&self) {
        (self.0)(true);
    }

    /// Ends what runs on this node as soon as its modules return.
    pub fn stop_now(&self) {
        (self.0)(false);
    }
}

impl fmt::Debug for ClusterStopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterStopper")
    }
}
