//! Tests of what runs on several nodes, or in their memory: as one program of its own, so that the
//! checks of MPI and of Zenoh build no other crate's tests anew.

#[path = "../all/common/mod.rs"]
#[allow(dead_code, reason = "each of the two programs uses a part of it")]
mod common;

mod events_cluster;
mod launch;
mod memory;
mod probe_cluster;
#[cfg(feature = "zenoh")]
mod secure;
