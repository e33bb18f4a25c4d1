//! The measurement of encodings: settings and order.

use super::report::Report;
use super::row::Row;
use super::{loopback, measure, messages, monitor};
use crate::Failure;
use actinium_wire::{Encoding, Message};
use std::str::FromStr;
use std::time::Duration;

/// One of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Three fields.
    Control,
    /// Nested, strings, 20 items.
    Order,
    /// 1,000 numbers.
    Telemetry,
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "control" => Ok(Which::Control),
            "order" => Ok(Which::Order),
            "telemetry" => Ok(Which::Telemetry),
            _ => Err(format!("'{text}' is not allowed: control, order, telemetry")),
        }
    }
}

/// The settings of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The encodings; the others are compared with binary, if it is among them.
    pub encodings: Vec<Encoding>,
    /// The messages.
    pub messages: Vec<Which>,
    /// Milliseconds for each message in each encoding.
    pub time_ms: u64,
    /// Messages over the loopback link, per message and encoding; 0: no link.
    pub link_messages: u64,
    /// Whether the link's frames have checksums.
    pub checksum: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            encodings: Encoding::ALL.to_vec(),
            messages: vec![Which::Control, Which::Order, Which::Telemetry],
            time_ms: 200,
            link_messages: 20_000,
            checksum: false,
        }
    }
}

/// Measures all messages in all encodings.
///
/// # Errors
/// If a message does not come back as it was, or a link fails.
pub fn run(settings: &Settings) -> Result<Report, Failure> {
    let mut rows = Vec::new();
    for which in &settings.messages {
        let measured = match which {
            Which::Control => all(&messages::control(), settings),
            Which::Order => all(&messages::order(), settings),
            Which::Telemetry => all(&messages::telemetry(), settings),
        };
        rows.extend(measured.map_err(Failure::Failed)?);
    }
    let time = Duration::from_millis(settings.time_ms);
    let monitor_ns = monitor::cost(time).map_err(Failure::Failed)?;
    Ok(Report::new(rows, monitor_ns, settings.checksum, settings.time_ms))
}

fn all<M: Message + Clone + PartialEq + Sync>(
    message: &M,
    settings: &Settings,
) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for &encoding in &settings.encodings {
        let cost = measure::cost(message, encoding, Duration::from_millis(settings.time_ms))?;
        let link = match settings.link_messages {
            0 => None,
            count => Some(loopback::measure(message, encoding, count, settings.checksum)?),
        };
        rows.push(Row {
            message: M::NAME,
            encoding,
            cost,
            cpu_to_binary: None,
            bytes_to_binary: None,
            link,
            link_cpu_to_binary: None,
        });
    }
    let binary = rows.iter().find(|row| row.encoding == Encoding::Binary).cloned();
    if let Some(binary) = binary {
        for row in &mut rows {
            row.cpu_to_binary = Some(row.cost.both_ns() / binary.cost.both_ns());
            row.bytes_to_binary = Some(row.cost.bytes as f64 / binary.cost.bytes as f64);
            row.link_cpu_to_binary = row
                .link
                .as_ref()
                .zip(binary.link.as_ref())
                .map(|(own, binary)| own.cpu_ns / binary.cpu_ns);
        }
    }
    Ok(rows)
}
