//! `actinium memory`: what faulting a segment in costs at start-up, and what its placement is worth.
//!
//! [`arguments`] are what can be typed; [`startup`] runs no-op programs ([`child`]) and [`startup_report`] shows their times; [`stream`]
//! runs the STREAM kernels and [`stream_report`] shows their rates, [`stream_nodes`] and [`stream_nodes_report`] do so for several nodes.

pub mod arguments;
pub mod child;
pub mod startup;
pub mod startup_report;
pub mod stream;
pub mod stream_nodes;
pub mod stream_nodes_report;
pub mod stream_report;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 1;

use crate::Failure;
use actinium_memory::MemoryError;

/// A segment that was asked for wrongly, or that this machine does not have.
pub(crate) fn failure(error: MemoryError) -> Failure {
    match error {
        error if error.is_bad_request() => Failure::Asked(error.to_string()),
        // Who asks for more than there is has asked wrongly, too: nothing was touched.
        error @ MemoryError::TooLarge { .. } => Failure::Asked(format!("--size: {error}")),
        error => Failure::Failed(error.to_string()),
    }
}
