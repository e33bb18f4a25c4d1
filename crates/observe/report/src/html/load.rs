//! Charts of what processes used over time. Each load comes with a name, which may be empty.

use super::{HeatMap, HeatRow, LineChart, Series, Unit};
use actinium_observe::process::{CpuLoad, Load};

/// The load of each CPU of each process.
#[must_use]
pub fn cpu_map(title: &str, loads: &[(String, &Load)]) -> HeatMap {
    let CpuLoad { step_s, cpus } = CpuLoad::of(loads);
    let rows = cpus.into_iter().map(|(name, shares)| HeatRow::new(name, shares));
    HeatMap { rows: rows.collect(), ..HeatMap::new(title, Unit::Share, step_s) }.full(1.0)
}

/// Threads of each process that ran on a CPU.
#[must_use]
pub fn threads_active(loads: &[(String, &Load)]) -> LineChart {
    // Fractions: no count.
    let chart = LineChart::new("Threads active", Unit::Other(String::new())).note(format!(
        "Threads that ran on a CPU: the mean between two looks{}.",
        from_begin(loads)
    ));
    lines(chart, loads, |load| load.threads_active().to_vec())
}

/// Threads of each process.
#[must_use]
pub fn threads(loads: &[(String, &Load)]) -> LineChart {
    let chart = if is_alone(loads) {
        LineChart::new("Threads of the process", Unit::Count)
    } else {
        LineChart::new("Threads of each node's process", Unit::Count)
            .note("From each node's own begin.")
    };
    lines(chart, loads, |load| load.threads().iter().map(|&threads| threads as f64).collect())
}

fn from_begin(loads: &[(String, &Load)]) -> &'static str {
    if is_alone(loads) { "" } else { ", from each node's own begin" }
}

/// Whether it is of one process, which needs no name.
fn is_alone(loads: &[(String, &Load)]) -> bool {
    matches!(loads, [(name, _)] if name.is_empty())
}

/// One line for each process: a value at the end of a step holds for the step.
fn lines(chart: LineChart, loads: &[(String, &Load)], of: impl Fn(&Load) -> Vec<f64>) -> LineChart {
    loads.iter().fold(chart.steps(), |chart, (name, load)| {
        let times = std::iter::once(0.0).chain(load.end_s().iter().copied());
        let values = of(load);
        let last = values.last().copied();
        let points = times.zip(values.into_iter().chain(last)).collect();
        chart.series(Series::new(name, points))
    })
}
