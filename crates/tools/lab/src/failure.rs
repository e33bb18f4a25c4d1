//! The error of all experiments.

pub use actinium_app::Failure;
use std::time::Duration;

/// How long a system may take to come to rest when nothing more is asked of it.
pub const REST: Duration = Duration::from_secs(600);
