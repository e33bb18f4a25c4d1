//! The result of reading a workload.

use super::fault::Faults;
use super::job::Job;
use super::model::Workload;

/// A workload that may be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The workload.
    pub workload: Workload,
    /// What it asks of the program's own types of modules; `None` if its modules are only times.
    pub job: Option<Job>,
    /// Warnings: places where the file may not say what its author meant.
    pub warnings: Faults,
}
