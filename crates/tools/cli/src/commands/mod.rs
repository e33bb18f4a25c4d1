//! The subcommands: each takes what was typed, and passes it on.

pub mod completions;
pub mod dashboard;
pub mod elastic;
pub mod events;
pub mod explain;
pub mod launch;
pub mod locality;
pub mod man;
pub mod memory;
pub mod probe;
pub mod report;
pub mod sim;
mod sim_links;
mod sim_placement;
pub mod top;
pub mod topology;
mod tracing;
pub mod wire;
