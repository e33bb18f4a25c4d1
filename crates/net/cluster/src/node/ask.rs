//! Requests to other nodes, answers to theirs, and refusals of operations that they may not do.

use super::event::NodeEvent;
use super::grants::Grants;
use super::peer::Peer;
use super::requests::Outcome;
use super::state::Inner;
use super::watches::{Notify, WatchedBy};
use crate::aggregator::NotAdded;
use crate::answer::RemoteAnswer;
use crate::codec::{CodecError, NODES, encode};
use crate::denial::Denial;
use crate::error::{RemoteAskError, RemoteDownReason};
use crate::locks::lock;
use crate::message::{self, ActorKey, Control, Found, HandleKey, Unanswered};
use actinium_actor::travel::{Given, Room};
use actinium_scheduler::guard;
use futures_channel::oneshot;
use std::sync::Arc;
use std::time::Duration;

/// Forgets a request when it is dropped: nobody waits for its answer any more.
pub(super) struct Forget(pub(super) Arc<Inner>, pub(super) u64);

impl Drop for Forget {
    fn drop(&mut self) {
        let complete = lock(&self.0.requests).take(self.1);
        // Not behind the lock: it may hold what is the user's.
        drop(complete);
    }
}

impl Inner {
    /// Sends a request to a node, or to an actor there. Also returns its number, if it was sent.
    /// `always`: as for [`Inner::add`].
    pub(crate) fn request<R: Send + 'static>(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        timeout: Duration,
        always: bool,
        write: impl FnOnce(u64, &mut Vec<u8>) -> Result<(), CodecError>,
        read: impl FnOnce(&[u8]) -> Result<R, RemoteAskError> + Send + 'static,
    ) -> (RemoteAnswer<R>, Option<u64>) {
        let (sender, receiver) = oneshot::channel();
        // Whoever asked may have stopped waiting.
        let complete = Box::new(move |outcome: Outcome<'_>| {
            drop(sender.send(outcome.and_then(read)));
        });
        let added = lock(&self.requests).add(peer.node, self.clock.now_ns(), timeout, complete);
        let id = match added {
            Ok(id) => id,
            Err(complete) => {
                complete(Err(RemoteAskError::Left));
                return (RemoteAnswer::new(receiver), None);
            }
        };
        let error = match self.add(peer, always, |frame| write(id, frame)) {
            Ok(()) => return (RemoteAnswer::new(receiver), Some(id)),
            Err(NotAdded::Full) => RemoteAskError::Full(peer.node),
            Err(NotAdded::Closed) => RemoteAskError::NodeDown(peer.node),
            Err(NotAdded::Failed(error)) => RemoteAskError::Unsendable(error.to_string()),
            Err(NotAdded::TooLong { bytes, allowed }) => RemoteAskError::Unsendable(format!(
                "it has {bytes} bytes, and at most {allowed} fit in a frame"
            )),
        };
        self.complete(id, Err(error));
        (RemoteAnswer::new(receiver), None)
    }

    /// Waits so long, or until this node leaves.
    pub(crate) fn after(self: &Arc<Self>, delay: Duration) -> Room {
        let (sender, receiver) = oneshot::channel::<()>();
        let complete = Box::new(move |_: Outcome<'_>| drop(sender));
        // A request of this node to itself: nobody can answer it, so that it is late one day.
        let added = lock(&self.requests).add(self.id(), self.clock.now_ns(), delay, complete);
        let forget = added.ok().map(|request| Forget(self.clone(), request));
        // The driver may sleep beyond the deadline.
        self.ring();
        Box::pin(async move {
            let _forget = forget;
            // That it was dropped says that it is late.
            let _ = receiver.await;
        })
    }

    /// Answers another node's request.
    pub(super) fn answer(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        request: u64,
        answer: Result<&[u8], Unanswered>,
    ) {
        let write = |frame: &mut Vec<u8>| {
            message::answer(request, answer, frame);
            Ok(())
        };
        if let Err(NotAdded::TooLong { .. }) = self.add(peer, true, write) {
            self.answer(peer, request, Err(Unanswered::NotUnderstood));
        }
    }

    pub(super) fn found(self: &Arc<Self>, peer: &Arc<Peer>, request: u64, found: &Found) {
        let mut bytes = Vec::new();
        let written = encode(NODES, found, &mut bytes);
        let answer = written.map(|()| &bytes[..]).map_err(|_| Unanswered::NotUnderstood);
        self.answer(peer, request, answer);
    }

    pub(crate) fn watch(self: &Arc<Self>, peer: &Arc<Peer>, key: ActorKey, notify: Notify) {
        let watch = lock(&self.watches).add(peer.node, None, notify);
        self.begin_watch(peer, watch, &Control::Watch { watch, key });
    }

    /// Watches an actor of which this node has a handle.
    pub(super) fn watch_handle(self: &Arc<Self>, peer: &Arc<Peer>, by: WatchedBy, notify: Notify) {
        let watch = lock(&self.watches).add(peer.node, Some(by), notify);
        self.begin_watch(peer, watch, &Control::WatchHandle { watch, handle: by.handle });
    }

    fn begin_watch(self: &Arc<Self>, peer: &Arc<Peer>, watch: u64, control: &Control) {
        if self.add(peer, true, |frame| message::control(control, frame)).is_err() {
            self.tell_watcher(watch, RemoteDownReason::NodeDown(None));
        }
    }

    /// Takes back what was asked with `watch_handle`.
    pub(super) fn unwatch_handle(self: &Arc<Self>, peer: &Arc<Peer>, by: WatchedBy) {
        let taken = lock(&self.watches).take_by(peer.node, by);
        for (watch, notify) in taken {
            guard::drop_guarded(notify);
            let control = Control::UnwatchHandle { watch, handle: by.handle };
            // If the other node is down, it has forgotten it.
            let _ = self.add(peer, true, |frame| message::control(&control, frame));
        }
    }

    /// Notes that another node was refused something. That node and the listeners are told of the
    /// first refusal of each kind, and then each time that there were twice as many. So a node that
    /// is refused again and again does not keep others busy.
    #[cold]
    pub(crate) fn deny(self: &Arc<Self>, peer: &Arc<Peer>, key: Option<ActorKey>, what: Denial) {
        let called = || key.and_then(|key| self.called(key));
        self.deny_called(peer, key, called, what);
    }

    /// Notes a refusal like [`Inner::deny`], where `called` gives the actor another name.
    #[cold]
    pub(crate) fn deny_called(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        key: Option<ActorKey>,
        called: impl FnOnce() -> Option<String>,
        what: Denial,
    ) {
        let Some(times) = peer.denied(what) else { return };
        let told = Control::Denied { what, index: key.map(|key| key.index), times };
        // If the other node is down, it need not know.
        let _ = self.add_work(peer, true, false, |frame| message::control(&told, frame));
        let actor = called();
        self.tell_listeners(&NodeEvent::Denied { node: peer.node, actor, what, times });
    }

    /// Returns a handle of an actor of this node for another one, if that may do this with it.
    pub(super) fn given_to(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        handle: HandleKey,
        what: Grants,
        denial: Denial,
    ) -> Option<Arc<dyn Given>> {
        if let Some(key) = handle.exported() {
            let place = self.exports().place(key.index as usize).cloned()?;
            if place.generation == key.generation && !place.allows(what, peer.node) {
                self.deny(peer, Some(key), denial);
                return None;
            }
        }
        self.given(handle)
    }

    /// Returns the words by which an event names an exported actor: its kind, and its name or
    /// number.
    fn called(&self, key: ActorKey) -> Option<String> {
        let exports = self.exports();
        let actor = exports.place(key.index as usize)?.actor.as_ref()?;
        let kind = actor.kind();
        Some(match exports.name(key.index) {
            Some(name) => format!("{kind} '{name}'"),
            None => format!("{kind} {}", key.index),
        })
    }
}
