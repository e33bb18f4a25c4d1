//! Figures of an Actinium program: what a measurement is turned into before people or other
//! programs see it.
//!
//! | module | turns |
//! |---|---|
//! | [`latency`] | samples in nanoseconds into quantiles |
//! | [`throughput`] | messages and elapsed time into the four-level throughput |
//! | [`repeat`] | repeated runs into a median, a spread and a ratio that says whether it is clear |
//! | [`number`] | numbers into text with separators, prefixes and units |
//! | [`process`] | what Linux says of a process into CPU time, threads, memory, and the load of each CPU over time |
//! | [`mod@file`] | written bytes into a file that is whole or not there |
//!
//! Figures implement [`serde::Serialize`]. The names of their fields carry the units, so the JSON
//! needs no legend. Tables, charts and pages are in `actinium-report`.
//!
//! ```
//! use std::time::Duration;
//! use actinium_observe::{Latency, Shape, Throughput};
//!
//! let shape = Shape { nodes: 1, workers_per_node: 2, actors_per_worker: 100 };
//! let throughput = Throughput::new(shape, 3_000_000, Duration::from_millis(1_500));
//! assert_eq!(throughput.worker_per_s, 1_000_000.0);
//! println!("{throughput}");
//!
//! let mut latency = Latency::new();
//! latency.record(1_234);
//! println!("{} ns", latency.quantiles().quantiles_ns.p50);
//! ```

pub mod file;
pub mod latency;
pub mod number;
pub mod process;
pub mod repeat;
pub mod throughput;

pub use latency::{Latency, Quantiles, QuantilesNs};
pub use repeat::{Ratio, Repeat};
pub use throughput::{Shape, Throughput};
