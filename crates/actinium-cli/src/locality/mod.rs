//! The executor experiment: which policy is fastest for actors that each work on a state of their own, by the size of that state.
//!
//! [`settings`] say what is measured, [`states`] are what the [`actors`] work on, [`run`] is one measurement with its [`counts`],
//! [`grid`] measures all cells, interleaved, [`report`] and [`page`] show.

pub mod actors;
pub mod counts;
pub mod grid;
pub mod page;
pub mod report;
pub mod run;
pub mod settings;
pub mod states;

pub use settings::Settings;
