//! The actors of this node that others may reach.

use super::Peer;
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
    /// Whether it is of the cluster's own machinery, whose messages are no work.
    fn is_internal(&self) -> bool;
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

    fn is_internal(&self) -> bool {
        A::INTERNAL
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
    /// The first place and the number of actors of a name.
    names: BTreeMap<String, (u32, u32)>,
    /// Questions for names that are not there yet.
    waiting: Vec<Waiting>,
}

/// A question for a name that is not there yet.
pub(super) struct Waiting {
    pub(super) name: String,
    pub(super) hello: Hello,
    pub(super) peer: Arc<Peer>,
    pub(super) question: u64,
}

/// Such questions, at most: others may ask for what will never be.
const WAITING_MAX: usize = 4096;

impl Exports {
    pub(super) fn new(life: u32) -> Self {
        Exports { life, actors: Vec::new(), names: BTreeMap::new(), waiting: Vec::new() }
    }

    pub(super) fn add<A: RemoteActor>(
        &mut self,
        name: &str,
        addresses: &[Address<A>],
    ) -> Result<Vec<Waiting>, ExportError> {
        if self.names.contains_key(name) {
            return Err(ExportError { name: name.to_owned() });
        }
        // More than 4 billion exports would fill the memory first.
        let place = (self.actors.len() as u32, addresses.len() as u32);
        self.names.insert(name.to_owned(), place);
        for address in addresses {
            self.actors.push(Arc::new(address.clone()));
        }
        let (asked, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|waiting| waiting.name == name);
        self.waiting = waiting;
        Ok(asked)
    }

    /// Keeps a question for a name that is not there; gives it back if it is there by now, or too many wait.
    pub(super) fn wait(&mut self, waiting: Waiting) -> Result<(), Box<Waiting>> {
        if self.names.contains_key(&waiting.name) || self.waiting.len() >= WAITING_MAX {
            return Err(Box::new(waiting));
        }
        self.waiting.push(waiting);
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
        let Some(&(index, count)) = self.names.get(name) else { return Found::NoSuchName };
        let Some(first) = self.actors.get(index as usize) else { return Found::NoSuchName };
        let own = first.hello(encodings);
        if own.protocol != peer.protocol {
            return Found::OtherKind(own.protocol);
        }
        match settle(&own, peer) {
            Ok(settled) => Found::Actor {
                key: ActorKey { index, life: self.life },
                count,
                encoding: settled.encoding,
                remarks: settled.remarks,
            },
            Err(why) => Found::Unsettled(why.to_string()),
        }
    }
}
