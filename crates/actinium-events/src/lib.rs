//! Event-processing graphs: thousands of independent events, each run through a graph of modules that read and
//! make data products.
//!
//! [`data`] reads and writes files of real events. [`workload`] reads what others have measured: which modules there are, what each needs, and how long it takes.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod data;
pub mod workload;
