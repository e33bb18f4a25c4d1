//! The report of the costs of start-up: a table, JSON, or a page.

use super::SCHEMA_VERSION;
use super::child::Said;
use super::settings::Fabric;
use super::startup::{Measured, Settings, Start};
use actinium_memory::{PageSize, Placement};
use actinium_observe::Repeat;
use actinium_observe::number::{bytes, decimal};
use actinium_report::html::{Bar, Bars, Page, Section, Unit};
use actinium_report::{Column, Table};
use serde::Serialize;
use std::collections::BTreeSet;

/// All figures. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    pages: PageSize,
    placement: Placement,
    register: Fabric,
    threads: usize,
    repeat: usize,
    rows: Vec<Row>,
    warnings: BTreeSet<String>,
}

/// One mode, or one loop, at one size. Medians.
#[derive(Clone, Debug, Serialize)]
struct Row {
    size_bytes: u64,
    /// A mode, or `limit:` and a loop.
    mode: String,
    threads: usize,
    ready_s: f64,
    end_s: f64,
    ready_spread: f64,
    gb_per_s: Option<f64>,
    cpu_s_per_gb: Option<f64>,
    /// The ratio of the rate to that of the fastest loop with at most as many threads.
    of_limit: Option<f64>,
    /// The ratio of the time until it was ready to that of the program without a segment.
    of_none: Option<f64>,
    huge_bytes: u64,
    /// Registered when it was ready, the time that this took all threads together, and what the
    /// kernel said was pinned.
    registered_bytes: u64,
    register_s: Option<f64>,
    pinned_bytes: u64,
}

impl Report {
    /// Reports these measurements.
    pub fn new(settings: &Settings, measured: &[Measured]) -> Self {
        let warnings = measured.iter().flat_map(|measured| &measured.modes);
        let warnings = warnings.flat_map(|(_, starts)| starts);
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            pages: settings.pages,
            placement: settings.placement.clone(),
            register: settings.register,
            threads: settings.threads,
            repeat: settings.repeat,
            rows: measured.iter().flat_map(|measured| rows(settings, measured)).collect(),
            warnings: warnings.flat_map(|start| start.said.warnings.clone()).collect(),
        }
    }

    /// Returns the warnings that name the features that segments did without.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.warnings.iter().map(String::as_str)
    }

    /// For people.
    pub fn table(&self) -> Table {
        let mut columns = vec![
            Column::right("size"),
            Column::left("mode"),
            Column::right("threads"),
            Column::right("ready ms"),
            Column::right("end ms"),
            Column::right("/ none"),
            Column::right("GB/s"),
            Column::right("CPU s/GB"),
            Column::right("/ limit"),
            Column::right("huge"),
        ];
        let is_registered = self.register != Fabric::None;
        if is_registered {
            columns.extend(["registered", "pinned", "register ms"].map(Column::right));
        }
        let mut table = Table::new(columns);
        for row in &self.rows {
            let number = |value: Option<f64>, digits| value.map(|value| decimal(value, digits));
            let size = |value: u64| if value == 0 { "".into() } else { bytes(value).into() };
            let mut cells = vec![
                bytes(row.size_bytes).into(),
                row.mode.as_str().into(),
                row.threads.into(),
                decimal(row.ready_s * 1e3, 2).into(),
                decimal(row.end_s * 1e3, 2).into(),
                number(row.of_none, 2).into(),
                number(row.gb_per_s, 2).into(),
                number(row.cpu_s_per_gb, 3).into(),
                number(row.of_limit, 2).into(),
                size(row.huge_bytes),
            ];
            if is_registered {
                let took_ms = row.register_s.map(|seconds| seconds * 1e3);
                cells.extend([size(row.registered_bytes), size(row.pinned_bytes)]);
                cells.push(number(took_ms, 2).into());
            }
            table.row(cells);
        }
        table
    }

    /// Drawn.
    pub fn page(&self) -> Page {
        let bar = |row: &Row, value| {
            Bar::new(format!("{} {} ×{}", bytes(row.size_bytes), row.mode, row.threads), value)
        };
        let ready = self.rows.iter().map(|row| bar(row, row.ready_s)).collect();
        let rates = self.rows.iter().filter_map(|row| Some(bar(row, row.gb_per_s?))).collect();
        let section = Section::new("Start-up")
            .text("A no-op program with a segment of memory: medians.")
            .chart(
                Bars::new("Time until it could begin", Unit::Seconds, ready).top(self.rows.len()),
            )
            .chart(
                Bars::new("Faulted in", Unit::Other("GB/s".to_owned()), rates).top(self.rows.len()),
            );
        Page::new("Start-up with a segment of memory")
            .summary(format!("pages {}, placement {}", self.pages, self.placement))
            .setting("register", self.register)
            .setting("threads", self.threads as u64)
            .setting("repeat", self.repeat as u64)
            .section(section)
    }
}

fn rows(settings: &Settings, measured: &Measured) -> Vec<Row> {
    let size_bytes = measured.size_bytes;
    let rate = |start: &Start| Some(size_bytes as f64 / start.said.fault_in_s? / 1e9);
    let limit_of = |threads: usize| {
        let limits = measured.limits.iter().filter(|(_, with, _)| *with <= threads);
        let rates = limits.filter_map(|(_, _, starts)| median(starts.iter().filter_map(rate)));
        rates.reduce(f64::max)
    };
    let none = measured.modes.iter().find(|(mode, _)| mode.to_string() == "none");
    let none = none.and_then(|(_, starts)| median(starts.iter().map(|start| start.ready_s)));
    let row = |mode: String, threads: usize, starts: &[Start], is_limit: bool| {
        let ready = Repeat::new(starts.iter().map(|start| start.ready_s));
        let ready_s = ready.as_ref().map_or(f64::NAN, Repeat::median);
        let gb_per_s = median(starts.iter().filter_map(rate));
        let cpu = starts.iter().filter(|start| start.said.fault_in_s.is_some());
        let registering = starts.iter().filter(|start| start.said.registered_bytes > 0);
        Row {
            size_bytes,
            mode,
            threads,
            ready_s,
            end_s: median(starts.iter().map(|start| start.end_s)).unwrap_or(f64::NAN),
            ready_spread: ready.as_ref().map_or(f64::NAN, Repeat::spread),
            gb_per_s,
            cpu_s_per_gb: median(cpu.map(|start| start.said.cpu_s * 1e9 / size_bytes as f64)),
            of_limit: gb_per_s.filter(|_| !is_limit).and_then(|own| Some(own / limit_of(threads)?)),
            of_none: none.filter(|_| !is_limit).map(|none| ready_s / none),
            huge_bytes: most(starts, |said| said.huge_bytes),
            registered_bytes: most(starts, |said| said.registered_bytes),
            register_s: median(registering.map(|start| start.said.register_s)),
            pinned_bytes: most(starts, |said| said.pinned_bytes),
        }
    };
    let modes = measured.modes.iter().map(|(mode, starts)| {
        let name = mode.to_string();
        let threads = match name.as_str() {
            "background" | "eager" => settings.threads,
            "eager-1" => 1,
            _ => 0,
        };
        row(name, threads, starts, false)
    });
    let limits = measured.limits.iter().map(|(baseline, threads, starts)| {
        row(format!("limit:{baseline}"), *threads, starts, true)
    });
    modes.chain(limits).collect()
}

fn most(starts: &[Start], of: impl Fn(&Said) -> u64) -> u64 {
    starts.iter().map(|start| of(&start.said)).max().unwrap_or(0)
}

fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Repeat::new(values).map(|repeat| repeat.median())
}
