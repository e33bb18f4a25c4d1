//! `--report`: a run, or a sweep, as one page.

use super::Settings;
use super::outcome::{Ideal, Outcome};
use super::sweep::Point;
use crate::page as run_page;
use crate::setting;
use actinium_observe::number::decimal;
use actinium_report::html::{Figure, Page};
use actinium_workload::SweepPoint;
use actinium_workload::plan::Plan;

/// The page of a run.
pub fn of_run(settings: &Settings, plan: &Plan, outcome: &Outcome, ideal: Option<Ideal>) -> Page {
    page(settings, plan, outcome, ideal, &[])
}

/// The page of a sweep: the curve, and the run of the last point.
pub fn of_sweep(settings: &Settings, plan: &Plan, points: &[Point]) -> Page {
    let curve: Vec<SweepPoint> = points.iter().map(Point::of_sweep).collect();
    match points.last() {
        Some(last) => page(settings, plan, &last.outcome, last.ideal, &curve),
        None => Page::new(title(plan)),
    }
}

fn page(
    settings: &Settings,
    plan: &Plan,
    outcome: &Outcome,
    ideal: Option<Ideal>,
    sweep: &[SweepPoint],
) -> Page {
    let cpus = run_page::cpu_load(&outcome.run);
    let mut report = run_page::report(title(plan), &outcome.run, &cpus, settings.rows())
        .command(command(settings, sweep))
        .plan(plan)
        .sweep(sweep);
    if let Some(limit) = plan.ceilings.first() {
        let figure = Figure::new("Ceiling", format!("{} events/s", decimal(limit.events_per_s, 2)));
        report = report.figure(figure.note(format!("through {}", limit.name)));
    }
    if let Some(ideal) = ideal {
        report = report.ideal(ideal.events_per_s);
    }
    report.page()
}

pub(super) fn title(plan: &Plan) -> String {
    if plan.name.is_empty() { "event processing".to_owned() } else { plan.name.clone() }
}

/// Returns the command line that repeats the run.
pub(super) fn command(settings: &Settings, sweep: &[SweepPoint]) -> String {
    let mut command = format!("{} {}", settings.program, settings.config);
    if settings.replay {
        command += " --replay";
    }
    if !sweep.is_empty() {
        let slots: Vec<String> = sweep.iter().map(|point| point.slots.to_string()).collect();
        command += &format!(" --sweep slots={}", slots.join(","));
    }
    for change in settings.thread_types.value.iter() {
        command += &format!(" --thread-type '{change}'");
    }
    // A sweep has its own slots.
    let is_said = |name: &str| name == "thread-type" || (name == "slots" && !sweep.is_empty());
    let rows = settings.rows().into_iter().filter(|(name, ..)| !is_said(name));
    command += &setting::flags(rows);
    command
}
