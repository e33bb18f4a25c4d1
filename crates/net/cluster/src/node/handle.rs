//! The functions of a node that programs call, however the node is driven.

use super::event::{NodeEvent, NodeStats};
use super::exports::ExportError;
use super::grants::Grants;
use super::spawn::{RegisterError, SpawnArgs};
use super::state::Inner;
use crate::actor::RemoteActor;
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::fabric::NodeId;
use crate::place::Placement;
use crate::remote::RemoteAddress;
use actinium_actor::{Address, SpawnOptions};
use actinium_memory::heap::Arena;
use actinium_tap::{Tap, TapFilter};
use std::sync::Arc;
use std::time::Duration;

/// A node's functions: [`Node`](crate::Node) and [`ManualNode`](crate::ManualNode) dereference to
/// it. A clone does not keep the node: once that has left, what it is asked for fails.
#[derive(Clone)]
pub struct NodeHandle(Arc<Inner>);

impl NodeHandle {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        NodeHandle(inner)
    }

    /// Returns the number of this node.
    pub fn id(&self) -> NodeId {
        self.0.node
    }

    /// Returns the node's counters. They name the other nodes that were ever there, and say whether
    /// each is up now.
    pub fn stats(&self) -> NodeStats {
        self.0.stats()
    }

    /// Lets other nodes find an actor by a name, and send to it, ask it and watch it: all nodes
    /// that the fabric admits. The name is that actor's for ever. To let other nodes stop or adopt
    /// the actor, use [`NodeHandle::export_with`]. The node keeps an address of it until it has
    /// left.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn export<A: RemoteActor>(
        &self,
        name: &str,
        address: &Address<A>,
    ) -> Result<(), ExportError> {
        self.export_with(name, address, Grants::default())
    }

    /// Exports an actor like [`NodeHandle::export`], and says which operations other nodes may do
    /// on it.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn export_with<A: RemoteActor>(
        &self,
        name: &str,
        address: &Address<A>,
        grants: Grants,
    ) -> Result<(), ExportError> {
        self.0.export(name, std::slice::from_ref(address), grants)
    }

    /// Exports many actors under one name, each like [`NodeHandle::export`].
    /// [`NodeHandle::find_all`] finds them together.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn export_all<A: RemoteActor>(
        &self,
        name: &str,
        addresses: &[Address<A>],
    ) -> Result<(), ExportError> {
        self.0.export(name, addresses, Grants::default())
    }

    /// Returns the nodes that are or were there, this one included, in order.
    pub fn nodes(&self) -> Vec<NodeId> {
        self.0.nodes()
    }

    /// Finds an exported actor of another node. A node that is not up yet is waited for, within the
    /// timeout.
    pub fn lookup<A: RemoteActor>(
        &self,
        node: NodeId,
        name: &str,
        timeout: Duration,
    ) -> RemoteAnswer<RemoteAddress<A>> {
        self.0.lookup(node, name, timeout)
    }

    /// Finds an exported actor like [`NodeHandle::lookup`], and waits for a name that is not there
    /// yet, too.
    pub fn find<A: RemoteActor>(
        &self,
        node: NodeId,
        name: &str,
        timeout: Duration,
    ) -> RemoteAnswer<RemoteAddress<A>> {
        self.0.find(node, name, timeout, true, |address, _| address)
    }

    /// Finds all actors that were exported together, in that order. Waits like
    /// [`NodeHandle::find`].
    pub fn find_all<A: RemoteActor>(
        &self,
        node: NodeId,
        name: &str,
        timeout: Duration,
    ) -> RemoteAnswer<Vec<RemoteAddress<A>>> {
        self.0.find(node, name, timeout, true, |first: RemoteAddress<A>, count| {
            (0..count).map(|index| first.behind(index)).collect()
        })
    }

    /// Lets other nodes start actors of a type here ([`NodeHandle::spawn_on`]). The factory makes
    /// an actor of the arguments that the other node gives. The options say where the actor is at
    /// home and what follows when it panics, as for
    /// [`SystemHandle::spawn_with`](actinium_actor::SystemHandle::spawn_with).
    ///
    /// # Errors
    /// If a type of this kind is registered.
    pub fn register<A: RemoteActor, Args: SpawnArgs>(
        &self,
        options: SpawnOptions,
        factory: impl Fn(Args) -> A + Send + Sync + 'static,
    ) -> Result<(), RegisterError> {
        self.0.register(options, move |_, args| factory(args))
    }

    /// Starts an actor at a node that has registered its type: another, or this one. At another
    /// node the actor lives until it ends by itself, is stopped ([`AnyAddress::stop`]), or loses
    /// the actor that has adopted it ([`RemoteAddress::adopt`]).
    ///
    /// After [`RemoteAskError::Timeout`](crate::RemoteAskError::Timeout) or
    /// [`NodeDown`](crate::RemoteAskError::NodeDown) nobody knows whether it was started.
    pub fn spawn_on<A: RemoteActor, Args: SpawnArgs>(
        &self,
        node: NodeId,
        args: Args,
        timeout: Duration,
    ) -> RemoteAnswer<AnyAddress<A>> {
        self.0.spawn_on(node, &args, timeout)
    }

    /// Starts an actor at the node that a placement chooses. All nodes that it may choose have
    /// registered the actor's type.
    pub fn spawn_placed<A: RemoteActor, Args: SpawnArgs>(
        &self,
        placement: &Placement,
        args: Args,
        timeout: Duration,
    ) -> RemoteAnswer<AnyAddress<A>> {
        self.0.spawn_on(self.0.place(placement), &args, timeout)
    }

    /// Returns the nodes that are up as far as this one knows, this one included, in order.
    pub fn nodes_up(&self) -> Vec<NodeId> {
        self.0.nodes_up()
    }

    /// Lets payloads come from other nodes ([`RemoteAddress::send_with_payload`]), and gives them
    /// an arena. They lie in it until the last who has one drops it. Before this is called, and
    /// when there is no room, messages with payloads are lost, and both nodes are told
    /// ([`NodeEvent::PayloadLost`]).
    ///
    /// Payloads come fastest into an arena of a segment that is faulted in. Where the fabric has
    /// remote memory, such an arena at the sender, for the payloads that it sends, makes them
    /// faster, too.
    pub fn take_payloads_in(&self, arena: Arena) {
        self.0.take_payloads_in(arena);
    }

    /// Looks at the messages between this node and others from now on: those that come, as this
    /// node takes them, and those that go, as they leave. Of a grid, messages that are only handed
    /// on are left out, and so are those of the cluster's own machinery. Each other node is a peer
    /// called `node NUMBER`; the type of a message is the kind of the actor that it is for.
    ///
    /// ```no_run
    /// use actinium_cluster::Node;
    /// use actinium_tap::TapFilter;
    /// # fn node() -> Node { panic!("one of the program's") }
    ///
    /// let node: Node = node();
    /// let mut tap = node.tap(TapFilter::new().types(["example.counter"]).contents(true));
    /// while let Some(message) = tap.next_within(std::time::Duration::from_secs(60)) {
    ///     println!("{message}");
    /// }
    /// ```
    #[must_use]
    pub fn tap(&self, filter: TapFilter) -> Tap {
        self.0.taps.open(filter)
    }

    /// Calls `listener` for each event between this node and others from now on. The calls come on
    /// the node's thread or a worker, so the listener must not block.
    pub fn on_event(&self, listener: impl Fn(&NodeEvent) + Send + Sync + 'static) {
        self.0.on_event(Arc::new(listener));
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }
}
