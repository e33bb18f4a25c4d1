//! All of this crate's tests, as one program: to link one takes a fraction of the time that many
//! take.

mod examples;
#[cfg(feature = "serde")]
mod figures;
#[cfg(all(feature = "monitor", any(feature = "cluster", feature = "events", feature = "gateway")))]
mod flight;
#[cfg(feature = "events")]
mod graphs;
mod logging;
#[cfg(all(feature = "cluster", feature = "events", feature = "metrics"))]
mod metrics;
#[cfg(all(feature = "cluster", feature = "memory"))]
mod moving_payloads;
#[cfg(all(feature = "cluster", feature = "gateway"))]
mod outside;
#[cfg(feature = "memory")]
mod payloads;
mod runtime;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(feature = "tracing")]
mod traces;
#[cfg(feature = "wire")]
mod wire;
