//! Segments of memory: the cost of faulting one in at start-up, and the worth of its placement.
//!
//! [`settings`] has sizes and modes. [`startup`] runs no-op programs ([`child`]), and
//! [`startup_report`] shows their times. [`startup_mpi`] starts jobs of MPI whose ranks register
//! segments, and [`startup_mpi_report`] compares those. [`stream`] runs the STREAM kernels, and
//! [`stream_report`] shows their rates. [`stream_nodes`] and [`stream_nodes_report`] do so for
//! several nodes.

pub mod child;
mod failure;
pub mod settings;
pub mod startup;
pub mod startup_mpi;
#[cfg(feature = "mpi")]
pub mod startup_mpi_rank;
pub mod startup_mpi_report;
pub mod startup_report;
pub mod stream;
pub mod stream_nodes;
pub mod stream_nodes_report;
pub mod stream_report;

pub use failure::failure;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 1;
