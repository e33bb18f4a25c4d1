//! The address of an actor on another node.

use crate::actor::RemoteActor;
use crate::answer::RemoteAnswer;
use crate::codec::decode;
use crate::error::{RemoteAskError, RemoteDown, RemoteSendError, not_sent};
use crate::fabric::NodeId;
use crate::message::{self, ActorKey, Control, Offer};
use crate::node::peer::Peer;
use crate::node::state::Inner;
use crate::traffic::scope;
use actinium_actor::{Actor, Context, WeakAddress};
use actinium_memory::heap::Payload;
use actinium_wire::Encoding;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

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

    /// Returns the encoding of messages to it, on which the two nodes have agreed.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Sends a message. It never blocks and never mutes the sender: a node that does not keep up is
    /// an error (see [`RemoteAddress::ready`]).
    ///
    /// # Errors
    /// If it can not be sent. What is sent is delivered at most once; what becomes of it when it is
    /// not, the node's events tell.
    pub fn send(&self, message: A::Message) -> Result<(), RemoteSendError<A::Message>> {
        let write = |frame: &mut Vec<u8>| message::tell(self.key, self.encoding, &message, frame);
        let sent = self.inner.add_work(&self.peer, A::INTERNAL, !A::INTERNAL, write);
        if sent.is_ok() {
            scope::sent_to_fixed(self.peer.node, 1);
        }
        sent.map_err(|not_added| not_sent(message, not_added))
    }

    /// Sends a message together with bytes that do not travel in its frame: for large ones. The
    /// actor's node fetches them from this one, by remote memory access where the fabric has that,
    /// and then hands both to the actor ([`RemoteActor::with_payload`]), in order with all other
    /// messages. This node keeps the payload (a count, no copy) until that is done, or the message
    /// is lost, or the other node is down. That node has to have somewhere to put it:
    /// [`NodeHandle::take_payloads_in`](crate::NodeHandle::take_payloads_in). In a grid, the
    /// message goes through other nodes, and the bytes go straight between the two.
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
    ///     type Request = ();
    ///     type Answer = u64;
    ///     fn message(_camera: u32) -> Msg { Msg::Skipped }
    ///     fn request(_: (), reply: Reply<u64>) -> Msg { Msg::Bytes(reply) }
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
    /// let timeout = Duration::from_secs(60);
    /// let frames = a.lookup::<Frames>(NodeId(1), "frames", timeout).wait()?;
    /// let pixels = arena.payload_with(1 << 20, |bytes| bytes.fill(7))?;
    /// frames.send_with_payload(3, pixels)?;
    /// assert_eq!(frames.ask((), timeout).wait()?, 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it can not be sent; [`RemoteSendError::Full`], too, if more waits than
    /// [`PayloadConfig::waiting_bytes_max`](crate::PayloadConfig::waiting_bytes_max) (see
    /// [`RemoteAddress::ready_for_payload`]). What becomes of a payload that does not arrive is
    /// told by [`NodeEvent::PayloadLost`](crate::NodeEvent::PayloadLost) there and
    /// `PayloadLostThere` here, if its message did arrive.
    pub fn send_with_payload(
        &self,
        message: A::Message,
        payload: Payload,
    ) -> Result<(), RemoteSendError<(A::Message, Payload)>> {
        let offers = &self.peer.payloads.offers;
        if self.peer.aggregator.is_closed() {
            return Err(RemoteSendError::NodeDown((message, payload)));
        }
        let Some(id) = offers.add(payload.clone()) else {
            return Err(RemoteSendError::Full((message, payload)));
        };
        let offer =
            Offer { incarnation: self.inner.incarnation(), id, bytes: payload.len() as u64 };
        let write = |frame: &mut Vec<u8>| {
            message::tell_with(self.key, self.encoding, offer, &message, frame)
        };
        let not_added = match self.inner.add_work(&self.peer, A::INTERNAL, !A::INTERNAL, write) {
            Ok(()) => return Ok(()),
            Err(not_added) => not_added,
        };
        offers.release(&[id]);
        Err(not_sent((message, payload), not_added))
    }

    /// Waits until [`RemoteAddress::send_with_payload`] is worth trying again after
    /// [`RemoteSendError::Full`].
    pub fn ready_for_payload(&self) -> impl Future<Output = ()> + Send + use<A> {
        let (offers, ready) = (self.peer.payloads.offers.ready(), self.ready());
        async move {
            // That it was dropped says the same.
            let _ = offers.await;
            ready.await;
        }
    }

    /// Sends a message like [`RemoteAddress::send`], without waiting for other messages to travel
    /// with it or for the end of the turn that sends it. It stays in order: messages that were sent
    /// to its node before leave with it.
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
        self.peer.next_hop().is_full()
    }

    /// Waits until a send that was refused as [`RemoteSendError::Full`] is worth trying again. For
    /// an actor, which must not block and keeps meanwhile what it has: `ctx.pipe(address.ready(),
    /// |()| Msg::Ready)`.
    pub fn ready(&self) -> impl Future<Output = ()> + Send + use<A> {
        let ready = self.peer.next_hop().ready();
        async move {
            // That it was dropped says the same.
            let _ = ready.await;
        }
    }

    /// Asks. Messages may be lost between nodes, so an answer always has a deadline.
    pub fn ask(&self, request: A::Request, timeout: Duration) -> RemoteAnswer<A::Answer> {
        let encoding = self.encoding;
        let write = |id, frame: &mut _| message::ask(self.key, id, encoding, &request, frame);
        let read =
            move |bytes: &_| decode(encoding, bytes).map_err(|_| RemoteAskError::NotUnderstood);
        // A message there and one back.
        scope::sent_to_fixed(self.peer.node, 2);
        self.inner.request(&self.peer, timeout, false, write, read).0
    }

    /// Asks for a message to the actor that calls this when the remote one ends, or its node goes
    /// down; at once if that is so.
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

    /// Asks it to end once it has handled what is in its mailbox. If its node is down, there is
    /// nobody to ask; like a message, the request may be lost.
    pub fn stop(&self) {
        self.say(&Control::Stop { key: self.key, now: false });
    }

    /// Asks it to end at once, whatever is in its mailbox. Otherwise as [`RemoteAddress::stop`].
    pub fn kill(&self) {
        self.say(&Control::Stop { key: self.key, now: true });
    }

    /// Makes it a child of the actor that calls this: it ends when that one ends, or when their
    /// nodes lose each other; and `msg` tells that one when it ends. What follows when it panics
    /// its own supervision decides (see [`NodeHandle::register`](crate::NodeHandle::register)): a
    /// restart is nothing that the parent is told of, here as on one node.
    pub fn adopt<B: Actor>(
        &self,
        ctx: &Context<'_, B>,
        msg: impl FnOnce(RemoteDown) -> B::Msg + Send + 'static,
    ) {
        self.say(&Control::Adopt { key: self.key });
        self.watch(ctx, msg);
        let guardian =
            ctx.spawn_detached(Guardian { child: self.clone(), parent: ctx.address().downgrade() });
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
                // With an address that keeps this one alive as long as there is a child to watch
                // over.
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
