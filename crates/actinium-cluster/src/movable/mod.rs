//! Actors that move from node to node.
//!
//! What moves is the state, which is data ([`Migrate`]). It lives in a *shell*, an actor that gives it its messages. When it moves, a shell is started at the other
//! node with a copy of it; the old one holds back what comes meanwhile, and when the copy is there, sends that after it and forwards from then on. If no copy is made, the
//! old state goes on as if nothing had been: a copy that nobody has heard of is sent nothing.
//!
//! Senders have a *proxy* on their node, which knows where the state is. It hears of a move as the answer to a question that it asked before ("where to?").
//! Then it looks the new shell up, sends a last question ("all here?") the old way, holds back what it is given meanwhile, and when the answer has come from wherever the state
//! is, sends directly. So messages of one sender arrive in order, each once, whatever moves: behind each other on the old way, and on the new
//! one behind the answer. The old shell stays and forwards, for those who come later: an id names the node where the actor began.

mod outbox;
mod proxy;
mod shell;

use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::fabric::NodeId;
use crate::node::{Inner, RegisterError, SpawnArgs};
use crate::remote::{RemoteAskError, RemoteSendError};
use actinium_actor::{Address, AskError, Context, SpawnOptions};
use actinium_wire::Message;
use actinium_wire::schema::Describe;
use outbox::{ASK, Answer, MOVE, Parcel};
use proxy::{Proxy, ProxyMsg};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
pub use shell::Movable;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// State that can live on any node: data, with what it does when it is sent something.
///
/// ```
/// use actinium_actor::Context;
/// use actinium_cluster::{Migrate, Movable};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize, actinium_wire::Message)]
/// struct Counter { count: u64 }
///
/// impl Migrate for Counter {
///     const KIND: &'static str = "example.movable-counter";
///     type Message = u64;
///     type Question = ();
///     type Answer = u64;
///     fn message(&mut self, n: u64, _ctx: &Context<'_, Movable<Self>>) { self.count += n }
///     fn question(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> u64 { self.count }
/// }
/// ```
pub trait Migrate: SpawnArgs {
    /// What its type is called on every node: stable.
    const KIND: &'static str;
    /// Rises when the types below change.
    const VERSION: u32 = 1;
    /// What it may be sent.
    type Message: Describe + Serialize + DeserializeOwned + Send;
    /// What it may be asked.
    type Question: Describe + Serialize + DeserializeOwned + Send;
    /// What it answers.
    type Answer: Describe + Serialize + DeserializeOwned + Send;

    /// Handles a message.
    fn message(&mut self, message: Self::Message, ctx: &Context<'_, Movable<Self>>);

    /// Answers a question.
    fn question(
        &mut self,
        question: Self::Question,
        ctx: &Context<'_, Movable<Self>>,
    ) -> Self::Answer;
}

/// Names an actor that moves, wherever it is: the node where it began, and which one of those it is. It may be sent to other nodes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Message,
)]
pub struct MovableId {
    /// Where it began.
    pub node: u32,
    /// Tells those of one node apart.
    pub serial: u64,
}

impl MovableId {
    /// What its shell is exported as after so many moves.
    fn exported(self, moves: u64) -> String {
        format!("actinium.movable.{}.{}.{moves}", self.node, self.serial)
    }
}

/// What a shell is made of: whose it is, after how many moves, and the state.
type Arrival<S> = (MovableId, u64, S);

/// The actors of a type that move to and from this node: see [`Node::movables`](crate::Node::movables). Cheap to clone.
pub struct Movables<S: Migrate> {
    inner: Arc<Inner>,
    serial: Arc<AtomicU64>,
    of: std::marker::PhantomData<fn(S)>,
}

impl<S: Migrate> Movables<S> {
    pub(crate) fn start(inner: &Arc<Inner>) -> Result<Self, RegisterError> {
        let there = Arc::downgrade(inner);
        let arrive =
            move |(id, moves, state): Arrival<S>| Movable::new(there.clone(), id, moves, state);
        inner.register(SpawnOptions::new(), arrive)?;
        Ok(Movables { inner: inner.clone(), serial: Arc::default(), of: std::marker::PhantomData })
    }

    /// Starts one here.
    pub fn spawn(&self, state: S) -> MovableAddress<S> {
        // Relaxed: only uniqueness matters.
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let me = self.inner.id();
        let id = MovableId { node: me.0, serial };
        let shell = Movable::new(Arc::downgrade(&self.inner), id, 0, state);
        let shell = self.inner.system().spawn(shell);
        // The name has a serial number of its own: it is free.
        let _ = self.inner.export(&id.exported(0), std::slice::from_ref(&shell));
        self.address(id, AnyAddress::Here(me, shell))
    }

    /// Finds one, wherever it is now: by the node where it began.
    pub fn find(&self, id: MovableId, limit: Duration) -> RemoteAnswer<MovableAddress<S>> {
        let movables = self.clone();
        RemoteAnswer::later(async move {
            let shell = locate(&movables.inner, NodeId(id.node), id.exported(0), limit).await?;
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

/// A shell of this name, at this node or at another.
fn locate<S: Migrate>(
    inner: &Arc<Inner>,
    node: NodeId,
    exported: String,
    limit: Duration,
) -> RemoteAnswer<AnyAddress<Movable<S>>> {
    if node == inner.id() {
        return RemoteAnswer::ready(inner.exported_here(&exported, &exported));
    }
    inner.find(node, &exported, limit, false, |address, _| AnyAddress::There(address))
}

/// Messages that may wait at this node for one actor; then senders are refused.
const WAITING_MAX: usize = 4096;

/// Reaches an actor that moves, wherever it is. Cheap to clone; clones are one sender.
///
/// Messages of one sender arrive in the order in which they were sent, and on [reliable](crate::link::LinkConfig::reliable) links each once, as long as no node that
/// they pass goes down.
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
    /// If too much waits here already, or the node where the actor is, or was when it was last heard of, is down.
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
        self.0.proxy.tell(ProxyMsg::Parcel(Parcel::Tell(message)));
        Ok(())
    }

    /// Asks.
    pub fn ask(&self, question: S::Question, limit: Duration) -> RemoteAnswer<S::Answer> {
        let answer = self.parcel((ASK, 0, Some(question)), limit);
        RemoteAnswer::later(async move { answer.await?.0.ok_or(RemoteAskError::NoReply) })
    }

    /// Asks it to move to a node, which has called [`Node::movables`](crate::Node::movables) for its type. Done when it is there. If that fails, it goes on where it is.
    pub fn move_to(&self, node: NodeId, limit: Duration) -> RemoteAnswer<()> {
        let answer = self.parcel((MOVE, node.0, None), limit);
        RemoteAnswer::later(async move {
            match answer.await?.2 {
                Some(why) => Err(RemoteAskError::NotStarted { kind: S::KIND, why }),
                None => Ok(()),
            }
        })
    }

    fn parcel(
        &self,
        question: outbox::Question<S>,
        limit: Duration,
    ) -> impl Future<Output = Result<Answer<S>, RemoteAskError>> + Send + 'static + use<S> {
        // Relaxed: see `send`.
        self.0.waiting.fetch_add(1, Ordering::Relaxed);
        let asked =
            self.0.proxy.ask_timeout(limit, |reply| ProxyMsg::Parcel(Parcel::Ask(question, reply)));
        async move {
            asked.await.map_err(|error| match error {
                AskError::Closed(_) => RemoteAskError::Closed,
                AskError::Timeout(_, limit) => RemoteAskError::Timeout(limit),
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
