//! The report for people: tables and remarks.

use super::report::{ClusterReport, Figures, ROUND_TRIP};
use actinium_observe::Quantiles;
use actinium_observe::number::{bytes, count, decimal, duration, nanoseconds, percent};
use actinium_observe::process::Load;
use actinium_report::spark::spark;
use actinium_report::{Cell, Column, Table};
use std::time::Duration;

/// Most bars of a line over time.
const BARS: usize = 32;
/// The number of a machine's or node's CPUs that are shown, those with the most load; the JSON has
/// them all.
const CPUS_SHOWN: usize = 8;

impl ClusterReport {
    /// Returns the report as text: tables, and remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = format!("{}\n", Table::from(&self.all.throughput));
        if let Some(round_trip) = &self.all.round_trip {
            text += &format!("{}\n", Table::from(round_trip));
        }
        text += &format!("nodes\n{}\nframes\n{}", self.node_table(), self.frame_table());
        if self.all.load.is_some() {
            text += &format!(
                "\nprocesses\n{}\nover time\n{}",
                self.process_table(),
                self.loads_table()
            );
        }
        if !quiet {
            text += &self.remarks();
        }
        text
    }

    fn node_table(&self) -> Table {
        let columns = [
            "elapsed s",
            "messages",
            "messages/s",
            "of a node",
            "of a worker",
            "of an actor",
            "round trip 50 %",
            "99 %",
            "max",
        ];
        rows(self.parts(), &columns, |figures| {
            let trip = |of: fn(&Quantiles) -> u64| -> Cell {
                figures
                    .round_trip
                    .as_ref()
                    .map_or("-".into(), |all| nanoseconds(of(all) as f64).into())
            };
            let throughput = &figures.throughput;
            vec![
                decimal(figures.elapsed_time_ns as f64 / 1e9, 6).into(),
                figures.message_count.into(),
                decimal(throughput.computation_per_s, 0).into(),
                decimal(throughput.node_per_s, 0).into(),
                decimal(throughput.worker_per_s, 0).into(),
                decimal(throughput.actor_per_s, 0).into(),
                trip(|all| all.quantiles_ns.p50),
                trip(|all| all.quantiles_ns.p99),
                trip(|all| all.quantiles_ns.max),
            ]
        })
    }

    fn frame_table(&self) -> Table {
        let columns = [
            "to others",
            "handed on",
            "frames",
            "per frame",
            "waited",
            "full",
            "free",
            "idle",
            "due",
            "urgent",
            "refused",
        ];
        rows(self.parts(), &columns, |figures| {
            let frames = &figures.frames;
            let waited = figures.waited_per_frame_ns.map(|ns| nanoseconds(ns.round()));
            let mut cells: Vec<Cell> = vec![
                frames.messages.into(),
                frames.handed_on.into(),
                frames.frames.into(),
                decimal(figures.messages_per_frame.unwrap_or(f64::NAN), 1).into(),
                waited.unwrap_or("-".to_owned()).into(),
            ];
            cells.extend(frames.why().map(|(_, left)| left.into()));
            cells.push(frames.refused.into());
            cells
        })
    }

    fn process_table(&self) -> Table {
        let columns = ["CPU time", "CPUs", "threads", "memory"];
        // Where all nodes are in one process, nothing is known of each.
        let most = if self.is_one_process() { 1 } else { usize::MAX };
        rows(self.parts().take(most), &columns, |figures| {
            vec![
                figures.cpu_s.map(|seconds| nanoseconds(seconds * 1e9)).into(),
                figures.cpus_used.map(|cpus| decimal(cpus, 2)).into(),
                figures.threads_max.map(count).into(),
                figures.memory_max_bytes.map(bytes).into(),
            ]
        })
    }

    /// Threads active and the load of each CPU: of all, then of each process if there are several.
    fn loads_table(&self) -> Table {
        let mut table = Table::new([
            Column::left(""),
            Column::left("what"),
            Column::right("mean"),
            Column::right("most"),
            Column::left("over time"),
        ]);
        let (machines, processes) = (self.machine_loads(), self.loads());
        if let (Some(all), 2..) = (&self.all.load, machines.len()) {
            threads(&mut table, "all nodes", all);
        }
        let processes = if processes.len() > 1 { &processes[..] } else { &[] };
        for (name, load) in machines.iter().chain(processes) {
            threads(&mut table, name, load);
            cpus(&mut table, load);
        }
        table
    }

    fn remarks(&self) -> String {
        format!(
            "\nfabric      {}, {} nodes with {} workers and {} actors in all\n\
             messages    pings and replies: both are delivered messages\n\
             elapsed     the longest of the nodes' times, from the barrier before to the last reply\n\
             round trip  {ROUND_TRIP}\n\
             frames      with all that left for other nodes, start-up and warm-up included; why they left: full, free (the sender was), \
             idle (a worker), due, urgent (a message)\n\
             over time   in equal steps, each from little to much: threads that ran on a CPU, and the share of each CPU's time that went to the nodes\n\
             route       {}: {} hops per message; nodes that one node aggregates for: at most {}\n\
             the end     was known to all {} after the last reply\n",
            self.fabric,
            count(self.node_count),
            count(self.worker_count),
            count(self.actor_count),
            self.settings.route.value,
            decimal(self.hops_per_message.unwrap_or(f64::NAN), 2),
            count(self.destination_count_max),
            duration(Duration::from_nanos(self.termination_ns)),
        )
    }
}

/// A row for each part.
fn rows<'a>(
    parts: impl Iterator<Item = (String, &'a Figures)>,
    columns: &[&str],
    cells: impl Fn(&Figures) -> Vec<Cell>,
) -> Table {
    let headings = columns.iter().map(|&heading| Column::right(heading));
    let mut table = Table::new(std::iter::once(Column::left("")).chain(headings));
    for (name, figures) in parts {
        table.row(std::iter::once(name.into()).chain(cells(figures)));
    }
    table
}

/// Mean, most and course of a series.
fn course(load: &Load, series: &[f64], full: Option<f64>) -> (f64, f64, String) {
    let most = series.iter().copied().fold(0.0, f64::max);
    let bars = load.columns(series, series.len().clamp(1, BARS));
    let mean = load.columns(series, 1)[0];
    (mean, most, spark(&bars, full.unwrap_or(most)))
}

fn threads(table: &mut Table, name: &str, load: &Load) {
    let (mean, most, course) = course(load, load.threads_active(), None);
    table.row([
        name.into(),
        "threads active".into(),
        decimal(mean, 2).into(),
        decimal(most, 2).into(),
        course.into(),
    ]);
}

fn cpus(table: &mut Table, load: &Load) {
    let mut all: Vec<_> =
        load.cpus().map(|(cpu, shares)| (cpu, course(load, shares, Some(1.0)))).collect();
    all.sort_by(|(_, (a, ..)), (_, (b, ..))| b.total_cmp(a));
    let more = all.split_off(all.len().min(CPUS_SHOWN));
    all.sort_by_key(|&(cpu, _)| cpu);
    for (cpu, (mean, most, course)) in all {
        table.row([
            "".into(),
            format!("CPU {cpu}").into(),
            percent(mean).into(),
            percent(most).into(),
            course.into(),
        ]);
    }
    if !more.is_empty() {
        let mean = more.iter().map(|(_, (mean, ..))| mean).sum::<f64>() / more.len() as f64;
        let name = format!("and {} more CPUs", more.len());
        table.row(["".into(), name.into(), percent(mean).into(), "".into(), "".into()]);
    }
}
