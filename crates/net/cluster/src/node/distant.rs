//! The payloads of distant nodes: those of a grid that are no neighbours of this one.
//!
//! Their messages come and go in envelopes, through other nodes. The bytes of their payloads go
//! straight: a grid bounds the number of links, and datagrams need no link. So the nodes on the way
//! keep nothing of a payload, and have no memory for them.
//!
//! What differs from a neighbour's payloads:
//!
//! - Workers begin and end the session with a distant node, by its messages (see `multihop`). The
//!   node's thread notices that by the number of the session in which something may be wanted.
//! - An offer ends when the session's counts say that its message was handed over there.
//! - That messages come does not say that the two nodes hear each other. A node that is asked and
//!   serves nothing counts as one that does not answer.
//!
//! An exchange with a distant node lasts as long as there is something to do, because a grid may
//! have many nodes. While two such nodes have a link of their own, they use that one's exchange.

use super::exchange::{Exchange, Here};
use super::frame_receiver::FrameReceiverMsg;
use super::peer::Peer;
use super::state::Inner;
use crate::fabric::{Fabric, NodeId, TransferId};
use crate::locks::lock;
use crate::payload::PayloadError;
use actinium_memory::heap::Payload;
use std::collections::BTreeMap;
use std::sync::Arc;

struct Distant {
    peer: Arc<Peer>,
    exchange: Exchange,
    /// The session of what is fetched.
    session: Option<u64>,
}

/// The payload transfers with distant nodes: see the module.
#[derive(Default)]
pub(super) struct DistantPayloads(BTreeMap<NodeId, Distant>);

impl Distant {
    fn with<R>(
        &mut self,
        inner: &Inner,
        fabric: &mut dyn Fabric,
        f: impl FnOnce(&mut Exchange, &mut Here<'_>) -> R,
    ) -> R {
        let Distant { peer, exchange, .. } = self;
        let mut fetched = |ticket, outcome| inner.fetched(peer, ticket, outcome);
        let (now_ns, fetched) = (inner.clock.now_ns(), &mut fetched);
        f(exchange, &mut Here { fabric, inner, peer, now_ns, fetched })
    }

    fn turn(&mut self, inner: &Inner, fabric: &mut dyn Fabric) -> bool {
        let (session, wants) = self.peer.payloads.wanted.take_with_session();
        let is_other = std::mem::replace(&mut self.session, session) != session;
        self.with(inner, fabric, |exchange, here| {
            if is_other {
                exchange.forget(here);
            }
            let did = exchange.step(here, wants);
            exchange.let_go(here);
            did
        })
    }
}

impl DistantPayloads {
    fn of(&mut self, peer: &Arc<Peer>) -> &mut Distant {
        self.0.entry(peer.node).or_insert_with(|| Distant {
            peer: peer.clone(),
            exchange: Exchange::default(),
            session: peer.payloads.wanted.session(),
        })
    }

    /// Does the work there is; false if there was none. `is_straight`: whether a node has a link
    /// with this one at the moment, whose exchange is used.
    pub(super) fn turn(
        &mut self,
        inner: &Inner,
        fabric: &mut dyn Fabric,
        is_straight: impl Fn(NodeId) -> bool,
    ) -> bool {
        let news = std::mem::take(&mut *lock(&inner.payload_news));
        for peer in news.values() {
            self.of(peer);
        }
        let mut did = false;
        self.0.retain(|&node, distant| {
            if is_straight(node) {
                distant.with(inner, fabric, |exchange, here| exchange.forget(here));
                return false;
            }
            did |= distant.turn(inner, fabric);
            !distant.exchange.is_empty()
        });
        did
    }

    /// Takes a datagram that has come from a node.
    pub(super) fn receive(
        &mut self,
        inner: &Inner,
        fabric: &mut dyn Fabric,
        peer: &Arc<Peer>,
        frame: &[u8],
    ) {
        self.of(peer).with(inner, fabric, |exchange, here| exchange.receive(here, frame));
    }

    /// Takes the outcome of a transfer of the fabric, which may be none of these.
    pub(super) fn transferred(
        &mut self,
        inner: &Inner,
        fabric: &mut dyn Fabric,
        transfer: TransferId,
        payload: Option<&Payload>,
    ) {
        for distant in self.0.values_mut() {
            distant.with(inner, fabric, |exchange, here| {
                exchange.transferred(here, transfer, payload)
            });
        }
    }

    /// Whether a payload is being fetched.
    pub(super) fn is_fetching(&self) -> bool {
        self.0.values().any(|distant| distant.exchange.is_fetching())
    }

    /// Returns the time of the next work, if nothing happens before.
    pub(super) fn due_ns(&self, now_ns: u64, resend_ns: u64) -> Option<u64> {
        self.0.values().filter_map(|distant| distant.exchange.due_ns(now_ns, resend_ns)).min()
    }

    /// Ends all transfers, because this node leaves.
    pub(super) fn end(&mut self, inner: &Inner, fabric: &mut dyn Fabric) {
        for mut distant in std::mem::take(&mut self.0).into_values() {
            distant.with(inner, fabric, |exchange, here| exchange.end(here));
        }
    }
}

impl Inner {
    /// Gives the receiver of a distant node's messages the outcome of a payload that was wanted.
    pub(super) fn fetched(&self, peer: &Peer, ticket: u64, outcome: Result<Payload, PayloadError>) {
        let receiver = lock(&self.receivers).get(&peer.node).cloned();
        if let Some(receiver) = receiver {
            // A system that drains takes nothing from outside: then nobody waits for it.
            drop(receiver.send(FrameReceiverMsg::Fetched(ticket, outcome)));
        }
    }
}
