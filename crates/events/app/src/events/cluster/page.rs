//! `--report`: a run over several nodes as one page.

use crate::events::Settings;
use crate::events::page::title;
use crate::events::typed::command;
use actinium_events_cluster::{ClusterFigures, NodeTotals};
use actinium_observe::number::{nanoseconds, percent};
use actinium_observe::process::CpuLoad;
use actinium_observe::process::Load;
use actinium_report::html::load as charts;
use actinium_report::html::{Bar, Bars, Column, Figure, Page, Section, Table, Unit};
use actinium_workload::RunReport;
use actinium_workload::plan::Plan;

/// The page.
pub fn page(settings: &Settings, plan: &Plan, figures: &ClusterFigures<'_>) -> Page {
    let summary = figures.summary();
    let loads = loads(figures);
    let cpus = CpuLoad::of(&loads);
    let rows = settings.rows().into_iter();
    let mut page = RunReport::new(title(plan), &summary)
        .command(command(settings, None))
        .plan(plan)
        .cpus_of_process(&cpus)
        .figure(Figure::new("Nodes", figures.node_count));
    for (name, value, source) in rows {
        page = page.setting(name, format!("{value} ({source})"));
    }
    let mut page = page.page();
    // Behind the failures, which come first.
    let at = page.sections.iter().position(|section| section.title != "Failures");
    page.sections.insert(at.unwrap_or(page.sections.len()), nodes(figures, &loads));
    page
}

/// Returns the load of each process, under the name of its first node.
fn loads<'a>(figures: &ClusterFigures<'a>) -> Vec<(String, &'a Load)> {
    let load = |node: &NodeTotals<'a>| Some((format!("node {}", node.node), node.load?));
    figures.nodes.iter().filter_map(load).collect()
}

fn nodes(figures: &ClusterFigures<'_>, loads: &[(String, &Load)]) -> Section {
    let label = |node: u32| format!("node {node}");
    let bars = figures.nodes.iter().map(|node| {
        Bar::new(label(node.node), node.events as f64)
            .detail(format!("its workers were busy {} of the time", percent(node.share_busy())))
    });
    let events = Bars::new("Events by node", Unit::Count, bars.collect());
    let columns = vec![
        Column::text("node"),
        Column::number("events", Unit::Count),
        Column::number("events/s", Unit::PerSecond),
        Column::number("latency 50 %", Unit::Seconds),
        Column::number("99 %", Unit::Seconds),
        Column::number("longest", Unit::Seconds),
    ];
    let mut table = Table::new("Events of each node", columns);
    for node in &figures.nodes {
        let latency = node.latency.as_ref();
        let seconds = |ns: u64| ns as f64 * 1e-9;
        table = table.row(vec![
            label(node.node).into(),
            node.events.into(),
            node.events_per_s.into(),
            latency.map(|all| seconds(all.quantiles_ns.p50)).into(),
            latency.map(|all| seconds(all.quantiles_ns.p99)).into(),
            latency.map(|all| seconds(all.quantiles_ns.max)).into(),
        ]);
    }
    let mut text = match &figures.latency {
        Some(all) => format!(
            "Of all nodes' events one half was run within {}, 99 % within {}, without their outputs, which ran on node 0.",
            nanoseconds(all.quantiles_ns.p50 as f64),
            nanoseconds(all.quantiles_ns.p99 as f64)
        ),
        None => "No event was run.".to_owned(),
    };
    for gone in figures.nodes_down {
        text += &format!(
            " Node {} went down ({}); {} of its events were given to others.",
            gone.node, gone.why, gone.given_again
        );
    }
    Section::new("Nodes")
        .text(text)
        .chart(events)
        .chart(charts::threads_active(loads))
        .chart(charts::threads(loads))
        .chart(table)
}
