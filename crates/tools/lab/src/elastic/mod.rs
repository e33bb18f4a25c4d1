//! The cost of elastic workers, and how fast they come.
//!
//! [`pi`] compares them with as many workers as one would choose, [`burst`] measures how long it
//! takes until a burst of work is on all workers and what an idle system costs, [`hop`] whether
//! actors that do nothing cost those that do; [`report`] shows.

pub mod burst;
pub mod hop;
pub mod pi;
pub mod report;
pub mod settings;
mod system;

pub use settings::Settings;

use crate::Failure;
use actinium_report::Progress;

/// Measures all; a progress bar shows on stderr if that is a terminal, unless `quiet`.
///
/// # Errors
/// If a setting is not allowed, or a system does not start, come to rest, or keep its messages.
pub fn run(settings: Settings, quiet: bool) -> Result<report::Report, Failure> {
    settings.check()?;
    let runs = settings.runs();
    let progress = if quiet { Progress::hidden(runs) } else { Progress::new(runs, "runs") };
    let mut note = || progress.add(1);
    let of_pi = pi::measure(&settings, &mut note)?;
    let of_burst = match settings.bursts.value {
        0 => None,
        _ => Some(burst::measure(&settings, &mut note)?),
    };
    let of_hops = match settings.hops.value {
        0 => Vec::new(),
        _ => hop::measure(&settings, &mut note)?,
    };
    drop(progress);
    Ok(report::Report::new(settings, of_pi, of_burst.as_ref(), &of_hops))
}
