//! The report of STREAM on several nodes: a table, JSON, or a page.

use super::SCHEMA_VERSION;
use super::stream::{KERNELS, Settings};
use super::stream_nodes::OfAll;
use crate::Failure;
use actinium_memory::PageSize;
use actinium_observe::number::{bytes, decimal};
use actinium_report::html::{Bar, Bars, Page, Section, Unit};
use actinium_report::{Column, Table};
use serde::Serialize;

/// All figures. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    fabric: &'static str,
    node_count: usize,
    thread_count: usize,
    /// On each node.
    array_bytes: u64,
    pages: PageSize,
    times: usize,
    /// The order of the rates.
    kernels: [&'static str; 4],
    stores: Vec<OfAll>,
    remark: Option<&'static str>,
}

impl Report {
    /// Creates the report of these results.
    pub fn new(
        fabric: &'static str,
        remark: Option<&'static str>,
        settings: &Settings,
        stores: Vec<OfAll>,
    ) -> Self {
        let nodes = stores.first().map(|all| all.nodes.as_slice()).unwrap_or_default();
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            fabric,
            node_count: nodes.len(),
            thread_count: nodes.iter().map(|node| node.threads).sum(),
            array_bytes: settings.numbers as u64 * 8,
            pages: settings.pages,
            times: settings.times,
            kernels: KERNELS.map(|(name, _)| name),
            stores,
            remark,
        }
    }

    /// Returns a remark on how the nodes were started, if there is one.
    pub fn remark(&self) -> Option<&'static str> {
        self.remark
    }

    /// Returns the warnings that name the features that segments did without.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let all = self.stores.iter().flat_map(|all| {
            all.nodes.iter().flat_map(|node| {
                let (store, number) = (&all.store, node.node);
                node.warnings
                    .iter()
                    .map(move |warning| format!("node {number}, {store}: {warning}"))
            })
        });
        let mut all: Vec<String> = all.collect();
        all.dedup();
        all.into_iter()
    }

    /// Returns the report as a table: of each store the sum, then each node.
    pub fn table(&self) -> Table {
        let kernels = ["copy GB/s", "scale GB/s", "add GB/s", "triad GB/s"].map(Column::right);
        let mut columns =
            vec![Column::left("memory"), Column::left("node"), Column::right("threads")];
        columns.extend(kernels);
        columns.extend([Column::right("total s"), Column::left("pages by NUMA node")]);
        let mut table = Table::new(columns);
        for all in &self.stores {
            let mut cells = vec![
                all.store.as_str().into(),
                format!("all {}", all.nodes.len()).into(),
                self.thread_count.into(),
            ];
            cells.extend(all.gb_per_s.map(|rate| decimal(rate, 2).into()));
            cells.extend(["".into(), "".into()]);
            table.row(cells);
            for node in &all.nodes {
                let mut cells = vec!["".into(), u64::from(node.node).into(), node.threads.into()];
                cells.extend(node.gb_per_s.map(|rate| decimal(rate, 2).into()));
                cells.extend([decimal(node.total_s, 2).into(), node.pages.as_str().into()]);
                table.row(cells);
            }
        }
        table
    }

    /// Returns the report as a page with charts.
    pub fn page(&self) -> Page {
        let text = format!(
            "Three arrays of {} on each of {} nodes, {} threads in all, which began each of {} rounds together. A sum is of the rates of one round, the best; \
             a node's rate is of its own best round.",
            bytes(self.array_bytes),
            self.node_count,
            self.thread_count,
            self.times - 1
        );
        let mut section = Section::new("STREAM on several nodes").text(text);
        for (index, kernel) in self.kernels.iter().enumerate() {
            let bars = self.stores.iter().flat_map(|all| {
                let sum = Bar::new(format!("{}, sum", all.store), all.gb_per_s[index]);
                let nodes = all.nodes.iter().map(move |node| {
                    let label = format!("{}, node {}", all.store, node.node);
                    Bar::new(label, node.gb_per_s[index]).detail(node.pages.clone())
                });
                std::iter::once(sum).chain(nodes)
            });
            let unit = Unit::Other("GB/s".to_owned());
            section = section.chart(Bars::new(*kernel, unit, bars.collect()));
        }
        Page::new("Memory bandwidth of several nodes")
            .setting("fabric", self.fabric)
            .setting("nodes", self.node_count)
            .setting("pages", self.pages)
            .section(section)
    }

    /// Whether the arrays held what they had to.
    ///
    /// # Errors
    /// If not.
    pub fn verdict(&self) -> Result<(), Failure> {
        for all in &self.stores {
            if let Some(wrong) = all.nodes.iter().find(|node| !node.is_valid) {
                return Err(Failure::Failed(format!(
                    "{} of node {}: the arrays are not what they should be, the relative error is {:e}",
                    all.store, wrong.node, wrong.error
                )));
            }
        }
        Ok(())
    }
}
