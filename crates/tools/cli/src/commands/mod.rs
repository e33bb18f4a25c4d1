//! The subcommands: each takes what was typed, and passes it on.

pub mod completions;
pub mod dashboard;
pub mod elastic;
pub mod events;
pub mod launch;
pub mod locality;
pub mod man;
pub mod memory;
pub mod probe;
pub mod report;
pub mod sim;
pub mod topology;
pub mod wire;
