//! The output of a program: stdout is data, stderr is chatter.
//!
//! The reader of stdout may go when it has seen enough (`actinium probe | head -3`): that is no
//! failure.

use crate::Failure;
use crate::name::program;
use crate::setting::{self, Row, SettingsReport};
use actinium_observe::file::{NewFile, WriteError};
use actinium_report::html::{Page, writable};
use serde::Serialize;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

/// Output flags of a program that measures.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutputArgs {
    /// Print JSON, with a schema_version, instead of tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Print the figures' tables only: no progress bar on stderr, no details, no remarks
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

/// For a program whose settings come from several sources: it says which.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ShowArgs {
    /// Print each setting, its value and where that came from (flag, env, file, default), and end
    #[arg(long, help_heading = "Output")]
    pub show_settings: bool,
}

/// A report beside what is printed.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// Write a report to this file: one page of HTML that needs nothing else
    #[arg(long, alias = "page", value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,
}

impl ReportArgs {
    /// Checks that the report's file can be written, so that a long run does not fail only at its
    /// end.
    ///
    /// # Errors
    /// If the file can not be written.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.report {
            Some(path) => {
                writable(path).map_err(|error| Failure::Asked(format!("--report: {error}")))
            }
            None => Ok(()),
        }
    }

    /// Writes the page, if one was asked for; these figures instead, as JSON, if the file's name
    /// ends in `.json`: [`saved::page`](crate::saved::page) makes the page of them.
    ///
    /// # Errors
    /// If it can not be written.
    pub fn write_or_json(
        &self,
        figures: &impl Serialize,
        page: impl FnOnce() -> Page,
    ) -> Result<(), Failure> {
        let Some(path) =
            self.report.as_deref().filter(|it| it.extension() == Some("json".as_ref()))
        else {
            return self.write(page);
        };
        let failed = |error: WriteError| Failure::Failed(error.to_string());
        let mut file = NewFile::create(path).map_err(failed)?;
        let written = serde_json::to_writer(&mut file, figures).map_err(io::Error::from);
        let written = written.and_then(|()| file.flush());
        written.map_err(|cause| failed(file.error(cause)))?;
        file.finish().map_err(failed)
    }

    /// Writes the page, if one was asked for.
    ///
    /// # Errors
    /// If it can not be written.
    pub fn write(&self, page: impl FnOnce() -> Page) -> Result<(), Failure> {
        match &self.report {
            Some(path) => page().write(path).map_err(|error| Failure::Failed(error.to_string())),
            None => Ok(()),
        }
    }
}

impl OutputArgs {
    /// Prints a report: as JSON, or what `text` makes of it, which is told whether to be quiet.
    ///
    /// # Errors
    /// The same as those of [`print()`].
    pub fn report<R: Serialize>(
        &self,
        report: &R,
        text: impl FnOnce(&R, bool) -> String,
    ) -> Result<(), Failure> {
        if self.json { print_json(report) } else { print(text(report, self.quiet)) }
    }

    /// Prints the settings: as in the JSON of this version, or these rows as a table.
    ///
    /// # Errors
    /// The same as those of [`print()`].
    pub fn settings(
        &self,
        schema_version: u32,
        settings: &impl Serialize,
        rows: impl IntoIterator<Item = Row>,
    ) -> Result<(), Failure> {
        match self.json {
            true => print_json(&SettingsReport::new(schema_version, settings)),
            false => print(setting::table(rows).to_string()),
        }
    }
}

/// Writes text to stdout.
///
/// # Errors
/// If it cannot be written; [`Failure::ReaderGone`] if nobody reads it any more.
pub fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()).map_err(failure)
}

/// Writes a value as JSON to stdout.
///
/// # Errors
/// The same as those of [`print()`].
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::Failed(format!("can not write JSON: {error}")))?;
    print(text + "\n")
}

/// Writes a value as one line of JSON to stdout.
///
/// # Errors
/// The same as those of [`print()`].
pub fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::Failed(format!("can not write JSON: {error}")))?;
    print(text + "\n")
}

/// Writes a line to stderr. If nobody can read that, there is nobody to tell.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{}: {line}", program());
}

/// Returns the failure for an error in writing to stdout.
pub fn failure(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Failed(format!("can not write to stdout: {error}")),
    }
}
