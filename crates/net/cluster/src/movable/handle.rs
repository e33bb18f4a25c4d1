//! What the clones of an address share: the actor's name, and its proxy.

use super::delivery::Delivery;
use super::id::MovableId;
use super::proxy::{self, Proxy, ProxyMsg};
use super::shell::{self, Answer, CLOSE, Migrate};
use crate::error::{RemoteAskError, RemoteSendError};
use crate::fabric::NodeId;
use crate::node::state::Inner;
use crate::traffic::Key;
use crate::traffic::scope::{self, Flushed, Used};
use actinium_actor::{Address, AskError};
use std::any::Any;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Messages that may wait at this node for one actor; then senders are refused.
pub(crate) const WAITING_MAX: usize = 4096;
/// The longest time that an actor that is to move waits for one of its messages to arrive.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Handle<S: Migrate> {
    pub(super) inner: Weak<Inner>,
    pub(super) id: MovableId,
    pub(super) key: Key,
    pub(super) proxy: Address<Proxy<S>>,
    pub(super) known: Arc<proxy::Known>,
}

impl<S: Migrate> Handle<S> {
    /// Whether a payload of so many bytes may wait here: one may, whatever its size.
    pub(super) fn has_room_for(&self, inner: &Inner, bytes: usize) -> bool {
        let waiting = self.known.payload_bytes();
        let bytes_max = inner.payload_config().waiting_bytes_max;
        waiting == 0 || waiting.saturating_add(bytes) <= bytes_max
    }

    /// See [`MovableAddress::send`](super::MovableAddress::send).
    pub(super) fn send(
        self: &Arc<Self>,
        message: S::Message,
    ) -> Result<(), RemoteSendError<S::Message>> {
        if self.known.waiting() >= WAITING_MAX {
            return Err(RemoteSendError::Full(message));
        }
        if self.proxy.is_closed() {
            return Err(RemoteSendError::NodeDown(message));
        }
        self.known.add();
        self.proxy.tell(ProxyMsg::Delivery(Delivery::Tell(message)));
        self.note(1);
        Ok(())
    }

    /// Notes messages for whoever's turn it is.
    pub(super) fn note(self: &Arc<Self>, messages: u32) {
        let address = || -> Used { Arc::downgrade(&(self.clone() as Arc<dyn Any + Send + Sync>)) };
        scope::sent_to_movable(self.key, self.known.node(), messages, flush::<S>, address);
    }

    /// See [`MovableAddress::ready`](super::MovableAddress::ready).
    pub(super) fn ready(&self) -> impl Future<Output = ()> + Send + 'static + use<S> {
        let ready = self.known.ready();
        async move {
            // That it was dropped says the same.
            let _ = ready.await;
        }
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.known.waiting() > 0
    }

    /// Asks the shell, wherever it is now.
    pub(super) fn ask_shell(
        &self,
        request: shell::Request<S>,
        timeout: Duration,
    ) -> impl Future<Output = Result<Answer<S>, RemoteAskError>> + Send + 'static + use<S> {
        let asked = (self.known.waiting() < WAITING_MAX).then(|| {
            self.known.add();
            self.proxy
                .ask_timeout(timeout, |reply| ProxyMsg::Delivery(Delivery::Ask(request, reply)))
        });
        let home = NodeId(self.id.node);
        async move {
            asked.ok_or(RemoteAskError::Full(home))?.await.map_err(|error| match error {
                AskError::Closed(_) => RemoteAskError::Closed,
                AskError::Timeout(_, timeout) => RemoteAskError::Timeout(timeout),
                _ => RemoteAskError::NoReply,
            })
        }
    }
}

/// Asks through an address whether all is there that was sent through it.
pub(super) fn flush<S: Migrate>(handle: &Arc<dyn Any + Send + Sync>) -> Flushed {
    let Ok(handle) = handle.clone().downcast::<Handle<S>>() else {
        return Box::pin(async { true });
    };
    let asked = handle.ask_shell((CLOSE, 0, None), FLUSH_TIMEOUT);
    Box::pin(async move {
        // Of a node that is down, or an actor that has ended, nothing is to arrive any more.
        !matches!(asked.await, Err(RemoteAskError::Full(_) | RemoteAskError::Timeout(_)))
    })
}

impl<S: Migrate> Drop for Handle<S> {
    fn drop(&mut self) {
        // It waits for news of where its actor goes, and would do so for ever.
        self.proxy.tell(ProxyMsg::End);
    }
}
