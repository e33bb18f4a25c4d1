//! `--report`: a run over several nodes as one page.

use super::report::{NodeReport, Report};
use crate::events::Settings;
use crate::events::page::{command, title};
use actinium_events::{Failure, RunSummary};
use actinium_events_cluster::{ClusterOutcome, Failed, figures};
use actinium_observe::number::{nanoseconds, percent};
use actinium_observe::process::CpuLoad;
use actinium_observe::process::Load;
use actinium_report::html::load as charts;
use actinium_report::html::{Bar, Bars, Column, Figure, Page, Section, Table, Unit};
use actinium_workload::RunReport;
use actinium_workload::plan::Plan;

/// The page.
pub fn page(
    settings: &Settings,
    plan: &Plan,
    outcome: &ClusterOutcome,
    report: &Report<'_>,
) -> Page {
    let summary = summary(outcome);
    let loads = loads(report);
    let cpus = CpuLoad::of(&loads);
    let rows = settings.rows().into_iter();
    let mut page = RunReport::new(title(plan), &summary)
        .command(command(settings, &[]))
        .plan(plan)
        .cpus_of_process(&cpus)
        .figure(Figure::new("Nodes", outcome.nodes.len()));
    for (name, value, source) in rows {
        page = page.setting(name, format!("{value} ({source})"));
    }
    let mut page = page.page();
    // Behind the failures, which come first.
    let at = page.sections.iter().position(|section| section.title != "Failures");
    page.sections.insert(at.unwrap_or(page.sections.len()), nodes(outcome, report, &loads));
    page
}

/// Returns a summary of all nodes as if they were one.
fn summary(outcome: &ClusterOutcome) -> RunSummary {
    let (over, all) = (&outcome.run, &outcome.nodes);
    let failure = |failed: &Failed| Failure {
        module: format!("{} (node {})", failed.module, failed.node),
        event: Some(failed.event),
        cause: failed.cause.clone(),
    };
    RunSummary {
        events: over.done,
        failed: over.failed,
        retries: all.iter().map(|node| node.retries).sum(),
        stopped: over.interrupted,
        abandoned: over.abandoned,
        failures: over.failures.iter().map(failure).collect(),
        elapsed_ns: u64::try_from(over.elapsed.as_nanos()).unwrap_or(u64::MAX).max(1),
        workers: all.iter().map(|node| node.workers).sum(),
        slots: all.iter().map(|node| node.slots).sum(),
        in_flight_max: all.iter().map(|node| node.in_flight_max).sum(),
        modules: figures::modules(all),
        paths: figures::paths(all),
        resources: figures::resources(all),
        ..RunSummary::default()
    }
}

/// Returns the load of each process, under the name of its first node.
fn loads<'a>(report: &Report<'a>) -> Vec<(String, &'a Load)> {
    let load = |node: &NodeReport<'a>| Some((format!("node {}", node.node), node.load?));
    report.nodes().iter().filter_map(load).collect()
}

fn nodes(outcome: &ClusterOutcome, report: &Report<'_>, loads: &[(String, &Load)]) -> Section {
    let label = |node: u32| format!("node {node}");
    let bars = report.nodes().iter().map(|node| {
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
    for node in report.nodes() {
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
    let mut text = match report.latency() {
        Some(all) => format!(
            "Of all nodes' events one half was run within {}, 99 % within {}, without their outputs, which ran on node 0.",
            nanoseconds(all.quantiles_ns.p50 as f64),
            nanoseconds(all.quantiles_ns.p99 as f64)
        ),
        None => "No event was run.".to_owned(),
    };
    for gone in &outcome.gone {
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
