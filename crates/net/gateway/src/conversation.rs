//! The conversation of one client: its place in the protocol, and the messages that wait to go out.
//!
//! The socket's task and the holder of the peer use it, each behind the lock for a moment. So the
//! monitor sees the messages of both in one order, which is also the order on the socket.

use crate::admission::Identity;
use crate::fault::{Code, Fault};
use actinium_wire::protocol::{Monitor, Spoken, State, Violation};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Notify;

/// The places of the parties in the protocol.
const CLIENT: usize = 0;
const OWN: usize = 1;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// One conversation of one client: unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(pub(crate) u64);

/// The reason for which a message was not sent to a client.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unsent<M> {
    /// The conversation has ended.
    Closed(M),
    /// The conversation's queue is full: too many messages wait for its socket. See
    /// [`Peer::ready`](crate::Peer::ready).
    Full(M),
    /// The protocol's state does not allow it.
    Violation(M, Violation),
}

impl<M> Unsent<M> {
    /// The message.
    pub fn into_inner(self) -> M {
        match self {
            Unsent::Closed(message) | Unsent::Full(message) | Unsent::Violation(message, _) => {
                message
            }
        }
    }
}

impl<M> fmt::Display for Unsent<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsent::Closed(_) => f.write_str("the conversation has ended"),
            Unsent::Full(_) => {
                f.write_str("too much waits for the client's socket: expected to wait for capacity")
            }
            Unsent::Violation(_, violation) => write!(f, "{violation}"),
        }
    }
}

impl<M: fmt::Debug> std::error::Error for Unsent<M> {}

pub(crate) struct Conversation<M: Spoken> {
    pub(crate) id: PeerId,
    pub(crate) identity: Identity,
    /// For the socket's task: something has changed.
    pub(crate) work: Notify,
    /// For those who wait to say something, or for the end.
    ready: Notify,
    queued_max: usize,
    inner: Mutex<Inner<M>>,
}

struct Inner<M: Spoken> {
    monitor: Monitor,
    out: VecDeque<M>,
    in_flight: usize,
    is_closed: bool,
    /// A request's peers are all gone.
    is_unanswered: bool,
    /// The state that all peers of the conversation share, while there are any.
    handle: Weak<Handle<M>>,
}

/// The state that the clones of a peer share.
pub(crate) struct Handle<M: Spoken> {
    pub(crate) conversation: Arc<Conversation<M>>,
}

impl<M: Spoken> Drop for Handle<M> {
    fn drop(&mut self) {
        let mut inner = self.conversation.lock();
        // Not if another has taken its place: a message may have come between the last peer's end
        // and this.
        if std::ptr::eq(inner.handle.as_ptr(), self) && inner.monitor.state().asked {
            inner.is_unanswered = true;
            self.conversation.work.notify_one();
        }
    }
}

impl<M: Spoken> Conversation<M> {
    pub(crate) fn new(identity: Identity, queued_max: usize) -> Arc<Self> {
        Arc::new(Conversation {
            // Relaxed: only that each is another.
            id: PeerId(NEXT_ID.fetch_add(1, Ordering::Relaxed)),
            identity,
            work: Notify::new(),
            ready: Notify::new(),
            queued_max,
            inner: Mutex::new(Inner {
                monitor: Monitor::new(M::MODEL),
                out: VecDeque::new(),
                in_flight: 0,
                is_closed: false,
                is_unanswered: false,
                handle: Weak::new(),
            }),
        })
    }

    /// No user code runs under the lock, so a poisoned one holds what it should.
    fn lock(&self) -> MutexGuard<'_, Inner<M>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- the socket's side
    // ---------------------------------------------------------------------------------------

    /// Takes what the client has said, if the protocol's state allows it: gives the message back,
    /// and the way back to the client.
    pub(crate) fn heard(self: &Arc<Self>, message: M) -> Result<(M, Arc<Handle<M>>), Fault> {
        // User code, before the lock.
        let number = message.number();
        let mut inner = self.lock();
        let step = inner.monitor.step(number, CLIENT);
        step.map_err(|violation| Fault::new(Code::State, violation))?;
        inner.in_flight += 1;
        let handle = inner.handle.upgrade().unwrap_or_else(|| {
            let handle = Arc::new(Handle { conversation: self.clone() });
            inner.handle = Arc::downgrade(&handle);
            handle
        });
        Ok((message, handle))
    }

    /// Takes the next message to be sent out of the queue.
    pub(crate) fn next_out(&self) -> Option<M> {
        let mut inner = self.lock();
        let was_full = inner.out.len() >= self.queued_max;
        let message = inner.out.pop_front();
        drop(inner);
        if was_full {
            self.ready.notify_waiters();
        }
        message
    }

    pub(crate) fn state(&self) -> &'static State {
        self.lock().monitor.state()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.lock().in_flight
    }

    /// Whether the protocol is at its end, and all of it has gone out.
    pub(crate) fn has_ended(&self) -> bool {
        let inner = self.lock();
        inner.monitor.has_ended() && inner.out.is_empty()
    }

    pub(crate) fn is_unanswered(&self) -> bool {
        self.lock().is_unanswered
    }

    /// Closes it: nothing goes out any more.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        let unsaid = std::mem::take(&mut inner.out);
        drop(inner);
        self.ready.notify_waiters();
        drop_each(unsaid);
    }

    // ---- the actor's side
    // ----------------------------------------------------------------------------------------

    pub(crate) fn say(&self, message: M) -> Result<(), Unsent<M>> {
        let number = message.number();
        let mut inner = self.lock();
        if inner.is_closed {
            drop(inner);
            return Err(Unsent::Closed(message));
        }
        // The answer that is due goes out in any case: who asked takes it in, or its socket is
        // stuck.
        if inner.out.len() >= self.queued_max && !inner.monitor.state().asked {
            return Err(Unsent::Full(message));
        }
        if let Err(violation) = inner.monitor.step(number, OWN) {
            return Err(Unsent::Violation(message, violation));
        }
        inner.out.push_back(message);
        drop(inner);
        self.work.notify_one();
        Ok(())
    }

    pub(crate) async fn ready(&self) {
        self.until(Self::has_room).await;
    }

    /// Waits for the conversation's end.
    pub(crate) async fn closed(&self) {
        self.until(Self::has_closed).await;
    }

    async fn until(&self, is_so: fn(&Self) -> bool) {
        loop {
            let mut noted = std::pin::pin!(self.ready.notified());
            // Before looking, so that nothing is missed in between.
            noted.as_mut().enable();
            if is_so(self) {
                return;
            }
            noted.await;
        }
    }

    fn has_room(&self) -> bool {
        let inner = self.lock();
        inner.is_closed || inner.out.len() < self.queued_max
    }

    pub(crate) fn has_closed(&self) -> bool {
        self.lock().is_closed
    }

    pub(crate) fn handled(&self) {
        self.lock().in_flight -= 1;
        self.work.notify_one();
    }
}

/// Drops messages one by one: what one of them does when it is dropped is no matter of the others.
fn drop_each<M>(messages: VecDeque<M>) {
    for message in messages {
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(message)));
        // What a panic brings along may panic when it is dropped, too.
        std::mem::forget(dropped);
    }
}

impl<M: Spoken> Drop for Inner<M> {
    fn drop(&mut self) {
        drop_each(std::mem::take(&mut self.out));
    }
}

impl<M: Spoken> fmt::Debug for Conversation<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Conversation({})", self.id.0)
    }
}
