//! `actinium report`.

use actinium::monitor::Recording;
use actinium_app::Failure;
use clap::ValueHint;
use std::path::PathBuf;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Make a page of a recorded run.

A program that is linked with the feature 'monitor' records what its systems do if ACTINIUM_REPORT names a file: a page if it ends in \
.html, the recording itself if it ends in .json. So does each command of this one.";

/// Arguments of `actinium report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ACTINIUM_REPORT=run.json actinium probe
  actinium report run.json run.html")]
pub struct Args {
    /// The recording: a file of JSON.
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
    let recording =
        Recording::read(&args.recording).map_err(|error| Failure::Asked(error.to_string()))?;
    recording.page().write(&args.page).map_err(|error| Failure::Failed(error.to_string()))
}
