//! Addresses of actors as recipients: handles that are data.

use crate::actor::RemoteActor;
use crate::any::AnyAddress;
use crate::movable::{Migrate, MovableAddress};
use crate::remote::RemoteAddress;
use actinium_actor::Recipient;
use actinium_actor::travel::recipient_here;

/// A handle of the actor that may stand in messages and goes on to other nodes, which then reach
/// the actor directly. They need the grants that this node does. Sends go out as
/// [`Recipient::send`] says; what an actor of another node learns of its sender
/// ([`RemoteActor::message_from`]) is not said.
impl<A: RemoteActor> From<&RemoteAddress<A>> for Recipient<A::Message> {
    fn from(address: &RemoteAddress<A>) -> Self {
        address.recipient()
    }
}

/// As for a reference.
impl<A: RemoteActor> From<RemoteAddress<A>> for Recipient<A::Message> {
    fn from(address: RemoteAddress<A>) -> Self {
        address.recipient()
    }
}

/// As for a [`RemoteAddress`]. Messages to an actor of this node do not become bytes.
impl<A: RemoteActor> From<&AnyAddress<A>> for Recipient<A::Message> {
    fn from(address: &AnyAddress<A>) -> Self {
        match address {
            AnyAddress::Here(_, here) => recipient_here(here, A::message),
            AnyAddress::There(there) => there.recipient(),
        }
    }
}

/// As for a reference.
impl<A: RemoteActor> From<AnyAddress<A>> for Recipient<A::Message> {
    fn from(address: AnyAddress<A>) -> Self {
        (&address).into()
    }
}

/// A handle of the actor that may be a member of a group, or stand in a message. Wherever it comes,
/// it reaches the actor wherever that is then: directly from nodes that have called
/// [`NodeHandle::movables`](crate::NodeHandle::movables) for its type, and by the node where the
/// actor began from others. What an actor that moves sends by it attracts the two to each other, as
/// by the address.
///
/// [`Recipient::send`] reports [`SendError::Full`](actinium_actor::SendError::Full) where
/// [`MovableAddress::send`] reports [`RemoteSendError::Full`](crate::RemoteSendError::Full), and
/// [`SendError::Closed`](actinium_actor::SendError::Closed) when the actor has ended or its node is
/// down. Whoever watches it hears of the end, and of no move.
///
/// ```
/// use actinium_actor::{Context, Router, System};
/// use actinium_cluster::fabric::{NodeId, in_process::Network};
/// use actinium_cluster::{Migrate, Movable, Node, NodeConfig};
/// use actinium_actor::Recipient;
/// use serde::{Deserialize, Serialize};
/// use std::time::Duration;
///
/// #[derive(Clone, Serialize, Deserialize, actinium_wire::Message)]
/// struct Sum { sum: u64 }
///
/// impl Migrate for Sum {
///     const KIND: &'static str = "example.sum-of-a-group";
///     type Message = u64;
///     type Request = ();
///     type Answer = u64;
///     fn message(&mut self, n: u64, _ctx: &Context<'_, Movable<Self>>) { self.sum += n }
///     fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> u64 { self.sum }
/// }
///
/// let network = Network::new();
/// let fabric = network.node(NodeId(0));
/// let system = System::builder().workers(1).build()?;
/// let node = Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric))?;
/// let sums = node.movables::<Sum>()?;
/// let members = [sums.spawn(Sum { sum: 0 }), sums.spawn(Sum { sum: 0 })];
///
/// let router = Router::round_robin(members.iter().map(Recipient::from));
/// (1..=4).try_for_each(|n| router.send(n))?;
/// let timeout = Duration::from_secs(60);
/// assert_eq!((members[0].ask((), timeout).wait()?, members[1].ask((), timeout).wait()?), (4, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<S: Migrate> From<&MovableAddress<S>> for Recipient<S::Message> {
    fn from(address: &MovableAddress<S>) -> Self {
        address.recipient()
    }
}

/// As for a reference.
impl<S: Migrate> From<MovableAddress<S>> for Recipient<S::Message> {
    fn from(address: MovableAddress<S>) -> Self {
        (&address).into()
    }
}
