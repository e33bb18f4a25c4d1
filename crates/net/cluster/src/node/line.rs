//! The way to an actor of another node of which this one has been given a handle.

use super::ask::Forget;
use super::event::NodeEvent;
use super::peer::Peer;
use super::state::Inner;
use super::watches::WatchedBy;
use crate::actor::RemoteActor;
use crate::aggregator::NotAdded;
use crate::codec::CodecError;
use crate::error::{RemoteAskError, RemoteDown, RemoteDownReason};
use crate::fabric::NodeId;
use crate::locks::lock;
use crate::message::{self, HandleKey};
use crate::remote::RemoteAddress;
use actinium_actor::travel::{
    Ask, Elsewhere, Line, NotSent, Read, Room, Ticket, Write, fingerprint, recipient_there,
};
use actinium_actor::{ActorId, AskError, Down, Recipient, StopReason};
use actinium_wire::Encoding;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The way to an actor elsewhere.
pub(super) struct HandleLine {
    inner: Arc<Inner>,
    ticket: Ticket,
    /// The node, once this one knows it.
    peer: OnceLock<Arc<Peer>>,
    /// Whether the actor is known to have ended. All ways to it share this; there is one until this
    /// is dropped.
    is_closed: Option<Arc<AtomicBool>>,
}

impl<A: RemoteActor> RemoteAddress<A> {
    /// See `recipients`.
    pub(crate) fn recipient(&self) -> Recipient<A::Message> {
        let HandleKey { serial, secret } = HandleKey::of_exported(self.key);
        // Messages are binary only if both nodes describe them in the same way. Whoever gets the
        // handle may not.
        let is_same = self.encoding == Encoding::Binary;
        let fingerprint = if is_same { fingerprint::<A::Message>() } else { 0 };
        let encodings = 1 << self.encoding.id() | 1 << Encoding::SelfDescribing.id();
        let (node, actor) = (self.peer.node.0, serial);
        let ticket = Ticket { node, actor, serial, secret, fingerprint, encodings };
        let line = HandleLine::new(self.inner.clone(), ticket);
        recipient_there(Arc::new(line), self.encoding)
    }
}

/// The time of a request without a deadline: none that matters.
const FOREVER: Duration = Duration::from_secs(1 << 32);

impl HandleLine {
    pub(super) fn new(inner: Arc<Inner>, ticket: Ticket) -> Self {
        let node = NodeId(ticket.node);
        let is_closed = Some(lock(&inner.handles).begin_use(node, key(&ticket)));
        HandleLine { inner, ticket, peer: OnceLock::new(), is_closed }
    }

    /// One to an actor that has ended.
    pub(super) fn ended(inner: Arc<Inner>, ticket: Ticket) -> Self {
        let is_closed = Some(Arc::new(AtomicBool::new(true)));
        HandleLine { inner, ticket, peer: OnceLock::new(), is_closed }
    }

    /// The actor's node. None if this node has never met it, as one of another cluster.
    fn peer(&self) -> Option<&Arc<Peer>> {
        if self.peer.get().is_none() {
            let peer = self.inner.met(NodeId(self.ticket.node))?;
            // Another thread may have been faster, with the same.
            let _ = self.peer.set(peer);
        }
        self.peer.get()
    }

    fn actor(&self) -> ActorId {
        self.ticket.actor_id()
    }

    fn watched_by(&self, actor: ActorId, is_link: bool) -> WatchedBy {
        WatchedBy { handle: key(&self.ticket), actor, is_link }
    }
}

/// The key by which the actor's node knows the handle.
pub(super) fn key(ticket: &Ticket) -> HandleKey {
    HandleKey { serial: ticket.serial, secret: ticket.secret }
}

/// The first of these encodings that the ticket's node takes. `is_same`: it knows the messages by
/// the very same types.
pub(super) fn encoding(ticket: &Ticket, own: &[Encoding], is_same: bool) -> Option<Encoding> {
    let takes = |encoding: &Encoding| ticket.encodings >> encoding.id() & 1 == 1;
    let mut common = own.iter().copied().filter(takes).peekable();
    let has_one = common.peek().is_some();
    let readable = common.find(|&encoding| is_same || encoding != Encoding::Binary);
    // Whoever takes binary takes what stands in for it.
    readable.or_else(|| has_one.then_some(Encoding::SelfDescribing))
}

impl Drop for HandleLine {
    fn drop(&mut self) {
        if let Some(is_closed) = self.is_closed.take() {
            let node = NodeId(self.ticket.node);
            lock(&self.inner.handles).end_use(node, key(&self.ticket), is_closed);
        }
    }
}

impl Elsewhere for HandleLine {
    fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    fn border(&self) -> u64 {
        self.inner.border.number()
    }

    fn is_closed(&self) -> bool {
        // Relaxed: a hint, which nothing is ordered by.
        self.is_closed.as_ref().is_some_and(|mark| mark.load(Ordering::Relaxed))
    }

    fn watch(&self, by: ActorId, is_link: bool, notify: Box<dyn FnOnce(Down) + Send>) {
        let actor = self.actor();
        if self.is_closed() {
            return notify(Down { actor, reason: StopReason::AlreadyStopped });
        }
        let Some(peer) = self.peer() else {
            return notify(Down { actor, reason: StopReason::NodeDown });
        };
        let notify = move |down: RemoteDown| {
            let reason = match down.reason {
                RemoteDownReason::Ended(reason) => {
                    StopReason::Elsewhere { reason, is_abnormal: false }
                }
                RemoteDownReason::Failed(reason) => {
                    StopReason::Elsewhere { reason, is_abnormal: true }
                }
                RemoteDownReason::NodeDown(_) => StopReason::NodeDown,
                RemoteDownReason::Denied => StopReason::Elsewhere {
                    reason: "its node does not let this one watch it".to_owned(),
                    is_abnormal: false,
                },
            };
            notify(Down { actor, reason });
        };
        self.inner.watch_handle(peer, self.watched_by(by, is_link), Box::new(notify));
    }

    fn unwatch(&self, by: ActorId, is_link: bool) {
        if let Some(peer) = self.peer() {
            self.inner.unwatch_handle(peer, self.watched_by(by, is_link));
        }
    }

    fn room(&self) -> Room {
        let ready = self.peer().map(|peer| peer.next_hop().ready());
        Box::pin(async move {
            if let Some(ready) = ready {
                // That it was dropped says the same.
                let _ = ready.await;
            }
        })
    }

    fn undelivered(&self) {
        let node = NodeId(self.ticket.node);
        self.inner.tell_listeners(&NodeEvent::Undelivered { node, messages: 1 });
    }
}

impl Line for HandleLine {
    fn encoding(&self, is_same: bool) -> Option<Encoding> {
        if self.is_closed() {
            return Some(Encoding::SelfDescribing);
        }
        encoding(&self.ticket, &self.inner.config.encodings, is_same)
    }

    fn tell(&self, encoding: Encoding, of: &'static str, write: Write<'_>) -> Result<(), NotSent> {
        if self.is_closed() {
            return Err(NotSent::Closed);
        }
        let Some(peer) = self.peer() else { return Err(NotSent::NodeDown) };
        let added = self.inner.add_work(peer, false, true, |frame| {
            let write = |into: &mut Vec<u8>| {
                write(into).map_err(|reason| CodecError { message: of, reason })
            };
            message::tell_to(key(&self.ticket), encoding, write, frame)
        });
        let why = match added {
            Ok(()) => return Ok(()),
            Err(NotAdded::Full) => return Err(NotSent::Full),
            Err(NotAdded::Closed) => return Err(NotSent::NodeDown),
            Err(NotAdded::Failed(error)) => error.reason,
            Err(NotAdded::TooLong { bytes, allowed }) => {
                format!("it has {bytes} bytes, and at most {allowed} fit in a frame")
            }
        };
        let node = peer.node;
        self.inner.tell_listeners(&NodeEvent::Unsendable { node, message: of, why });
        Err(NotSent::Unsendable)
    }

    fn hurry(&self) {
        if let Some(peer) = self.peer() {
            self.inner.hurry(peer);
        }
    }

    fn ask(
        &self,
        encoding: Encoding,
        timeout: Option<Duration>,
        write: Write<'_>,
        read: Read,
    ) -> Ask {
        let actor = self.actor();
        if self.is_closed() {
            return Box::pin(std::future::ready(Err(AskError::Closed(actor))));
        }
        let Some(peer) = self.peer() else {
            return Box::pin(std::future::ready(Err(AskError::NodeDown(actor))));
        };
        let (answer, request) = self.inner.request(
            peer,
            timeout.unwrap_or(FOREVER),
            false,
            |request, frame| {
                let write = |into: &mut Vec<u8>| {
                    let message = "request";
                    write(into).map_err(|reason| CodecError { message, reason })
                };
                message::ask_to(key(&self.ticket), request, encoding, write, frame)
            },
            move |bytes| read(bytes).map_err(|_| RemoteAskError::NotUnderstood),
        );
        let forget = request.map(|request| Forget(self.inner.clone(), request));
        let is_closed = self.is_closed.clone();
        Box::pin(async move {
            let _forget = forget;
            answer.await.map_err(|error| match error {
                RemoteAskError::Closed => {
                    // Relaxed: see `is_closed`.
                    is_closed.into_iter().for_each(|mark| mark.store(true, Ordering::Relaxed));
                    AskError::Closed(actor)
                }
                RemoteAskError::Full(_) => AskError::Full(actor),
                RemoteAskError::NodeDown(_) => AskError::NodeDown(actor),
                RemoteAskError::NoReply => AskError::NoReply(actor),
                RemoteAskError::Timeout(timeout) => AskError::Timeout(actor, timeout),
                other => AskError::Refused(actor, other.to_string()),
            })
        })
    }

    fn after(&self, delay: Duration) -> Room {
        self.inner.after(delay)
    }
}
