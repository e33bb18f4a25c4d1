//! The systems that are measured.

use super::settings::Settings;
use crate::Failure;
use actinium::prelude::System;

/// A system for one measurement.
pub(super) fn system(
    settings: &Settings,
    workers: usize,
    elastic: bool,
) -> Result<System, Failure> {
    let builder = System::builder().workers(workers).seats(settings.seats.clone());
    let builder = builder.policy(settings.policy.value);
    Ok(builder.elastic(elastic).counters(false).build()?)
}
