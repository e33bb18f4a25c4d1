//! Addresses of actors that move as recipients: members of groups, and data in messages.
//!
//! A handle of such an actor says which one it is, and nothing of who has made it. A node that
//! knows the type reaches the actor by an address of its own, directly, wherever the actor goes.
//! Other nodes send by the node where the actor began.

use super::handle::Handle;
use super::id::MovableId;
use super::shell::Migrate;
use crate::error::RemoteSendError;
use crate::fabric::NodeId;
use crate::locks::lock;
use crate::message::HandleKey;
use crate::node::NodeEvent;
use crate::node::state::Inner;
use actinium_actor::travel::{
    Elsewhere, Given, Roaming, Room, Ticket, given_roaming, recipient_roaming,
};
use actinium_actor::{ActorId, Down, Recipient, SendError};
use actinium_wire::fnv1a;
use std::sync::Arc;

/// The way from this node.
struct Way<S: Migrate> {
    handle: Arc<Handle<S>>,
    ticket: Ticket,
}

impl<S: Migrate> Way<S> {
    fn new(handle: Arc<Handle<S>>) -> Arc<Self> {
        let id = handle.id;
        let HandleKey { serial, secret } = id.handle_key(S::KIND);
        // Whoever does not know the type sends by the first node, of which it is not known here
        // what it takes for the messages: so they describe themselves.
        let (fingerprint, encodings) = (0, u8::MAX);
        let (node, actor) = (id.node, id.serial);
        let ticket = Ticket { node, actor, serial, secret, fingerprint, encodings };
        Arc::new(Way { handle, ticket })
    }
}

/// A recipient of what an address reaches.
pub(super) fn recipient<S: Migrate>(handle: &Arc<Handle<S>>) -> Recipient<S::Message> {
    recipient_roaming(Way::new(handle.clone()))
}

/// Lets handles of actors of this type come to this node, which reaches them by `at`.
pub(super) fn start<S: Migrate>(
    inner: &Arc<Inner>,
    at: impl Fn(MovableId) -> Option<Arc<Handle<S>>> + Send + Sync + 'static,
) {
    let here = Arc::downgrade(inner);
    let reach = move |home: NodeId, serial| -> Option<Arc<dyn Given>> {
        // Of nodes that nobody has met no address is kept.
        let is_met = here.upgrade()?.has_met(home);
        let handle = is_met.then(|| at(MovableId { node: home.0, serial }))??;
        Some(given_roaming::<S::Message>(Way::new(handle)))
    };
    lock(&inner.roaming).insert(fnv1a(S::KIND.as_bytes()), Arc::new(reach));
}

impl<S: Migrate> Elsewhere for Way<S> {
    fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    fn border(&self) -> u64 {
        self.handle.inner.upgrade().map_or(0, |inner| inner.border_number())
    }

    fn is_closed(&self) -> bool {
        self.handle.proxy.is_closed()
    }

    fn watch(&self, by: ActorId, is_link: bool, notify: Box<dyn FnOnce(Down) + Send>) {
        let watchers = &self.handle.known.watchers;
        watchers.add((by, is_link), self.ticket.actor_id(), self.handle.clone(), notify);
    }

    fn unwatch(&self, by: ActorId, is_link: bool) {
        self.handle.known.watchers.remove((by, is_link));
    }

    fn room(&self) -> Room {
        Box::pin(self.handle.ready())
    }

    fn undelivered(&self) {
        if let Some(inner) = self.handle.inner.upgrade() {
            let node = self.handle.known.node();
            inner.tell_listeners(&NodeEvent::Undelivered { node, messages: 1 });
        }
    }
}

impl<S: Migrate> Roaming<S::Message> for Way<S> {
    fn send(&self, message: S::Message) -> Result<(), SendError<S::Message>> {
        self.handle.send(message).map_err(|error| match error {
            RemoteSendError::Full(message) => SendError::Full(message),
            // Its proxy has ended: because it has, or because its node is down and it with that.
            other => SendError::Closed(other.into_inner()),
        })
    }
}
