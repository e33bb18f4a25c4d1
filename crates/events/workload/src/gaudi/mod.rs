//! A job of the Gaudi project's GaudiHive: its data flow, its control flow, and a JSON of each
//! algorithm's mean time in seconds.
//!
//! **The data flow** (`df.NAME.graphml`) has nodes that are algorithms or data objects. An edge
//! from an algorithm to an object says who makes it, one from an object to an algorithm who needs
//! it. A fake algorithm, which stands for what is read from a file, takes no time. What has no time
//! in the JSON takes none: that is a warning.
//!
//! **The control flow** (`cf.NAME.graphml`) has decision hubs and their members: algorithms and
//! other hubs. It becomes the paths of the workload: see `sequences.rs`. Without one, each
//! algorithm whose objects nobody needs stands on a path of its own, so that all of them run.
//!
//! | file | what it is |
//! |---|---|
//! | `graphml.rs` | nodes with attributes, and edges |
//! | `data_flow.rs`, `times.rs` | what the algorithms need, make and take |
//! | `control_flow.rs`, `sequences.rs` | hubs, and the paths that they stand for |
//! | `modules.rs` | the modules and paths of a job |

mod control_flow;
mod data_flow;
mod graphml;
mod modules;
mod sequences;
mod times;

use std::path::{Path as FilePath, PathBuf};

use super::check;
use super::checked::Checked;
use super::draft::Draft;
use super::fault::{Faults, Reporter};
use super::model::{Format, Options, Source, Times};
use control_flow::ControlFlow;
use data_flow::DataFlow;
use modules::Timing;
use times::TimesByName;

/// The name and the text of a file.
#[derive(Clone, Copy, Debug)]
pub struct File<'t> {
    /// The name, for faults.
    pub name: &'t str,
    /// The text.
    pub text: &'t str,
}

/// The texts of a job.
#[derive(Clone, Copy, Debug)]
pub struct Job<'t> {
    /// The data flow.
    pub data: File<'t>,
    /// The mean times.
    pub times: File<'t>,
    /// The control flow, if there is one.
    pub control: Option<File<'t>>,
}

/// Returns the names that the timing file of a data flow `df.NAME.graphml` may have:
/// `averageTiming.NAME.json`, and the same with parts of the name cut off at its dots, from the
/// end.
#[must_use]
pub fn times_names(graph: &FilePath) -> Vec<String> {
    stems(graph).iter().map(|name| format!("averageTiming.{name}.json")).collect()
}

/// Returns the names that the control flow of a data flow `df.NAME.graphml` may have:
/// `cf.NAME.graphml`, and the same with parts of the name cut off at its dots, from the end.
#[must_use]
pub fn control_names(graph: &FilePath) -> Vec<String> {
    stems(graph).iter().map(|name| format!("cf.{name}.graphml")).collect()
}

/// `NAME` of `df.NAME.graphml`, and the same without its last parts.
fn stems(graph: &FilePath) -> Vec<String> {
    let name =
        graph.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_prefix("df.").unwrap_or(&name);
    let ends = std::iter::once(name.len()).chain(name.rmatch_indices('.').map(|(at, _)| at));
    ends.map(|end| name[..end].to_owned()).collect()
}

/// The timing beside a data flow, if there is one.
#[must_use]
pub fn times_beside(graph: &FilePath) -> Option<PathBuf> {
    beside(graph, times_names(graph))
}

/// The control flow beside a data flow, if there is one.
#[must_use]
pub fn control_beside(graph: &FilePath) -> Option<PathBuf> {
    beside(graph, control_names(graph))
}

fn beside(graph: &FilePath, names: Vec<String>) -> Option<PathBuf> {
    names.iter().map(|name| graph.with_file_name(name)).find(|path| path.is_file())
}

/// Reads a data flow and its timing.
///
/// # Errors
/// If they are no workload that can be run: all that is wrong with them.
pub fn parse(name: &str, text: &str, times_name: &str, times: &str) -> Result<Checked, Faults> {
    let times = File { name: times_name, text: times };
    parse_job(Job { data: File { name, text }, times, control: None })
}

/// Reads a job.
///
/// # Errors
/// If it is no workload that can be run: all that is wrong with it, each with its file and place.
pub fn parse_job(job: Job<'_>) -> Result<Checked, Faults> {
    let Job { data, times, control } = job;
    let mut times_reporter = Reporter::new(times.name, times.text);
    let read = TimesByName::read(times.text, &mut times_reporter);
    let timing = Timing { times: &read, file: times.name };
    let mut reporter = Reporter::new(data.name, data.text);
    let control = control.unwrap_or(File { name: "", text: "" });
    let mut control_reporter = Reporter::new(control.name, control.text);
    let flow = (job.control.is_some())
        .then(|| ControlFlow::read(control.text, &mut control_reporter))
        .flatten()
        .filter(|_| !control_reporter.is_fatal());
    let draft = DataFlow::read(data.text, &mut reporter)
        .map(|data| draft(&data, flow.as_ref(), timing, &mut reporter, &mut control_reporter));
    // What is wrong with the control flow would only be told of the data flow once more.
    let is_readable = !control_reporter.is_fatal();
    let workload =
        draft.filter(|_| is_readable).and_then(|draft| check::resolve(draft, &mut reporter));
    let mut faults = reporter.finish();
    faults.extend(control_reporter.finish());
    faults.extend(times_reporter.finish());
    match workload {
        Some(workload) if !faults.are_fatal() => {
            Ok(Checked { workload, job: None, warnings: faults })
        }
        _ => Err(faults),
    }
}

fn draft(
    data: &DataFlow,
    control: Option<&ControlFlow>,
    timing: Timing<'_>,
    reporter: &mut Reporter<'_>,
    control_reporter: &mut Reporter<'_>,
) -> Draft {
    let modules::Modules { modules, paths } = match control {
        None => modules::of_data(data, timing, reporter),
        Some(control) => {
            let sequences = sequences::sequences(control, control_reporter);
            if sequences.is_empty() && !control_reporter.is_fatal() {
                let message = "no decision hub has an algorithm: nothing would run";
                control_reporter.error_at(control.at, message);
            }
            modules::of_both(data, control, &sequences, timing, reporter, control_reporter)
        }
    };
    let at = data.at;
    Draft {
        name: "data flow".to_owned(),
        format: Format::GaudiGraphml,
        options: Options::default(),
        source: Source {
            class: "data flow".to_owned(),
            events: None,
            times: Times::constant(0),
            at,
        },
        resources: Vec::new(),
        modules,
        paths,
        paths_at: at,
        source_label: None,
        own_source: None,
    }
}
