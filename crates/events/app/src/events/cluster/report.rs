//! The report of a run over several nodes: merged figures, and those of each node; as tables, or
//! JSON.

use crate::events::{SCHEMA_VERSION, Settings};
use crate::tables::{self, Events, FigureTable, Tables};
use crate::{Failure, nodes};
use actinium_events_cluster::{ClusterFigures, Failed, Gone, Levels};
use actinium_observe::Quantiles;
use actinium_observe::number::{bytes, count, decimal, nanoseconds, percent, rate};
use actinium_report::{Column, Table};
use actinium_workload::plan::Plan;
use serde::Serialize;
use std::fmt::Write;

/// Most failures that are shown; the JSON has them all.
const FAILURES_SHOWN: usize = 5;

const LATENCY: &str =
    "from an event's begin at its node to its end there, without its outputs, which run on node 0";

/// All figures. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    schema_version: u32,
    actinium_version: &'static str,
    settings: &'a Settings,
    workload: &'a str,
    fabric: &'static str,
    events_due: Option<u64>,
    latency_is: &'static str,
    #[serde(flatten)]
    figures: &'a ClusterFigures<'a>,
    /// The rate that its CPUs can compute at most; none of a job, whose times nobody knows.
    most_events_per_s: Option<f64>,
    #[serde(skip)]
    plan: &'a Plan,
    /// Whether modules were the program's own: events have no checksums then.
    #[serde(skip)]
    is_job: bool,
    remark: Option<&'static str>,
}

impl<'a> Report<'a> {
    /// Creates the report of a run.
    pub fn new(
        settings: &'a Settings,
        plan: &'a Plan,
        figures: &'a ClusterFigures<'a>,
        is_job: bool,
    ) -> Self {
        let kind = settings.nodes.fabric.value;
        let cpus = figures.cpu_count.filter(|_| !is_job);
        let most = |cpus| plan.computing_ns.most_events_per_s(figures.events, cpus);
        Report {
            most_events_per_s: cpus.and_then(most),
            plan,
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            settings,
            workload: &plan.name,
            fabric: kind.map_or("none", nodes::FabricKind::name),
            events_due: settings.events.value,
            latency_is: LATENCY,
            figures,
            is_job,
            remark: kind.and_then(nodes::remark),
        }
    }

    /// Returns a remark on how the nodes were started, if there is one.
    pub fn remark(&self) -> Option<&'static str> {
        self.remark
    }

    /// Returns the report as text: tables, and remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let tables = Tables {
            modules: &self.figures.modules,
            paths: &self.figures.paths,
            resources: &self.figures.resources,
            elapsed_s: self.figures.elapsed_s,
        };
        let mut text = format!("{}\nevents per second\n{}", self.figures(), self.levels());
        if let Some(latency) = &self.figures.latency {
            write!(text, "\nlatency of events\n{}", actinium_report::Table::from(latency))
                .expect("a String takes all");
        }
        write!(text, "\nnodes\n{}{}", self.node_table(), tables.text())
            .expect("a String takes all");
        for gone in self.figures.nodes_down {
            let Gone { node, why, given_again } = gone;
            writeln!(text, "\nnode {node} went down: {why}; {given_again} events were given again")
                .expect("a String takes all");
        }
        for failure in self.figures.failures.iter().take(FAILURES_SHOWN) {
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
        let due = self.events_due;
        Events { events: self.figures.events, due, interrupted: self.figures.interrupted }
    }

    fn figures(&self) -> Table {
        let counts = [
            ("failed", self.figures.failed),
            ("retries", self.figures.retries),
            ("abandoned", self.figures.abandoned),
            ("given again", self.figures.given_again),
        ];
        let mut figures = FigureTable::new(self.about(), &counts);
        figures.row("elapsed", nanoseconds(self.figures.elapsed_s * 1e9), "");
        let cpus = format!("{} CPUs on average", decimal(self.figures.cpus_used, 2));
        figures.row("CPU time", nanoseconds(self.figures.cpu_s * 1e9), &cpus);
        if let (Some(most), Some(cpus)) = (self.most_events_per_s, self.figures.cpu_count) {
            let of = format!("{} events/s at most: CPUs {cpus}", decimal(most, 2));
            figures.row("of what CPUs can", percent(self.figures.events_per_s / most), &of);
        }
        figures.row("module calls", self.figures.module_calls, "");
        if !self.is_job {
            figures.row("checksum", self.figures.checksum.as_str(), "of all products");
        }
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
        let Levels { computation_per_s, node_per_s, worker_per_s, slot_per_s } =
            self.figures.throughput;
        for (level, number, per_s) in [
            ("computation", 1, computation_per_s),
            ("node", self.figures.node_count, node_per_s),
            ("worker", self.figures.worker_count, worker_per_s),
            ("slot", self.figures.slot_count, slot_per_s),
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
        for node in &self.figures.nodes {
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
    /// If events failed, it was interrupted, or it was faster than its CPUs can compute.
    pub fn verdict(&self) -> Result<(), Failure> {
        if let Some(error) = self.figures.error {
            return Err(Failure::Failed(error.to_owned()));
        }
        let first = self.figures.failures.first().map(line);
        self.about().verdict(self.figures.failed, first)?;
        let ClusterFigures { events, elapsed_s, cpu_count, .. } = *self.figures;
        // The CPUs of a node that went down are not known.
        match cpu_count.filter(|_| !self.is_job && self.figures.nodes_down.is_empty()) {
            Some(cpus) => {
                self.plan.computing_ns.check(events, cpus, elapsed_s).map_err(Failure::Failed)
            }
            None => Ok(()),
        }
    }
}

fn line(failed: &Failed) -> String {
    let Failed { node, event, module, cause } = failed;
    format!("node {node}, event {event}, module '{module}': {cause}")
}
