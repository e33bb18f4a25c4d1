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

mod delivery;
mod handle;
mod id;
mod known;
mod leaving;
mod lost;
mod outbox;
mod proxy;
mod roaming;
mod sets;
mod shell;
mod watchers;

use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::error::{RemoteAskError, RemoteSendError};
use crate::fabric::NodeId;
use crate::locks::lock;
use crate::node::state::Inner;
use crate::node::{NodeHandle, RegisterError};
use crate::repartition;
use crate::traffic::scope;
use actinium_actor::{Address, Context, Recipient, SpawnOptions};
use actinium_memory::heap::Payload;
use delivery::Delivery;
use handle::Handle;
pub(crate) use handle::WAITING_MAX;
pub use id::MovableId;
use known::Known;
use proxy::{Proxy, ProxyMsg, locate};
pub(crate) use sets::{Sets, ShardCame, ShardTag};
pub(crate) use shell::lose_name;
use shell::{ASK, Arrival, GRANTS, MOVE};
pub use shell::{Migrate, Movable, PayloadHandler};

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// The actors of a type that move to and from this node: see
/// [`Node::movables`](NodeHandle::movables). Cheap to clone.
pub struct Movables<S: Migrate> {
    inner: Arc<Inner>,
    own: Arc<Own<S>>,
}

/// What belongs to a type on a node.
struct Own<S: Migrate> {
    serial: AtomicU64,
    known: Mutex<Known<S>>,
    sets: Arc<Sets>,
}

/// [`Movables`] that keep nothing alive: there are none any more once the node has ended.
pub(crate) struct WeakMovables<S: Migrate> {
    inner: Weak<Inner>,
    own: Weak<Own<S>>,
}

impl<S: Migrate> WeakMovables<S> {
    pub(crate) fn upgrade(&self) -> Option<Movables<S>> {
        Some(Movables { inner: self.inner.upgrade()?, own: self.own.upgrade()? })
    }
}

impl<S: Migrate> Movables<S> {
    pub(crate) fn start(inner: &Arc<Inner>) -> Result<Self, RegisterError> {
        let (there, sets) = (Arc::downgrade(inner), Arc::new(Sets::default()));
        let own = Own { serial: AtomicU64::new(0), known: Mutex::default(), sets: sets.clone() };
        let arrive = move |from, (id, moves, state, tag): Arrival<S>| {
            let came = tag.as_ref().and_then(|tag| sets.came(&tag.set));
            Movable::new(there.clone(), id, (moves, from), state).with_tag(tag, came)
        };
        inner.register(SpawnOptions::new(), arrive)?;
        let own = Arc::new(own);
        lock(&inner.movables).insert(S::KIND, own.clone());
        repartition::start(inner);
        let movables = Movables { inner: inner.clone(), own };
        let here = movables.downgrade();
        roaming::start(inner, move |id| Some(here.upgrade()?.at(id).0));
        Ok(movables)
    }

    pub(crate) fn downgrade(&self) -> WeakMovables<S> {
        WeakMovables { inner: Arc::downgrade(&self.inner), own: Arc::downgrade(&self.own) }
    }

    /// Those of the node where an actor that moves is now, for its code. `None` if this type moves
    /// to other nodes only.
    ///
    /// ```
    /// use actinium_actor::Context;
    /// use actinium_cluster::{Migrate, Movable, MovableId, Movables};
    /// use serde::{Deserialize, Serialize};
    ///
    /// /// Hands on to the next one.
    /// #[derive(Clone, Serialize, Deserialize, actinium_wire::Message)]
    /// struct Link { next: MovableId }
    ///
    /// impl Migrate for Link {
    ///     const KIND: &'static str = "example.link";
    ///     type Message = u64;
    ///     type Request = ();
    ///     type Answer = ();
    ///     fn message(&mut self, hops: u64, ctx: &Context<'_, Movable<Self>>) {
    ///         if let (Some(left), Some(links)) = (hops.checked_sub(1), Movables::<Link>::here(ctx)) {
    ///             links.at(self.next).send(left).unwrap_or_else(|error| println!("{error}"));
    ///         }
    ///     }
    ///     fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) {}
    /// }
    /// ```
    #[must_use]
    pub fn here<T: Migrate>(_ctx: &Context<'_, Movable<T>>) -> Option<Self> {
        let inner: Arc<Inner> = scope::node()?.downcast().ok()?;
        let own = lock(&inner.movables).get(S::KIND)?.clone();
        Some(Movables { own: own.downcast().ok()?, inner })
    }

    /// Reaches one, wherever it is, without waiting: what is sent waits until it is found, at the
    /// node where it began. Those who ask this node for the same actor share one address. So what
    /// an actor sends by it arrives in order, also if that actor moves in between.
    ///
    /// If there is no such actor, what was sent is lost: the node tells of it
    /// ([`NodeEvent::Undelivered`](crate::NodeEvent::Undelivered)), requests end, and later sends
    /// fail. Of more than 65,536 addresses the node forgets those that were not asked for the
    /// longest.
    #[must_use]
    pub fn at(&self, id: MovableId) -> MovableAddress<S> {
        let new = || self.address(id, None).0;
        MovableAddress(lock(&self.own.known).get(id, new))
    }

    /// The node whose these are.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.inner.id()
    }

    /// Starts one here.
    pub fn spawn(&self, state: S) -> MovableAddress<S> {
        // Relaxed: only uniqueness matters.
        let serial = self.own.serial.fetch_add(1, Ordering::Relaxed);
        let id = MovableId { node: self.inner.id().0, serial };
        self.address(id, Some(self.start_shell(id, state, None)))
    }

    /// Starts a shard here. Returns its identity, and the name under which its shell is exported.
    pub(crate) fn spawn_shard(&self, serial: u64, state: S, tag: ShardTag) -> (MovableId, String) {
        let me = self.inner.id();
        let id = MovableId { node: me.0, serial };
        self.start_shell(id, state, Some(tag));
        (id, id.exported(0, me))
    }

    /// Reaches one whose shell is on this node, and that shell.
    pub(crate) fn shell_here(
        &self,
        id: MovableId,
        exported: &str,
    ) -> Option<(MovableAddress<S>, Address<Movable<S>>)> {
        match self.inner.exported_here(exported, exported).ok()? {
            AnyAddress::Here(me, shell) => {
                Some((self.address(id, Some(AnyAddress::Here(me, shell.clone()))), shell))
            }
            AnyAddress::There(_) => None,
        }
    }

    fn start_shell(
        &self,
        id: MovableId,
        state: S,
        tag: Option<ShardTag>,
    ) -> AnyAddress<Movable<S>> {
        let me = self.inner.id();
        let shell = Movable::new(Arc::downgrade(&self.inner), id, (0, me), state);
        let shell = self.inner.system().spawn(shell.with_tag(tag, None));
        // The name has a serial number of its own: it is free.
        let _ = self.inner.export(&id.exported(0, me), std::slice::from_ref(&shell), GRANTS);
        AnyAddress::Here(me, shell)
    }

    /// Reaches one whose shell another node has told of.
    pub(crate) fn reach(
        &self,
        id: MovableId,
        node: NodeId,
        exported: String,
        timeout: Duration,
    ) -> RemoteAnswer<MovableAddress<S>> {
        let movables = self.clone();
        RemoteAnswer::later(async move {
            let shell = locate(&movables.inner, node, exported, timeout).await?;
            Ok(movables.address(id, Some(shell)))
        })
    }

    /// The node inside.
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// The sets of shards of this type.
    pub(crate) fn sets(&self) -> &Sets {
        &self.own.sets
    }

    /// Finds one, wherever it is now: by the node where it began.
    pub fn find(&self, id: MovableId, timeout: Duration) -> RemoteAnswer<MovableAddress<S>> {
        let movables = self.clone();
        RemoteAnswer::later(async move {
            let home = NodeId(id.node);
            let shell = locate(&movables.inner, home, id.exported(0, home), timeout).await?;
            Ok(movables.address(id, Some(shell)))
        })
    }

    fn address(&self, id: MovableId, shell: Option<AnyAddress<Movable<S>>>) -> MovableAddress<S> {
        let node = shell.as_ref().map_or(NodeId(id.node), AnyAddress::node);
        let known = Arc::new(proxy::Known::new(node));
        let proxy = Proxy::new(&self.inner, id, shell, known.clone());
        let proxy = self.inner.system().spawn(proxy);
        proxy.tell(ProxyMsg::Begin);
        let (inner, key) = (Arc::downgrade(&self.inner), id.key(S::KIND));
        MovableAddress(Arc::new(Handle { inner, id, key, proxy, known }))
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
        Movables { inner: self.inner.clone(), own: self.own.clone() }
    }
}

impl<S: Migrate> fmt::Debug for Movables<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Movables({})", S::KIND)
    }
}

/// Reaches an actor that moves, wherever it is. Cheap to clone; clones are one sender.
///
/// Messages of one sender arrive in the order in which they were sent, and on
/// [reliable](crate::link::LinkConfig::reliable) links each once, as long as no node that they pass
/// goes down.
pub struct MovableAddress<S: Migrate>(Arc<Handle<S>>);

impl<S: Migrate> MovableAddress<S> {
    /// Which actor, for [`Movables::find`] on another node.
    pub fn id(&self) -> MovableId {
        self.0.id
    }

    /// Whether the actor has ended, as far as this node has heard.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.proxy.is_closed()
    }

    /// See `recipients`.
    pub(crate) fn recipient(&self) -> Recipient<S::Message> {
        roaming::recipient(&self.0)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If too much waits here already ([`MovableAddress::ready`]), or the node where the actor is,
    /// or was when it was last heard of, is down.
    pub fn send(&self, message: S::Message) -> Result<(), RemoteSendError<S::Message>> {
        self.0.send(message)
    }

    /// Sends a message together with bytes that do not travel in its frame, as
    /// [`RemoteAddress::send_with_payload`](crate::RemoteAddress::send_with_payload) does: wherever
    /// the actor is, and in order with all else that is sent by this address. Each node that the
    /// actor may move to has to have somewhere to put it
    /// ([`take_payloads_in`](NodeHandle::take_payloads_in)), and so has each that it has left: if
    /// the payload arrives there, that node keeps it and sends it after the actor.
    ///
    /// If the payload is lost on the way, the node that sent it last is told
    /// ([`NodeEvent::PayloadLostThere`](crate::NodeEvent::PayloadLostThere)): this one, or one that
    /// the actor has left.
    ///
    /// ```
    /// use actinium_actor::{Context, System};
    /// use actinium_cluster::fabric::{NodeId, in_process::Network};
    /// use actinium_cluster::{Migrate, Movable, Node, NodeConfig, PayloadHandler};
    /// use actinium_memory::heap::Heap;
    /// use serde::{Deserialize, Serialize};
    /// use std::time::Duration;
    ///
    /// /// Counts the bytes of pictures.
    /// #[derive(Clone, Serialize, Deserialize, actinium_wire::Message)]
    /// struct Pictures { bytes: u64 }
    ///
    /// impl Migrate for Pictures {
    ///     const KIND: &'static str = "example.pictures";
    ///     type Message = u32;
    ///     type Request = ();
    ///     type Answer = u64;
    ///     fn message(&mut self, _camera: u32, _ctx: &Context<'_, Movable<Self>>) {}
    ///     fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> u64 { self.bytes }
    ///     fn with_payload() -> Option<PayloadHandler<Self>> {
    ///         Some(|state, _camera, pixels, _ctx| state.bytes += pixels.len() as u64)
    ///     }
    /// }
    ///
    /// let network = Network::new();
    /// let (here, there) = (network.node(NodeId(0)), network.node(NodeId(1)));
    /// let systems = [System::builder().workers(1).build()?, System::builder().workers(1).build()?];
    /// let a = Node::start(systems[0].handle(), NodeConfig::default(), move || Ok(here))?;
    /// let b = Node::start(systems[1].handle(), NodeConfig::default(), move || Ok(there))?;
    ///
    /// // In a program: Heap::leak(segment).
    /// let heap = Heap::leak_plain(3, 64)?;
    /// let mut arena = heap.arena(0).expect("free");
    /// a.take_payloads_in(heap.arena(1).expect("free"));
    /// b.take_payloads_in(heap.arena(2).expect("free"));
    ///
    /// let timeout = Duration::from_secs(60);
    /// let pictures = a.movables::<Pictures>()?.spawn(Pictures { bytes: 0 });
    /// let from_there = b.movables::<Pictures>()?.find(pictures.id(), timeout).wait()?;
    /// pictures.move_to(NodeId(1), timeout).wait()?;
    /// for address in [&pictures, &from_there] {
    ///     address.send_with_payload(3, arena.payload_with(1 << 20, |bytes| bytes.fill(7))?)?;
    ///     address.ask((), timeout).wait()?;
    /// }
    /// assert_eq!(pictures.ask((), timeout).wait()?, 2 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - What [`MovableAddress::send`] says.
    /// - [`RemoteSendError::Full`], too, if the payloads that wait in this address are of more
    ///   bytes than [`PayloadConfig::waiting_bytes_max`](crate::PayloadConfig::waiting_bytes_max),
    ///   of which one passes whatever its size. See [`MovableAddress::ready`].
    /// - [`RemoteSendError::NotTaken`] if the type takes none: see [`Migrate::with_payload`].
    pub fn send_with_payload(
        &self,
        message: S::Message,
        payload: Payload,
    ) -> Result<(), RemoteSendError<(S::Message, Payload)>> {
        let known = &self.0.known;
        let what = (message, payload);
        if S::with_payload().is_none() {
            return Err(RemoteSendError::NotTaken(what));
        }
        let Some(inner) = self.0.inner.upgrade().filter(|_| !self.0.proxy.is_closed()) else {
            return Err(RemoteSendError::NodeDown(what));
        };
        let bytes = what.1.len();
        if known.waiting() >= WAITING_MAX || !self.0.has_room_for(&inner, bytes) {
            return Err(RemoteSendError::Full(what));
        }
        known.add();
        known.add_payload(bytes);
        let delivery = Delivery::TellWith(inner.id(), what.0, what.1);
        self.0.proxy.tell(ProxyMsg::Delivery(delivery));
        self.0.note(1);
        Ok(())
    }

    /// Waits until a send that was refused as [`RemoteSendError::Full`] is worth trying again. For
    /// an actor: `ctx.pipe(address.ready(), |()| ..)`.
    pub fn ready(&self) -> impl Future<Output = ()> + Send + use<S> {
        self.0.ready()
    }

    /// Asks.
    pub fn ask(&self, request: S::Request, timeout: Duration) -> RemoteAnswer<S::Answer> {
        // A message there and one back.
        self.0.note(2);
        let answer = self.0.ask_shell((ASK, 0, Some(request)), timeout);
        RemoteAnswer::later(async move { answer.await?.0.ok_or(RemoteAskError::NoReply) })
    }

    /// Asks it to move to a node, which has called [`Node::movables`](NodeHandle::movables) for its
    /// type. Done when it is there. If that fails, it goes on where it is.
    pub fn move_to(&self, node: NodeId, timeout: Duration) -> RemoteAnswer<()> {
        let answer = self.0.ask_shell((MOVE, node.0, None), timeout);
        RemoteAnswer::later(async move {
            match answer.await?.2 {
                Some(why) => Err(RemoteAskError::NotStarted { kind: S::KIND, why }),
                None => Ok(()),
            }
        })
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
