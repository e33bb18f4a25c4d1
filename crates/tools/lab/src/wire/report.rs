//! The report of the measurement: tables, JSON, a page.

use super::row::Row;
use crate::Failure;
use actinium_observe::number::{count, decimal};
use actinium_report::html::{Bar, Bars, Figure, Page, Section, Unit};
use actinium_report::{Column, Table};
use serde::Serialize;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
const SCHEMA_VERSION: u32 = 1;

/// All that was measured. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    times_are: &'static str,
    checksum: bool,
    time_ms: u64,
    /// The cost of a protocol's monitor for each message, in nanoseconds.
    monitor_ns: f64,
    rows: Vec<Row>,
}

const TIMES: &str = "CPU time per message, the median of nine rounds; decoding includes dropping";

impl Report {
    /// Creates the report of these rows.
    pub fn new(rows: Vec<Row>, monitor_ns: f64, checksum: bool, time_ms: u64) -> Self {
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            times_are: TIMES,
            checksum,
            time_ms,
            monitor_ns,
            rows,
        }
    }

    /// Returns the report as text.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = self.costs().to_string();
        if self.rows.iter().any(|row| row.link.is_some()) {
            text += &format!("\n{}", self.links());
        }
        text += &format!("\n{}", self.monitor());
        if !quiet {
            text += &format!("\ntimes     {TIMES}\n");
            text += "link      TCP to oneself; CPU of both ends with the system's part\n";
            let links = self.rows.iter().filter_map(|row| row.link.as_ref());
            let reason = links.filter_map(|link| link.no_joules_because.as_ref()).next();
            if let Some(reason) = reason {
                text += &format!("energy    not measured: {reason}\n");
            }
        }
        text
    }

    fn costs(&self) -> Table {
        let mut table = Table::new([
            Column::left("message"),
            Column::left("encoding"),
            Column::right("bytes"),
            Column::right("encode ns"),
            Column::right("decode ns"),
            Column::right("CPU / binary"),
            Column::right("bytes / binary"),
        ]);
        for row in &self.rows {
            table.row([
                row.message.into(),
                row.encoding.name().into(),
                row.cost.bytes.into(),
                decimal(row.cost.encode_ns, 1).into(),
                decimal(row.cost.decode_ns, 1).into(),
                ratio(row.cpu_to_binary).into(),
                ratio(row.bytes_to_binary).into(),
            ]);
        }
        table
    }

    fn links(&self) -> Table {
        let mut table = Table::new([
            Column::left("over a link"),
            Column::left("encoding"),
            Column::right("messages"),
            Column::right("messages/s"),
            Column::right("CPU ns/message"),
            Column::right("CPU / binary"),
            Column::right("J / 1e6 messages"),
        ]);
        for row in &self.rows {
            let Some(link) = &row.link else { continue };
            let joules = row.joules_per_message().map(|joules| joules * 1e6);
            table.row([
                row.message.into(),
                row.encoding.name().into(),
                count(link.received).into(),
                decimal(link.messages_per_s, 0).into(),
                decimal(link.cpu_ns, 0).into(),
                ratio(row.link_cpu_to_binary).into(),
                joules.map_or_else(|| "-".to_owned(), |joules| decimal(joules, 1)).into(),
            ]);
        }
        table
    }

    fn monitor(&self) -> Table {
        let mut table =
            Table::new([Column::left("at the border"), Column::right("CPU ns/message")]);
        table.row(["monitor of a protocol".into(), decimal(self.monitor_ns, 1).into()]);
        table
    }

    /// Returns the page, which shows the costs as bars.
    pub fn page(&self) -> Page {
        let monitor = format!("{} ns", decimal(self.monitor_ns, 1));
        let mut page = Page::new("What encodings cost")
            .summary(TIMES)
            .command("actinium wire bench")
            .figure(Figure::new("Monitor of a protocol", monitor).note("CPU for each message"));
        let mut names: Vec<&str> = self.rows.iter().map(|row| row.message).collect();
        names.dedup();
        for name in names {
            let rows = || self.rows.iter().filter(move |row| row.message == name);
            let bars = |title: &str,
                        unit,
                        value: fn(&Row) -> Option<f64>,
                        ratio_of: fn(&Row) -> Option<f64>| {
                let bar = |row: &Row| {
                    let detail =
                        ratio_of(row).map(|over| format!("{} of binary", ratio(Some(over))));
                    value(row).map(|value| {
                        Bar::new(row.encoding.name(), value).detail(detail.unwrap_or_default())
                    })
                };
                Bars::new(title, unit, rows().filter_map(bar).collect())
            };
            let mut section = Section::new(name)
                .chart(bars(
                    "CPU to encode and decode",
                    Unit::Seconds,
                    |row| Some(row.cost.both_ns() / 1e9),
                    |row| row.cpu_to_binary,
                ))
                .chart(bars(
                    "Size",
                    Unit::Bytes,
                    |row| Some(row.cost.bytes as f64),
                    |row| row.bytes_to_binary,
                ));
            if rows().any(|row| row.link.is_some()) {
                section = section.chart(bars(
                    "CPU over a loopback link, both ends",
                    Unit::Seconds,
                    |row| row.link.as_ref().map(|link| link.cpu_ns / 1e9),
                    |row| row.link_cpu_to_binary,
                ));
            }
            if rows().any(|row| row.joules_per_message().is_some()) {
                section = section.chart(bars(
                    "Energy over a loopback link, the whole machine's, per message",
                    Unit::Other("µJ".to_owned()),
                    |row| row.joules_per_message().map(|joules| joules * 1e6),
                    |_| None,
                ));
            }
            page = page.section(section);
        }
        page
    }

    /// Whether the figures may be believed.
    ///
    /// # Errors
    /// If a message was lost.
    pub fn verdict(&self) -> Result<(), Failure> {
        let links = self.rows.iter().filter_map(|row| Some((row, row.link.as_ref()?)));
        for (row, link) in links {
            if link.received != link.messages {
                return Err(Failure::Failed(format!(
                    "{} in {}: {} were sent and {} came",
                    row.message, row.encoding, link.messages, link.received
                )));
            }
        }
        Ok(())
    }
}

impl Row {
    fn joules_per_message(&self) -> Option<f64> {
        let link = self.link.as_ref()?;
        Some(link.joules? / link.messages as f64)
    }
}

fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| decimal(value, 2))
}

#[cfg(test)]
mod tests {
    use super::super::loopback::OnLink;
    use super::super::measure::Cost;
    use super::*;
    use actinium_wire::Encoding;

    fn report(joules: Option<f64>) -> Report {
        let link = OnLink {
            messages: 500,
            received: 500,
            messages_per_s: 1e6,
            cpu_ns: 900.0,
            joules,
            no_joules_because: joules.is_none().then(|| "nobody counts".to_owned()),
        };
        let row = Row {
            message: "control",
            encoding: Encoding::Binary,
            cost: Cost { bytes: 13, encode_ns: 10.0, decode_ns: 20.0 },
            cpu_to_binary: Some(1.0),
            bytes_to_binary: Some(1.0),
            link: Some(link),
            link_cpu_to_binary: Some(1.0),
        };
        Report::new(vec![row], 1.5, false, 200)
    }

    #[test]
    fn joules_are_told_where_the_machine_counts_them() {
        // 4 J for 500 messages: 8 mJ for one.
        let counted = report(Some(4.0));
        assert!(counted.text(false).contains("8,000"), "{}", counted.text(false));
        assert!(!counted.text(false).contains("energy  "), "{}", counted.text(false));
        assert!(counted.page().html().contains("Energy over a loopback link"));
        let uncounted = report(None);
        let text = uncounted.text(false);
        assert!(text.contains("energy    not measured: nobody counts"), "{text}");
        assert!(!uncounted.page().html().contains("Energy over a loopback link"));
    }
}
