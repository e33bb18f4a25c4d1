//! `--trace`, which the commands have that build systems.

use actinium::monitor::TraceSession;
use actinium_app::{Failure, output};
use clap::ValueHint;
use std::path::{Path, PathBuf};

/// A trace beside what is printed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// Write a trace of what each worker does to this file, for Perfetto (ui.perfetto.dev): in
    /// Perfetto's own format if its name ends in .pftrace, else in JSON
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    trace: Option<PathBuf>,
}

impl TraceArgs {
    /// The file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.trace.as_deref()
    }

    /// Traces each system that is built meanwhile, if that was asked for. There is no trace of what
    /// has failed.
    pub(crate) fn during<R>(&self, run: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        let Some(path) = &self.trace else { return run() };
        let session = TraceSession::start(path);
        let session = session.map_err(|error| Failure::Asked(format!("--trace: {error}")))?;
        let done = run()?;
        let summary = session.finish().map_err(|error| Failure::Failed(error.to_string()))?;
        if summary.lost > 0 {
            output::note(&format!("{} records are missing in the trace", summary.lost));
        }
        Ok(done)
    }
}
