//! The command that runs event-processing workloads, and jobs of a program's own modules.
//!
//! [`events_main`] is a whole program; [`EventsCommand`] is what such a program, or a subcommand of
//! another, can be told, and [`run`] does it.
//!
//! [`settings`] say what is run and how, [`load`] reads the workload and bends it as the flags
//! want, [`validate`] and [`plan`] show what is known before it runs. [`mod@run`] and [`sweep`] run
//! it while a [`sampler`](actinium_observe::process::sampler) looks on. [`report`] and [`page`]
//! show what came of it, [`written`] keeps it event by event. `cluster` does all that over several
//! nodes.

#[cfg(feature = "nodes")]
#[doc(hidden)]
pub mod cluster;
mod command;
mod jobs;
#[doc(hidden)]
pub mod load;
#[doc(hidden)]
pub mod loaded;
mod main;
#[doc(hidden)]
pub mod outcome;
#[doc(hidden)]
pub mod page;
mod places;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod sweep;
mod typed;
#[doc(hidden)]
pub mod validate;
#[doc(hidden)]
pub mod written;

pub use command::{EventsCommand, run};
pub use main::events_main;
pub use settings::Settings;

/// Version of all JSON that it prints. Rises when a field goes or changes its meaning; not when one
/// comes.
pub const SCHEMA_VERSION: u32 = 2;
