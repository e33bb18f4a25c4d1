//! A frame whose sender's credit is kept while envelopes wait that came in it.
//!
//! In a grid, messages of a distant node may wait for payloads, while what else was in the same
//! frame of a neighbour is handed over. The waiting messages are copied out of the frame, and the
//! frame counts as handled when the last of them was. So the neighbour's credit bounds what waits.

use super::parcel::Parcel;
use super::peer::Peer;
use super::state::Inner;
use crate::locks::lock;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};

/// See the module.
pub(super) struct KeptFrame {
    /// Weak: what the node keeps of frames must not keep the node.
    inner: Weak<Inner>,
    /// The neighbour.
    peer: Arc<Peer>,
    frame: Mutex<Option<Parcel>>,
}

impl KeptFrame {
    pub(super) fn new(inner: &Arc<Inner>, peer: &Arc<Peer>) -> Self {
        // Relaxed: see `Peer::frames_kept`.
        peer.frames_kept.fetch_add(1, Ordering::Relaxed);
        KeptFrame { inner: Arc::downgrade(inner), peer: peer.clone(), frame: Mutex::default() }
    }

    /// Takes the frame, all of which was handed over or waits elsewhere.
    pub(super) fn put(&self, frame: Parcel) {
        *lock(&self.frame) = Some(frame);
    }
}

impl Drop for KeptFrame {
    fn drop(&mut self) {
        // Relaxed: see `Peer::frames_kept`.
        self.peer.frames_kept.fetch_sub(1, Ordering::Relaxed);
        if let (Some(inner), Some(frame)) = (self.inner.upgrade(), lock(&self.frame).take()) {
            inner.frame_handled(self.peer.node, frame);
        }
    }
}
