//! Shards that are actors that move: a key has a shard, and each shard lives on one node.
//!
//! A shard's name is one of the cluster's ([`Names`]), so that it lives once, as far as names
//! promise that. The node that has the name has started the shard, or is the one where it has
//! moved.

mod keeper;
mod set;

use crate::answer::RemoteAnswer;
use crate::error::{RemoteAskError, RemoteSendError};
use crate::fabric::NodeId;
use crate::movable::{Migrate, Movable, MovableAddress, Movables};
use crate::names::Names;
use crate::node::{ExportError, NodeEvent};
use crate::place::key_hash;
use crate::shards::Shards;
use actinium_actor::{Address, AskError, Context};
use actinium_scheduler::{mixing, nanoseconds};
use keeper::{Keeper, Msg, SEEK_NS};
use set::{Set, Waiting, Way};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A fixed number of shards, each of which is an actor that moves. Cheap to clone.
///
/// A key belongs to one shard, always and on every node. A shard lives on one node at a time. It is
/// started when it is sent something first, on the node that rendezvous hashing says, and moves
/// from then on like any other actor of [`Movables`]: by hand, or to whom it talks with
/// ([`NodeConfig::repartition`](crate::NodeConfig::repartition)).
///
/// **If its node goes down**, or its state panics, what it held is lost:
/// [`NodeEvent::ShardLost`](crate::NodeEvent::ShardLost) tells each node that has sent to it. The
/// next that is sent to it starts it again, elsewhere.
///
/// No shard is started within 0.5 s after a node has come or gone: nodes do not hear of that at the
/// same moment. What is sent meanwhile waits.
///
/// **It lives once**, as far as [`Names`] promise that of an actor with a name: with a quorum above
/// half of all nodes, the smaller side of a partition has no shards for longer than it takes to
/// notice. When two have been started apart, the one that was started first stays.
///
/// ```
/// use actinium_actor::{Context, System};
/// use actinium_cluster::fabric::{NodeId, in_process::Network};
/// use actinium_cluster::{
///     Migrate, Movable, MovableShards, NamesConfig, Node, NodeConfig, NodeHandle,
/// };
/// use serde::{Deserialize, Serialize};
/// use std::collections::BTreeMap;
/// use std::time::Duration;
///
/// /// What lies in the carts of some users.
/// #[derive(Clone, Default, Serialize, Deserialize, actinium_wire::Message)]
/// struct Carts { of: BTreeMap<String, Vec<String>> }
///
/// impl Migrate for Carts {
///     const KIND: &'static str = "example.carts";
///     /// A user, and what that one adds.
///     type Message = (String, String);
///     /// A user.
///     type Request = String;
///     type Answer = Vec<String>;
///     fn message(&mut self, (user, what): (String, String), _ctx: &Context<'_, Movable<Self>>) {
///         self.of.entry(user).or_default().push(what);
///     }
///     fn request(&mut self, user: String, _ctx: &Context<'_, Movable<Self>>) -> Vec<String> {
///         self.of.get(&user).cloned().unwrap_or_default()
///     }
/// }
///
/// // On each node:
/// fn carts(node: &NodeHandle) -> Result<MovableShards<Carts>, Box<dyn std::error::Error>> {
///     let names = node.names(NamesConfig::default())?;
///     let movables = node.movables::<Carts>()?;
///     Ok(MovableShards::start(&movables, &names, "carts", 64, |_shard| Carts::default())?)
/// }
///
/// let network = Network::new();
/// let (here, there) = (network.node(NodeId(0)), network.node(NodeId(1)));
/// let systems = [System::builder().workers(1).build()?, System::builder().workers(1).build()?];
/// let a = Node::start(systems[0].handle(), NodeConfig::default(), move || Ok(here))?;
/// let b = Node::start(systems[1].handle(), NodeConfig::default(), move || Ok(there))?;
/// let timeout = Duration::from_secs(60);
/// let (from_a, from_b) = (carts(&a)?, carts(&b)?);
/// # // Until they have met, each would have shards of its own.
/// # while from_a.nodes().len() < 2 || from_b.nodes().len() < 2 { std::thread::yield_now(); }
///
/// from_a.at("Ada").send(("Ada".to_owned(), "a lamp".to_owned()))?;
/// assert_eq!(from_a.at("Ada").ask("Ada".to_owned(), timeout).wait()?, ["a lamp"]);
/// from_b.at("Ada").find(timeout).wait()?.move_to(NodeId(1), timeout).wait()?;
/// assert_eq!(from_b.at("Ada").ask("Ada".to_owned(), timeout).wait()?, ["a lamp"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MovableShards<S: Migrate>(Arc<Inside<S>>);

struct Inside<S: Migrate> {
    set: Arc<Set<S>>,
    keeper: Address<Keeper<S>>,
    keepers: Arc<Shards<Keeper<S>>>,
}

/// The largest number of shards of a set.
const SHARDS_MAX: u32 = 1 << 16;

impl<S: Migrate> MovableShards<S> {
    /// Takes part in a set of shards: each node that they may live on does this, with the same
    /// name, number of shards and `names`. `make` makes the state of a shard that is started here;
    /// it is told which one. If it panics, whoever waits for that shard hears that
    /// ([`RemoteAskError::NotStarted`]).
    ///
    /// The memory that it takes on each node is in proportion to `count`.
    ///
    /// # Errors
    /// If this node takes part in a set of this name.
    ///
    /// # Panics
    /// If `count` is 0 or more than 65,536.
    pub fn start(
        movables: &Movables<S>,
        names: &Names,
        name: &str,
        count: u32,
        make: impl Fn(u32) -> S + Send + Sync + 'static,
    ) -> Result<Self, ExportError> {
        assert!((1..=SHARDS_MAX).contains(&count), "{count} shards: 1 to {SHARDS_MAX} may be");
        let inner = movables.inner();
        let of_node = (movables.downgrade(), names.clone());
        let set = Arc::new(Set::new(name, of_node, count, make));
        let keeper = inner.system().spawn(Keeper::new(set.clone()));
        let keepers = Shards::start(inner, &format!("movable.{name}"), &keeper)?;
        let keepers = Arc::new(keepers);
        keeper.tell(Msg::Begin(Arc::downgrade(&keepers)));
        let listener = keeper.downgrade();
        inner.on_event(Arc::new(move |event: &NodeEvent| {
            if let (NodeEvent::Up(_) | NodeEvent::Down { .. }, Some(keeper)) =
                (event, listener.upgrade())
            {
                keeper.tell(Msg::Changed);
            }
        }));
        let told = keeper.clone();
        let inside = Arc::new(Inside { set, keeper, keepers });
        let came = Arc::new(move |came| told.tell(Msg::Came(came)));
        movables.sets().insert(name, came, inside.clone());
        Ok(MovableShards(inside))
    }

    /// Those of the node where an actor that moves is now, for its code. `None` if that node takes
    /// no part in a set of this name and type.
    #[must_use]
    pub fn here<T: Migrate>(ctx: &Context<'_, Movable<T>>, name: &str) -> Option<Self> {
        Movables::<S>::here(ctx)?.sets().get(name).map(MovableShards)
    }

    /// Reaches the shard that a key belongs to.
    #[must_use]
    pub fn at(&self, key: impl AsRef<[u8]>) -> ShardAddress<S> {
        self.shard(self.shard_of(key))
    }

    /// The shard that a key belongs to: the same on every node and in every version.
    pub fn shard_of(&self, key: impl AsRef<[u8]>) -> u32 {
        let hash = mixing::scramble(key_hash(key.as_ref()));
        (hash % u64::from(self.count())) as u32
    }

    /// Reaches a shard by its number.
    ///
    /// # Panics
    /// If there is none of that number.
    #[must_use]
    pub fn shard(&self, shard: u32) -> ShardAddress<S> {
        assert!(shard < self.count(), "shard {shard} of {}", self.count());
        ShardAddress { of: self.clone(), shard }
    }

    /// The number of shards.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.set.count()
    }

    /// The nodes that shards may be started on now, as far as this node knows, in order.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeId> {
        self.0.keepers.nodes()
    }
}

/// Reaches a shard, wherever it is, and whether or not it was started before: see
/// [`MovableShards`]. Cheap to clone.
///
/// Messages of one sender arrive in order, each once on reliable links, as those of a
/// [`MovableAddress`] do, as long as the shard is not lost.
pub struct ShardAddress<S: Migrate> {
    of: MovableShards<S>,
    shard: u32,
}

impl<S: Migrate> ShardAddress<S> {
    /// The shard's number.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.shard
    }

    fn set(&self) -> &Set<S> {
        &self.of.0.set
    }

    fn keeper(&self) -> &Address<Keeper<S>> {
        &self.of.0.keeper
    }

    /// Sends a message. If this node does not know where the shard is, the message waits until it
    /// is found or started. If that takes longer than 30 s, or cannot be, it is lost, which the
    /// node tells ([`NodeEvent::Undelivered`](crate::NodeEvent::Undelivered)).
    ///
    /// # Errors
    /// - [`RemoteSendError::Full`] if too much waits here already: see [`ShardAddress::ready`].
    /// - [`RemoteSendError::NodeDown`] if this node has left the cluster.
    pub fn send(&self, message: S::Message) -> Result<(), RemoteSendError<S::Message>> {
        let mut message = message;
        loop {
            if self.set().movables.upgrade().is_none() {
                return Err(RemoteSendError::NodeDown(message));
            }
            match self.set().way(self.shard) {
                Way::Direct(address) => match address.send(message) {
                    // It has ended just now: from now on there is another way.
                    Err(RemoteSendError::NodeDown(back)) => message = back,
                    sent => return sent,
                },
                Way::Keeper => {
                    self.keeper().tell(Msg::Deliver(self.shard, Waiting::Tell(message)));
                    return Ok(());
                }
                Way::Full => return Err(RemoteSendError::Full(message)),
            }
        }
    }

    /// Asks, within `timeout` in all. What goes wrong is told as by [`MovableAddress::ask`]; if the
    /// shard is not found, the reason is that of [`ShardAddress::find`].
    pub fn ask(&self, request: S::Request, timeout: Duration) -> RemoteAnswer<S::Answer> {
        let Some(movables) = self.set().movables.upgrade() else {
            return RemoteAnswer::ready(Err(RemoteAskError::Left));
        };
        match self.set().way(self.shard) {
            Way::Direct(address) => address.ask(request, timeout),
            Way::Keeper => {
                let until_ns = movables.inner().time_ns().saturating_add(nanoseconds(timeout));
                self.wait(timeout, |reply| Waiting::Ask(request, until_ns, reply))
            }
            Way::Full => RemoteAnswer::ready(Err(RemoteAskError::Full(movables.node()))),
        }
    }

    /// Finds the actor that the shard is now, which is started if it is not there: to move it by
    /// hand, send it payloads, watch it
    /// ([`Recipient::from`](actinium_actor::Recipient)), or put it into a group. When that actor
    /// ends, the shard is another one.
    ///
    /// The answer is [`RemoteAskError::NotStarted`] if the shard panicked when it was made,
    /// [`RemoteAskError::Incompatible`] if its node has another number of shards, and
    /// [`RemoteAskError::NoQuorum`] if too few nodes have been up for 30 s.
    pub fn find(&self, timeout: Duration) -> RemoteAnswer<MovableAddress<S>> {
        let Some(movables) = self.set().movables.upgrade() else {
            return RemoteAnswer::ready(Err(RemoteAskError::Left));
        };
        match self.set().way(self.shard) {
            Way::Direct(address) => RemoteAnswer::ready(Ok(address)),
            Way::Keeper => self.wait(timeout, Waiting::Find),
            Way::Full => RemoteAnswer::ready(Err(RemoteAskError::Full(movables.node()))),
        }
    }

    /// Waits until a send that was refused as [`RemoteSendError::Full`] is worth trying again. For
    /// an actor: `ctx.pipe(address.ready(), |()| ..)`.
    pub fn ready(&self) -> impl Future<Output = ()> + Send + use<S> {
        let found = match self.set().way(self.shard) {
            Way::Direct(address) => RemoteAnswer::ready(Ok(address)),
            Way::Keeper => self.wait(Duration::from_nanos(SEEK_NS), Waiting::Find),
            Way::Full => {
                // It goes behind what waits.
                self.set().route(self.shard).waiting += 1;
                self.wait(Duration::from_nanos(SEEK_NS), Waiting::Find)
            }
        };
        async move {
            // If it is not found, nothing waits for it any more.
            if let Ok(address) = found.await {
                address.ready().await;
            }
        }
    }

    fn wait<R: Send + 'static>(
        &self,
        timeout: Duration,
        waiting: impl FnOnce(actinium_actor::Reply<Result<R, RemoteAskError>>) -> Waiting<S>,
    ) -> RemoteAnswer<R> {
        let shard = self.shard;
        let answer =
            self.keeper().ask_timeout(timeout, |reply| Msg::Deliver(shard, waiting(reply)));
        RemoteAnswer::later(async move {
            answer.await.map_err(|error| match error {
                AskError::Timeout(..) => RemoteAskError::Timeout(timeout),
                _ => RemoteAskError::NoReply,
            })?
        })
    }
}

impl<S: Migrate> Clone for MovableShards<S> {
    fn clone(&self) -> Self {
        MovableShards(self.0.clone())
    }
}

impl<S: Migrate> fmt::Debug for MovableShards<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MovableShards({}, {} of {})", self.0.set.name, self.count(), S::KIND)
    }
}

impl<S: Migrate> Clone for ShardAddress<S> {
    fn clone(&self) -> Self {
        ShardAddress { of: self.of.clone(), shard: self.shard }
    }
}

impl<S: Migrate> fmt::Debug for ShardAddress<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShardAddress({} of {})", self.shard, self.of.0.set.name)
    }
}
