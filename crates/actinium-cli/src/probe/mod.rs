//! The latency probe of the Thorium actor engine
//! ([biosal](https://github.com/sebhtml/biosal), `performance/latency_probe`), on Actinium.
//!
//! [`settings`] say what is measured, [`actors`] are what is measured (with a [`payload`] in their messages),
//! [`run`] measures (and, [`beside`] a segment that is faulted in, again), [`report`] shows; [`cluster`] does all that over several nodes.

pub mod actors;
pub mod beside;
pub mod cluster;
pub mod figures;
pub mod payload;
pub mod report;
pub mod run;
pub mod settings;

pub use settings::Settings;
