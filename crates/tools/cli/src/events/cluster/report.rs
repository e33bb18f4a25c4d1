//! The report of a run over several nodes: merged figures, and those of each node; as tables, or
//! JSON.

use crate::events::{SCHEMA_VERSION, Settings};
use actinium_app::tables::{self, Events, FigureTable, Tables};
use actinium_app::{Failure, nodes};
use actinium_events::{ModuleFigures, PathFigures, ResourceFigures};
use actinium_events_cluster::{ClusterOutcome, Failed, Gone, NodeFigures, RunOutcome, figures};
use actinium_observe::number::{bytes, count, decimal, nanoseconds, percent, rate};
use actinium_observe::process::Load;
use actinium_observe::{Latency, Quantiles};
use actinium_report::{Column, Table};
use actinium_workload::plan::Plan;
use serde::Serialize;
use std::fmt::Write;

/// Most failures that are shown; the JSON has them all.
const FAILURES_SHOWN: usize = 5;

const LATENCY: &str =
    "from an event's begin at its node to its end there, without its outputs, which run on node 0";

/// Events per second on four levels.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Levels {
    /// The rate of all nodes together.
    pub computation_per_s: f64,
    /// The rate of one node, on average.
    pub node_per_s: f64,
    /// The rate of one worker, on average.
    pub worker_per_s: f64,
    /// The rate of one slot, on average.
    pub slot_per_s: f64,
}

/// All figures. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    schema_version: u32,
    actinium_version: &'static str,
    settings: &'a Settings,
    workload: &'a str,
    fabric: &'static str,
    /// The number of nodes that took part to the end.
    node_count: usize,
    worker_count: usize,
    slot_count: usize,
    events: u64,
    events_due: u64,
    failed: u64,
    retries: u64,
    abandoned: u64,
    /// Events of nodes that went down, which others ran.
    given_again: u64,
    interrupted: bool,
    /// The time from the first event that a node was given to the end of the last one's outputs.
    elapsed_s: f64,
    events_per_s: f64,
    throughput: Levels,
    latency_is: &'static str,
    latency: Option<Quantiles>,
    cpu_s: f64,
    cpus_used: f64,
    module_calls: u64,
    /// Mixes all events' products.
    checksum: String,
    modules: Vec<ModuleFigures>,
    paths: Vec<PathFigures>,
    resources: Vec<ResourceFigures>,
    failures: &'a [Failed],
    nodes: Vec<NodeReport<'a>>,
    nodes_down: &'a [Gone],
    remark: Option<&'static str>,
}

/// One node's figures.
#[derive(Debug, Serialize)]
pub(super) struct NodeReport<'a> {
    pub(super) node: u32,
    workers: usize,
    slots: usize,
    pub(super) events: u64,
    retries: u64,
    pub(super) events_per_s: f64,
    worker_per_s: f64,
    slot_per_s: f64,
    pub(super) latency: Option<Quantiles>,
    in_flight_max: u64,
    /// Workers in modules on average.
    workers_busy: f64,
    /// The CPU time of its process; none where that is another node's, too.
    cpu_s: Option<f64>,
    threads_max: Option<u64>,
    memory_max_bytes: Option<u64>,
    /// Threads, and CPU time on each CPU, over time.
    pub(super) load: Option<&'a Load>,
}

impl NodeReport<'_> {
    /// Returns the share of its workers' time that they spent in modules.
    pub(super) fn share_busy(&self) -> f64 {
        self.workers_busy / self.workers.max(1) as f64
    }
}

fn quantiles(buckets: impl Iterator<Item = (u64, u64)>) -> Option<Quantiles> {
    let latency = Latency::from_buckets(buckets);
    (latency.count() > 0).then(|| latency.quantiles())
}

impl<'a> Report<'a> {
    /// Creates the report of a run.
    pub fn new(settings: &'a Settings, plan: &'a Plan, outcome: &'a ClusterOutcome) -> Self {
        let (over, all) = (&outcome.run, &outcome.nodes);
        // A clock that has not moved knows no more than that it was less than a nanosecond.
        let elapsed_s = over.elapsed.as_secs_f64().max(1e-9);
        let sum = |of: fn(&NodeFigures) -> usize| all.iter().map(of).sum::<usize>();
        let (workers, slots) = (sum(|node| node.workers), sum(|node| node.slots));
        let events_per_s = (over.done + over.failed) as f64 / elapsed_s;
        let processes = all.iter().filter_map(|node| node.process.as_ref());
        let cpu_s = processes.map(|process| process.cpu_s).sum();
        let modules = figures::modules(all);
        let kind = settings.nodes.fabric.value;
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            settings,
            workload: &plan.name,
            fabric: kind.map_or("none", nodes::FabricKind::name),
            node_count: all.len(),
            worker_count: workers,
            slot_count: slots,
            events: over.done,
            events_due: settings.events.value,
            failed: over.failed,
            retries: all.iter().map(|node| node.retries).sum(),
            abandoned: over.abandoned,
            given_again: outcome.gone.iter().map(|gone| gone.given_again).sum(),
            interrupted: over.interrupted,
            elapsed_s,
            events_per_s,
            throughput: Levels {
                computation_per_s: events_per_s,
                node_per_s: events_per_s / all.len().max(1) as f64,
                worker_per_s: events_per_s / workers.max(1) as f64,
                slot_per_s: events_per_s / slots.max(1) as f64,
            },
            latency_is: LATENCY,
            latency: quantiles(all.iter().flat_map(|node| node.latency.iter().copied())),
            cpu_s,
            cpus_used: cpu_s / elapsed_s,
            module_calls: modules.iter().map(|module| module.calls).sum(),
            checksum: format!("{:016x}", over.checksum),
            modules,
            paths: figures::paths(all),
            resources: figures::resources(all),
            failures: &over.failures,
            nodes: all.iter().map(|node| node_report(node, over, elapsed_s)).collect(),
            nodes_down: &outcome.gone,
            remark: kind.and_then(nodes::remark),
        }
    }

    /// Returns a remark on how the nodes were started, if there is one.
    pub fn remark(&self) -> Option<&'static str> {
        self.remark
    }

    pub(super) fn latency(&self) -> Option<&Quantiles> {
        self.latency.as_ref()
    }

    pub(super) fn nodes(&self) -> &[NodeReport<'a>] {
        &self.nodes
    }

    /// Returns the report as text: tables, and remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let tables = Tables {
            modules: &self.modules,
            paths: &self.paths,
            resources: &self.resources,
            elapsed_s: self.elapsed_s,
        };
        let mut text = format!("{}\nevents per second\n{}", self.figures(), self.levels());
        if let Some(latency) = &self.latency {
            write!(text, "\nlatency of events\n{}", actinium_report::Table::from(latency))
                .expect("a String takes all");
        }
        write!(text, "\nnodes\n{}{}", self.node_table(), tables.text())
            .expect("a String takes all");
        for gone in self.nodes_down {
            let Gone { node, why, given_again } = gone;
            writeln!(text, "\nnode {node} went down: {why}; {given_again} events were given again")
                .expect("a String takes all");
        }
        for failure in self.failures.iter().take(FAILURES_SHOWN) {
            writeln!(text, "\nfailed: {}", line(failure)).expect("a String takes all");
        }
        if !quiet {
            write!(
                text,
                "\nsettings   {}\nlatency    {LATENCY}\nbusy       workers in modules, on average over the elapsed time\n",
                tables::settings_line(self.settings.rows())
            )
            .expect("a String takes all");
        }
        text
    }

    fn about(&self) -> Events {
        let due = Some(self.events_due);
        Events { events: self.events, due, interrupted: self.interrupted }
    }

    fn figures(&self) -> Table {
        let counts = [
            ("failed", self.failed),
            ("retries", self.retries),
            ("abandoned", self.abandoned),
            ("given again", self.given_again),
        ];
        let mut figures = FigureTable::new(self.about(), &counts);
        figures.row("elapsed", nanoseconds(self.elapsed_s * 1e9), "");
        let cpus = format!("{} CPUs on average", decimal(self.cpus_used, 2));
        figures.row("CPU time", nanoseconds(self.cpu_s * 1e9), &cpus);
        figures.row("module calls", self.module_calls, "");
        figures.row("checksum", self.checksum.as_str(), "of all products");
        figures.table()
    }

    fn levels(&self) -> Table {
        let columns = [
            Column::left("level"),
            Column::right("number"),
            Column::right("events/s"),
            Column::right("rate"),
        ];
        let mut table = Table::new(columns);
        let Levels { computation_per_s, node_per_s, worker_per_s, slot_per_s } = self.throughput;
        for (level, number, per_s) in [
            ("computation", 1, computation_per_s),
            ("node", self.node_count, node_per_s),
            ("worker", self.worker_count, worker_per_s),
            ("slot", self.slot_count, slot_per_s),
        ] {
            table.row([level.into(), number.into(), decimal(per_s, 2).into(), rate(per_s).into()]);
        }
        table
    }

    fn node_table(&self) -> Table {
        let mut table = Table::new([
            Column::right("node"),
            Column::right("workers"),
            Column::right("slots"),
            Column::right("events"),
            Column::right("events/s"),
            Column::right("latency 50 %"),
            Column::right("99 %"),
            Column::right("in flight"),
            Column::right("busy"),
            Column::right("CPU time"),
            Column::right("threads"),
            Column::right("memory"),
        ]);
        for node in &self.nodes {
            let latency = |of: fn(&Quantiles) -> u64| {
                node.latency.as_ref().map(|all| nanoseconds(of(all) as f64))
            };
            table.row([
                u64::from(node.node).into(),
                node.workers.into(),
                node.slots.into(),
                node.events.into(),
                decimal(node.events_per_s, 2).into(),
                latency(|all| all.quantiles_ns.p50).into(),
                latency(|all| all.quantiles_ns.p99).into(),
                node.in_flight_max.into(),
                percent(node.share_busy()).into(),
                node.cpu_s.map(|seconds| nanoseconds(seconds * 1e9)).into(),
                node.threads_max.map(count).into(),
                node.memory_max_bytes.map(bytes).into(),
            ]);
        }
        table
    }

    /// Whether the run did what it was asked to do. That a node went down and others ran its events
    /// is no failure.
    ///
    /// # Errors
    /// If events failed, or it was interrupted.
    pub fn verdict(&self) -> Result<(), Failure> {
        let first = self.failures.first().map(line);
        self.about().verdict(self.failed, first)
    }
}

fn node_report<'a>(node: &'a NodeFigures, over: &RunOutcome, elapsed_s: f64) -> NodeReport<'a> {
    let events = over.ran.get(&node.node).copied().unwrap_or(0);
    let events_per_s = events as f64 / elapsed_s;
    let process = node.process.as_ref();
    NodeReport {
        node: node.node,
        workers: node.workers,
        slots: node.slots,
        events,
        retries: node.retries,
        events_per_s,
        worker_per_s: events_per_s / node.workers.max(1) as f64,
        slot_per_s: events_per_s / node.slots.max(1) as f64,
        latency: quantiles(node.latency.iter().copied()),
        in_flight_max: node.in_flight_max,
        workers_busy: node.busy_ns() as f64 * 1e-9 / elapsed_s,
        cpu_s: process.map(|process| process.cpu_s),
        threads_max: process.map(|process| process.threads_max),
        memory_max_bytes: process.map(|process| process.memory_max_bytes),
        load: process.map(|process| &process.load),
    }
}

fn line(failed: &Failed) -> String {
    let Failed { node, event, module, cause } = failed;
    format!("node {node}, event {event}, module '{module}': {cause}")
}
