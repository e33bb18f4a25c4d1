//! The actors of this node that others may reach.

use super::Peer;
use super::unpack::{UnpackMsg, Unpacker};
use crate::codec::{decode, encode, hello};
use crate::message::{ActorKey, Found, Unanswered};
use crate::remote::RemoteActor;
use actinium_actor::{Actor, Address, Context};
use actinium_memory::heap::Payload;
use actinium_wire::Encoding;
use actinium_wire::hello::{Hello, Settled, Unsettled, settle};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// An exported actor, without its type.
pub(super) trait Exported: Send + Sync {
    /// What its messages look like.
    fn hello(&self, encodings: &[Encoding]) -> Hello;
    /// False if the bytes are no message of its. One that has ended takes them as a dead letter.
    fn tell(&self, encoding: Encoding, message: &[u8]) -> bool;
    /// Whether it has ended.
    fn has_ended(&self) -> bool;
    /// As `tell`, with a payload. None: it takes none.
    fn tell_with(&self, encoding: Encoding, message: &[u8], payload: Payload) -> Option<bool>;
    fn ask(
        &self,
        peer: &Arc<Peer>,
        question: u64,
        encoding: Encoding,
        message: &[u8],
        ctx: &Context<'_, Unpacker>,
    );
    fn watch(&self, peer: &Arc<Peer>, watch: u64, ctx: &Context<'_, Unpacker>);
    /// Has its place in the table of exports given back when it ends.
    fn watch_place(&self, peer: &Arc<Peer>, key: ActorKey, ctx: &Context<'_, Unpacker>);
    /// Ends it: when its mailbox is empty, or now.
    fn stop(&self, now: bool);
    /// Its address.
    fn address(&self) -> &dyn Any;
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

    fn has_ended(&self) -> bool {
        self.is_closed()
    }

    fn tell_with(&self, encoding: Encoding, message: &[u8], payload: Payload) -> Option<bool> {
        let Ok(message) = decode(encoding, message) else { return Some(false) };
        Address::tell(self, A::with_payload(message, payload).ok()?);
        Some(true)
    }

    fn ask(
        &self,
        peer: &Arc<Peer>,
        question: u64,
        encoding: Encoding,
        message: &[u8],
        ctx: &Context<'_, Unpacker>,
    ) {
        let peer = peer.clone();
        let Ok(message) = decode(encoding, message) else {
            let answer = Err(Unanswered::NotUnderstood);
            ctx.address().tell(UnpackMsg::Answered(peer, question, answer));
            return;
        };
        if self.is_closed() {
            let answer = Err(Unanswered::Closed);
            ctx.address().tell(UnpackMsg::Answered(peer, question, answer));
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
            UnpackMsg::Answered(peer, question, result.map(|()| bytes))
        });
    }

    fn is_internal(&self) -> bool {
        A::INTERNAL
    }

    fn watch(&self, peer: &Arc<Peer>, watch: u64, ctx: &Context<'_, Unpacker>) {
        let peer = peer.clone();
        ctx.watch(self, move |down| UnpackMsg::Ended(peer, watch, down.reason));
    }

    fn watch_place(&self, peer: &Arc<Peer>, key: ActorKey, ctx: &Context<'_, Unpacker>) {
        let peer = peer.clone();
        ctx.watch(self, move |_| UnpackMsg::Free(peer, key));
    }

    fn stop(&self, now: bool) {
        if now { Address::kill(self) } else { Address::stop(self) }
    }

    fn address(&self) -> &dyn Any {
        self
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

/// A place in the table of exports.
#[derive(Clone)]
pub(super) struct Place {
    /// Tells the actors apart that have been here, in this life of the node and in earlier ones.
    pub(super) life: u32,
    pub(super) actor: Option<Arc<dyn Exported>>,
}

/// The table of exports. A place with its life never means another actor; those of names are for ever, those of actors that others have
/// started are used again.
pub(super) struct Exports {
    life: u32,
    actors: Vec<Place>,
    /// Places that are to be used again.
    free: Vec<u32>,
    /// Living actors that others have started.
    spawned: usize,
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
        Exports {
            life,
            actors: Vec::new(),
            free: Vec::new(),
            spawned: 0,
            names: BTreeMap::new(),
            waiting: Vec::new(),
        }
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
            self.actors.push(Place { life: self.life, actor: Some(Arc::new(address.clone())) });
        }
        let (asked, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|waiting| waiting.name == name);
        self.waiting = waiting;
        Ok(asked)
    }

    /// Takes the name of one actor back, and its place.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some((index, 1)) = self.names.remove(name) {
            self.free(index);
        }
    }

    fn free(&mut self, index: u32) {
        let Some(place) = self.actors.get_mut(index as usize) else { return };
        place.actor = None;
        place.life = place.life.wrapping_add(1);
        self.free.push(index);
    }

    /// The only actor of a name.
    pub(super) fn named(&self, name: &str) -> Option<&Arc<dyn Exported>> {
        let &(index, _) = self.names.get(name)?;
        self.actors.get(index as usize)?.actor.as_ref()
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
    pub(super) fn after(&self, known: usize) -> &[Place] {
        self.actors.get(known..).unwrap_or_default()
    }

    /// As `after`, for one place.
    pub(super) fn place(&self, index: usize) -> Option<&Place> {
        self.actors.get(index)
    }

    /// Living actors that others have started.
    pub(super) fn spawned(&self) -> usize {
        self.spawned
    }

    /// An actor that another node has started.
    pub(super) fn add_spawned(&mut self, actor: Arc<dyn Exported>) -> ActorKey {
        self.spawned += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            self.actors.push(Place { life: self.life, actor: None });
            (self.actors.len() - 1) as u32
        });
        let place = &mut self.actors[index as usize];
        place.actor = Some(actor);
        ActorKey { index, life: place.life }
    }

    /// It has ended: its place may be used again.
    pub(super) fn remove_spawned(&mut self, key: ActorKey) {
        let place = self.actors.get(key.index as usize);
        if place.is_some_and(|place| place.life == key.life && place.actor.is_some()) {
            self.free(key.index);
            self.spawned -= 1;
        }
    }

    pub(super) fn find(&self, name: &str, peer: &Hello, encodings: &[Encoding]) -> Found {
        let Some(&(index, count)) = self.names.get(name) else { return Found::NoSuchName };
        let first = self.actors.get(index as usize).and_then(|place| place.actor.as_ref());
        let Some(first) = first else { return Found::NoSuchName };
        let own = first.hello(encodings);
        if own.protocol != peer.protocol {
            return Found::OtherKind(own.protocol);
        }
        let key = ActorKey { index, life: self.life };
        settle(&own, peer).map_or_else(unsettled, |settled| found(key, count, settled))
    }
}

/// What is answered when the two nodes understand each other.
pub(super) fn found(key: ActorKey, count: u32, settled: Settled) -> Found {
    Found::Actor { key, count, encoding: settled.encoding, remarks: settled.remarks }
}

/// And when they do not.
pub(super) fn unsettled(why: Unsettled) -> Found {
    Found::Unsettled(why.to_string())
}
