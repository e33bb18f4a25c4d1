//! `--report`: a run, or a sweep, as one page.

use super::Settings;
use super::outcome::{Ideal, Outcome};
use super::report::Load;
use super::sampler::Samples;
use super::sweep::Point;
use actinium_events::workload::plan::Plan;
use actinium_events::{RunReport, SweepPoint};
use actinium_observe::cpu::CpuLoad;
use actinium_observe::number::{bytes, decimal, nanoseconds};
use actinium_observe::report::{Figure, Page};

/// Most columns of the load chart.
const COLUMNS_MAX: usize = 600;

/// The page of a run.
pub fn of_run(settings: &Settings, plan: &Plan, outcome: &Outcome, ideal: Option<Ideal>) -> Page {
    page(settings, plan, outcome, ideal, &[])
}

/// The page of a sweep: the curve, and the run of the last point.
pub fn of_sweep(settings: &Settings, plan: &Plan, points: &[Point]) -> Page {
    let curve = points.iter().map(|point| SweepPoint {
        slots: usize::try_from(point.slots).unwrap_or(usize::MAX),
        events_per_s: point.outcome.events_per_s(),
        range: None,
        perfect_per_s: point.ideal.map(|ideal| ideal.events_per_s),
    });
    let curve: Vec<SweepPoint> = curve.collect();
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
    let cpus = cpus(&outcome.samples);
    let on_average = format!("{} CPUs on average", decimal(outcome.cpu_s / outcome.elapsed_s(), 2));
    let memory = bytes(outcome.memory_max_bytes);
    let mut report = RunReport::new(title(plan), &outcome.summary)
        .command(command(settings, sweep))
        .plan(plan)
        .cpus_of_process(&cpus)
        .sweep(sweep)
        .figure(Figure::new("CPU time", nanoseconds(outcome.cpu_s * 1e9)).note(on_average))
        .figure(Figure::new("Threads", outcome.threads_max).note("at most"))
        .figure(Figure::new("Memory", memory).note("at most in RAM"));
    if let Some(limit) = plan.ceilings.first() {
        let figure = Figure::new("Ceiling", format!("{} events/s", decimal(limit.events_per_s, 2)));
        report = report.figure(figure.note(format!("through {}", limit.name)));
    }
    if let Some(ideal) = ideal {
        report = report.ideal(ideal.events_per_s);
    }
    let rows = settings.rows().into_iter();
    let report = rows.fold(report, |report, (name, value, source)| {
        report.setting(name, format!("{value} ({source})"))
    });
    report.page()
}

pub(super) fn title(plan: &Plan) -> String {
    if plan.name.is_empty() { "event processing".to_owned() } else { plan.name.clone() }
}

/// What one would type for the same run.
pub(super) fn command(settings: &Settings, sweep: &[SweepPoint]) -> String {
    let mut command = format!("actinium events {}", settings.config);
    if !sweep.is_empty() {
        let slots: Vec<String> = sweep.iter().map(|point| point.slots.to_string()).collect();
        command += &format!(" --sweep slots={}", slots.join(","));
    }
    for (name, value, source) in settings.rows() {
        match (name, source) {
            // A sweep has its own.
            ("slots", _) if !sweep.is_empty() => {}
            (_, crate::setting::Source::Default | crate::setting::Source::File) => {}
            ("thread-type", _) => {
                for change in &settings.thread_types.value {
                    command += &format!(" --thread-type '{change}'");
                }
            }
            _ => command += &format!(" --{name} {value}"),
        }
    }
    command
}

/// The load of each CPU, in steps of the same length.
fn cpus(samples: &Samples) -> CpuLoad {
    let load = Load::of(samples);
    let length = load.end_s().last().copied().unwrap_or(0.0);
    let columns = load.end_s().len().clamp(1, COLUMNS_MAX);
    let step_s = length / columns as f64;
    let row = |(cpu, shares): (u32, &[f64])| {
        (format!("CPU {cpu}"), resample(load.end_s(), shares, columns, step_s))
    };
    CpuLoad { step_s, cpus: load.cpus().map(row).collect() }
}

/// The mean of each column over steps of uneven length.
pub(super) fn resample(end_s: &[f64], shares: &[f64], columns: usize, step_s: f64) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    let mut begin = 0.0;
    for (&end, &share) in end_s.iter().zip(shares) {
        let (first, last) = ((begin / step_s) as usize, (end / step_s) as usize);
        for (column, sum) in sums.iter_mut().enumerate().take(last.min(columns - 1) + 1).skip(first)
        {
            let (from, to) = (column as f64 * step_s, (column + 1) as f64 * step_s);
            *sum += share * (end.min(to) - begin.max(from)).max(0.0) / step_s;
        }
        begin = end;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uneven_steps_become_even_columns() {
        // Half of the first second, all of the next three, nothing of the fifth.
        let even = resample(&[1.0, 4.0, 5.0], &[0.5, 1.0, 0.0], 5, 1.0);
        assert_eq!(even, [0.5, 1.0, 1.0, 1.0, 0.0]);
        let coarse = resample(&[1.0, 4.0, 5.0], &[0.5, 1.0, 0.0], 2, 2.5);
        assert_eq!(coarse, [0.8, 0.6]);
        assert_eq!(resample(&[], &[], 1, 0.0), [0.0]);
    }
}
