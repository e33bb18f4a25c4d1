//! Workloads: graphs of modules with measured times, as files describe them.
//!
//! | module | what it does |
//! |---|---|
//! | [`model`] | says what a workload is |
//! | [`fault`] | says what is wrong with a file, and where |
//! | [`cms`] | reads the CMS multi-threaded demo framework's JSON |
//! | [`gaudi`] | reads GaudiHive's data flow with its timing |
//! | [`own`] | reads our own format, as TOML or JSON |
//! | [`generate`] | makes the synthetic workload that is shipped |
//! | [`graph`] | says which modules run |
//! | [`plan`] | says what a workload costs, and how fast it can go |
//! | [`replay`] | makes a graph of a workload, which the event processor runs |
//! | [`page`] | makes a page of a run |
//!
//! [`read`] takes any of them: what it returns is a [`Workload`] that was checked in full, or all
//! that is wrong with it.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod cms;
pub mod fault;
mod file;
pub mod gaudi;
pub mod generate;
pub mod graph;
mod json;
pub mod model;
pub mod own;
pub mod page;
pub mod plan;
pub mod position;
pub mod replay;

mod check;
mod checked;
mod draft;
mod toml_tree;
mod tree;

use std::path::{Path as FilePath, PathBuf};

pub use checked::Checked;
pub use fault::{Fault, Faults, Severity};
pub use file::FILE_BYTES_MAX;
pub use model::{
    Format, Input, Module, Options, Path, Position, Role, Source, Threads, Times, Work, Workload,
};
pub use page::{RunReport, SweepPoint};

use fault::Reporter;
use tree::Value;

/// How a text is written; whether JSON is ours or the demo framework's shows in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// GraphML.
    Graphml,
}

impl Syntax {
    /// Returns the syntax that a file's name stands for, or else the one that the text's beginning
    /// shows.
    #[must_use]
    pub fn of(name: &FilePath, text: &str) -> Self {
        let extension = name.extension().map(|extension| extension.to_ascii_lowercase());
        match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("toml") => Syntax::Toml,
            Some("json") => Syntax::Json,
            Some("graphml" | "xml") => Syntax::Graphml,
            _ => match text.trim_start().chars().next() {
                Some('<') => Syntax::Graphml,
                Some('{') => Syntax::Json,
                // The demo framework's files: what is wrong with one is told in terms of JSON.
                _ if extension.is_some_and(|extension| extension == "config") => Syntax::Json,
                _ => Syntax::Toml,
            },
        }
    }
}

/// Reads a workload from a file. `times` is the timing of a GaudiHive data flow; without it, the
/// one beside the file is taken.
///
/// # Errors
/// If a file can not be read, or is no workload that can be run: all that is wrong with it.
pub fn read(path: &FilePath, times: Option<&FilePath>) -> Result<Checked, Faults> {
    let text = file::text(path)?;
    let name = path.to_string_lossy();
    let syntax = Syntax::of(path, &text);
    if syntax != Syntax::Graphml {
        if let Some(times) = times {
            let message = format!(
                "a file of times ({}) belongs to a GaudiHive data flow, which this is not",
                times.display()
            );
            return Err(Faults::one(&name, None, message));
        }
        return parse(&name, &text, syntax);
    }
    let times_path = times.map(PathBuf::from).or_else(|| gaudi::times_beside(path));
    let Some(times_path) = times_path else {
        let message = format!(
            "there is no timing for this data flow: put {} beside it, or name a file of times",
            gaudi::times_names(path).first().map_or("", |name| name.as_str())
        );
        return Err(Faults::one(&name, None, message));
    };
    let times = file::text(&times_path)?;
    gaudi::parse(&name, &text, &times_path.to_string_lossy(), &times)
}

/// Reads a workload from a text. A GaudiHive data flow has a second one: see [`gaudi::parse`].
///
/// # Errors
/// If it is no workload that can be run: all that is wrong with it.
pub fn parse(name: &str, text: &str, syntax: Syntax) -> Result<Checked, Faults> {
    let mut reporter = Reporter::new(name, text);
    let root = match syntax {
        Syntax::Json => json::tree(text, &mut reporter),
        Syntax::Toml => toml_tree::tree(text, &mut reporter),
        Syntax::Graphml => return gaudi::parse(name, text, "", "{}"),
    };
    let draft = root.and_then(|root| match &root.value {
        Value::Table(entries)
            if syntax == Syntax::Json && entries.iter().any(|entry| entry.key == "process") =>
        {
            cms::draft(&root, &mut reporter)
        }
        _ => {
            let format = if syntax == Syntax::Json { Format::Json } else { Format::Toml };
            own::draft(&root, format, &mut reporter)
        }
    });
    let workload = draft.and_then(|draft| check::resolve(draft, &mut reporter));
    let faults = reporter.finish();
    match workload {
        Some(workload) if !faults.are_fatal() => Ok(Checked { workload, warnings: faults }),
        _ => Err(faults),
    }
}
