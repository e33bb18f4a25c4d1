//! Workloads: graphs of modules with measured times, as files describe them.
//!
//! | module | what it does |
//! |---|---|
//! | [`model`] | says what a workload is |
//! | [`fault`] | says what is wrong with a file, and where |
//! | [`cms`] | reads the CMS multi-threaded demo framework's JSON |
//! | [`gaudi`] | reads GaudiHive's data flow with its timing and its control flow |
//! | [`own`] | reads our own format, as TOML or JSON |
//! | [`generate`] | makes the synthetic workload that is shipped |
//! | [`graph`] | says which modules run, and makes a drawing of them |
//! | [`plan`] | says what a workload costs, and how fast it can go |
//! | [`replay`] | makes a graph of a workload, which the event processor runs |
//! | [`registry`] | holds a program's own types of modules |
//! | [`job`] | makes a graph of modules of such types |
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
pub mod job;
mod json;
pub mod model;
pub mod own;
pub mod page;
pub mod plan;
pub mod position;
pub mod registry;
pub mod replay;

mod check;
mod checked;
mod draft;
mod drawn;
mod latency;
mod products;
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
use job::Unknown;
use registry::Registry;
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

/// The files that belong to a GaudiHive data flow. Those that are not named are looked for beside
/// it: see [`gaudi::times_names`] and [`gaudi::control_names`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Companions<'p> {
    /// The mean times.
    pub times: Option<&'p FilePath>,
    /// The control flow.
    pub control: Option<&'p FilePath>,
}

/// Reads a workload from a file. `times` is the timing of a GaudiHive data flow; without it, the
/// one beside the file is taken, and so is the control flow.
///
/// # Errors
/// If a file can not be read, or is no workload that can be run: all that is wrong with it.
pub fn read(path: &FilePath, times: Option<&FilePath>) -> Result<Checked, Faults> {
    read_with(path, Companions { times, control: None })
}

/// Reads a workload from a file, and the files that belong to it.
///
/// # Errors
/// If a file can not be read, or is no workload that can be run: all that is wrong with it.
pub fn read_with(path: &FilePath, companions: Companions<'_>) -> Result<Checked, Faults> {
    read_job(path, companions, &Registry::new(), Unknown::Refused)
}

/// Reads a workload from a file, and the files that belong to it. It may name types of the
/// program's own.
///
/// # Errors
/// If a file can not be read, or is no workload that can be run: all that is wrong with it.
pub fn read_job(
    path: &FilePath,
    companions: Companions<'_>,
    registry: &Registry,
    unknown: Unknown,
) -> Result<Checked, Faults> {
    let text = file::text(path)?;
    let name = path.to_string_lossy();
    let syntax = Syntax::of(path, &text);
    if syntax == Syntax::Graphml {
        return read_gaudi(path, &name, &text, companions);
    }
    let Companions { times, control } = companions;
    let given = [("file of times", times), ("control flow", control)];
    match given.iter().find_map(|(what, file)| Some((what, (*file)?))) {
        None => parse_with(&name, &text, syntax, registry, unknown),
        Some((what, file)) => {
            let file = file.display();
            let message =
                format!("a {what} ({file}) belongs to a GaudiHive data flow, which this is not");
            Err(Faults::one(&name, None, message))
        }
    }
}

fn read_gaudi(
    path: &FilePath,
    name: &str,
    text: &str,
    companions: Companions<'_>,
) -> Result<Checked, Faults> {
    let Companions { times, control } = companions;
    let Some(times) = times.map(PathBuf::from).or_else(|| gaudi::times_beside(path)) else {
        let message = format!(
            "there is no timing for this data flow: put {} beside it, or name a file of times",
            gaudi::times_names(path).first().map_or("", |name| name.as_str())
        );
        return Err(Faults::one(name, None, message));
    };
    let times_text = file::text(&times)?;
    let control = control.map(PathBuf::from).or_else(|| gaudi::control_beside(path));
    let control = control.map(|path| Ok((file::text(&path)?, path))).transpose()?;
    let control = control.as_ref().map(|(text, path)| (path.to_string_lossy(), text));
    gaudi::parse_job(gaudi::Job {
        data: gaudi::File { name, text },
        times: gaudi::File { name: &times.to_string_lossy(), text: &times_text },
        control: control.as_ref().map(|(name, text)| gaudi::File { name, text }),
    })
}

/// Reads a workload from a text. A GaudiHive data flow has a second one: see [`gaudi::parse`].
///
/// # Errors
/// If it is no workload that can be run: all that is wrong with it.
pub fn parse(name: &str, text: &str, syntax: Syntax) -> Result<Checked, Faults> {
    parse_job(name, text, syntax, &Registry::new())
}

/// Reads a workload from a text that may name types of the program's own.
///
/// # Errors
/// If it is no workload that can be run: all that is wrong with it.
pub fn parse_job(
    name: &str,
    text: &str,
    syntax: Syntax,
    registry: &Registry,
) -> Result<Checked, Faults> {
    parse_with(name, text, syntax, registry, Unknown::Refused)
}

fn parse_with(
    name: &str,
    text: &str,
    syntax: Syntax,
    registry: &Registry,
    unknown: Unknown,
) -> Result<Checked, Faults> {
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
    let read = draft.and_then(|mut draft| {
        let job = job::check(&mut draft, registry, unknown, &mut reporter);
        Some((check::resolve(draft, &mut reporter)?, job))
    });
    let faults = reporter.finish();
    match read {
        Some((workload, job)) if !faults.are_fatal() => {
            Ok(Checked { workload, job, warnings: faults })
        }
        _ => Err(faults),
    }
}
