//! Addresses of actors as recipients: handles that are data.

use crate::actor::RemoteActor;
use crate::any::AnyAddress;
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
