//! Shows the messages between this node and others to who looks: each frame once, when the receiver
//! takes it, or when it leaves for its link.
//!
//! Messages name actors by their places. The types of those here stand in the table of exports; of
//! those elsewhere this node remembers what it has looked up. Messages of the cluster's own
//! machinery are not shown.

use super::state::Inner;
use super::taps::Types;
use crate::codec::NODES;
use crate::fabric::NodeId;
use crate::message::{self, ActorKey, HandleKey, Item};
use actinium_tap::{Direction, Seen, What};
use actinium_wire::Encoding;

impl Inner {
    /// Shows the messages of a frame, or of an envelope.
    #[cold]
    pub(super) fn show(&self, direction: Direction, other: NodeId, payload: &[u8]) {
        message::read(payload, |item| self.show_item(direction, other, item));
    }

    fn show_item(&self, direction: Direction, other: NodeId, item: Item<'_>) {
        let comes = direction == Direction::In;
        let one = |of: Option<Types>, what, encoding, bytes| {
            self.show_one(direction, other, of, what, encoding, bytes);
        };
        match item {
            Item::Tell(key, encoding, bytes) | Item::TellWith(key, encoding, _, bytes) => {
                one(self.types_of(comes, other, key), What::Message, encoding, bytes);
            }
            Item::Ask(key, request, encoding, bytes) => {
                let types = self.types_of(comes, other, key);
                if let Some(types) = types {
                    self.taps.ask((other, comes, request), (types, encoding));
                }
                one(types, What::Request, encoding, bytes);
            }
            Item::TellTo(handle, encoding, bytes) => {
                one(self.types_of_handle(comes, other, handle), What::Message, encoding, bytes);
            }
            Item::AskTo(handle, request, encoding, bytes) => {
                let types = self.types_of_handle(comes, other, handle);
                if let Some(types) = types {
                    self.taps.ask((other, comes, request), (types, encoding));
                }
                one(types, What::Request, encoding, bytes);
            }
            Item::Answer(request, Ok(bytes)) => {
                let asked = self.taps.answered((other, !comes, request));
                let encoding = asked.map_or(NODES, |(_, encoding)| encoding);
                one(asked.map(|(types, _)| types), What::Answer, encoding, bytes);
            }
            Item::Reply(_, encoding, Some(bytes)) => one(None, What::Answer, encoding, bytes),
            Item::Envelope(envelope) if envelope.messages > 0 => {
                let (from, to) = (NodeId(envelope.from), NodeId(envelope.to));
                let (own, far) = if comes { (to, from) } else { (from, to) };
                // What is only handed on is shown where it ends.
                if own == self.node {
                    message::read(envelope.payload, |item| match item {
                        // Nobody puts one into another.
                        Item::Envelope(_) => {}
                        item => self.show_item(direction, far, item),
                    });
                }
            }
            _ => {}
        }
    }

    fn show_one(
        &self,
        direction: Direction,
        other: NodeId,
        types: Option<Types>,
        what: What,
        encoding: Encoding,
        bytes: &[u8],
    ) {
        if types.is_some_and(|types| types.is_internal) {
            return;
        }
        let peer = other.to_string();
        let kind = types.map_or("(unknown)", |types| types.kind);
        let mut seen = Seen::new(direction, &peer, kind, encoding, bytes);
        seen.what = what;
        seen.schema = types.map(|types| types.schema(what));
        self.taps.show(&seen);
    }

    /// The types of the actor that this is for: one of this node, or of the other.
    fn types_of(&self, is_here: bool, other: NodeId, key: ActorKey) -> Option<Types> {
        if !is_here {
            return self.taps.known(other, key);
        }
        let exports = self.exports();
        let place = exports.place(key.index as usize)?;
        let actor = place.actor.as_ref().filter(|_| place.generation == key.generation)?;
        Some(actor.types())
    }

    fn types_of_handle(&self, is_here: bool, other: NodeId, handle: HandleKey) -> Option<Types> {
        self.types_of(is_here, other, handle.exported()?)
    }
}
