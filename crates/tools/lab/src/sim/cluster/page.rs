//! A simulated cluster as a page.

use super::report::{Report, RouteReport};
use actinium_observe::number::{count, nanoseconds};
use actinium_report::html::{Figure, Grid, GridRow, Page, Scaling, ScalingCurve, Section, Unit};

/// The page of a report.
pub fn of(report: &Report) -> Page {
    let settings = report.settings();
    let mut page = Page::new("Simulated cluster: routes by nodes").summary(format!(
        "Each node sends {} messages of {} bytes to others, drawn by a seed. Frames leave, messages go, values are folded and deaths are noticed as the \
         runtime's own code decides; links are LogGP.",
        count(settings.messages_per_node.into()),
        settings.message_bytes
    ));
    if let Some(size) = report.sizes().last() {
        let nodes = format!("{} nodes", count(size.nodes.into()));
        let ended = nanoseconds(size.termination_ns as f64);
        let noticed = nanoseconds(size.detection_last_ns as f64);
        page = page
            .figure(Figure::new("The end is known", ended).note(nodes.clone()))
            .figure(Figure::new("A death is known to all", noticed).note(nodes));
    }
    for (name, value) in [
        ("--latency", settings.latency_ns),
        ("--overhead", settings.overhead_ns),
        ("--gap", settings.gap_ns),
        ("--gap-per-kib", settings.gap_per_kib_ns),
        ("--frame", settings.frame_ns),
        ("--message", settings.message_ns),
        ("--hold", settings.hold_ns),
        ("--rate", settings.rate_per_s),
        ("--seed", settings.seed),
    ] {
        page = page.setting(name, count(value));
    }
    let mut throughput = Scaling::new("Messages of all nodes", "nodes", Unit::PerSecond);
    for (at, route) in settings.routes.iter().enumerate() {
        let points: Vec<(f64, f64)> = report
            .sizes()
            .iter()
            .filter_map(|size| Some((size.nodes.into(), size.routes.get(at)?.messages_per_s)))
            .collect();
        throughput = throughput.curve(ScalingCurve::new(route.name(), &points));
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    page.section(Section::new("Throughput").chart(throughput))
        .section(
            Section::new("Latency")
                .chart(grid(report, "Mean", Unit::Seconds, |it| seconds(it.latency_mean_ns)))
                .chart(grid(report, "99 of 100", Unit::Seconds, |it| seconds(it.latency_p99_ns))),
        )
        .section(
            Section::new("What it takes")
                .chart(fuller_is_paler(grid(report, "Messages in a frame", Unit::Count, |it| {
                    it.messages_per_frame
                })))
                .chart(grid(report, "Destinations of a node, at most", Unit::Count, |it| {
                    it.destinations_max as f64
                }))
                .chart(grid(report, "Memory of a node's frames, at most", Unit::Bytes, |it| {
                    it.frame_bytes_max as f64
                })),
        )
}

/// Colour is for what is dear; frames are when little is in them.
fn fuller_is_paler(grid: Grid) -> Grid {
    let values = || grid.rows.iter().flat_map(|row| row.cells.iter().map(|cell| cell.0));
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    grid.full(least).pale(most)
}

/// One row per number of nodes, one column per route.
fn grid(report: &Report, title: &str, unit: Unit, of: impl Fn(&RouteReport) -> f64) -> Grid {
    let columns = report.settings().routes.iter().map(|route| route.name().to_owned()).collect();
    let mut grid = Grid::new(title, unit, columns);
    for size in report.sizes() {
        let values = size.routes.iter().map(|route| (of(route), String::new())).collect();
        grid = grid.row(GridRow::new(format!("{} nodes", count(size.nodes.into())), values));
    }
    grid
}
