//! Nodes of a cluster: the same actors, reached from other processes.
//!
//! A [`Node`] joins a system of actors to a [`fabric::Fabric`]. Actors that it exports are found by
//! name from other nodes, and then sent to, asked and watched through a [`RemoteAddress`]. What may
//! be sent is data: see [`RemoteActor`].
//!
//! Read in this order: [`fabric`] (what moves frames), [`link`] (what makes that dependable),
//! `aggregator` (how small messages become frames), `message` (what lies in a frame), [`node`] (how
//! it all runs).

#![deny(unsafe_code)]
// The actors below do not build under loom.
#![cfg(not(loom))]

mod actor;
mod aggregator;
mod answer;
mod any;
mod codec;
mod denial;
mod error;
mod flush;
mod locks;
// Only MPI has one.
#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
mod doorbell;
pub mod fabric;
pub mod job;
pub mod link;
mod message;
mod movable;
#[cfg(feature = "mpi")]
mod mpi_bell;
#[cfg(feature = "mpi")]
mod mpi_posted;
#[cfg(feature = "mpi")]
mod mpi_segment;
#[cfg(feature = "mpi")]
mod mpi_transfer;
#[cfg(feature = "mpi")]
mod mpi_window;
mod names;
pub mod node;
mod payload;
mod place;
mod recipients;
mod region;
mod remote;
mod repartition;
pub mod route;
mod sharding;
mod shards;
#[cfg(feature = "sim")]
pub mod sim;
mod team;
mod traffic;
mod try_answer;

pub use actinium_placement::{BadRule, Rules as ExchangeRules, Stats as RepartitionStats};
pub use actor::RemoteActor;
pub use aggregator::{AggregatorConfig, AggregatorCounters};
pub use answer::RemoteAnswer;
pub use any::AnyAddress;
pub use codec::CodecError;
pub use denial::Denial;
pub use error::{RemoteAskError, RemoteDown, RemoteDownReason, RemoteSendError};
pub use job::JoinError;
pub use movable::{Migrate, Movable, MovableAddress, MovableId, Movables, PayloadHandler};
pub use names::{Names, NamesConfig};
pub use node::{
    ExportError, Grants, ManualNode, Node, NodeConfig, NodeEvent, NodeHandle, NodeStats,
    PeerLimits, PeerStats, RegisterError, SpawnArgs, StartError, Undelivered,
};
pub use payload::{PayloadConfig, PayloadError};
pub use place::Placement;
pub use region::access::RegionAccess;
pub use region::error::{RegionError, RegionProblem};
pub use region::handle::RemoteRegion;
pub use region::memory::RegionMemory;
pub use region::window_region::WindowRegion;
pub use region::{Region, RegionAnswer};
pub use remote::RemoteAddress;
pub use sharding::{MovableShards, ShardAddress};
pub use shards::Shards;
pub use team::{Team, TeamAnswer, TeamError};
pub use traffic::RepartitionConfig;
pub use try_answer::RemoteTryAnswer;
