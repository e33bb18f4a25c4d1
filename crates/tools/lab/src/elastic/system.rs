//! The systems that are measured.

use super::settings::Settings;
use crate::Failure;
use actinium::{Policy, prelude::System};

/// A system for one measurement.
pub(super) fn system(
    settings: &Settings,
    workers: usize,
    elastic: bool,
) -> Result<System, Failure> {
    let builder = System::builder().workers(workers).seats(settings.seats.clone());
    let builder = builder.policy(Policy::affine());
    Ok(builder.elastic(elastic).counters(false).build()?)
}
