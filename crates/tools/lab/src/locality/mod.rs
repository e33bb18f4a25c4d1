//! The executor experiment: which policy is fastest for actors that each work on a state of their
//! own, by the size of that state.
//!
//! [`settings`] say what is measured, [`states`] are what the [`actors`] work on, [`round`] is one
//! measurement with its [`counts`], [`grid`] measures all cells, interleaved, [`report`] and
//! [`page`] show.

pub mod actors;
pub mod counts;
pub mod grid;
pub mod page;
pub mod report;
pub mod round;
pub mod settings;
pub mod states;

pub use settings::Settings;

use crate::Failure;

/// Runs the experiment; a progress bar shows on stderr if that is a terminal, unless `quiet`.
///
/// # Errors
/// If a setting is not allowed, a system does not start, a run stands still or messages are lost.
pub fn run(settings: Settings, quiet: bool) -> Result<report::Report, Failure> {
    settings.check()?;
    let measured = grid::measure(&settings, quiet)?;
    Ok(report::Report::new(settings, measured))
}
