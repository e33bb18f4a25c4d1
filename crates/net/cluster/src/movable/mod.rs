//! Actors that move from node to node.
//!
//! What moves is the state, which is data ([`Migrate`]). It lives in a *shell*, an actor that gives
//! it its messages. When it moves, a shell is started at the other node with a copy of it; the old
//! one holds back what comes meanwhile, and when the copy is there, sends that after it and
//! forwards from then on. If no copy is made, the old state goes on as if nothing had been: a copy
//! that nobody has heard of is sent nothing.
//!
//! Senders have a *proxy* on their node, which knows where the state is. It hears of a move as the
//! answer to a request that it asked before ("where to?"). Then it looks the new shell up, sends a
//! last request ("all here?") the old way, holds back what it is given meanwhile, and when the
//! answer has come from wherever the state is, sends directly. So messages of one sender arrive in
//! order, each once, whatever moves: behind each other on the old way, and on the new one behind
//! the answer. The old shell stays and forwards, for those who come later: an id names the node
//! where the actor began.

mod outbox;
mod proxy;
mod shell;

use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::error::{RemoteAskError, RemoteSendError};
use crate::fabric::NodeId;
use crate::node::state::Inner;
use crate::node::{NodeHandle, RegisterError};
use actinium_actor::{Address, AskError, SpawnOptions};
use outbox::Delivery;
use proxy::{Proxy, ProxyMsg, locate};
use shell::{ASK, Answer, Arrival, GRANTS, MOVE};
pub use shell::{Migrate, Movable, MovableId};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The actors of a type that move to and from this node: see
/// [`Node::movables`](NodeHandle::movables). Cheap to clone.
pub struct Movables<S: Migrate> {
    inner: Arc<Inner>,
    serial: Arc<AtomicU64>,
    of: std::marker::PhantomData<fn(S)>,
}

impl<S: Migrate> Movables<S> {
    pub(crate) fn start(inner: &Arc<Inner>) -> Result<Self, RegisterError> {
        let there = Arc::downgrade(inner);
        let arrive = move |from, (id, moves, state): Arrival<S>| {
            Movable::new(there.clone(), id, (moves, from), state)
        };
        inner.register(SpawnOptions::new(), arrive)?;
        Ok(Movables { inner: inner.clone(), serial: Arc::default(), of: std::marker::PhantomData })
    }

    /// Starts one here.
    pub fn spawn(&self, state: S) -> MovableAddress<S> {
        // Relaxed: only uniqueness matters.
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let me = self.inner.id();
        let id = MovableId { node: me.0, serial };
        let shell = Movable::new(Arc::downgrade(&self.inner), id, (0, me), state);
        let shell = self.inner.system().spawn(shell);
        // The name has a serial number of its own: it is free.
        let _ = self.inner.export(&id.exported(0, me), std::slice::from_ref(&shell), GRANTS);
        self.address(id, AnyAddress::Here(me, shell))
    }

    /// Finds one, wherever it is now: by the node where it began.
    pub fn find(&self, id: MovableId, timeout: Duration) -> RemoteAnswer<MovableAddress<S>> {
        let movables = self.clone();
        RemoteAnswer::later(async move {
            let home = NodeId(id.node);
            let shell = locate(&movables.inner, home, id.exported(0, home), timeout).await?;
            Ok(movables.address(id, shell))
        })
    }

    fn address(&self, id: MovableId, shell: AnyAddress<Movable<S>>) -> MovableAddress<S> {
        let waiting = Arc::new(AtomicUsize::new(0));
        let proxy = Proxy::new(&self.inner, id, shell, waiting.clone());
        let proxy = self.inner.system().spawn(proxy);
        proxy.tell(ProxyMsg::Begin);
        MovableAddress(Arc::new(Handle { id, proxy, waiting }))
    }
}

impl NodeHandle {
    /// Actors of a type whose state moves between the nodes that do this: see [`Migrate`]. Once per
    /// type and node.
    ///
    /// # Errors
    /// If a type of this kind is registered.
    pub fn movables<S: Migrate>(&self) -> Result<Movables<S>, RegisterError> {
        Movables::start(self.inner())
    }
}

impl<S: Migrate> Clone for Movables<S> {
    fn clone(&self) -> Self {
        Movables { inner: self.inner.clone(), serial: self.serial.clone(), of: self.of }
    }
}

impl<S: Migrate> fmt::Debug for Movables<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Movables({})", S::KIND)
    }
}

/// Messages that may wait at this node for one actor; then senders are refused.
const WAITING_MAX: usize = 4096;

/// Reaches an actor that moves, wherever it is. Cheap to clone; clones are one sender.
///
/// Messages of one sender arrive in the order in which they were sent, and on
/// [reliable](crate::link::LinkConfig::reliable) links each once, as long as no node that they pass
/// goes down.
pub struct MovableAddress<S: Migrate>(Arc<Handle<S>>);

struct Handle<S: Migrate> {
    id: MovableId,
    proxy: Address<Proxy<S>>,
    waiting: Arc<AtomicUsize>,
}

impl<S: Migrate> Drop for Handle<S> {
    fn drop(&mut self) {
        // It waits for news of where its actor goes, and would do so for ever.
        self.proxy.tell(ProxyMsg::End);
    }
}

impl<S: Migrate> MovableAddress<S> {
    /// Which actor, for [`Movables::find`] on another node.
    pub fn id(&self) -> MovableId {
        self.0.id
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If too much waits here already, or the node where the actor is, or was when it was last
    /// heard of, is down.
    pub fn send(&self, message: S::Message) -> Result<(), RemoteSendError<S::Message>> {
        // Relaxed: a bound that holds roughly.
        if self.0.waiting.load(Ordering::Relaxed) >= WAITING_MAX {
            return Err(RemoteSendError::Full(message));
        }
        if self.0.proxy.is_closed() {
            return Err(RemoteSendError::NodeDown(message));
        }
        // Relaxed: as above.
        self.0.waiting.fetch_add(1, Ordering::Relaxed);
        self.0.proxy.tell(ProxyMsg::Delivery(Delivery::Tell(message)));
        Ok(())
    }

    /// Asks.
    pub fn ask(&self, request: S::Request, timeout: Duration) -> RemoteAnswer<S::Answer> {
        let answer = self.ask_shell((ASK, 0, Some(request)), timeout);
        RemoteAnswer::later(async move { answer.await?.0.ok_or(RemoteAskError::NoReply) })
    }

    /// Asks it to move to a node, which has called [`Node::movables`](NodeHandle::movables) for its
    /// type. Done when it is there. If that fails, it goes on where it is.
    pub fn move_to(&self, node: NodeId, timeout: Duration) -> RemoteAnswer<()> {
        let answer = self.ask_shell((MOVE, node.0, None), timeout);
        RemoteAnswer::later(async move {
            match answer.await?.2 {
                Some(why) => Err(RemoteAskError::NotStarted { kind: S::KIND, why }),
                None => Ok(()),
            }
        })
    }

    /// Asks the shell, wherever it is now.
    fn ask_shell(
        &self,
        request: shell::Request<S>,
        timeout: Duration,
    ) -> impl Future<Output = Result<Answer<S>, RemoteAskError>> + Send + 'static + use<S> {
        // Relaxed, both: see `send`.
        let is_full = self.0.waiting.load(Ordering::Relaxed) >= WAITING_MAX;
        let asked = (!is_full).then(|| {
            self.0.waiting.fetch_add(1, Ordering::Relaxed);
            self.0
                .proxy
                .ask_timeout(timeout, |reply| ProxyMsg::Delivery(Delivery::Ask(request, reply)))
        });
        let home = NodeId(self.0.id.node);
        async move {
            asked.ok_or(RemoteAskError::Full(home))?.await.map_err(|error| match error {
                AskError::Closed(_) => RemoteAskError::Closed,
                AskError::Timeout(_, timeout) => RemoteAskError::Timeout(timeout),
                _ => RemoteAskError::NoReply,
            })
        }
    }
}

impl<S: Migrate> Clone for MovableAddress<S> {
    fn clone(&self) -> Self {
        MovableAddress(self.0.clone())
    }
}

impl<S: Migrate> fmt::Debug for MovableAddress<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MovableAddress({} {} of node {})", S::KIND, self.0.id.serial, self.0.id.node)
    }
}
