//! Starting actors for other nodes, of types that this node has registered.

use super::exports::{Exported, found, incompatible};
use super::frame_receiver::FrameReceiver;
use super::peer::Peer;
use super::state::Inner;
use super::types::Spawnable;
use crate::actor::{RemoteActor, hello_with_args};
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::codec::{decode_early, encode_early};
use crate::denial::Denial;
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::locks::read;
use crate::message::{self, Control, Found};
use crate::place::{Placement, rendezvous};
use actinium_actor::travel::crossing;
use actinium_actor::{Address, Context, SpawnOptions, SystemHandle};
use actinium_wire::Encoding;
use actinium_wire::hello::{Hello, negotiate};
use actinium_wire::schema::Describe;
use serde::{Serialize, de::DeserializeOwned};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The arguments of an actor that another node starts. They are data; the actor's node keeps them,
/// to make the actor anew if it is restarted.
pub trait SpawnArgs: Describe + Serialize + DeserializeOwned + Clone + Send + 'static {}

impl<T: Describe + Serialize + DeserializeOwned + Clone + Send + 'static> SpawnArgs for T {}

/// The error of registering a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    /// The [`RemoteActor::KIND`] of the type, which another registered type of this node has.
    pub kind: &'static str,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an actor type of the kind '{}' is registered at this node already", self.kind)
    }
}

impl std::error::Error for RegisterError {}

struct Registered<A, Args, F> {
    options: SpawnOptions,
    factory: Arc<F>,
    of: PhantomData<fn(Args) -> A>,
}

impl<A: RemoteActor, Args: SpawnArgs, F> Spawnable for Registered<A, Args, F>
where
    F: Fn(NodeId, Args) -> A + Send + Sync + 'static,
{
    fn hello(&self, encodings: &[Encoding]) -> Hello {
        hello_with_args::<A, Args>(encodings)
    }

    fn spawn(
        &self,
        system: &SystemHandle,
        by: NodeId,
        args: &[u8],
    ) -> Result<Arc<dyn Exported>, String> {
        let args: Args = decode_early(args).map_err(|error| error.to_string())?;
        let factory = self.factory.clone();
        let spawned = system.spawn_with(self.options.clone(), move || factory(by, args.clone()));
        Ok(Arc::new(spawned.map_err(|error| error.to_string())?))
    }
}

impl Inner {
    /// Registers a type of actors. The factory is told which node wants the actor.
    pub(crate) fn register<A: RemoteActor, Args: SpawnArgs>(
        &self,
        options: SpawnOptions,
        factory: impl Fn(NodeId, Args) -> A + Send + Sync + 'static,
    ) -> Result<(), RegisterError> {
        let mut types = self.types_mut();
        if types.contains_key(A::KIND) {
            return Err(RegisterError { kind: A::KIND });
        }
        if !self.is_over() {
            let of = PhantomData;
            types.insert(A::KIND, Arc::new(Registered { options, factory: Arc::new(factory), of }));
        }
        Ok(())
    }

    fn registered(&self, kind: &str) -> Option<Arc<dyn Spawnable>> {
        let types = read(&self.types);
        types.get(kind).cloned()
    }

    /// Starts an actor for another node.
    pub(super) fn spawn_for(
        &self,
        peer: &Arc<Peer>,
        asked: &Hello,
        args: &[u8],
        ctx: &Context<'_, FrameReceiver>,
    ) -> Found {
        let Some(kind) = self.registered(&asked.protocol) else { return Found::NotRegistered };
        let negotiated = match negotiate(&kind.hello(&self.config.encodings), asked) {
            Ok(negotiated) => negotiated,
            Err(why) => return incompatible(why),
        };
        let (spawned, of_it) = self.exports().spawned(peer.node);
        if of_it >= self.config.limits.spawned {
            self.deny_lie(peer, Some(&asked.protocol), Denial::Spawned);
            return Found::AtCapacity(of_it as u64);
        }
        if spawned >= self.config.spawned_max {
            return Found::AtCapacity(spawned as u64);
        }
        // Not behind the lock: the factory is the user's code.
        match kind.spawn(&self.system, peer.node, args) {
            Ok(actor) => {
                let key = self.exports_mut().add_spawned(peer.node, actor.clone());
                actor.watch_place(key, ctx);
                found(key, 1, negotiated)
            }
            Err(why) => Found::NotStarted(why),
        }
    }

    pub(crate) fn spawn_on<A: RemoteActor, Args: SpawnArgs>(
        self: &Arc<Self>,
        node: NodeId,
        args: &Args,
        timeout: Duration,
    ) -> RemoteAnswer<AnyAddress<A>> {
        let own = hello_with_args::<A, Args>(&self.config.encodings);
        let border = self.border.number();
        let early = crossing(border, node.0, || encode_early(args));
        if node == self.node {
            let here = early
                .map_err(|error| RemoteAskError::Unsendable(error.to_string()))
                .and_then(|args| crossing(border, node.0, || self.spawn_here(&own, &args)));
            return RemoteAnswer::ready(here);
        }
        let peer = self.peer(node);
        let write = |request, frame: &mut Vec<u8>| {
            let (hello, args) = (encode_early(&own)?, early?);
            message::control(&Control::Spawn { request, hello, args }, frame)
        };
        let read = self.read_found(&peer, A::KIND, |address, _| AnyAddress::There(address));
        self.request(&peer, timeout, false, write, read).0
    }

    /// Starts an actor on this node as another node would: with the same checks, and arguments that
    /// have been bytes.
    fn spawn_here<A: RemoteActor>(
        &self,
        own: &Hello,
        args: &[u8],
    ) -> Result<AnyAddress<A>, RemoteAskError> {
        let kind = self.registered(A::KIND).ok_or(RemoteAskError::NotRegistered(A::KIND))?;
        let incompatible =
            |why: String| RemoteAskError::Incompatible { name: A::KIND.to_owned(), why };
        negotiate(&kind.hello(&self.config.encodings), own)
            .map_err(|why| incompatible(why.to_string()))?;
        let spawned = kind.spawn(&self.system, self.node, args);
        let actor = spawned.map_err(|why| RemoteAskError::NotStarted { kind: A::KIND, why })?;
        let address = actor.address().downcast_ref::<Address<A>>();
        let other = || incompatible("another type of this node has this kind".to_owned());
        let here = |address: &Address<A>| AnyAddress::Here(self.node, address.clone());
        address.map(here).ok_or_else(other)
    }

    pub(super) fn place(&self, placement: &Placement) -> NodeId {
        let up = self.nodes_up();
        let in_turn = |nodes: &[NodeId]| {
            // Relaxed: only that it counts matters.
            let turn = self.placed.fetch_add(1, Ordering::Relaxed);
            let len = nodes.len().max(1) as u64;
            nodes.get((turn % len) as usize).copied().unwrap_or(self.node)
        };
        match placement {
            Placement::RoundRobin => in_turn(&up),
            Placement::LocalFirst { most } if self.system.stats().actors < *most => self.node,
            Placement::LocalFirst { .. } => {
                let others: Vec<NodeId> = up.into_iter().filter(|&it| it != self.node).collect();
                in_turn(&others)
            }
            Placement::ByKey(key) => rendezvous(*key, up).unwrap_or(self.node),
        }
    }
}
