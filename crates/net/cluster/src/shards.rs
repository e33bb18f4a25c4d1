//! Keys that are spread over nodes, each of which has one actor for its share.

use crate::actor::RemoteActor;
use crate::any::AnyAddress;
use crate::fabric::NodeId;
use crate::locks::{read, write};
use crate::node::state::Inner;
use crate::node::{ExportError, Grants, NodeEvent, NodeHandle};
use crate::place::{key_hash, rendezvous};
use actinium_actor::Address;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock, Weak};

type Routes<A> = RwLock<BTreeMap<NodeId, AnyAddress<A>>>;

/// Keys that are spread over the nodes that have an actor for them: see [`NodeHandle::shards`].
/// Cheap to clone.
///
/// Where a key belongs is a function of the key and of the nodes that are up (rendezvous hashing),
/// so that nobody has to be asked. When a node comes or goes, its share comes from or goes to all
/// others alike, and no other key moves: as soon as this node has noticed, [`Shards::at`] says so.
/// What the former owner knew of a key stays with it: whoever wants to hand it over sends it to
/// where the key now belongs. Messages of one sender for one key arrive in order while it belongs
/// to one node.
pub struct Shards<A: RemoteActor> {
    me: NodeId,
    own: Address<A>,
    routes: Arc<Routes<A>>,
}

impl<A: RemoteActor> Shards<A> {
    pub(crate) fn start(
        inner: &Arc<Inner>,
        name: &str,
        own: &Address<A>,
    ) -> Result<Self, ExportError> {
        let exported = format!("actinium.shards.{name}");
        inner.export(&exported, std::slice::from_ref(own), Grants::default())?;
        let me = inner.id();
        let here = (me, AnyAddress::Here(me, own.clone()));
        let routes: Arc<Routes<A>> = Arc::new(RwLock::new(BTreeMap::from([here])));
        let (listener, known) = (Arc::downgrade(inner), Arc::downgrade(&routes));
        let meet = move |node| {
            if let Some(inner) = listener.upgrade() {
                meet(&inner, &known, node, &exported);
            }
        };
        let known = Arc::downgrade(&routes);
        inner.on_event(Arc::new({
            let meet = meet.clone();
            move |event: &NodeEvent| match event {
                // What was lost may have been the request or its answer.
                NodeEvent::Up(node) | NodeEvent::Lost(node, _) | NodeEvent::LostThere(node, _) => {
                    meet(*node);
                }
                NodeEvent::Down { node, .. } => {
                    if let Some(routes) = known.upgrade() {
                        write(&routes).remove(node);
                    }
                }
                _ => {}
            }
        }));
        inner.nodes_up().into_iter().filter(|&node| node != me).for_each(meet);
        Ok(Shards { me, own: own.clone(), routes })
    }

    /// Returns the actor that a key belongs to now, as far as this node knows.
    pub fn at(&self, key: impl AsRef<[u8]>) -> AnyAddress<A> {
        let routes = read(&self.routes);
        let owner = rendezvous(key_hash(key.as_ref()), routes.keys().copied());
        let owner = owner.and_then(|node| routes.get(&node));
        owner.cloned().unwrap_or_else(|| AnyAddress::Here(self.me, self.own.clone()))
    }

    /// The nodes that have a share now, as far as this node knows, in order.
    pub fn nodes(&self) -> Vec<NodeId> {
        let routes = read(&self.routes);
        routes.keys().copied().collect()
    }
}

impl NodeHandle {
    /// Spreads keys over the nodes that do this with a name: `own` is this node's actor for its
    /// share.
    ///
    /// # Errors
    /// If this node has an actor for shares of this name.
    pub fn shards<A: RemoteActor>(
        &self,
        name: &str,
        own: &Address<A>,
    ) -> Result<Shards<A>, ExportError> {
        Shards::start(self.inner(), name, own)
    }
}

fn meet<A: RemoteActor>(
    inner: &Arc<Inner>,
    routes: &Weak<Routes<A>>,
    node: NodeId,
    exported: &str,
) {
    let known = routes.clone();
    let is_known = |routes: Arc<Routes<A>>| read(&routes).contains_key(&node);
    if known.upgrade().is_none_or(is_known) {
        return;
    }
    let met = move |address| {
        if let Some(routes) = known.upgrade() {
            write(&routes).insert(node, AnyAddress::There(address));
        }
    };
    // The answer is what `met` does. If that node goes down first, it is met when it is up again.
    inner.meet::<A>(node, exported, met);
}

impl<A: RemoteActor> Clone for Shards<A> {
    fn clone(&self) -> Self {
        Shards { me: self.me, own: self.own.clone(), routes: self.routes.clone() }
    }
}

impl<A: RemoteActor> fmt::Debug for Shards<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shards({} on {} nodes)", A::KIND, self.nodes().len())
    }
}
