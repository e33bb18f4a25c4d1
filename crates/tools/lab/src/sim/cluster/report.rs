//! The report of a simulated cluster: tables, or JSON.

use super::run::Size;
use super::{SCHEMA_VERSION, Settings};
use actinium_observe::number::{bytes, count, decimal, nanoseconds, percent, rate};
use actinium_report::{Column, Table};
use serde::Serialize;
use std::fmt::Write;

/// All that came of it. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    settings: Settings,
    sizes: Vec<SizeReport>,
}

#[derive(Debug, Serialize)]
pub(super) struct SizeReport {
    pub(super) nodes: u32,
    pub(super) routes: Vec<RouteReport>,
    /// The time from when the last node takes part until all have heard.
    pub(super) all_reduce_ns: u64,
    /// From the last message until all know that it was the last, by the route that takes longest.
    pub(super) termination_ns: u64,
    pub(super) detected_by: u32,
    pub(super) detection_first_ns: u64,
    pub(super) detection_last_ns: u64,
    /// The share of a node's thread, where it talks with all others.
    pub(super) heartbeats_share: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct RouteReport {
    pub(super) route: &'static str,
    pub(super) delivered: u64,
    pub(super) elapsed_ns: u64,
    pub(super) messages_per_s: f64,
    pub(super) latency_mean_ns: u64,
    pub(super) latency_p99_ns: u64,
    pub(super) hops_per_message: f64,
    pub(super) frames: u64,
    pub(super) messages_per_frame: f64,
    pub(super) left_full: u64,
    pub(super) left_free: u64,
    pub(super) left_idle: u64,
    pub(super) left_due: u64,
    pub(super) acknowledgements: u64,
    pub(super) resent: u64,
    pub(super) no_credit: u64,
    pub(super) termination_rounds: u64,
    /// From the last message until all know that it was the last.
    pub(super) termination_ns: u64,
    pub(super) destinations_mean: f64,
    pub(super) destinations_max: u64,
    pub(super) frame_bytes_mean: u64,
    pub(super) frame_bytes_max: u64,
}

impl SizeReport {
    fn new(size: &Size) -> Self {
        let route = |(route, figures): &(_, actinium_cluster::sim::Figures)| {
            let route: &actinium_cluster::route::Route = route;
            RouteReport {
                route: route.name(),
                delivered: figures.delivered,
                elapsed_ns: figures.elapsed_ns,
                messages_per_s: figures.messages_per_s(),
                latency_mean_ns: figures.latency_mean_ns,
                latency_p99_ns: figures.latency_p99_ns,
                hops_per_message: figures.hops_per_message(),
                frames: figures.frames,
                messages_per_frame: figures.messages_per_frame(),
                left_full: figures.full,
                left_free: figures.free,
                left_idle: figures.idle,
                left_due: figures.due,
                acknowledgements: figures.acknowledgements,
                resent: figures.resent,
                no_credit: figures.no_credit,
                termination_rounds: figures.rounds,
                termination_ns: figures.termination_ns,
                destinations_mean: figures.destinations_mean,
                destinations_max: figures.destinations_max,
                frame_bytes_mean: figures.frame_bytes_mean,
                frame_bytes_max: figures.frame_bytes_max,
            }
        };
        SizeReport {
            nodes: size.nodes,
            routes: size.routes.iter().map(route).collect(),
            all_reduce_ns: size.all_reduce_ns,
            termination_ns: size
                .routes
                .iter()
                .map(|(_, figures)| figures.termination_ns)
                .max()
                .unwrap_or_default(),
            detected_by: size.detection.noticed,
            detection_first_ns: size.detection.first_ns,
            detection_last_ns: size.detection.last_ns,
            heartbeats_share: size.detection.heartbeats_ppm as f64 / 1e6,
        }
    }
}

impl Report {
    /// Creates the report of these runs.
    pub fn new(settings: Settings, sizes: &[Size]) -> Self {
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            settings,
            sizes: sizes.iter().map(SizeReport::new).collect(),
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn sizes(&self) -> &[SizeReport] {
        &self.sizes
    }

    /// Returns the report as text; remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all");
        line(self.table().to_string());
        line(self.nodes_table().to_string());
        if quiet {
            return text;
        }
        let settings = &self.settings;
        let how = match settings.rate_per_s {
            0 => "all at once".to_owned(),
            per_s => format!("{} a second", count(per_s)),
        };
        line(format!(
            "load       each node sends {} messages of {} bytes to others that seed {} draws, {how}",
            count(settings.messages_per_node.into()),
            settings.message_bytes,
            settings.seed
        ));
        line(settings.links_line());
        line("dest.      destinations that a node aggregates for, most of any node; memory of frames at one time, likewise".to_owned());
        line(format!(
            "assumed    all links are up; {} frames under way to a node at most, {} of them lost and sent again after {}; no congestion, one worker a node, {}",
            count(settings.window_frames.into()),
            percent(settings.loss),
            nanoseconds(settings.link().resend_ns as f64),
            settings.cpus_text()
        ));
        line("ended      from the last message until all nodes know, by rounds of the four-counter method".to_owned());
        line(
            "noticed    when the first and the last of all others knew that a node had died"
                .to_owned(),
        );
        line(
            "heartbeats what they take of a node's thread, if it talks with all others".to_owned(),
        );
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::right("nodes"),
            Column::left("route"),
            Column::right("messages").unit("/s"),
            Column::right("mean"),
            Column::right("p99"),
            Column::right("per frame"),
            Column::right("hops"),
            Column::right("dest."),
            Column::right("frames"),
        ]);
        for size in &self.sizes {
            for route in &size.routes {
                table.row([
                    count(size.nodes.into()).into(),
                    route.route.into(),
                    rate(route.messages_per_s).into(),
                    nanoseconds(route.latency_mean_ns as f64).into(),
                    nanoseconds(route.latency_p99_ns as f64).into(),
                    decimal(route.messages_per_frame, 1).into(),
                    decimal(route.hops_per_message, 2).into(),
                    count(route.destinations_max).into(),
                    bytes(route.frame_bytes_max).into(),
                ]);
            }
        }
        table
    }

    fn nodes_table(&self) -> Table {
        let headings = ["nodes", "ended", "first noticed", "last noticed", "heartbeats"];
        let mut table = Table::new(headings.map(Column::right));
        for size in &self.sizes {
            table.row([
                count(size.nodes.into()).into(),
                nanoseconds(size.termination_ns as f64).into(),
                nanoseconds(size.detection_first_ns as f64).into(),
                nanoseconds(size.detection_last_ns as f64).into(),
                percent(size.heartbeats_share).into(),
            ]);
        }
        table
    }
}
