//! Names that the whole cluster knows: each has one actor at a time, wherever it lives.
//!
//! A name's *directory* is the node that rendezvous hashing gives it, of those that are up. Whoever
//! has a name tells the directory so, and tells it again whenever it sees nodes come or go, so that
//! nothing has to be handed over. A name that is free is whoever's asks first.
//!
//! **Partitions.** Nodes that do not hear each other have different directories, so that a name may
//! get an owner on each side. Two rules:
//! - Without a quorum ([`NamesConfig::quorum`] is 1) each side goes on. When the sides hear each
//!   other again, both owners tell the same directory, and the one that has had the name for longer
//!   keeps it. (By the clocks of the two hosts; of two that had it for as long, the one on the
//!   lower node.)
//! - With a quorum, names are given only where so many nodes see each other, and an owner that sees
//!   fewer loses its names at once. With more than half of all nodes as the quorum, the smaller
//!   side never has an owner for longer than it takes to notice:
//!   [`LinkConfig::down_after_ns`](crate::link::LinkConfig::down_after_ns).
//!
//! **The loser** is stopped, as by [`Address::stop`]: its watchers are told.
//! [`NodeEvent::NameLost`](crate::NodeEvent::NameLost) says why.

mod directory;

use crate::actor::RemoteActor;
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::error::RemoteAskError;
use crate::node::state::Inner;
use crate::node::{ExportError, Grants, NodeEvent, NodeHandle};
use actinium_actor::{Address, AskError};
use directory::{Directory, EXPORTED, Holder, Msg, Trustee};
use std::sync::Arc;
use std::time::Duration;

/// The settings of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamesConfig {
    /// The number of nodes, this one included, that must be up for names to be given and kept. The
    /// same on all nodes.
    pub quorum: usize,
}

impl Default for NamesConfig {
    fn default() -> Self {
        NamesConfig { quorum: 1 }
    }
}

/// This node's part in the names of the cluster; see the module. Cheap to clone.
#[derive(Clone)]
pub struct Names {
    inner: Arc<Inner>,
    directory: Address<Directory>,
}

impl Names {
    pub(crate) fn start(inner: &Arc<Inner>, config: NamesConfig) -> Result<Self, ExportError> {
        let directory = inner.system().spawn(Directory::new(inner, config.quorum));
        let grants = Grants::SEND | Grants::ASK;
        inner.export(EXPORTED, std::slice::from_ref(&directory), grants)?;
        let listener = directory.downgrade();
        let tell = move |msg| {
            if let Some(directory) = listener.upgrade() {
                directory.tell(msg);
            }
        };
        // Nobody is missed in between: who is up already is met twice, which is once.
        inner.on_event(Arc::new({
            let tell = tell.clone();
            move |event: &NodeEvent| match event {
                NodeEvent::Up(node) => tell(Msg::Up(*node)),
                NodeEvent::Down { node, .. } => tell(Msg::Down(*node)),
                NodeEvent::Lost(node, _) | NodeEvent::LostThere(node, _) => tell(Msg::Lost(*node)),
                _ => {}
            }
        }));
        for node in inner.nodes_up() {
            tell(Msg::Up(node));
        }
        Ok(Names { inner: inner.clone(), directory })
    }

    /// Gives an actor of this node a name, if it is free. It has it until it ends,
    /// [`Names::release`], or the rules for partitions take it away: see the module.
    ///
    /// The answer is [`RemoteAskError::NameTaken`] if another has it, [`RemoteAskError::NoQuorum`]
    /// if this node sees too few others, [`RemoteAskError::Unsendable`] if it has more than 4,096
    /// bytes.
    pub fn claim<A: RemoteActor>(
        &self,
        name: &str,
        address: &Address<A>,
        timeout: Duration,
    ) -> RemoteAnswer<()> {
        self.claim_since(name, self.inner.time_ns(), Box::new(address.clone()), timeout)
    }

    fn claim_since(
        &self,
        name: &str,
        since_ns: u64,
        holder: Box<dyn Holder>,
        timeout: Duration,
    ) -> RemoteAnswer<()> {
        let name = name.to_owned();
        let claim = |reply| Msg::ClaimHere(name, since_ns, holder, reply);
        let claimed = self.directory.ask_timeout(timeout, claim);
        RemoteAnswer::later(async move { claimed.await.map_err(failed(timeout))? })
    }

    /// Gives a name to an actor that has it on behalf of another one: it is told when it loses it.
    pub(crate) fn claim_for<A: RemoteActor>(
        &self,
        name: &str,
        since_ns: u64,
        address: Address<A>,
        lost: impl Fn() -> A::Msg + Send + 'static,
        timeout: Duration,
    ) -> RemoteAnswer<()> {
        let holder = Trustee { address, lost: Box::new(lost) };
        self.claim_since(name, since_ns, Box::new(holder), timeout)
    }

    /// Takes a name over from the node that what has it has come from: as `claim_for`, but it has
    /// the name already. The time is earlier than the one that was said there. If others may not
    /// have it, that is told as a loss.
    pub(crate) fn take_over<A: RemoteActor>(
        &self,
        name: &str,
        since_ns: u64,
        address: Address<A>,
        lost: impl Fn() -> A::Msg + Send + 'static,
    ) {
        let holder = Trustee { address, lost: Box::new(lost) };
        self.directory.tell(Msg::TakeOver(name.to_owned(), since_ns, Box::new(holder)));
    }

    /// Takes back a name that an actor of this node has. It lives on.
    pub fn release(&self, name: &str) {
        self.directory.tell(Msg::ReleaseHere(name.to_owned()));
    }

    /// Finds who has a name, within `timeout` in all. What goes wrong is told as by
    /// [`NodeHandle::lookup`].
    pub fn find<A: RemoteActor>(
        &self,
        name: &str,
        timeout: Duration,
    ) -> RemoteAnswer<AnyAddress<A>> {
        let (inner, name) = (self.inner.clone(), name.to_owned());
        let since_ns = inner.time_ns();
        let asked =
            self.directory.ask_timeout(timeout, |reply| Msg::Who(name.clone(), timeout, reply));
        RemoteAnswer::later(async move {
            let stamp = asked.await.map_err(failed(timeout))??;
            let node = stamp.node();
            let exported = stamp.exported(&name);
            if node == inner.id() {
                return inner.exported_here(&exported, &name);
            }
            // Two requests, and one timeout: the second has what the first has left of it, also
            // where this node was stopped in between.
            let taken = Duration::from_nanos(inner.time_ns().saturating_sub(since_ns));
            let Some(left) = timeout.checked_sub(taken).filter(|left| !left.is_zero()) else {
                return Err(RemoteAskError::Timeout(timeout));
            };
            let found =
                inner.find(node, &exported, left, false, |address, _| AnyAddress::There(address));
            found.await.map_err(|error| match error {
                RemoteAskError::Timeout(_) => RemoteAskError::Timeout(timeout),
                other => other,
            })
        })
    }
}

impl NodeHandle {
    /// This node's part in the names of the cluster: see [`Names`]. Once per node; each node of the
    /// cluster does this.
    ///
    /// # Errors
    /// If it was done before.
    pub fn names(&self, config: NamesConfig) -> Result<Names, ExportError> {
        Names::start(self.inner(), config)
    }
}

/// Why this node's own directory has not answered.
fn failed(timeout: Duration) -> impl Fn(AskError) -> RemoteAskError {
    move |error| match error {
        AskError::Timeout(..) => RemoteAskError::Timeout(timeout),
        // It ends with the system.
        _ => RemoteAskError::Left,
    }
}
