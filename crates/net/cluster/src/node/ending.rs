//! The end of a node: it gives back everything it keeps.
//!
//! The inside of a node ([`Inner`]) is shared with addresses of other nodes' actors, and users keep
//! these for as long as they like. The node in its turn keeps exported actors, factories,
//! listeners, watchers and memory for payloads, which may hold such addresses. Such a circle would
//! keep the node alive for ever. Therefore the node gives all of that back when nothing can reach
//! it any more: when its driver is gone, and each frame receiver has handed over what had come
//! before that.

use super::state::{Inner, guarded};
use crate::error::{RemoteDown, RemoteDownReason};
use crate::locks::{lock, read};
use actinium_scheduler::guard;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A token shared by those who may still reach the things that the node keeps. When the last one
/// drops it, the node gives these things back.
pub(crate) struct Ending(Arc<Inner>);

impl Ending {
    pub(super) fn of(inner: Arc<Inner>) -> Self {
        Ending(inner)
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl Inner {
    fn give_back(&self) {
        // Relaxed: see `is_over`.
        self.is_over.store(true, Ordering::Relaxed);
        // Nothing of it is dropped behind a lock: much of it is the user's, and may call this node.
        let arena = lock(&self.arena).take();
        let exports = self.exports_mut().take();
        let types = std::mem::take(&mut *self.types_mut());
        let listeners = std::mem::take(&mut *lock(&self.listeners));
        let claims: Vec<_> = {
            let peers = read(&self.peers);
            peers.values().flat_map(|peer| peer.returns.close()).collect()
        };
        let watches = lock(&self.watches).take_all();
        let handles = lock(&self.handles).close();
        let movables = std::mem::take(&mut *lock(&self.movables));
        drop((arena, exports, handles, movables));
        for (node, notify) in watches {
            guarded(|| notify(RemoteDown { node, reason: RemoteDownReason::NodeDown(None) }));
        }
        types.into_values().for_each(guard::drop_guarded);
        listeners.into_iter().for_each(guard::drop_guarded);
        claims.into_iter().for_each(guard::drop_guarded);
    }
}
