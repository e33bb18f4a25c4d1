//! Pages of runs whose figures were saved as JSON: what `--json` prints, or what `--report` writes
//! to a file whose name ends in `.json`.
//!
//! ```no_run
//! let page = actinium_app::saved::page("run.json".as_ref())?;
//! page.write("run.html".as_ref())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::events::SCHEMA_VERSION;
use crate::events::sweep::{Shown, headline, section};
use crate::page::Used;
use actinium_events::drawing::Drawing;
use actinium_events::{
    Failure, ModuleFigures, PathFigures, ProductFigures, ResourceFigures, RunSummary, Sample, Span,
};
use actinium_observe::process::{CpuLoad, Load};
use actinium_report::html::Page;
use actinium_report::{Document, ReadError};
use actinium_topology::PuId;
use actinium_workload::plan::Plan;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a file has no figures of which a page can be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum SavedError {
    /// It can not be read, has other data, was cut off, or is of a later release.
    Read(ReadError),
    /// It has figures of several nodes together.
    Nodes {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SavedError::Read(error) => error.fmt(f),
            SavedError::Nodes { path } => write!(
                f,
                "{} has figures of several nodes, of which no page is made afterwards: run it with --report FILE.html",
                path.display()
            ),
        }
    }
}

impl std::error::Error for SavedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SavedError::Read(error) => error.source(),
            SavedError::Nodes { .. } => None,
        }
    }
}

impl From<ReadError> for SavedError {
    fn from(error: ReadError) -> Self {
        SavedError::Read(error)
    }
}

/// What tells runs, sweeps and runs over nodes apart.
#[derive(Deserialize)]
struct Kind {
    settings: Option<Value>,
    modules: Option<Value>,
    points: Option<Value>,
    nodes: Option<Value>,
}

impl Kind {
    fn is_of_events(&self) -> bool {
        self.settings.is_some() && (self.modules.is_some() || self.points.is_some())
    }
}

/// Whether this JSON is of a run or a sweep of events, of whatever version.
#[must_use]
pub fn is_of_events(json: &[u8]) -> bool {
    serde_json::from_slice(json).is_ok_and(|kind: Kind| kind.is_of_events())
}

/// Makes the page of the figures in this file.
///
/// # Errors
/// If the file can not be read, has other data, was cut off, or is of a later release.
pub fn page(path: &Path) -> Result<Page, SavedError> {
    let document = Document::read(path, "saved run of events")?;
    let kind: Kind = document.up_to(SCHEMA_VERSION)?.data()?;
    if kind.nodes.is_some() {
        return Err(SavedError::Nodes { path: path.to_owned() });
    }
    Ok(match kind.points {
        Some(_) => document.data::<Sweep>()?.page(),
        None => document.data::<Run>()?.page(),
    })
}

/// A run, as [`RunFigures`](crate::RunFigures) are written.
#[derive(Deserialize)]
struct Run {
    settings: Map<String, Value>,
    #[serde(default)]
    workload: String,
    #[serde(default)]
    command: String,
    events: u64,
    failed: u64,
    retries: u64,
    abandoned: u64,
    interrupted: bool,
    #[serde(default)]
    ended_by_failure: bool,
    elapsed_s: f64,
    cpu_s: f64,
    worker_pus: Vec<Option<PuId>>,
    #[serde(default)]
    workers_working: usize,
    threads_max: u64,
    memory_max_bytes: u64,
    in_flight_max: u64,
    #[serde(default)]
    slots: usize,
    #[serde(default)]
    latency_buckets: Vec<(u64, u64)>,
    modules: Vec<ModuleFigures>,
    #[serde(default)]
    products: Vec<ProductFigures>,
    paths: Vec<PathFigures>,
    resources: Vec<ResourceFigures>,
    failures: Vec<Failure>,
    load: Load,
    #[serde(default)]
    graph: Drawing,
    #[serde(default)]
    samples: Vec<Sample>,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    spans_forgotten: u64,
    plan: Option<Plan>,
    ideal: Option<Ideal>,
}

#[derive(Deserialize)]
struct Ideal {
    events_per_s: f64,
}

impl Run {
    fn page(self) -> Page {
        let summary = RunSummary {
            events: self.events,
            failed: self.failed,
            retries: self.retries,
            stopped: self.interrupted,
            abandoned: self.abandoned,
            ended_by_failure: self.ended_by_failure,
            failures: self.failures,
            elapsed_ns: (self.elapsed_s * 1e9).round() as u64,
            workers: self.worker_pus.len(),
            working: self.workers_working,
            pus: self.worker_pus,
            slots: self.slots,
            in_flight_max: self.in_flight_max,
            latency_buckets: self.latency_buckets,
            modules: self.modules,
            products: self.products,
            paths: self.paths,
            resources: self.resources,
            spans: self.spans,
            spans_forgotten: self.spans_forgotten,
            samples: self.samples,
            stuck: Vec::new(),
        };
        let cpus = CpuLoad::of(&[(String::new(), &self.load)]);
        let used = Used {
            cpu_s: self.cpu_s,
            threads_max: self.threads_max,
            memory_max_bytes: self.memory_max_bytes,
        };
        let mut report = used.report(title(&self.workload), &summary, &cpus);
        report = report.command(self.command).graph(&self.graph);
        if let Some(plan) = &self.plan {
            report = report.plan(plan);
        }
        if let Some(ideal) = self.ideal {
            report = report.ideal(ideal.events_per_s);
        }
        let rows = rows(&self.settings).into_iter();
        rows.fold(report, |report, (name, value)| report.setting(name, value)).page()
    }
}

/// A sweep.
#[derive(Deserialize)]
struct Sweep {
    settings: Map<String, Value>,
    #[serde(default)]
    workload: String,
    #[serde(default)]
    command: String,
    sweep: String,
    points: Vec<Shown>,
}

impl Sweep {
    fn page(self) -> Page {
        let summary = format!("A sweep over {}: {} points.", self.sweep, self.points.len());
        let page = Page::new(title(&self.workload)).summary(summary).command(self.command);
        let page = page.section(section(&self.sweep, &self.points, None));
        let page = headline(&self.sweep, &self.points).into_iter().fold(page, Page::figure);
        let rows = rows(&self.settings).into_iter();
        rows.fold(page, |page, (name, value)| page.setting(name, value))
    }
}

fn title(workload: &str) -> String {
    if workload.is_empty() { "event processing".to_owned() } else { workload.to_owned() }
}

/// Name and value of each setting, with where it came from.
fn rows(settings: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Array(all) if all.is_empty() => "-".to_owned(),
        Value::Array(all) => {
            let texts =
                all.iter().map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
            texts.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    let row = |(name, setting): (&String, &Value)| {
        let (value, source) = (text(&setting["value"]), text(&setting["source"]));
        (name.replace('_', "-"), format!("{value} ({source})"))
    };
    settings.iter().map(row).collect()
}
