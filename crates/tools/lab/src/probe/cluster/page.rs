//! `--report`: all nodes as one page.

use super::report::{ClusterReport, Figures, ROUND_TRIP};
use actinium_observe::Quantiles;
use actinium_observe::number::{count, decimal, duration, nanoseconds, rate};
use actinium_report::html::load as charts;
use actinium_report::html::{
    Bar, Bars, Column, Figure, Grid, GridRow, Page, Section, Table, Unit, Value,
};
use actinium_report::setting::{self, Source};
use std::time::Duration;

/// Charts with this name share their time axis.
const LINK: &str = "run";

/// The page.
pub fn page(report: &ClusterReport) -> Page {
    let all = &report.all;
    let elapsed = Duration::from_nanos(all.elapsed_time_ns);
    let summary = format!(
        "{} pings and replies between {} actors of {} nodes in {}.",
        count(all.message_count),
        count(report.actor_count),
        count(report.node_count),
        duration(elapsed)
    );
    let throughput = &all.throughput;
    let mut page = Page::new("Messages between nodes")
        .summary(summary)
        .command(command(report))
        .figure(
            Figure::new("Throughput", rate(throughput.computation_per_s))
                .note("messages, all nodes"),
        )
        .figure(
            Figure::new("Node", rate(throughput.node_per_s))
                .note(format!("mean of {}", count(report.node_count))),
        )
        .figure(
            Figure::new("Worker", rate(throughput.worker_per_s))
                .note(format!("mean of {}", count(report.worker_count))),
        )
        .figure(
            Figure::new("Actor", rate(throughput.actor_per_s))
                .note(format!("mean of {}", count(report.actor_count))),
        );
    if let Some(trip) = &all.round_trip {
        let p99 = format!("99 %: {}", nanoseconds(trip.quantiles_ns.p99 as f64));
        page = page
            .figure(Figure::new("Round trip", nanoseconds(trip.quantiles_ns.p50 as f64)).note(p99));
    }
    if let Some(per_frame) = all.messages_per_frame {
        let frames = format!("{} frames", count(all.frames.frames));
        page = page.figure(Figure::new("Messages per frame", decimal(per_frame, 1)).note(frames));
    }
    if let (Some(cpus), Some(cpu_s)) = (all.cpus_used, all.cpu_s) {
        let cpus = format!("{} CPUs on average", decimal(cpus, 2));
        page = page.figure(Figure::new("CPU time", nanoseconds(cpu_s * 1e9)).note(cpus));
    }
    let end = duration(Duration::from_nanos(report.termination_ns));
    page = page.figure(Figure::new("The end", end).note("known to all after the last reply"));
    for (name, value, source) in report.settings.all_rows() {
        page = page.setting(name, format!("{value} ({source})"));
    }
    let page = page.section(rates(report)).section(frames(report));
    match &all.load {
        Some(_) => page.section(over_time(report)),
        None => page,
    }
}

/// Returns the command line that repeats the probe.
fn command(report: &ClusterReport) -> String {
    let settings = &report.settings;
    let launcher = match report.fabric {
        "mpi" => format!("mpiexec -n {} ", report.node_count),
        _ => String::new(),
    };
    // That flag has no value.
    let rows = settings.rows().into_iter().filter(|(name, ..)| *name != "counters");
    let counters = match settings.counters.source {
        Source::Flag => " --no-counters",
        _ => "",
    };
    format!("{launcher}actinium probe{}{counters}", setting::flags(rows))
}

/// A row for each part.
fn table<'a>(
    parts: impl Iterator<Item = (String, &'a Figures)>,
    title: &str,
    columns: Vec<Column>,
    cells: impl Fn(&Figures) -> Vec<Value>,
) -> Table {
    let columns = std::iter::once(Column::text("")).chain(columns).collect();
    parts.fold(Table::new(title, columns), |table, (name, figures)| {
        table.row(std::iter::once(name.into()).chain(cells(figures)).collect())
    })
}

fn rates(report: &ClusterReport) -> Section {
    let nodes = || report.parts().skip(1);
    let bars = nodes().map(|(name, node)| Bar::new(name, node.throughput.computation_per_s));
    let bars = Bars::new("Messages by node", Unit::PerSecond, bars.collect()).top(64);
    let per_frame =
        nodes().filter_map(|(name, node)| Some(Bar::new(name, node.messages_per_frame?)));
    let frames_by_node =
        Bars::new("Messages per frame by node", Unit::Count, per_frame.collect()).top(64);
    let columns = vec![
        Column::number("messages", Unit::Count),
        Column::number("elapsed", Unit::Seconds),
        Column::number("messages/s", Unit::PerSecond),
        Column::number("of a node", Unit::PerSecond),
        Column::number("of a worker", Unit::PerSecond),
        Column::number("of an actor", Unit::PerSecond),
    ];
    let rates = table(report.parts(), "Throughput", columns, |figures| {
        let throughput = &figures.throughput;
        vec![
            figures.message_count.into(),
            (figures.elapsed_time_ns as f64 * 1e-9).into(),
            throughput.computation_per_s.into(),
            throughput.node_per_s.into(),
            throughput.worker_per_s.into(),
            throughput.actor_per_s.into(),
        ]
    });
    let rates = rates.note("Of nodes, workers and actors: the mean.");
    let section = Section::new("Throughput").text(
        "Pings and replies: both are delivered messages. The elapsed time of all nodes is the longest of theirs, from the barrier before to the last reply.",
    );
    let section = section.chart(bars).chart(frames_by_node).chart(rates);
    match &report.all.round_trip {
        Some(all) => section.chart(round_trips(report, all)),
        None => section,
    }
}

fn round_trips(report: &ClusterReport, all: &Quantiles) -> Table {
    let quantiles = all.quantiles_ns.named();
    let mut columns = vec![Column::number("sampled", Unit::Count)];
    columns.extend(quantiles.map(|(name, _)| Column::number(name, Unit::Seconds)));
    let table = table(report.parts(), "Round trips", columns, |figures| {
        let Some(trip) = &figures.round_trip else { return Vec::new() };
        let times = trip.quantiles_ns.named().map(|(_, ns)| (ns as f64 * 1e-9).into());
        std::iter::once(trip.count.into()).chain(times).collect()
    });
    table.note(format!("The {ROUND_TRIP}."))
}

fn frames(report: &ClusterReport) -> Section {
    let why: Vec<String> =
        report.all.frames.why().iter().map(|(why, _)| (*why).to_owned()).collect();
    let mut shares = Grid::new("Why frames left", Unit::Share, why)
        .full(1.0)
        .pale(0.0)
        .note("Full; the sender was free; a worker was idle; the oldest message was due; a message was urgent.");
    for (name, figures) in report.parts() {
        let all = figures.frames.frames;
        let cell = |(_, left): (&str, u64)| {
            let share = if all > 0 { left as f64 / all as f64 } else { f64::NAN };
            (share, if left > 0 { format!("{} frames", count(left)) } else { String::new() })
        };
        shares = shares.row(GridRow::new(name, figures.frames.why().map(cell).to_vec()));
    }
    let columns = vec![
        Column::number("to others", Unit::Count),
        Column::number("handed on", Unit::Count),
        Column::number("frames", Unit::Count),
        Column::number("messages per frame", Unit::Count),
        Column::number("waited", Unit::Seconds),
        Column::number("refused", Unit::Count),
    ];
    let frames = table(report.parts(), "Frames", columns, |figures| {
        let frames = &figures.frames;
        vec![
            frames.messages.into(),
            frames.handed_on.into(),
            frames.frames.into(),
            figures.messages_per_frame.into(),
            figures.waited_per_frame_ns.map(|ns| ns * 1e-9).into(),
            frames.refused.into(),
        ]
    });
    let frames = frames.note("Waited: the oldest message of a frame, on average. Refused: messages that were sent again, because too much waited.");
    let text = format!(
        "Small messages for one node leave in one frame. Route {}: {} hops per message; nodes that one node aggregates for: at most {}. Start-up and warm-up are included.",
        report.settings.route.value,
        decimal(report.hops_per_message.unwrap_or(f64::NAN), 2),
        count(report.destination_count_max)
    );
    Section::new("Frames").text(text).chart(frames).chart(shares)
}

fn over_time(report: &ClusterReport) -> Section {
    let (processes, machines) = (report.loads(), report.machine_loads());
    let mut active = processes.clone();
    if let (Some(all), 2..) = (&report.all.load, processes.len()) {
        active.insert(0, ("all nodes".to_owned(), all));
    }
    let share = "The share of each interval that a CPU ran";
    let mut section = Section::new("Over time")
        .text("The measured round, from each node's own begin. Drag over a chart to look closer; the charts of this section move together.")
        .chart(charts::threads_active(&active).link(LINK))
        .chart(charts::cpu_map("Load of each CPU", &machines).note(format!("{share} the nodes' processes.")).link(LINK));
    if processes.len() > 1 {
        let each = charts::cpu_map("Load of each CPU by each node", &processes);
        section = section.chart(each.note(format!("{share} that node's process.")).link(LINK));
    }
    let columns = vec![
        Column::number("CPU time", Unit::Seconds),
        Column::number("CPUs", Unit::Count),
        Column::number("threads", Unit::Count),
        Column::number("memory", Unit::Bytes),
    ];
    let most = if report.is_one_process() { 1 } else { usize::MAX };
    let used = table(report.parts().take(most), "Processes", columns, |figures| {
        vec![
            figures.cpu_s.into(),
            figures.cpus_used.into(),
            figures.threads_max.into(),
            figures.memory_max_bytes.map(|bytes| bytes as f64).into(),
        ]
    });
    let note = match report.is_one_process() {
        true => "All nodes are in one process. Threads and memory: the most.",
        false => "Threads and memory: the most; of all nodes the sum of these.",
    };
    section.chart(charts::threads(&processes).link(LINK)).chart(used.note(note))
}
