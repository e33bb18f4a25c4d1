//! A live page of a program: what its actors and workers do at this moment.
//!
//! ```
//! use actinium_actor::{Shutdown, System};
//! use actinium_dashboard::Watched;
//!
//! let system = System::builder().workers(2).dashboard("127.0.0.1:0").build()?;
//! // .. actors work; open http://127.0.0.1:PORT in a browser ..
//! system.shutdown(Shutdown::Drain);
//! # Ok::<(), actinium_actor::BuildError>(())
//! ```
//!
//! The environment variable `ACTINIUM_DASHBOARD=127.0.0.1:7070` does the same for each system of a
//! program that is linked with this crate, without a change of its code. A second system that lives
//! at the same time gets the next port.
//!
//! The page shows throughput, latencies over time, threads and CPUs, the machine with what passes
//! between workers, the table of actors, who supervises whom, dead letters, and what the program
//! adds by [`section`](actinium_monitor::live::section). `/metrics`, `/healthz` and `/readyz` of
//! [`actinium_metrics`] are at the same address.
//!
//! It is read-only. Threads of its own serve it: workers do nothing for it, and while nobody looks,
//! nor do those. The first question for the last seconds begins a flight recorder
//! ([`flight_router`](actinium_monitor::flight_router)).
//! Without a token it listens only where this machine alone reaches it.
//!
//! | file | what it is |
//! |---|---|
//! | `dashboard.rs` | what is served: one system, or several nodes |
//! | `observed.rs`, `before_main.rs` | what a builder, and the environment, ask for |
//! | `source.rs` | where figures come from: `local.rs` this process, `remote.rs` another one, by `client.rs` |
//! | `frames.rs` | looks at all sources, for all clients together |
//! | `admission.rs` | who may come in |
//! | `routes.rs`, `seats.rs` | what is answered; who is told of each look |

#![deny(missing_docs)]

mod admission;
mod before_main;
mod client;
mod dashboard;
mod error;
mod frames;
mod local;
mod observed;
mod remote;
mod routes;
mod seats;
mod source;

pub use before_main::ENV_DASHBOARD;
pub use dashboard::{Dashboard, Serving};
pub use error::DashboardError;
pub use observed::{ENV_TOKEN, Watched, serve_each};
