//! Event-processing workloads.
//!
//! [`settings`] say what is run and how, [`load`] reads the workload and bends it as the flags
//! want, [`validate`] and [`plan`] show what is known before it runs. [`run`] and [`sweep`] run it
//! while a [`sampler`](actinium_observe::process::sampler) looks on; [`report`] and [`page`] show
//! what came of it, [`written`] keeps it event by event. [`cluster`] does all that over several
//! nodes.

pub mod cluster;
pub mod load;
pub mod outcome;
pub mod page;
pub mod plan;
pub mod report;
pub mod run;
pub mod settings;
pub mod sweep;
pub mod validate;
pub mod written;

pub use settings::Settings;

/// Version of all JSON that `actinium events` prints. Rises when a field goes or changes its
/// meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 2;
