//! The report of STREAM: a table, JSON, or a page.

use super::SCHEMA_VERSION;
use super::stream::{Achieved, Settings};
use crate::Failure;
use actinium_memory::PageSize;
use actinium_observe::number::{bytes, decimal, percent};
use actinium_report::html::{Bar, Bars, Page, Section, Unit};
use actinium_report::{Column, Table};
use serde::Serialize;

/// All figures. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    array_bytes: u64,
    pages: PageSize,
    threads: usize,
    times: usize,
    stores: Vec<Achieved>,
}

impl Report {
    /// Creates the report of these results.
    pub fn new(settings: &Settings, stores: Vec<Achieved>) -> Self {
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            array_bytes: settings.numbers as u64 * 8,
            pages: settings.pages,
            threads: settings.threads,
            times: settings.times,
            stores,
        }
    }

    /// Returns the warnings that name the features that segments did without.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let all = self.stores.iter().flat_map(|achieved| {
            let store = &achieved.store;
            achieved.warnings.iter().map(move |warning| format!("{store}: {warning}"))
        });
        let mut all: Vec<String> = all.collect();
        all.dedup();
        all.into_iter()
    }

    /// Returns the report as a table.
    pub fn table(&self) -> Table {
        let kernels = ["copy GB/s", "scale GB/s", "add GB/s", "triad GB/s"].map(Column::right);
        let mut columns =
            vec![Column::left("memory"), Column::left("PUs"), Column::right("threads")];
        columns.extend(kernels);
        columns.extend([
            Column::right("total s"),
            Column::left("pages by node"),
            Column::right("huge"),
        ]);
        let mut table = Table::new(columns);
        for achieved in &self.stores {
            let place = achieved.node.map_or("all".to_owned(), |node| format!("node {node}"));
            let mut cells =
                vec![achieved.store.to_string().into(), place.into(), achieved.threads.into()];
            cells.extend(achieved.rates.iter().map(|rate| decimal(rate.gb_per_s, 2).into()));
            let segment = achieved.segment.as_ref();
            let huge = segment.map(|stats| stats.transparent_huge_bytes + stats.pool_bytes);
            cells.extend([
                decimal(achieved.total_s, 2).into(),
                pages_by_node(achieved).into(),
                huge.map(bytes).into(),
            ]);
            table.row(cells);
        }
        table
    }

    /// Returns the report as a page with charts.
    pub fn page(&self) -> Page {
        let mut section = Section::new("STREAM").text(format!(
            "Three arrays of {} each, {} threads, best of {} rounds.",
            bytes(self.array_bytes),
            self.threads,
            self.times - 1
        ));
        for kernel in ["copy", "scale", "add", "triad"] {
            let bars = self.stores.iter().flat_map(|achieved| {
                let rates = achieved.rates.iter().filter(|rate| rate.kernel == kernel);
                rates.map(|rate| {
                    let node =
                        achieved.node.map_or(String::new(), |node| format!(" (node {node})"));
                    Bar::new(format!("{}{node}", achieved.store), rate.gb_per_s)
                        .detail(pages_by_node(achieved))
                })
            });
            let bars: Vec<Bar> = bars.collect();
            section = section.chart(Bars::new(kernel, Unit::Other("GB/s".to_owned()), bars));
        }
        let mut map = Section::new("Pages by node").text("Where each memory's first array is.");
        for achieved in &self.stores {
            if let Some(stats) = &achieved.segment {
                let bars = stats
                    .nodes
                    .iter()
                    .map(|node| Bar::new(format!("node {}", node.node), node.bytes as f64));
                map = map.chart(Bars::new(achieved.store.to_string(), Unit::Bytes, bars.collect()));
            }
        }
        Page::new("Memory bandwidth by placement")
            .setting("pages", self.pages)
            .setting("threads", self.threads)
            .section(section)
            .section(map)
    }

    /// Whether the arrays held what they had to.
    ///
    /// # Errors
    /// If not.
    pub fn verdict(&self) -> Result<(), Failure> {
        match self.stores.iter().find(|achieved| !achieved.is_valid()) {
            Some(wrong) => Err(Failure::Failed(format!(
                "{}: the arrays are not what they should be, the relative error is {:e}",
                wrong.store, wrong.error
            ))),
            None => Ok(()),
        }
    }
}

/// The pages of each NUMA node, for people.
#[must_use]
pub fn pages_by_node(achieved: &Achieved) -> String {
    let Some(stats) = &achieved.segment else { return String::new() };
    let share = |bytes: u64| percent(bytes as f64 / stats.size_bytes as f64);
    let nodes = stats.nodes.iter().map(|node| format!("{}: {}", node.node, share(node.bytes)));
    nodes.collect::<Vec<_>>().join(", ")
}
