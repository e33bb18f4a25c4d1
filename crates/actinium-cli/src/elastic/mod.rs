//! What elastic workers cost, and how fast they come.
//!
//! [`pi`] compares them with as many workers as one would choose, [`burst`] measures how long it takes until a burst of work is on all
//! workers and what an idle system costs, [`hop`] whether actors that do nothing cost those that do; [`report`] shows.

pub mod burst;
pub mod hop;
pub mod pi;
pub mod report;
pub mod settings;

pub use settings::Settings;

use crate::Failure;
use actinium::{Policy, prelude::System};

/// A system for one measurement.
fn system(workers: usize, elastic: bool) -> Result<System, Failure> {
    let bound = crate::locality::settings::can_bind(workers)?;
    let builder = System::builder().workers(workers).bind(bound).policy(Policy::affine());
    Ok(builder.elastic(elastic).counters(false).build()?)
}
