//! The error of a wait for a run.

use std::fmt;

/// Why a run can not be waited for by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// A worker asked: it would wait for itself.
    OnWorker,
    /// The run is on a test system, which runs only when the test drives it.
    VirtualTime,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaitError::OnWorker => {
                "a worker can not wait for a run of its own system, for it would wait for itself: await the run, or wait on another thread"
            }
            WaitError::VirtualTime => {
                "a test system runs only when it is driven: drive it, then take the run's summary"
            }
        })
    }
}

impl std::error::Error for WaitError {}
