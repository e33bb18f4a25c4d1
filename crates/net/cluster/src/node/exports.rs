//! The actors of this node that others may reach.

use super::frame_receiver::{Asked, FrameReceiver, FrameReceiverMsg};
use super::grants::Grants;
use super::inbound::Watched;
use super::leaving;
use super::peer::Peer;
use super::taps::MessageTypes;
use crate::actor::{RemoteActor, hello};
use crate::codec::{decode, encode};
use crate::fabric::NodeId;
use crate::message::{ActorKey, Found, Unanswered};
use actinium_actor::travel::{Given, crossing, given};
use actinium_actor::{Actor, Address, Context};
use actinium_memory::heap::Payload;
use actinium_wire::Encoding;
use actinium_wire::hello::{Hello, Incompatible, Negotiated, negotiate};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// An exported actor, whatever its type.
pub(super) trait Exported: Send + Sync {
    /// Describes the actor's messages.
    fn hello(&self, encodings: &[Encoding]) -> Hello;
    /// Returns the name of the actor's type.
    fn kind(&self) -> &'static str;
    /// Sends the actor a message. False if the bytes are no message of its. One that has ended
    /// takes them as a dead letter.
    fn tell(&self, from: NodeId, encoding: Encoding, message: &[u8]) -> bool;
    /// Whether the actor has ended.
    fn has_ended(&self) -> bool;
    /// Sends the actor a message with a payload, like `tell`. None: the actor takes no payloads.
    fn tell_with(
        &self,
        from: NodeId,
        encoding: Encoding,
        message: &[u8],
        payload: Payload,
    ) -> Option<bool>;
    /// Asks the actor, in a session with the other node.
    fn ask(
        &self,
        asked: Asked,
        encoding: Encoding,
        message: &[u8],
        ctx: &Context<'_, FrameReceiver>,
    );
    /// Lets the frame receiver tell the other node when the actor ends.
    fn watch(&self, peer: &Arc<Peer>, key: ActorKey, ctx: &Context<'_, FrameReceiver>);
    /// Lets the frame receiver give the actor's place in the table of exports back when the actor
    /// ends.
    fn watch_place(&self, key: ActorKey, ctx: &Context<'_, FrameReceiver>);
    /// Ends the actor: when its mailbox is empty, or now.
    fn stop(&self, now: bool);
    /// Returns a handle of the actor's messages.
    fn given(&self) -> Arc<dyn Given>;
    /// Returns the actor's address, an `Address<A>`.
    fn address(&self) -> &dyn Any;
    /// Whether the actor is of the cluster's own machinery, whose messages are no work.
    fn is_internal(&self) -> bool;
    /// Describes its messages, for taps.
    fn types(&self) -> &'static MessageTypes;
}

impl<A: RemoteActor> Exported for Address<A>
where
    <A as Actor>::Msg: Send,
{
    fn hello(&self, encodings: &[Encoding]) -> Hello {
        hello::<A>(encodings)
    }

    fn kind(&self) -> &'static str {
        A::KIND
    }

    fn tell(&self, from: NodeId, encoding: Encoding, message: &[u8]) -> bool {
        let Ok(message) = decode(encoding, message) else { return false };
        Address::tell(self, A::message_from(from, message));
        true
    }

    fn has_ended(&self) -> bool {
        self.is_closed()
    }

    fn tell_with(
        &self,
        from: NodeId,
        encoding: Encoding,
        message: &[u8],
        payload: Payload,
    ) -> Option<bool> {
        let Ok(message) = decode(encoding, message) else { return Some(false) };
        Address::tell(self, A::with_payload_from(from, message, payload).ok()?);
        Some(true)
    }

    fn ask(
        &self,
        asked: Asked,
        encoding: Encoding,
        message: &[u8],
        ctx: &Context<'_, FrameReceiver>,
    ) {
        let Ok(message) = decode(encoding, message) else {
            let answer = Err(Unanswered::NotUnderstood);
            return ctx.address().tell(FrameReceiverMsg::Answered(asked, answer));
        };
        if self.is_closed() {
            let answer = Err(Unanswered::Closed);
            return ctx.address().tell(FrameReceiverMsg::Answered(asked, answer));
        }
        let from = asked.peer.node;
        let answer = Address::ask(self, |reply| A::request_from(from, message, reply));
        ctx.pipe(answer, move |answer| {
            let mut bytes = Vec::new();
            let result = match answer {
                Ok(answer) => {
                    let replies = leaving::count();
                    let encoded = crossing(asked.border, asked.peer.node.0, || {
                        encode(encoding, &answer, &mut bytes)
                    });
                    leaving::have_left(replies);
                    encoded.map_err(|_| Unanswered::NotUnderstood)
                }
                Err(actinium_actor::AskError::Closed(_)) => Err(Unanswered::Closed),
                Err(_) => Err(Unanswered::NoReply),
            };
            FrameReceiverMsg::Answered(asked, result.map(|()| bytes))
        });
    }

    fn is_internal(&self) -> bool {
        A::INTERNAL
    }

    fn types(&self) -> &'static MessageTypes {
        MessageTypes::of::<A>()
    }

    fn watch(&self, peer: &Arc<Peer>, key: ActorKey, ctx: &Context<'_, FrameReceiver>) {
        let peer = peer.clone();
        let key = Watched::Exported(key);
        ctx.watch(self, move |down| FrameReceiverMsg::Ended(peer, key, down.reason));
    }

    fn watch_place(&self, key: ActorKey, ctx: &Context<'_, FrameReceiver>) {
        ctx.watch(self, move |_| FrameReceiverMsg::Free(key));
    }

    fn stop(&self, now: bool) {
        if now { Address::kill(self) } else { Address::stop(self) }
    }

    fn given(&self) -> Arc<dyn Given> {
        given(self, A::message)
    }

    fn address(&self) -> &dyn Any {
        self
    }
}

/// The error of exporting an actor.
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
    /// A number that tells the actors apart that have been in this place, in this incarnation of
    /// the node and in earlier ones.
    pub(super) generation: u32,
    pub(super) actor: Option<Arc<dyn Exported>>,
    /// The operations that all nodes may do on the actor.
    grants: Grants,
    /// The other node that has started the actor, if one has: it may do all, and others nothing.
    owner: Option<NodeId>,
}

impl Place {
    /// Whether a node may do this with the actor.
    #[inline]
    pub(super) fn allows(&self, what: Grants, node: NodeId) -> bool {
        self.grants.contains(what) || self.owner == Some(node)
    }
}

impl Waiting {
    fn bytes(&self) -> usize {
        self.name.len() + self.hello.len()
    }
}

/// The table of exports. A place with its generation never means another actor. Places of actors
/// with names are kept for ever; places of actors that other nodes have started are used again.
pub(super) struct Exports {
    generation: u32,
    actors: Vec<Place>,
    /// The places that are to be used again.
    free: Vec<u32>,
    /// The number of living actors that other nodes have started: in all, and of each node.
    spawned: usize,
    spawned_of: BTreeMap<NodeId, usize>,
    /// The first place and the number of actors of a name.
    names: BTreeMap<String, (u32, u32)>,
    /// Requests for names that are not there yet, of each node.
    waiting: BTreeMap<NodeId, Vec<Waiting>>,
}

/// The largest sum of the bytes of names and descriptions in one node's waiting requests: as many
/// as in thousands of the longest that make sense.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// A request for a name that is not there yet.
pub(super) struct Waiting {
    pub(super) name: String,
    /// The description of the actor's type as it came, encoded: decoded it can be much longer.
    pub(super) hello: Vec<u8>,
    pub(super) peer: Arc<Peer>,
    pub(super) request: u64,
}

impl Exports {
    pub(super) fn new(generation: u32) -> Self {
        Exports {
            generation,
            actors: Vec::new(),
            free: Vec::new(),
            spawned: 0,
            spawned_of: BTreeMap::new(),
            names: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    pub(super) fn add<A: RemoteActor>(
        &mut self,
        name: &str,
        addresses: &[Address<A>],
        grants: Grants,
    ) -> Result<Vec<Waiting>, ExportError> {
        if self.names.contains_key(name) {
            return Err(ExportError { name: name.to_owned() });
        }
        // More than 4 billion exports would fill the memory first.
        let place = (self.actors.len() as u32, addresses.len() as u32);
        self.names.insert(name.to_owned(), place);
        for address in addresses {
            let actor: Option<Arc<dyn Exported>> = Some(Arc::new(address.clone()));
            self.actors.push(Place { generation: self.generation, actor, grants, owner: None });
        }
        let of_all = self.waiting.values_mut();
        let asked = of_all.flat_map(|of| of.extract_if(.., |waiting| waiting.name == name));
        Ok(asked.collect())
    }

    /// The name of the actor in a place.
    pub(super) fn name(&self, index: u32) -> Option<&str> {
        let is_its = |&&(first, count): &&(u32, u32)| {
            index.checked_sub(first).is_some_and(|behind| behind < count)
        };
        self.names.iter().find(|(_, place)| is_its(place)).map(|(name, _)| name.as_str())
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
        // After 2^32 actors an old key would mean a new one: then the place is never used again.
        if place.generation.wrapping_add(1) != self.generation {
            self.free.push(index);
        }
    }

    /// Empties the table, because the node has ended, and returns all that was in it.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Exports::new(self.generation))
    }

    /// Returns the first actor of a name.
    pub(super) fn named(&self, name: &str) -> Option<&Arc<dyn Exported>> {
        let &(index, _) = self.names.get(name)?;
        self.actors.get(index as usize)?.actor.as_ref()
    }

    /// Keeps a request for a name that is not there. Gives it back if the name is there by now, if
    /// `most` requests of its node wait already, or if these are too long. Takes time in proportion
    /// to these requests.
    pub(super) fn wait(&mut self, waiting: Waiting, most: usize) -> Result<(), Box<Waiting>> {
        let of = self.waiting.entry(waiting.peer.node).or_default();
        let bytes = of.iter().chain([&waiting]).map(Waiting::bytes).sum::<usize>();
        let is_full = of.len() >= most || bytes > WAITING_BYTES_MAX;
        if self.names.contains_key(&waiting.name) || is_full {
            return Err(Box::new(waiting));
        }
        of.push(waiting);
        Ok(())
    }

    /// Whether there is an actor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Drops the waiting requests of a node that is down: nobody there waits for an answer.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.waiting.remove(&node);
    }

    /// The number of requests of this node that wait for names.
    pub(super) fn waiting_of(&self, node: NodeId) -> usize {
        self.waiting.get(&node).map_or(0, Vec::len)
    }

    /// Returns the places after the first `known`. `FrameReceiver` keeps a copy of them, because
    /// this table lies behind a lock.
    pub(super) fn after(&self, known: usize) -> &[Place] {
        self.actors.get(known..).unwrap_or_default()
    }

    /// Returns one place.
    pub(super) fn place(&self, index: usize) -> Option<&Place> {
        self.actors.get(index)
    }

    /// The number of living actors that other nodes have started: in all, and of this node.
    pub(super) fn spawned(&self, by: NodeId) -> (usize, usize) {
        (self.spawned, self.spawned_of.get(&by).copied().unwrap_or_default())
    }

    /// Adds an actor that another node has started.
    pub(super) fn add_spawned(&mut self, by: NodeId, actor: Arc<dyn Exported>) -> ActorKey {
        self.spawned += 1;
        *self.spawned_of.entry(by).or_default() += 1;
        let (generation, grants) = (self.generation, Grants::NONE);
        let index = match self.free.pop() {
            // Only now: whoever has looked at the place while it was empty looks again.
            Some(index) => {
                let generation = &mut self.actors[index as usize].generation;
                *generation = generation.wrapping_add(1);
                index
            }
            None => {
                self.actors.push(Place { generation, actor: None, grants, owner: None });
                (self.actors.len() - 1) as u32
            }
        };
        let place = &mut self.actors[index as usize];
        (place.actor, place.grants, place.owner) = (Some(actor), grants, Some(by));
        ActorKey { index, generation: place.generation }
    }

    /// Gives back the place of an actor that another node had started and that has ended: it may be
    /// used again.
    pub(super) fn remove_spawned(&mut self, key: ActorKey) {
        let place = self.actors.get(key.index as usize);
        let Some(place) =
            place.filter(|place| place.generation == key.generation && place.actor.is_some())
        else {
            return;
        };
        let of = place.owner.and_then(|owner| self.spawned_of.get_mut(&owner));
        of.into_iter().for_each(|of| *of -= 1);
        self.spawned -= 1;
        self.free(key.index);
    }

    pub(super) fn find(&self, name: &str, peer: &Hello, encodings: &[Encoding]) -> Found {
        let Some(&(index, count)) = self.names.get(name) else { return Found::NoSuchName };
        let first = self.actors.get(index as usize).and_then(|place| place.actor.as_ref());
        let Some(first) = first else { return Found::NoSuchName };
        let own = first.hello(encodings);
        if own.protocol != peer.protocol {
            return Found::OtherKind(own.protocol);
        }
        let key = ActorKey { index, generation: self.generation };
        negotiate(&own, peer).map_or_else(incompatible, |negotiated| found(key, count, negotiated))
    }
}

/// Makes the answer for two nodes that understand each other.
pub(super) fn found(key: ActorKey, count: u32, negotiated: Negotiated) -> Found {
    Found::Actor { key, count, encoding: negotiated.encoding, remarks: negotiated.remarks }
}

/// Makes the answer for two nodes that do not understand each other.
pub(super) fn incompatible(why: Incompatible) -> Found {
    Found::Incompatible(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_actor::testing::TestSystem;
    use actinium_actor::{Actor, Context};

    struct Silent;

    impl Actor for Silent {
        type Msg = ();

        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
    }

    impl RemoteActor for Silent {
        const KIND: &'static str = "silent";
        type Message = ();
        type Request = ();
        type Answer = ();

        fn message((): ()) {}

        fn request((): (), _: actinium_actor::Reply<()>) {}
    }

    #[test]
    fn a_place_that_has_had_all_its_lives_is_not_used_again() {
        let address = TestSystem::seeded(1).spawn(Silent);
        for generation in [0, 7, u32::MAX] {
            let mut exports = Exports::new(generation);
            let first = exports.add_spawned(NodeId(1), Arc::new(address.clone()));
            exports.remove_spawned(first);
            let second = exports.add_spawned(NodeId(1), Arc::new(address.clone()));
            assert_eq!((second.index, second.generation), (0, generation.wrapping_add(1)));
            exports.remove_spawned(second);
            // As if others had come and gone in it: the next to come is the last.
            exports.actors[0].generation = generation.wrapping_sub(2);
            let last = exports.add_spawned(NodeId(1), Arc::new(address.clone()));
            assert_eq!((last.index, last.generation), (0, generation.wrapping_sub(1)));
            exports.remove_spawned(last);
            let next = exports.add_spawned(NodeId(1), Arc::new(address.clone()));
            assert_eq!(
                (next.index, exports.spawned(NodeId(1))),
                (1, (1, 1)),
                "no key of the first place comes again"
            );
        }
    }
}
