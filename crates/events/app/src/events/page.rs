//! `--report`: a run, or a sweep, as one page.

use super::outcome::{Ideal, Outcome};
use super::settings::Sweep;
use super::sweep::Point;
use super::typed::{command, is_swept};
use super::{Settings, sweep};
use crate::page as run_page;
use actinium_observe::number::decimal;
use actinium_report::html::{Figure, Page, Section};
use actinium_workload::plan::Plan;

/// The page of a run.
pub fn of_run(settings: &Settings, plan: &Plan, outcome: &Outcome, ideal: Option<Ideal>) -> Page {
    page(settings, plan, outcome, ideal, None, None)
}

/// The page of a sweep: the curves, and the last run, if it was in this process.
pub fn of_sweep(
    settings: &Settings,
    plan: &Plan,
    sweep: &Sweep,
    points: &[Point],
    last: Option<&Outcome>,
) -> Page {
    let report = sweep::Report::new(settings, &plan.name, sweep, points);
    let ceiling =
        plan.ceilings.first().map(|it| (format!("{} {}", it.kind, it.name), it.events_per_s));
    let section = report.section(ceiling);
    let ideal = points.last().and_then(|point| point.ideal);
    if let Some(last) = last {
        return page(settings, plan, last, ideal, Some(sweep), Some(section));
    }
    let text = format!("A sweep over {}: {} points.", sweep.of.name(), points.len());
    let page = Page::new(title(plan)).summary(text).command(command(settings, Some(sweep)));
    let page = report.headline().into_iter().fold(page.section(section), Page::figure);
    let rows = settings.rows().into_iter().filter(|(name, ..)| !is_swept(sweep, name));
    rows.fold(page, |page, (name, value, source)| page.setting(name, format!("{value} ({source})")))
}

fn page(
    settings: &Settings,
    plan: &Plan,
    outcome: &Outcome,
    ideal: Option<Ideal>,
    sweep: Option<&Sweep>,
    scaling: Option<Section>,
) -> Page {
    let cpus = run_page::cpu_load(&outcome.run);
    let mut report = run_page::report(title(plan), &outcome.run, &cpus, settings.rows())
        .command(command(settings, sweep))
        .plan(plan);
    if let Some(scaling) = scaling {
        report = report.section(scaling);
    }
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
