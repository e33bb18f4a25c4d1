//! `actinium report`.

use actinium::monitor::Recording;
use actinium_app::{Failure, saved};
use clap::ValueHint;
use std::path::PathBuf;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Make a page of a recorded run.

The file holds what 'actinium events --json' prints, or what its --report writes to a file whose name ends in .json; or the recording \
of a system's actors and workers. A program that is linked with the feature 'monitor' records what its systems do if ACTINIUM_REPORT names a file: a page if it ends in \
.html, the recording itself if it ends in .json. So does each command of this one.";

/// Arguments of `actinium report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ACTINIUM_REPORT=run.json actinium probe
  actinium report run.json run.html
  actinium events reco.config --report reco.json
  actinium report reco.json reco.html")]
pub struct Args {
    /// The recording, or the figures of a run or sweep of events: a file of JSON.
    #[arg(value_name = "RECORDING", value_hint = ValueHint::FilePath)]
    recording: PathBuf,
    /// The page to write: one file of HTML that needs nothing else.
    #[arg(value_name = "PAGE", value_hint = ValueHint::FilePath)]
    page: PathBuf,
}

/// Writes the page.
///
/// # Errors
/// If the recording can not be read, or the page can not be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let asked = |error: &dyn std::error::Error| Failure::Asked(error.to_string());
    // What can not be read is none of events: the other reader says why.
    let is_of_events = std::fs::read(&args.recording).is_ok_and(|it| saved::is_of_events(&it));
    let page = if is_of_events {
        saved::page(&args.recording).map_err(|error| asked(&error))?
    } else {
        Recording::read(&args.recording).map_err(|error| asked(&error))?.page()
    };
    page.write(&args.page).map_err(|error| Failure::Failed(error.to_string()))
}
