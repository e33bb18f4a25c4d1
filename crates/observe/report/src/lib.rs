//! Figures of an Actinium program, shown to people: text for a terminal, pages for a browser.
//!
//! | module | shows |
//! |---|---|
//! | [`table`] | rows as aligned columns of text; also [`Quantiles`](actinium_observe::Quantiles) and [`Throughput`](actinium_observe::Throughput) |
//! | [`spark`] | values over time as a line of small bars |
//! | [`progress`] | work done so far as a bar with rate and time left |
//! | [`setting`] | settings, and where each value came from |
//! | [`html`] | charts and tables as one self-contained HTML page |
//!
//! [`document`] reads figures back that a program has written as JSON.
//!
//! ```
//! use actinium_observe::Latency;
//! use actinium_report::Table;
//!
//! let latency = Latency::from_buckets([(1_234, 1)]);
//! println!("{}", Table::from(&latency.quantiles()));
//! ```

pub mod document;
mod figures;
pub mod html;
pub mod progress;
pub mod setting;
pub mod spark;
pub mod table;

pub use document::{Document, ReadError};
pub use progress::Progress;
pub use setting::{Setting, Source};
pub use table::{Cell, Column, Table};
