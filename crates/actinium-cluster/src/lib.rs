//! Nodes of a cluster: the same actors, reached from other processes.
//!
//! Read in this order: [`fabric`] (what moves frames), [`link`] (what makes them dependable).

#![forbid(unsafe_code)]
// The actors below do not build under loom.
#![cfg(not(loom))]

pub mod fabric;
pub mod link;
