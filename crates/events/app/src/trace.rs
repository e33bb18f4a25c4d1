//! `--trace`: what each worker did and when, for Perfetto.

use crate::Failure;
use actinium_events::Processor;
use actinium_monitor::TraceToFile;
use actinium_report::html::writable;
use std::path::PathBuf;

/// The flag.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// Write what each worker did and when, turn by turn and module by module, to this file: open
    /// it at ui.perfetto.dev
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Option<PathBuf>,
}

impl TraceArgs {
    /// Checks that the file can be written, so that a long run does not fail only at its end.
    ///
    /// # Errors
    /// If the file can not be written.
    pub fn check(&self) -> Result<(), Failure> {
        let wrong = |error| Failure::Asked(format!("--trace: {error}"));
        self.trace.as_deref().map_or(Ok(()), |path| writable(path).map_err(wrong))
    }

    /// Has the run traced, if that was asked for.
    #[must_use]
    pub fn observe(&self, processor: Processor) -> Processor {
        match &self.trace {
            Some(path) => processor.observer(TraceToFile::new(path)),
            None => processor,
        }
    }
}
