//! The figures of a program for Prometheus, and whether it lives and is ready.
//!
//! ```
//! use actinium_actor::System;
//! use actinium_metrics::Measured;
//!
//! let system = System::builder().workers(2).metrics("127.0.0.1:0").build()?;
//! // curl http://127.0.0.1:PORT/metrics
//! # Ok::<(), actinium_actor::BuildError>(())
//! ```
//!
//! | path | says |
//! |---|---|
//! | `/metrics` | all figures, in OpenMetrics' text format |
//! | `/healthz` | 200; or 503, and which worker has been in one turn of which actor for how long |
//! | `/readyz` | 200; or 503 and why: the system ends, or the program's own check says no |
//!
//! It is read-only. A thread of its own serves it, by a
//! [`Gateway`](actinium_gateway::Gateway), whose limits hold: workers do nothing for it. An address
//! that other hosts reach shows them the names of actor types, and how busy the program is. Name a
//! token, or put it behind something that asks for one: see [`Metrics::router`].
//!
//! The counters of workers have a label `worker`: its index, or `external` for threads that are no
//! workers. The names of all metrics stand in [`COUNTERS`] and in docs/metrics.md.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod counters;
#[cfg(feature = "events")]
mod graphs;
mod health;
mod metrics;
#[cfg(feature = "cluster")]
mod nodes;
mod observed;
#[cfg(any(feature = "events", feature = "cluster"))]
mod rows;
mod system;
mod text;

pub use counters::{COUNTERS, CounterName};
pub use metrics::Metrics;
pub use observed::Measured;
pub use prometheus_client;
