//! Actors that are started from other nodes: by types that this node has registered.

use super::exports::{Exported, found, unsettled};
use super::unpack::Unpacker;
use super::{Inner, Peer, lock};
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::codec::{decode_early, encode_early, hello_with_args};
use crate::fabric::NodeId;
use crate::message::{self, ActorKey, Control, Found};
use crate::place::{Placement, rendezvous};
use crate::remote::{RemoteActor, RemoteAskError};
use actinium_actor::{Address, Context, SpawnOptions, SystemHandle};
use actinium_wire::Encoding;
use actinium_wire::hello::{Hello, settle};
use actinium_wire::schema::Describe;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What an actor that is started elsewhere is made of: data, which its node keeps, to make it anew if it is restarted.
pub trait SpawnArgs: Describe + Serialize + DeserializeOwned + Clone + Send + 'static {}

impl<T: Describe + Serialize + DeserializeOwned + Clone + Send + 'static> SpawnArgs for T {}

/// Why a type was not registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    /// Its [`RemoteActor::KIND`], which another registered type of this node has.
    pub kind: &'static str,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an actor type of the kind '{}' is registered at this node already", self.kind)
    }
}

impl std::error::Error for RegisterError {}

/// A registered type, without its type.
pub(super) trait Spawnable: Send + Sync {
    fn hello(&self, encodings: &[Encoding]) -> Hello;
    fn spawn(&self, system: &SystemHandle, args: &[u8]) -> Result<Arc<dyn Exported>, String>;
}

/// The registered types by kind.
pub(super) type Types = BTreeMap<&'static str, Arc<dyn Spawnable>>;

struct Registered<A, Args, F> {
    options: SpawnOptions,
    factory: Arc<F>,
    of: PhantomData<fn(Args) -> A>,
}

impl<A: RemoteActor, Args: SpawnArgs, F> Spawnable for Registered<A, Args, F>
where
    F: Fn(Args) -> A + Send + Sync + 'static,
{
    fn hello(&self, encodings: &[Encoding]) -> Hello {
        hello_with_args::<A, Args>(encodings)
    }

    fn spawn(&self, system: &SystemHandle, args: &[u8]) -> Result<Arc<dyn Exported>, String> {
        let args: Args = decode_early(args).map_err(|error| error.to_string())?;
        let factory = self.factory.clone();
        let spawned = system.spawn_with(self.options.clone(), move || factory(args.clone()));
        Ok(Arc::new(spawned.map_err(|error| error.to_string())?))
    }
}

impl Inner {
    pub(crate) fn register<A: RemoteActor, Args: SpawnArgs>(
        &self,
        options: SpawnOptions,
        factory: impl Fn(Args) -> A + Send + Sync + 'static,
    ) -> Result<(), RegisterError> {
        let mut types = self.types.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if types.contains_key(A::KIND) {
            return Err(RegisterError { kind: A::KIND });
        }
        let of = PhantomData;
        types.insert(A::KIND, Arc::new(Registered { options, factory: Arc::new(factory), of }));
        Ok(())
    }

    /// Ends an actor that another node has started; one that is gone needs no ending.
    pub(super) fn stop_exported(&self, key: ActorKey) {
        let place = self.exports().place(key.index as usize).cloned();
        if let Some(actor) = place.filter(|place| place.life == key.life).and_then(|it| it.actor) {
            actor.stop(false);
        }
    }

    fn registered(&self, kind: &str) -> Option<Arc<dyn Spawnable>> {
        let types = self.types.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        types.get(kind).cloned()
    }

    /// Starts an actor for another node.
    pub(super) fn spawn_for(
        &self,
        peer: &Arc<Peer>,
        asked: &Hello,
        args: &[u8],
        ctx: &Context<'_, Unpacker>,
    ) -> Found {
        let Some(kind) = self.registered(&asked.protocol) else { return Found::NotRegistered };
        let settled = match settle(&kind.hello(&self.config.encodings), asked) {
            Ok(settled) => settled,
            Err(why) => return unsettled(why),
        };
        let spawned = self.exports().spawned();
        if spawned >= self.config.spawned_max {
            return Found::NoRoom(spawned as u64);
        }
        // Not behind the lock: the factory is the user's code.
        match kind.spawn(&self.system, args) {
            Ok(actor) => {
                let key = self.exports_mut().add_spawned(actor.clone());
                actor.watch_place(peer, key, ctx);
                found(key, 1, settled)
            }
            Err(why) => Found::NotStarted(why),
        }
    }

    pub(crate) fn spawn_on<A: RemoteActor, Args: SpawnArgs>(
        self: &Arc<Self>,
        node: NodeId,
        args: &Args,
        limit: Duration,
    ) -> RemoteAnswer<AnyAddress<A>> {
        let own = hello_with_args::<A, Args>(&self.config.encodings);
        let early = encode_early(args);
        if node == self.node {
            let here = early
                .map_err(|error| RemoteAskError::Unsendable(error.to_string()))
                .and_then(|args| self.spawn_here(&own, &args));
            return RemoteAnswer::ready(here);
        }
        let peer = self.peer(node);
        let write = |question, frame: &mut Vec<u8>| {
            let (hello, args) = (encode_early(&own)?, early?);
            message::control(&Control::Spawn { question, hello, args }, frame)
        };
        let read = self.read_found(&peer, A::KIND, |address, _| AnyAddress::There(address));
        self.question(&peer, limit, write, read)
    }

    /// As another node would: with the same checks, and arguments that have been bytes.
    fn spawn_here<A: RemoteActor>(
        &self,
        own: &Hello,
        args: &[u8],
    ) -> Result<AnyAddress<A>, RemoteAskError> {
        let kind = self.registered(A::KIND).ok_or(RemoteAskError::NotRegistered(A::KIND))?;
        let unsettled = |why: String| RemoteAskError::Unsettled { name: A::KIND.to_owned(), why };
        settle(&kind.hello(&self.config.encodings), own)
            .map_err(|why| unsettled(why.to_string()))?;
        let spawned = kind.spawn(&self.system, args);
        let actor = spawned.map_err(|why| RemoteAskError::NotStarted { kind: A::KIND, why })?;
        let address = actor.address().downcast_ref::<Address<A>>();
        let other = || unsettled("another type of this node has this kind".to_owned());
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
            Placement::ByKey(key) => rendezvous(*key, &up).unwrap_or(self.node),
        }
    }

    /// The nodes that are up as far as this one knows, this one included, in order.
    pub(crate) fn nodes_up(&self) -> Vec<NodeId> {
        let peers = self.peers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Relaxed: whoever is told of it here may be gone by the time that it is sent to.
        let is_up = |peer: &&Arc<Peer>| peer.is_up.load(Ordering::Relaxed);
        let up = peers.values().filter(is_up).map(|peer| peer.node);
        let mut nodes: Vec<NodeId> = up.chain([self.node]).collect();
        nodes.sort_unstable();
        nodes
    }

    /// Calls `listener` for all that happens.
    pub(crate) fn on_event(&self, listener: super::Listener) {
        lock(&self.listeners).push(listener);
    }
}
