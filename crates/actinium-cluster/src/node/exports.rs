//! The actors of this node that others may reach.

use super::unpack::{UnpackMsg, Unpacker};
use crate::codec::{decode, encode, hello};
use crate::message::{ActorKey, Found, Unanswered};
use crate::remote::RemoteActor;
use actinium_actor::{Actor, Address, Context};
use actinium_wire::Encoding;
use actinium_wire::hello::{Hello, settle};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// An exported actor, without its type.
pub(super) trait Exported: Send + Sync {
    /// What its messages look like.
    fn hello(&self, encodings: &[Encoding]) -> Hello;
    /// False if the bytes are no message of its.
    fn tell(&self, encoding: Encoding, message: &[u8]) -> bool;
    fn ask(&self, question: u64, encoding: Encoding, message: &[u8], ctx: &Context<'_, Unpacker>);
    fn watch(&self, watch: u64, ctx: &Context<'_, Unpacker>);
}

impl<A: RemoteActor> Exported for Address<A>
where
    <A as Actor>::Msg: Send,
{
    fn hello(&self, encodings: &[Encoding]) -> Hello {
        hello::<A>(encodings)
    }

    fn tell(&self, encoding: Encoding, message: &[u8]) -> bool {
        let Ok(message) = decode(encoding, message) else { return false };
        Address::tell(self, A::message(message));
        true
    }

    fn ask(&self, question: u64, encoding: Encoding, message: &[u8], ctx: &Context<'_, Unpacker>) {
        let Ok(message) = decode(encoding, message) else {
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
                Ok(answer) => {
                    encode(encoding, &answer, &mut bytes).map_err(|_| Unanswered::NotUnderstood)
                }
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
    actors: Vec<Arc<dyn Exported>>,
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
        self.actors.push(Arc::new(address.clone()));
        Ok(())
    }

    /// What `Unpacker` keeps a copy of, because this one lies behind a lock: those after the first `known`.
    pub(super) fn after(&self, known: usize) -> &[Arc<dyn Exported>] {
        self.actors.get(known..).unwrap_or_default()
    }

    pub(super) fn life(&self) -> u32 {
        self.life
    }

    pub(super) fn find(&self, name: &str, peer: &Hello, encodings: &[Encoding]) -> Found {
        let Some(&index) = self.names.get(name) else { return Found::NoSuchName };
        let own = self.actors[index as usize].hello(encodings);
        if own.protocol != peer.protocol {
            return Found::OtherKind(own.protocol);
        }
        match settle(&own, peer) {
            Ok(settled) => Found::Actor {
                key: ActorKey { index, life: self.life },
                encoding: settled.encoding,
                remarks: settled.remarks,
            },
            Err(why) => Found::Unsettled(why.to_string()),
        }
    }
}
