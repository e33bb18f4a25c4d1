//! The published experiments on simulated machines, under the policies that the runtime runs.
//!
//! | module | what it is |
//! |---|---|
//! | [`settings`] | machine, experiments, constants |
//! | [`run`] | cells, policies, threads |
//! | [`report`] | the tables, and JSON |
//! | [`sweep`] | which constants of `affine` do best |
//! | [`calibrate`] | the simulation of this machine held against it |
//! | `costs` | what this machine's operations cost |
//! | [`measure`] | what is measured for that |
//! | [`cluster`] | clusters of many nodes |
//! | [`placement`] | clusters that exchange actors |

pub mod calibrate;
pub mod cluster;
mod costs;
pub mod measure;
pub mod placement;
pub mod report;
pub mod run;
pub mod settings;
pub mod sweep;

pub use settings::Settings;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 2;
