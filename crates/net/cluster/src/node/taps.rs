//! What a node knows of its messages to show them to who looks: see `show`.

use crate::actor::RemoteActor;
use crate::fabric::NodeId;
use crate::locks::lock;
use crate::message::ActorKey;
use actinium_tap::{Seen, Tap, TapFilter, TapPoint, What};
use actinium_wire::Encoding;
use actinium_wire::schema::Schema;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// Most requests whose answers are waited for, to know their types.
const ASKED_MAX: usize = 1 << 16;

/// Describes what an actor of some type is sent, is asked and answers.
pub(crate) struct MessageTypes {
    pub(super) kind: &'static str,
    pub(super) is_internal: bool,
    message: fn() -> Schema,
    request: fn() -> Schema,
    answer: fn() -> Schema,
}

impl MessageTypes {
    pub(crate) fn of<A: RemoteActor>() -> &'static Self {
        const {
            &MessageTypes {
                kind: A::KIND,
                is_internal: A::INTERNAL,
                message: || Schema::of::<A::Message>(A::KIND, A::VERSION),
                request: || Schema::of::<A::Request>(A::KIND, A::VERSION),
                answer: || Schema::of::<A::Answer>(A::KIND, A::VERSION),
            }
        }
    }

    pub(super) fn schema(&self, what: What) -> fn() -> Schema {
        match what {
            What::Request => self.request,
            What::Answer => self.answer,
            _ => self.message,
        }
    }
}

pub(super) type Types = &'static MessageTypes;

/// A request: of the node that is asked or asks, whether it came here, and its number.
type Request = (NodeId, bool, u64);

/// Actors of one type in places one behind the other.
struct Known {
    generation: u32,
    count: u32,
    types: Types,
}

/// What a node shows, and what it knows of its messages for that.
pub(super) struct NodeTaps {
    point: Arc<TapPoint>,
    /// The actors that were looked up, by their node and first place.
    known: Mutex<BTreeMap<(NodeId, u32), Known>>,
    /// Of which type the answers to the requests that were shown will be.
    asked: Mutex<HashMap<Request, (Types, Encoding)>>,
}

impl NodeTaps {
    pub(super) fn new(node: NodeId) -> Self {
        NodeTaps {
            point: TapPoint::new(node.to_string()),
            known: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// Whether somebody looks. Asked once for a frame.
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.point.is_on()
    }

    pub(super) fn open(&self, filter: TapFilter) -> Tap {
        self.point.open(filter)
    }

    /// Notes the type of actors of another node.
    pub(super) fn know(&self, node: NodeId, first: ActorKey, count: u32, types: Types) {
        let ActorKey { index, generation } = first;
        let known = &mut *lock(&self.known);
        // Actors that were started one after the other mostly stand so.
        let before = known.range_mut((node, 0)..(node, index)).next_back();
        if let Some(((_, begin), before)) = before
            && begin.checked_add(before.count) == Some(index)
            && before.generation == generation
            && std::ptr::eq(before.types, types)
            && let Some(sum) = before.count.checked_add(count)
        {
            before.count = sum;
            return;
        }
        known.insert((node, index), Known { generation, count, types });
    }

    pub(super) fn known(&self, node: NodeId, key: ActorKey) -> Option<Types> {
        let known = lock(&self.known);
        let (&(_, begin), found) = known.range((node, 0)..=(node, key.index)).next_back()?;
        let is_it = key.index - begin < found.count && found.generation == key.generation;
        is_it.then_some(found.types)
    }

    /// Notes of which type the answer to a request will be.
    pub(super) fn ask(&self, id: Request, of: (Types, Encoding)) {
        let asked = &mut *lock(&self.asked);
        if asked.len() >= ASKED_MAX {
            // Answers that were lost, or never shown. Those to come are shown without their types.
            asked.clear();
        }
        asked.insert(id, of);
    }

    /// Takes what was noted of a request, by its direction.
    pub(super) fn answered(&self, id: Request) -> Option<(Types, Encoding)> {
        lock(&self.asked).remove(&id)
    }

    pub(super) fn show(&self, seen: &Seen<'_>) {
        self.point.show(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static A: MessageTypes = types("a");
    static B: MessageTypes = types("b");

    const fn types(kind: &'static str) -> MessageTypes {
        let schema = || Schema::of::<u32>("x", 1);
        MessageTypes { kind, is_internal: false, message: schema, request: schema, answer: schema }
    }

    #[test]
    fn actors_that_were_looked_up_are_known_by_their_places() {
        let taps = NodeTaps::new(NodeId(0));
        let key = |index, generation| ActorKey { index, generation };
        let known = |node, index, generation| {
            taps.known(NodeId(node), key(index, generation)).map(|types| types.kind)
        };
        taps.know(NodeId(1), key(3, 9), 2, &A);
        taps.know(NodeId(1), key(5, 9), 1, &A);
        taps.know(NodeId(1), key(7, 9), 1, &B);
        assert_eq!(lock(&taps.known).len(), 2, "those behind each other are one");
        let found = [2, 3, 5, 6, 7, 8].map(|index| known(1, index, 9));
        assert_eq!(found, [None, Some("a"), Some("a"), None, Some("b"), None]);
        assert_eq!((known(1, 3, 8), known(2, 3, 9)), (None, None));
        // Another one is in its place.
        taps.know(NodeId(1), key(7, 10), 1, &A);
        assert_eq!((known(1, 7, 9), known(1, 7, 10)), (None, Some("a")));
    }
}
