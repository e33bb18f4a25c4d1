//! What a user writes and holds: [`RemoteActor`], [`RemoteAddress`], and what can go wrong.

use crate::answer::RemoteAnswer;
use crate::codec::{CodecError, decode};
use crate::fabric::NodeId;
use crate::gather::NotGathered;
use crate::link::DownReason;
use crate::message::{self, ActorKey, Control, Offer, Unanswered};
use crate::node::{Inner, Peer};
use actinium_actor::{Actor, Context, Reply, WeakAddress};
use actinium_memory::heap::Payload;
use actinium_wire::Encoding;
use actinium_wire::schema::Describe;
use serde::{Serialize, de::DeserializeOwned};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// An actor that other nodes can reach: what they may send it and ask it, which is data, and how that becomes its own messages.
///
/// ```
/// use actinium_actor::{Actor, Context, Reply};
/// use actinium_cluster::RemoteActor;
///
/// struct Counter { count: u64 }
///
/// enum Msg { Add(u64), Get(Reply<u64>) }
///
/// impl Actor for Counter {
///     type Msg = Msg;
///     fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
///         match msg {
///             Msg::Add(n) => self.count += n,
///             Msg::Get(reply) => drop(reply.send(self.count)),
///         }
///     }
/// }
///
/// impl RemoteActor for Counter {
///     const KIND: &'static str = "example.counter";
///     type Message = u64;
///     type Question = ();
///     type Answer = u64;
///     fn message(n: u64) -> Msg { Msg::Add(n) }
///     fn question((): (), reply: Reply<u64>) -> Msg { Msg::Get(reply) }
/// }
/// ```
pub trait RemoteActor: Actor {
    /// What its type is called on every node: stable.
    const KIND: &'static str;
    /// Rises when the types below change. Nodes whose types differ talk as far as the types allow: see `actinium_wire`.
    const VERSION: u32 = 1;
    /// Whether it is of the cluster's own machinery, whose messages are no work that [`Team::quiesce`](crate::Team::quiesce) waits for.
    #[doc(hidden)]
    const INTERNAL: bool = false;
    /// What other nodes may send it: `#[derive(Serialize, Deserialize, actinium_wire::Message)]`, or of simple types.
    type Message: Describe + Serialize + DeserializeOwned + Send;
    /// What other nodes may ask it.
    type Question: Describe + Serialize + DeserializeOwned + Send;
    /// What it answers.
    type Answer: Describe + Serialize + DeserializeOwned + Send;

    /// Its own message for what another node has sent.
    fn message(message: Self::Message) -> Self::Msg;

    /// Its own message for what another node has asked.
    fn question(question: Self::Question, reply: Reply<Self::Answer>) -> Self::Msg;

    /// Its own message for what another node has sent together with a payload: see [`RemoteAddress::send_with_payload`].
    ///
    /// # Errors
    /// As if nothing is said here: it takes no payloads, and gives both back.
    fn with_payload(
        message: Self::Message,
        payload: Payload,
    ) -> Result<Self::Msg, (Self::Message, Payload)> {
        Err((message, payload))
    }
}

/// Reaches an actor on another node. Cheap to clone, usable from any thread.
///
/// Messages from one sender to one actor arrive in the order in which they were sent.
pub struct RemoteAddress<A: RemoteActor> {
    pub(crate) inner: Arc<Inner>,
    pub(crate) peer: Arc<Peer>,
    pub(crate) key: ActorKey,
    pub(crate) encoding: Encoding,
    pub(crate) kind: PhantomData<fn(A)>,
}

/// Why a message was not sent; it comes back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteSendError<M> {
    /// Too much waits for that node: it does not keep up.
    Full(M),
    /// The node is down.
    NodeDown(M),
    /// It has no bytes.
    Codec(M, CodecError),
    /// The actor takes no payloads: its [`RemoteActor::with_payload`] says so. (One of another node's is told of by an event.)
    NotTaken(M),
    /// In a grid: the node is no neighbour of this one, and payloads do not go through others.
    NotNeighbour(M),
    /// It is longer than any frame.
    TooLong {
        /// The message.
        message: M,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        allowed: usize,
    },
}

fn not_sent<M>(message: M, not_gathered: NotGathered) -> RemoteSendError<M> {
    match not_gathered {
        NotGathered::Full => RemoteSendError::Full(message),
        NotGathered::Closed => RemoteSendError::NodeDown(message),
        NotGathered::Failed(error) => RemoteSendError::Codec(message, error),
        NotGathered::TooLong { bytes, allowed } => {
            RemoteSendError::TooLong { message, bytes, allowed }
        }
    }
}

impl<M> RemoteSendError<M> {
    /// The message.
    pub fn into_inner(self) -> M {
        match self {
            RemoteSendError::Full(message)
            | RemoteSendError::NodeDown(message)
            | RemoteSendError::NotTaken(message)
            | RemoteSendError::NotNeighbour(message)
            | RemoteSendError::Codec(message, _)
            | RemoteSendError::TooLong { message, .. } => message,
        }
    }
}

impl<M> fmt::Display for RemoteSendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteSendError::Full(_) => {
                f.write_str("too much waits for that node: try again later")
            }
            RemoteSendError::NodeDown(_) => f.write_str("the node is down"),
            RemoteSendError::Codec(_, error) => error.fmt(f),
            RemoteSendError::NotTaken(_) => f.write_str("the actor takes no payloads"),
            RemoteSendError::NotNeighbour(_) => f.write_str(
                "payloads go to neighbours in the grid only: send bytes in messages, or take NodeConfig::route direct",
            ),
            RemoteSendError::TooLong { bytes, allowed, .. } => {
                write!(f, "a message of {bytes} bytes: at most {allowed} fit in a frame")
            }
        }
    }
}

impl<M> fmt::Debug for RemoteSendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteSendError({self})")
    }
}

impl<M> std::error::Error for RemoteSendError<M> {}

/// Why there is no answer from another node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteAskError {
    /// Too much waits for that node.
    Full(NodeId),
    /// The node is down, or went down before it had answered: nobody knows whether it got the question.
    NodeDown(NodeId),
    /// The actor has ended, or belongs to an earlier life of its node.
    Closed,
    /// The actor dropped the question.
    NoReply,
    /// Question or answer was not understood, here or there: the two nodes' programs differ.
    NotUnderstood,
    /// The question has no bytes, or too many.
    Unsendable(String),
    /// No answer came in time: question or answer may be lost, or still under way.
    Timeout(Duration),
    /// A worker must not block: use [`RemoteAddress::ask`] with [`Context::pipe`] in actors.
    WouldBlock,
    /// This node has left the cluster.
    Left,
    /// The node is this one: its actors are found by [`SystemHandle::lookup`](actinium_actor::SystemHandle::lookup).
    ThisNode,
    /// No actor of that node has the name.
    NoSuchName(String),
    /// The actor of that name has another type.
    OtherKind {
        /// The name.
        name: String,
        /// What was asked for.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// The two nodes' ideas of the actor's messages differ so much that none makes sense to the other.
    Unsettled {
        /// The name.
        name: String,
        /// Where they differ.
        why: String,
    },
    /// That node starts no actors of this type for others: see [`Node::register`](crate::Node::register).
    NotRegistered(&'static str),
    /// It has not started the actor: its factory panicked, say.
    NotStarted {
        /// The actor's type.
        kind: &'static str,
        /// Why.
        why: String,
    },
    /// As many actors that others have started live there as may: [`NodeConfig::spawned_max`](crate::NodeConfig::spawned_max).
    NoRoom {
        /// Which.
        node: NodeId,
        /// How many.
        actors: u64,
    },
    /// An actor of that node has the name.
    NameTaken {
        /// The name.
        name: String,
        /// The node.
        node: NodeId,
    },
    /// Too few nodes are up for names to be given: see [`NamesConfig::quorum`](crate::NamesConfig::quorum).
    NoQuorum {
        /// So many are, this one included.
        up: usize,
        /// So many have to be.
        quorum: usize,
    },
}

impl fmt::Display for RemoteAskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteAskError::Full(node) => write!(f, "too much waits for {node}: ask again later"),
            RemoteAskError::NodeDown(node) => write!(f, "{node} is down"),
            RemoteAskError::Closed => f.write_str("the actor has ended and can not be asked"),
            RemoteAskError::NoReply => {
                f.write_str("the actor dropped the question without an answer")
            }
            RemoteAskError::NotUnderstood => f.write_str(
                "question or answer was not understood: do both nodes run the same program?",
            ),
            RemoteAskError::Unsendable(reason) => {
                write!(f, "the question can not be sent: {reason}")
            }
            RemoteAskError::Timeout(limit) => write!(f, "no answer within {limit:?}"),
            RemoteAskError::WouldBlock => f.write_str(
                "waiting for an answer would block a worker: use Context::pipe in actors",
            ),
            RemoteAskError::Left => f.write_str("this node has left the cluster"),
            RemoteAskError::ThisNode => {
                f.write_str("that is this node: look its actors up in their system")
            }
            RemoteAskError::NoSuchName(name) => {
                write!(f, "that node exports no actor of the name '{name}'")
            }
            RemoteAskError::OtherKind { name, expected, found } => {
                write!(f, "the actor '{name}' there is a {found}, not a {expected}")
            }
            RemoteAskError::Unsettled { name, why } => {
                write!(f, "the actor '{name}' there does not understand this node: {why}")
            }
            RemoteAskError::NotRegistered(kind) => {
                write!(f, "that node starts no actors of the type {kind}: register it there")
            }
            RemoteAskError::NotStarted { kind, why } => write!(f, "no {kind} was started: {why}"),
            RemoteAskError::NoRoom { node, actors } => write!(
                f,
                "{actors} actors that others have started live at {node}, and no more may (spawned_max)"
            ),
            RemoteAskError::NameTaken { name, node } => {
                write!(f, "an actor of {node} has the name '{name}'")
            }
            RemoteAskError::NoQuorum { up, quorum } => write!(
                f,
                "{up} nodes see each other, and names are given among {quorum} or more: are others cut off?"
            ),
        }
    }
}

impl std::error::Error for RemoteAskError {}

impl From<Unanswered> for RemoteAskError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Closed => RemoteAskError::Closed,
            Unanswered::NoReply => RemoteAskError::NoReply,
            Unanswered::NotUnderstood => RemoteAskError::NotUnderstood,
        }
    }
}

/// What a watcher of a remote actor is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteDown {
    /// Where the actor was.
    pub node: NodeId,
    /// Why it is gone.
    pub reason: RemoteDownReason,
}

/// Why a remote actor is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteDownReason {
    /// It has ended: in the words of its node.
    Ended(String),
    /// It has failed, and its supervision there has given it up; or it was linked to one that has: in the words of its node.
    Failed(String),
    /// Its node is down.
    NodeDown(Option<DownReason>),
}

impl<A: RemoteActor> RemoteAddress<A> {
    /// Where the actor is.
    pub fn node(&self) -> NodeId {
        self.peer.node
    }

    /// The actor that was exported so many places behind this one.
    pub(crate) fn behind(&self, places: u32) -> Self {
        let mut address = self.clone();
        address.key.index = address.key.index.wrapping_add(places);
        address
    }

    /// How messages to it travel: what the two nodes have settled on.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Sends a message. It never blocks and never mutes the sender: a node that does not keep up is an error (see
    /// [`RemoteAddress::room`]).
    ///
    /// # Errors
    /// If it can not be sent. What is sent is delivered at most once; what becomes of it when it is not, the node's events tell.
    pub fn send(&self, message: A::Message) -> Result<(), RemoteSendError<A::Message>> {
        let write = |frame: &mut Vec<u8>| message::tell(self.key, self.encoding, &message, frame);
        let sent = self.inner.add_work(&self.peer, A::INTERNAL, !A::INTERNAL, write);
        sent.map_err(|not_gathered| not_sent(message, not_gathered))
    }

    /// Sends a message together with bytes that do not travel in its frame: for large ones. The actor's node fetches them from this one, by remote memory access
    /// where the fabric has that, and then hands both to the actor ([`RemoteActor::with_payload`]), in order with all other messages. This node keeps the
    /// payload (a count, no copy) until that is done, or the message is lost, or the other node is down. That node has to have somewhere to put it:
    /// [`Node::take_payloads_in`](crate::Node::take_payloads_in).
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Reply, System};
    /// use actinium_cluster::fabric::{NodeId, in_process::Network};
    /// use actinium_cluster::{Node, NodeConfig, RemoteActor};
    /// use actinium_memory::heap::{Heap, Payload};
    /// use std::time::Duration;
    ///
    /// struct Frames { bytes: u64 }
    ///
    /// enum Msg { Frame(u32, Payload), Bytes(Reply<u64>), Skipped }
    ///
    /// impl Actor for Frames {
    ///     type Msg = Msg;
    ///     fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
    ///         match msg {
    ///             Msg::Frame(_camera, pixels) => self.bytes += pixels.len() as u64,
    ///             Msg::Bytes(reply) => drop(reply.send(self.bytes)),
    ///             Msg::Skipped => {}
    ///         }
    ///     }
    /// }
    ///
    /// impl RemoteActor for Frames {
    ///     const KIND: &'static str = "example.frames";
    ///     type Message = u32;
    ///     type Question = ();
    ///     type Answer = u64;
    ///     fn message(_camera: u32) -> Msg { Msg::Skipped }
    ///     fn question(_: (), reply: Reply<u64>) -> Msg { Msg::Bytes(reply) }
    ///     fn with_payload(camera: u32, pixels: Payload) -> Result<Msg, (u32, Payload)> {
    ///         Ok(Msg::Frame(camera, pixels))
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
    /// let heap = Heap::leak_plain(2, 64)?;
    /// let (mut arena, own) = (heap.arena(0).expect("free"), heap.arena(1).expect("free"));
    /// b.take_payloads_in(own);
    /// b.export("frames", &systems[1].spawn(Frames { bytes: 0 }))?;
    ///
    /// let limit = Duration::from_secs(60);
    /// let frames = a.lookup::<Frames>(NodeId(1), "frames", limit).wait()?;
    /// let pixels = arena.payload_with(1 << 20, |bytes| bytes.fill(7))?;
    /// frames.send_with_payload(3, pixels)?;
    /// assert_eq!(frames.ask((), limit).wait()?, 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it can not be sent; [`RemoteSendError::Full`], too, if more waits than [`PayloadConfig::waiting_bytes_max`](crate::PayloadConfig::waiting_bytes_max)
    /// (see [`RemoteAddress::room_for_payload`]). What becomes of a payload that does not arrive is told by
    /// [`NodeEvent::PayloadLost`](crate::NodeEvent::PayloadLost) there and `PayloadLostThere` here, if its message did arrive.
    pub fn send_with_payload(
        &self,
        message: A::Message,
        payload: Payload,
    ) -> Result<(), RemoteSendError<(A::Message, Payload)>> {
        if self.peer.is_beyond_neighbours() {
            return Err(RemoteSendError::NotNeighbour((message, payload)));
        }
        let offers = &self.peer.payloads.offers;
        if self.peer.gather.is_closed() {
            return Err(RemoteSendError::NodeDown((message, payload)));
        }
        let Some(id) = offers.add(payload.clone()) else {
            return Err(RemoteSendError::Full((message, payload)));
        };
        let offer = Offer { life: self.inner.life(), id, bytes: payload.len() as u64 };
        let write = |frame: &mut Vec<u8>| {
            message::tell_with(self.key, self.encoding, offer, &message, frame)
        };
        let not_gathered = match self.inner.add_work(&self.peer, A::INTERNAL, !A::INTERNAL, write) {
            Ok(()) => return Ok(()),
            Err(not_gathered) => not_gathered,
        };
        offers.release(&[id]);
        Err(not_sent((message, payload), not_gathered))
    }

    /// Is done when [`RemoteAddress::send_with_payload`] is worth trying again after [`RemoteSendError::Full`].
    pub fn room_for_payload(&self) -> impl Future<Output = ()> + Send + use<A> {
        let (offers, room) = (self.peer.payloads.offers.room(), self.room());
        async move {
            // That it was dropped says the same.
            let _ = offers.await;
            room.await;
        }
    }

    /// As [`RemoteAddress::send`], of a message that does not wait for others to travel with, nor for the end of the turn that sends it. It stays in order:
    /// what was sent to its node before leaves with it.
    ///
    /// # Errors
    /// As for [`RemoteAddress::send`].
    pub fn send_urgent(&self, message: A::Message) -> Result<(), RemoteSendError<A::Message>> {
        self.send(message)?;
        self.inner.hurry(&self.peer);
        Ok(())
    }

    /// Whether a message would be refused now.
    pub(crate) fn is_full(&self) -> bool {
        self.peer.outlet().is_full()
    }

    /// Is done when a send that was refused as [`RemoteSendError::Full`] is worth trying again. For an actor, which must not block and keeps
    /// meanwhile what it has: `ctx.pipe(address.room(), |()| Msg::Room)`.
    pub fn room(&self) -> impl Future<Output = ()> + Send + use<A> {
        let room = self.peer.outlet().room();
        async move {
            // That it was dropped says the same.
            let _ = room.await;
        }
    }

    /// Asks. Messages may be lost between nodes, so an answer always has a deadline.
    pub fn ask(&self, question: A::Question, limit: Duration) -> RemoteAnswer<A::Answer> {
        let encoding = self.encoding;
        self.inner.question(
            &self.peer,
            limit,
            |id, frame| message::ask(self.key, id, encoding, &question, frame),
            move |bytes| decode(encoding, bytes).map_err(|_| RemoteAskError::NotUnderstood),
        )
    }

    /// Asks for a message to the actor that calls this when the remote one ends, or its node goes down; at once if that is so.
    pub fn watch<B: Actor>(
        &self,
        ctx: &Context<'_, B>,
        msg: impl FnOnce(RemoteDown) -> B::Msg + Send + 'static,
    ) {
        let me = ctx.address().downgrade();
        let notify = move |down| {
            if let Some(me) = me.upgrade() {
                me.tell(msg(down));
            }
        };
        self.inner.watch(&self.peer, self.key, Box::new(notify));
    }

    /// Asks it to end once it has handled what is in its mailbox. If its node is down, there is nobody to ask; like a message, the request
    /// may be lost.
    pub fn stop(&self) {
        self.say(&Control::Stop { key: self.key, now: false });
    }

    /// Asks it to end at once, whatever is in its mailbox. Otherwise as [`RemoteAddress::stop`].
    pub fn kill(&self) {
        self.say(&Control::Stop { key: self.key, now: true });
    }

    /// Makes it a child of the actor that calls this: it ends when that one ends, or when their nodes lose each other; and `msg` tells that
    /// one when it ends. What follows when it panics its own supervision decides (see [`Node::register`](crate::Node::register)): a restart is nothing
    /// that the parent is told of, here as on one node.
    pub fn adopt<B: Actor>(
        &self,
        ctx: &Context<'_, B>,
        msg: impl FnOnce(RemoteDown) -> B::Msg + Send + 'static,
    ) {
        self.say(&Control::Adopt { key: self.key });
        self.watch(ctx, msg);
        let guardian =
            ctx.spawn(Guardian { child: self.clone(), parent: ctx.address().downgrade() });
        guardian.tell(Guard::Begin);
    }

    fn say(&self, control: &Control) {
        // If that node is down, so is what was to hear it.
        let _ = self.inner.add(&self.peer, true, |frame| message::control(control, frame));
    }
}

/// Ends a child that is elsewhere when its parent ends.
struct Guardian<A: RemoteActor, B: Actor> {
    child: RemoteAddress<A>,
    parent: WeakAddress<B>,
}

enum Guard {
    Begin,
    ParentEnded,
    ChildEnded,
}

impl<A: RemoteActor, B: Actor> Actor for Guardian<A, B> {
    type Msg = Guard;

    fn handle(&mut self, msg: Guard, ctx: &mut Context<'_, Self>) {
        match msg {
            Guard::Begin => {
                let Some(parent) = self.parent.upgrade() else { return self.end(ctx) };
                ctx.watch(&parent, |_| Guard::ParentEnded);
                // With an address that keeps this one alive as long as there is a child to watch over.
                let me = ctx.address();
                let ended = Box::new(move |_| me.tell(Guard::ChildEnded));
                self.child.inner.watch(&self.child.peer, self.child.key, ended);
            }
            Guard::ParentEnded => self.end(ctx),
            Guard::ChildEnded => ctx.stop(),
        }
    }
}

impl<A: RemoteActor, B: Actor> Guardian<A, B> {
    fn end(&self, ctx: &Context<'_, Self>) {
        self.child.stop();
        ctx.stop();
    }
}

impl<A: RemoteActor> Clone for RemoteAddress<A> {
    fn clone(&self) -> Self {
        RemoteAddress {
            inner: self.inner.clone(),
            peer: self.peer.clone(),
            key: self.key,
            encoding: self.encoding,
            kind: PhantomData,
        }
    }
}

impl<A: RemoteActor> fmt::Debug for RemoteAddress<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteAddress({} {} at {})", A::KIND, self.key.index, self.peer.node)
    }
}
