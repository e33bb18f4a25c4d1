//! Probes of real nodes, and the same simulated: how far the simulation is off.

use super::Settings;
use super::settings::ALL_MESSAGES_MAX;
use crate::Failure;
use actinium_cluster::route::Route;
use actinium_cluster::sim::{AllToAll, Figures, Links, all_to_all};
use actinium_observe::number::{count, decimal, rate};
use actinium_report::{Column, Document, Progress, Table};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 1;

/// The version of the probe's JSON up to which it is understood.
const PROBE_VERSION: u32 = 1;

/// What a ping has in itself beside its payload, as binary data: mostly a byte each for its kind,
/// its time and the payload's length, and some for its sender's index.
const PING_BYTES: u32 = 6;

/// The number of pings of each node that are simulated for a fit.
const FIT_PINGS: u64 = 50_000;
/// The highest cost of a message that is believed.
const FIT_NS_MAX: u64 = 100_000;

/// What is read of the JSON of `actinium probe --fabric`.
#[derive(Debug, Deserialize)]
struct Probe {
    fabric: String,
    node_count: u32,
    settings: Asked,
    throughput: Throughput,
    messages_per_frame: f64,
}

#[derive(Debug, Deserialize)]
struct Asked {
    workers: Given<u32>,
    actors: Given<u32>,
    in_flight: Given<u32>,
    messages: Given<u32>,
    payload: Given<u32>,
    route: Given<String>,
}

#[derive(Debug, Deserialize)]
struct Given<T> {
    value: T,
}

#[derive(Debug, Deserialize)]
struct Throughput {
    computation_per_s: f64,
}

/// A probe beside its simulation.
#[derive(Debug, Serialize)]
struct Compared {
    probe: PathBuf,
    fabric: String,
    nodes: u32,
    workers_per_node: u32,
    in_flight_per_node: u32,
    measured_per_s: f64,
    simulated_per_s: f64,
    error_percent: f64,
    measured_messages_per_frame: f64,
    simulated_messages_per_frame: f64,
}

/// Probes beside their simulations. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    settings: Settings,
    compared: Vec<Compared>,
}

/// Simulates what each of these files of `actinium probe --fabric .. --json` has measured, by links
/// of these settings.
///
/// # Errors
/// If a file can not be read, is none of a probe of two nodes or more, or its probe is too long to
/// be simulated.
pub fn compare(settings: Settings, probes: &[PathBuf], quiet: bool) -> Result<Report, Failure> {
    let cases = probes.iter().map(|path| Ok((path, Probe::read("--compare", path)?)));
    let cases = cases.collect::<Result<Vec<_>, Failure>>()?;
    let jobs = cases.len() as u64;
    let progress = if quiet { Progress::hidden(jobs) } else { Progress::new(jobs, "simulations") };
    let mut compared = Vec::new();
    for (path, probe) in cases {
        let case =
            probe.simulation(&settings, u64::MAX).map_err(|why| wrong("--compare", path, &why))?;
        compared.push(probe.beside(path, &case, &all_to_all(&case)));
        progress.add(1);
    }
    progress.finish();
    let (schema_version, actinium_version) = (SCHEMA_VERSION, env!("CARGO_PKG_VERSION"));
    Ok(Report { schema_version, actinium_version, settings, compared })
}

/// Returns the settings with that cost of a message with which the simulation does as much as this
/// file of `actinium probe --fabric .. --json` says that its nodes did, beside the given cost of a
/// frame. 0, if frames alone take longer.
///
/// # Errors
/// If the file can not be read, is none of a probe of two nodes or more, or its nodes took longer
/// for a message than is believable.
pub fn fit(settings: Settings, path: &Path) -> Result<Settings, Failure> {
    let failed = |why: &str| wrong("--fit", path, why);
    let probe = Probe::read("--fit", path)?;
    // A part is enough: all of it goes on in the same way.
    let case = probe.simulation(&settings, FIT_PINGS).map_err(|why| failed(&why))?;
    let is_slow = |ns: u64| {
        let links = Links { message_ns: ns, ..settings.links() };
        let figures = all_to_all(&AllToAll { links: probe.shared(links), ..case.clone() });
        figures.messages_per_s() <= probe.throughput.computation_per_s
    };
    if !is_slow(FIT_NS_MAX) {
        return Err(failed(&format!("its nodes took more than {FIT_NS_MAX} ns for each message")));
    }
    let (mut fast_ns, mut slow_ns) = (0, FIT_NS_MAX);
    while fast_ns < slow_ns {
        let ns = u64::midpoint(fast_ns, slow_ns);
        if is_slow(ns) {
            slow_ns = ns;
        } else {
            fast_ns = ns + 1;
        }
    }
    Ok(Settings { message_ns: slow_ns, ..settings })
}

fn wrong(flag: &str, path: &Path, why: &str) -> Failure {
    Failure::Asked(format!("{flag}: {}: {why}", path.display()))
}

impl Probe {
    fn read(flag: &str, path: &Path) -> Result<Self, Failure> {
        let read = || {
            let document = Document::read(path, "report of 'actinium probe --fabric .. --json'")?;
            document.up_to(PROBE_VERSION)?.data::<Self>()
        };
        read().map_err(|error| Failure::Asked(format!("{flag}: {error}")))
    }

    /// The costs of links, for its workers: they share the messages of their node.
    fn shared(&self, links: Links) -> Links {
        let message_ns = links.message_ns.div_ceil(self.settings.workers.value.into());
        Links { message_ns, ..links }
    }

    /// The same in the simulation, of so many pings of a node at most, or why there is none.
    fn simulation(&self, settings: &Settings, pings_max: u64) -> Result<AllToAll, String> {
        let Asked { workers, actors, in_flight, messages, payload, route } = &self.settings;
        if self.node_count < 2 || workers.value == 0 {
            return Err("it is no probe of two nodes or more".to_owned());
        }
        let named = Route::ALL.into_iter().find(|it| it.name() == route.value);
        let route = named.ok_or_else(|| format!("there is no route '{}'", route.value))?;
        let actors = u64::from(workers.value) * u64::from(actors.value);
        let pings = actors.saturating_mul(messages.value.into()).min(pings_max);
        let in_all = pings.saturating_mul(self.node_count.into());
        if !(1..=ALL_MESSAGES_MAX).contains(&in_all) {
            return Err(format!("it has {in_all} pings: 1 to {ALL_MESSAGES_MAX} are simulated"));
        }
        Ok(AllToAll {
            // No more are sent than there are.
            messages: pings as u32,
            in_flight: actors.saturating_mul(in_flight.value.into()).clamp(1, pings) as u32,
            rate_per_s: 0,
            message_bytes: payload.value.saturating_add(PING_BYTES),
            links: self.shared(settings.links()),
            ..settings.all_to_all(self.node_count, route)
        })
    }

    fn beside(&self, path: &Path, case: &AllToAll, figures: &Figures) -> Compared {
        let simulated_per_s = figures.messages_per_s();
        let measured_per_s = self.throughput.computation_per_s;
        Compared {
            probe: path.to_owned(),
            fabric: self.fabric.clone(),
            nodes: self.node_count,
            workers_per_node: self.settings.workers.value,
            in_flight_per_node: case.in_flight,
            measured_per_s,
            simulated_per_s,
            error_percent: (simulated_per_s / measured_per_s - 1.0) * 100.0,
            measured_messages_per_frame: self.messages_per_frame,
            simulated_messages_per_frame: figures.messages_per_frame(),
        }
    }
}

impl Report {
    /// Returns the report as text; remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = format!("{}\n", self.table());
        if quiet {
            return text;
        }
        let mut line = |line: &str| writeln!(text, "{line}").expect("a String takes all");
        line(&self.settings.links_line());
        line(&format!(
            "assumed    pings to all actors alike, warm caches, {}; workers share the cost of messages",
            self.settings.cpus_text()
        ));
        line("error      of the simulated rate: below 0, the nodes were faster");
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::left("probe"),
            Column::left("fabric"),
            Column::right("nodes"),
            Column::right("workers"),
            Column::right("measured").unit("/s"),
            Column::right("simulated").unit("/s"),
            Column::right("error").unit("%"),
            Column::right("per frame"),
            Column::right("simulated"),
        ]);
        for it in &self.compared {
            table.row([
                it.probe.display().to_string().into(),
                it.fabric.as_str().into(),
                count(it.nodes.into()).into(),
                count(it.workers_per_node.into()).into(),
                rate(it.measured_per_s).into(),
                rate(it.simulated_per_s).into(),
                decimal(it.error_percent, 1).into(),
                decimal(it.measured_messages_per_frame, 1).into(),
                decimal(it.simulated_messages_per_frame, 1).into(),
            ]);
        }
        table
    }
}
