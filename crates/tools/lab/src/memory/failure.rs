//! Errors of segments, as an experiment's.

use crate::Failure;
use actinium_memory::MemoryError;

/// A segment that was asked for wrongly, or that this machine does not have.
pub fn failure(error: MemoryError) -> Failure {
    match error {
        error if error.is_bad_request() => Failure::Asked(error.to_string()),
        // Who asks for more than there is has asked wrongly, too: nothing was touched.
        error @ MemoryError::TooLarge { .. } => Failure::Asked(format!("--size: {error}")),
        error => Failure::Failed(error.to_string()),
    }
}
