//! The latency probe of the Thorium actor engine
//! ([biosal](https://github.com/sebhtml/biosal), `performance/latency_probe`), on Actinium.
//!
//! [`settings`] say what is measured, [`actors`] are what is measured (with a [`payload`] in their
//! messages), [`rounds`] measure (and, [`beside`] a segment that is faulted in, again), [`report`]
//! shows; [`cluster`] does all that over several nodes.

pub mod actors;
pub mod beside;
pub mod cluster;
pub mod figures;
pub mod payload;
pub mod report;
pub mod rounds;
pub mod run;
pub mod settings;

pub use settings::Settings;

use crate::Failure;
use std::path::Path;

/// Measures on this process's own workers; a progress bar shows on stderr if that is a terminal,
/// unless `quiet`. With `report`, the system is recorded, which is part of what is measured, and a
/// page is written to that file.
///
/// ```
/// use actinium_lab::probe::{self, Settings};
///
/// let workers = actinium::Workers::Count(1).into();
/// let mut settings = Settings::new(workers, actinium::Bind::None.into())?;
/// settings.messages = 100.into();
/// let report = probe::run(settings, None, true)?;
/// report.verdict()?;
/// println!("{}", report.text(true));
/// # Ok::<(), actinium_lab::Failure>(())
/// ```
///
/// # Errors
/// If a setting is not allowed, the system can not be started, or no message is handled any more
/// although some are due.
pub fn run(
    settings: Settings,
    report: Option<&Path>,
    quiet: bool,
) -> Result<report::Report, Failure> {
    settings.check()?;
    let outcome = rounds::measure(&settings, report, quiet)?;
    Ok(report::Report::new(settings, &outcome))
}
