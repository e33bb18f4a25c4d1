//! Handles as data, and their description.
//!
//! A handle is a struct of its ticket and of a list that is always empty: the name of the list is
//! that of what the handle takes, and its type is the type of it. So a description of messages
//! holds what the handles in them take, and two nodes that do not agree on it hear of that when one
//! looks an actor of the other up.

use super::border::{Crossed, Given, Origin, TakenIn, crossed};
use super::far::Far;
use super::given::{GivenAnswer, GivenAskRecipient, GivenRecipient, encode};
use super::kind::{Data, Kind, TICKET, kind, takes};
use crate::ask::Reply;
use crate::ask::way::Way;
use crate::handle::ask_recipient::AskRecipient;
use crate::handle::at::{At, Ticket};
use crate::handle::recipient::Recipient;
use actinium_wire::explain;
use actinium_wire::schema::{Describe, Field, Shape, Type, Types};
use futures_channel::oneshot;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

// ---- a ticket for a handle, and back
// ---------------------------------------------------------------------------------

/// The ticket of a handle of type `of`.
fn leave(
    at: At<'_>,
    of: TypeId,
    kind: &Kind,
    given: &dyn Fn() -> Arc<dyn Given>,
) -> Result<Ticket, String> {
    let Crossed { number, border, .. } = crossed()?;
    match at {
        At::Here(core) => {
            let system = Arc::as_ptr(&core.system).addr();
            border.give(Origin { system, actor: core.id.0, of }, kind.fingerprint, given)
        }
        At::There(there) if there.border() == number => Ok(*there.ticket()),
        At::There(there) => Err(format!(
            "{} of node {} belongs to another cluster: its handle can not travel in this one",
            at.id(),
            there.ticket().node
        )),
    }
}

/// What a ticket leads to: a handle of this process that `find` knows, or one of another node.
fn arrive<T>(
    ticket: &Ticket,
    kind: &Kind,
    find: impl FnOnce(&dyn Given) -> Result<Option<T>, String>,
    far: impl FnOnce(Far) -> T,
) -> Result<T, String> {
    let border = crossed()?.border;
    let line = match Arc::clone(&border).take(ticket)? {
        TakenIn::There(line) => line,
        TakenIn::Here(given) => match find(&*given)? {
            Some(handle) => return Ok(handle),
            None => border.ended(ticket),
        },
    };
    let is_same = ticket.fingerprint == kind.fingerprint;
    let encoding = line.encoding(is_same).ok_or_else(|| no_encoding(ticket))?;
    Ok(far(Far { line, encoding }))
}

fn no_encoding(ticket: &Ticket) -> String {
    format!("node {} takes messages in no encoding that this one has", ticket.node)
}

fn other_kind(given: &dyn Given, kind: &Kind) -> String {
    format!("expected a handle that {}, found one that {}", kind.takes(), given.takes())
}

// ---- the struct
// ------------------------------------------------------------------------------------------------------

fn write<T: Data, S: Serializer>(
    name: &'static str,
    ticket: &Ticket,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct(name, 2)?;
    fields.serialize_field(TICKET, ticket)?;
    fields.serialize_field(kind::<T>().takes(), &[] as &[T])?;
    fields.end()
}

fn read<'de, T: Data, D: Deserializer<'de>>(
    name: &'static str,
    deserializer: D,
) -> Result<Ticket, D::Error> {
    deserializer.deserialize_struct(name, &kind::<T>().fields, Reader(PhantomData::<T>))
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Data> Visitor<'de> for Reader<T> {
    type Value = Ticket;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a handle that {}", kind::<T>().takes())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Ticket, A::Error> {
        let missing = |index| A::Error::invalid_length(index, &self);
        let ticket = parts.next_element()?.ok_or_else(|| missing(0))?;
        check::<T, _>(parts.next_element()?.ok_or_else(|| missing(1))?)?;
        Ok(ticket)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<Ticket, A::Error> {
        let (mut ticket, mut is_named, mut found) = (None, false, String::new());
        while let Some(name) = parts.next_key::<String>()? {
            if name == TICKET {
                ticket = Some(parts.next_value()?);
            } else if name == kind::<T>().takes() {
                check::<T, _>(parts.next_value()?)?;
                is_named = true;
            } else {
                parts.next_value::<IgnoredAny>()?;
                found = name;
            }
        }
        match ticket {
            Some(ticket) if is_named => Ok(ticket),
            Some(_) => Err(unread(format!(
                "expected a handle that {}, found one that '{found}'",
                kind::<T>().takes()
            ))),
            None => Err(A::Error::missing_field(TICKET)),
        }
    }
}

/// The list says what its items would be, and has none.
fn check<T, E: Error>(list: Vec<T>) -> Result<(), E> {
    match list.len() {
        0 => Ok(()),
        count => Err(unread(format!("a handle holds no messages, found {count}"))),
    }
}

/// The error of a handle that can not be written.
#[cold]
fn unwritten<E: serde::ser::Error>(why: String) -> E {
    explain(&why);
    E::custom(why)
}

/// The error of a handle that can not be read.
#[cold]
fn unread<E: Error>(why: String) -> E {
    explain(&why);
    E::custom(why)
}

fn describe<H: 'static, T: Data>(handle: &str, types: &mut Types) -> Type {
    // Not `kind`: whoever takes handles of itself is described while it is described.
    let of = T::describe(types);
    let takes = takes(&of);
    types.define::<H>(&format!("{handle}_{takes}"), |types| {
        Shape::Struct(vec![
            Field::new(TICKET, Ticket::describe(types)),
            Field::new(&takes, Type::List(Box::new(of))),
        ])
    })
}

// ---- the handles
// -----------------------------------------------------------------------------------------------------

impl<M: Data> Serialize for Recipient<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let given = || -> Arc<dyn Given> {
            Arc::new(GivenRecipient { actor: self.id(), target: self.0.downgrade() })
        };
        let ticket = leave(self.0.at(), TypeId::of::<Self>(), kind::<M>(), &given);
        write::<M, S>("Recipient", &ticket.map_err(unwritten)?, serializer)
    }
}

impl<'de, M: Data> Deserialize<'de> for Recipient<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ticket = read::<M, D>("Recipient", deserializer)?;
        let find = |given: &dyn Given| match given.as_any().downcast_ref::<GivenRecipient<M>>() {
            Some(given) => Ok(given.target.upgrade().map(Recipient)),
            None => Err(other_kind(given, kind::<M>())),
        };
        arrive(&ticket, kind::<M>(), find, |far| Recipient(Arc::new(far))).map_err(unread)
    }
}

impl<M: Data> Describe for Recipient<M> {
    fn describe(types: &mut Types) -> Type {
        describe::<Self, M>("Recipient", types)
    }
}

impl<Q: Data, R: Data> Serialize for AskRecipient<Q, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let given = || -> Arc<dyn Given> {
            Arc::new(GivenAskRecipient { actor: self.id(), target: self.0.downgrade() })
        };
        let ticket = leave(self.0.at(), TypeId::of::<Self>(), kind::<(Q, R)>(), &given);
        write::<(Q, R), S>("AskRecipient", &ticket.map_err(unwritten)?, serializer)
    }
}

impl<'de, Q: Data, R: Data> Deserialize<'de> for AskRecipient<Q, R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ticket = read::<(Q, R), D>("AskRecipient", deserializer)?;
        let kind = kind::<(Q, R)>();
        let find =
            |given: &dyn Given| match given.as_any().downcast_ref::<GivenAskRecipient<Q, R>>() {
                Some(given) => Ok(given.target.upgrade().map(AskRecipient)),
                None => Err(other_kind(given, kind)),
            };
        arrive(&ticket, kind, find, |far| AskRecipient(Arc::new(far))).map_err(unread)
    }
}

impl<Q: Data, R: Data> Describe for AskRecipient<Q, R> {
    fn describe(types: &mut Types) -> Type {
        describe::<Self, (Q, R)>("AskRecipient", types)
    }
}

/// The ticket of a reply handle that leaves.
fn leave_reply<R: Data>(reply: &Reply<R>) -> Result<Ticket, String> {
    let Crossed { other, border, .. } = crossed()?;
    let passage = reply
        .begin_passage()
        .ok_or_else(|| "a reply handle can stand in one message, and there once".to_owned())?;
    border.give_reply(other, kind::<R>().fingerprint, Arc::new(GivenAnswer { passage }))
}

/// The reply handle of a ticket that has come.
fn arrive_reply<R: Data>(ticket: &Ticket) -> Result<Reply<R>, String> {
    let Crossed { other, border, .. } = crossed()?;
    let is_same = ticket.fingerprint == kind::<R>().fingerprint;
    let encoding = border.answers_in(ticket, is_same).ok_or_else(|| no_encoding(ticket))?;
    let (sender, receiver) = oneshot::channel();
    let answer = async move {
        let answer: R = receiver.await.ok()?;
        let mut bytes = Vec::new();
        encode(encoding, &answer, &mut bytes).ok()?;
        Some(bytes)
    };
    border.take_reply(other, ticket, encoding, Box::pin(answer))?;
    Ok(Reply::new(Way::Future(sender)))
}

impl<R: Data> Serialize for Reply<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write::<R, S>("Reply", &leave_reply(self).map_err(unwritten)?, serializer)
    }
}

impl<'de, R: Data> Deserialize<'de> for Reply<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        arrive_reply(&read::<R, D>("Reply", deserializer)?).map_err(unread)
    }
}

impl<R: Data> Describe for Reply<R> {
    fn describe(types: &mut Types) -> Type {
        describe::<Self, R>("Reply", types)
    }
}
