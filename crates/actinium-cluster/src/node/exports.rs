//! The actors of this node that others may reach.

use super::unpack::{UnpackMsg, Unpacker};
use crate::codec::{decode, encode};
use crate::message::{ActorKey, Found, Unanswered};
use crate::remote::RemoteActor;
use actinium_actor::{Actor, Address, Context};
use std::collections::BTreeMap;
use std::fmt;

/// An exported actor, without its type.
pub(super) trait Exported: Send + Sync {
    fn kind(&self) -> &'static str;
    /// False if the bytes are no message of its.
    fn tell(&self, message: &[u8]) -> bool;
    fn ask(&self, question: u64, message: &[u8], ctx: &Context<'_, Unpacker>);
    fn watch(&self, watch: u64, ctx: &Context<'_, Unpacker>);
}

impl<A: RemoteActor> Exported for Address<A>
where
    <A as Actor>::Msg: Send,
{
    fn kind(&self) -> &'static str {
        A::KIND
    }

    fn tell(&self, message: &[u8]) -> bool {
        let Ok(message) = decode(message) else { return false };
        Address::tell(self, A::message(message));
        true
    }

    fn ask(&self, question: u64, message: &[u8], ctx: &Context<'_, Unpacker>) {
        let Ok(message) = decode(message) else {
            ctx.address().tell(UnpackMsg::Answered(question, Err(Unanswered::NotUnderstood)));
            return;
        };
        if self.is_closed() {
            ctx.address().tell(UnpackMsg::Answered(question, Err(Unanswered::Closed)));
            return;
        }
        let answer = Address::ask(self, |reply| A::question(message, reply));
        ctx.pipe(answer, move |answer| {
            let mut bytes = Vec::new();
            let result = match answer {
                Ok(answer) => encode(&answer, &mut bytes).map_err(|_| Unanswered::NotUnderstood),
                Err(actinium_actor::AskError::Closed(_)) => Err(Unanswered::Closed),
                Err(_) => Err(Unanswered::NoReply),
            };
            UnpackMsg::Answered(question, result.map(|()| bytes))
        });
    }

    fn watch(&self, watch: u64, ctx: &Context<'_, Unpacker>) {
        ctx.watch(self, move |down| UnpackMsg::Ended(watch, down.reason.to_string()));
    }
}

/// Why an actor was not exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportError {
    /// The name, which another exported actor of this node has.
    pub name: String,
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name '{}' is taken by another actor that this node exports", self.name)
    }
}

impl std::error::Error for ExportError {}

/// The table of exports. It only grows: a place never means another actor.
pub(super) struct Exports {
    life: u32,
    actors: Vec<Box<dyn Exported>>,
    names: BTreeMap<String, u32>,
}

impl Exports {
    pub(super) fn new(life: u32) -> Self {
        Exports { life, actors: Vec::new(), names: BTreeMap::new() }
    }

    pub(super) fn add<A: RemoteActor>(
        &mut self,
        name: &str,
        address: &Address<A>,
    ) -> Result<(), ExportError> {
        if self.names.contains_key(name) {
            return Err(ExportError { name: name.to_owned() });
        }
        // More than 4 billion exports would fill the memory first.
        self.names.insert(name.to_owned(), self.actors.len() as u32);
        self.actors.push(Box::new(address.clone()));
        Ok(())
    }

    pub(super) fn get(&self, key: ActorKey) -> Option<&dyn Exported> {
        let actor = self.actors.get(key.index as usize).filter(|_| key.life == self.life)?;
        Some(&**actor)
    }

    pub(super) fn find(&self, name: &str, kind: &str) -> Found {
        let Some(&index) = self.names.get(name) else { return Found::NoSuchName };
        let found = self.actors[index as usize].kind();
        if found != kind {
            return Found::OtherKind(found.to_owned());
        }
        Found::Actor(ActorKey { index, life: self.life })
    }
}
