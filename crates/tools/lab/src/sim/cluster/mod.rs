//! Aggregation and routing with many nodes, in a simulation that asks the runtime's own code.
//!
//! | module | what it is |
//! |---|---|
//! | [`settings`] | what may be asked |
//! | [`run`] | the runs |
//! | [`report`] | the tables, and JSON |
//! | [`page`] | the page |
//! | [`compare`] | probes of real nodes beside their simulations |
//! | [`links`] | the costs of links, as a file has them |
//! | [`measure`] | what is measured for that |

pub mod compare;
pub mod links;
pub mod measure;
pub mod page;
pub mod report;
pub mod run;
pub mod settings;

pub use settings::Settings;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 2;
