//! A workload that has been read.

use actinium_workload::job::Job;
use actinium_workload::{Faults, Workload};

/// A workload, and what its file asks of the program's own types of modules.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The workload.
    pub workload: Workload,
    /// Its own types, unless it is replayed.
    pub job: Option<Job>,
    /// Places where the file may not say what its author meant.
    pub warnings: Faults,
}
