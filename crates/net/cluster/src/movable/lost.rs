//! The news that a message is lost, together with its payload, on its way to an actor that moves.

use super::delivery::{Delivery, Waiting};
use crate::actor::RemoteActor;
use crate::fabric::NodeId;
use crate::message::{self, Control};
use crate::node::NodeEvent;
use crate::node::state::Inner;
use std::sync::Weak;

/// Tells this node, and the node that has sent it here, that it does not arrive at `to`.
pub(super) fn tell(inner: &Weak<Inner>, from: NodeId, to: NodeId, bytes: usize, why: String) {
    let Some(inner) = inner.upgrade() else { return };
    let bytes = bytes as u64;
    if from != inner.id() {
        let why = format!("on its way to {to}, where its actor has gone: {why}");
        let lost = Control::PayloadLost { bytes, why };
        // If that node is down, so is whoever was to hear it.
        let _ = inner.add(&inner.peer(from), true, |frame| message::control(&lost, frame));
    }
    inner.tell_listeners(&NodeEvent::PayloadLostThere { node: to, bytes, why });
}

/// Tells of those with payloads among what has waited.
pub(super) fn tell_of_all<A: RemoteActor>(
    inner: &Weak<Inner>,
    to: NodeId,
    waited: impl Iterator<Item = Waiting<A>>,
    why: &str,
) {
    for (delivery, _) in waited {
        if let Delivery::TellWith(from, _, payload) = delivery {
            tell(inner, from, to, payload.len(), why.to_owned());
        }
    }
}
