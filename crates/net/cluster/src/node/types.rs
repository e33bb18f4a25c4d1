//! The types of actors that other nodes may start here.

use super::exports::Exported;
use crate::fabric::NodeId;
use actinium_actor::SystemHandle;
use actinium_wire::Encoding;
use actinium_wire::hello::Hello;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A registered type of actors, without its Rust type.
pub(super) trait Spawnable: Send + Sync {
    fn hello(&self, encodings: &[Encoding]) -> Hello;
    /// Starts an actor of the type for a node.
    fn spawn(
        &self,
        system: &SystemHandle,
        by: NodeId,
        args: &[u8],
    ) -> Result<Arc<dyn Exported>, String>;
}

/// The registered types by kind.
pub(super) type Types = BTreeMap<&'static str, Arc<dyn Spawnable>>;
