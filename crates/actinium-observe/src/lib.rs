//! Histograms, tables and figures of an Actinium program: what a measurement is turned into before people or other
//! programs see it.
//!
//! | module | turns |
//! |---|---|
//! | [`latency`] | samples in nanoseconds into quantiles |
//! | [`throughput`] | messages and elapsed time into the four-level throughput |
//! | [`repeat`] | repeated runs into a median, a spread and a ratio that says whether it is clear |
//! | [`number`] | numbers into text with separators, prefixes and units |
//! | [`spark`] | values over time into a line of small bars |
//! | [`table`] | rows into aligned columns |
//! | [`report`] | charts and tables into one self-contained HTML page |
//! | [`cpu`] | what the system counts into the load of each CPU over time |
//! | [`mod@file`] | what is written into a file that is whole or not there |
//! | [`progress`] | work done so far into a bar with rate and time left |
//!
//! What is computed implements [`serde::Serialize`]; what is shown implements [`std::fmt::Display`] or writes to
//! stderr. The field names carry their units, so the JSON needs no legend.
//!
//! ```
//! use std::time::Duration;
//! use actinium_observe::{Latency, Shape, Throughput};
//!
//! let shape = Shape { nodes: 1, workers_per_node: 2, actors_per_worker: 100 };
//! let throughput = Throughput::new(shape, 3_000_000, Duration::from_millis(1_500));
//! assert_eq!(throughput.worker_per_s, 1_000_000.0);
//! println!("{}", throughput.table());
//!
//! let mut latency = Latency::new();
//! latency.record(1_234);
//! println!("{}", latency.quantiles().table());
//! ```

pub mod cpu;
pub mod file;
pub mod latency;
pub mod number;
pub mod progress;
pub mod repeat;
pub mod report;
pub mod spark;
pub mod table;
pub mod throughput;

pub use latency::{Latency, Quantiles, QuantilesNs};
pub use progress::Progress;
pub use repeat::{Ratio, Repeat};
pub use table::{Cell, Column, Table};
pub use throughput::{Shape, Throughput};
