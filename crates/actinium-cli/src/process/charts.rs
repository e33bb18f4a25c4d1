//! Loads of processes, drawn. Each comes with what it is called, which may be nothing.

use super::Load;
use super::load::resample;
use actinium_observe::cpu::CpuLoad;
use actinium_observe::report::{HeatMap, HeatRow, LineChart, Series, Unit};

/// Most columns of a chart of CPUs.
const COLUMNS_MAX: usize = 600;

/// The load of each CPU of each of them, in steps of the same length from each one's begin.
pub fn cpus(loads: &[(String, &Load)]) -> CpuLoad {
    let length_s = loads.iter().map(|(_, load)| load.length_s()).fold(0.0, f64::max);
    let columns = loads.iter().map(|(_, load)| load.end_s().len()).max().unwrap_or(1);
    let columns = columns.clamp(1, COLUMNS_MAX);
    let step_s = length_s / columns as f64;
    let rows = loads.iter().flat_map(|(name, load)| {
        let row = move |(cpu, shares): (u32, &[f64])| {
            let shares = resample(load.end_s(), shares, columns, step_s);
            let comma = if name.is_empty() { "" } else { ", " };
            (format!("{name}{comma}CPU {cpu}"), shares)
        };
        load.cpus().map(row)
    });
    CpuLoad { step_s, cpus: rows.collect() }
}

/// The same, drawn.
pub fn cpu_map(title: &str, loads: &[(String, &Load)]) -> HeatMap {
    let CpuLoad { step_s, cpus } = cpus(loads);
    let rows = cpus.into_iter().map(|(name, shares)| HeatRow::new(name, shares));
    HeatMap { rows: rows.collect(), ..HeatMap::new(title, Unit::Share, step_s) }.full(1.0)
}

/// How many threads of each of them ran on a CPU.
pub fn threads_active(loads: &[(String, &Load)]) -> LineChart {
    // Fractions: no count.
    let chart = LineChart::new("Threads active", Unit::Other(String::new()))
        .note("Threads that ran on a CPU: the mean between two looks, from each node's own begin.");
    lines(chart, loads, |load| load.threads_active().to_vec())
}

/// How many threads each of them had.
pub fn threads(loads: &[(String, &Load)]) -> LineChart {
    let chart = LineChart::new("Threads of each node's process", Unit::Count)
        .note("From each node's own begin.");
    lines(chart, loads, |load| load.threads().iter().map(|&threads| threads as f64).collect())
}

/// What is known at the end of a step holds for the step.
fn lines(chart: LineChart, loads: &[(String, &Load)], of: impl Fn(&Load) -> Vec<f64>) -> LineChart {
    loads.iter().fold(chart.steps(), |chart, (name, load)| {
        let times = std::iter::once(0.0).chain(load.end_s().iter().copied());
        let values = of(load);
        let last = values.last().copied();
        let points = times.zip(values.into_iter().chain(last)).collect();
        chart.series(Series::new(name, points))
    })
}
