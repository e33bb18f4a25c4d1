//! Where a handle leads.

use crate::actor::Actor;
use crate::actor_core::Core;
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::stop_reason::Down;
use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::pin::Pin;

// tidy: guard: it holds nothing of the user's.
/// A future that is done when a send is worth trying again.
pub type Room = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A handle as it travels: what its actor's node has noted about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize, actinium_wire::Message))]
pub struct Ticket {
    /// The node that the actor lives on.
    pub node: u32,
    /// The actor's identity in its system.
    pub actor: u64,
    /// Which of that node's tickets it is.
    pub serial: u64,
    /// Known to those only who were given the ticket.
    pub secret: u64,
    /// The fingerprint of what the actor's node takes for the handle.
    pub fingerprint: u64,
    /// The encodings that the actor's node takes: a bit for the number of each.
    pub encodings: u8,
}

#[cfg(feature = "wire")]
impl Ticket {
    /// The actor's identity in its system.
    pub fn actor_id(&self) -> ActorId {
        ActorId(self.actor)
    }
}

/// An actor of another node, as the crate that moves messages between nodes sees it.
pub trait Elsewhere: Send + Sync {
    /// The handle as it travels.
    fn ticket(&self) -> &Ticket;
    /// The number of this node's border: see `travel`.
    fn border(&self) -> u64;
    /// Whether the actor is known to have ended.
    fn is_closed(&self) -> bool;
    // tidy: guard: what it holds of the user's is guarded (`Context::watch`).
    /// Tells when the actor has ended, or its node is down. `by` is the actor that wants to know,
    /// and `is_link` says for which of two reasons: see [`Elsewhere::unwatch`].
    fn watch(&self, by: ActorId, is_link: bool, notify: Box<dyn FnOnce(Down) + Send>);
    /// Takes back what was asked with `watch`.
    fn unwatch(&self, by: ActorId, is_link: bool);
    /// Waits until a send that was refused because too much waits is worth trying again.
    fn room(&self) -> Room;
    /// Notes that a message was told that could not be sent.
    fn undelivered(&self);
}

/// Where a handle leads.
#[derive(Clone, Copy)]
pub(crate) enum At<'a> {
    /// To an actor of this process.
    Here(&'a Core),
    /// To an actor of another node.
    There(&'a dyn Elsewhere),
}

impl At<'_> {
    /// The actor's identity in its system.
    pub(crate) fn id(self) -> ActorId {
        match self {
            At::Here(core) => core.id,
            At::There(there) => ActorId(there.ticket().actor),
        }
    }

    /// Writes a handle of this kind.
    pub(crate) fn fmt_as(self, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Here(core) => write!(f, "{kind}({}, {})", core.id, core.kind()),
            At::There(there) => write!(f, "{kind}({} of node {})", self.id(), there.ticket().node),
        }
    }
}

impl PartialEq for At<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (At::Here(one), At::Here(other)) => std::ptr::eq(*one, *other),
            (At::There(one), At::There(other)) => one.ticket() == other.ticket(),
            _ => false,
        }
    }
}

impl Hash for At<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

/// What [`Context::watch`](crate::Context::watch) and [`Context::link`](crate::Context::link) take:
/// an [`Address`], a [`Recipient`](crate::Recipient) or an [`AskRecipient`](crate::AskRecipient).
pub trait Handle {
    #[doc(hidden)]
    fn place(&self) -> Place<'_>;
}

/// Where a handle leads. Only this crate makes one.
#[doc(hidden)]
pub struct Place<'a>(pub(crate) At<'a>);

impl<A: Actor> Handle for Address<A> {
    fn place(&self) -> Place<'_> {
        Place(At::Here(&self.0.core))
    }
}
