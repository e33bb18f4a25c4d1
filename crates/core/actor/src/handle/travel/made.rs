//! Handles made of what the cluster knows: an exported actor, and how messages become its own.

use super::border::{Given, Line};
use super::far::Far;
use super::given::GivenRecipient;
use super::kind::kind;
use crate::actor::Actor;
use crate::address::Address;
use crate::handle::local::Local;
use crate::handle::recipient::Recipient;
use actinium_wire::Encoding;
use actinium_wire::schema::Describe;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;

/// A recipient of what `make` turns into messages of an actor of this process.
pub fn recipient_here<A: Actor, M: Send + 'static>(
    address: &Address<A>,
    make: fn(M) -> A::Msg,
) -> Recipient<M> {
    Recipient(Arc::new(Local::made(address.clone(), make)))
}

/// A recipient of messages of an actor elsewhere.
pub fn recipient_there<M>(line: Arc<dyn Line>, encoding: Encoding) -> Recipient<M>
where
    M: Describe + Serialize + DeserializeOwned + Send + 'static,
{
    Recipient(Arc::new(Far { line, encoding }))
}

/// A [`recipient_here`] as its node keeps it for others.
pub fn given<A: Actor, M>(address: &Address<A>, make: fn(M) -> A::Msg) -> Arc<dyn Given>
where
    M: Describe + Serialize + DeserializeOwned + Send + 'static,
{
    let recipient = recipient_here(address, make);
    Arc::new(GivenRecipient { actor: recipient.id(), target: recipient.0.downgrade() })
}

/// The fingerprint of what a recipient takes.
pub fn fingerprint<M: Describe + 'static>() -> u64 {
    kind::<M>().fingerprint
}
