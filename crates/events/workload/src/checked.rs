//! The result of reading a workload.

use super::fault::Faults;
use super::model::Workload;

/// A workload that may be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The workload.
    pub workload: Workload,
    /// Warnings: places where the file may not say what its author meant.
    pub warnings: Faults,
}
