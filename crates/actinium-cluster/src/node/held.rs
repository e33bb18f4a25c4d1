//! What one other node has sent and was not handed over yet.
//!
//! Messages are handed over in pieces, after each of which their receivers have their turns. Else the messages of all frames that have come, a
//! window of them, would lie in mailboxes that no cache holds.
//!
//! Where a message waits for its payload, it and all that came behind it from the same node wait, so that order holds. All payloads that are offered in what waits are then
//! wanted at once, so that one is fetched while another is handed over. They have tickets: numbers in the order in
//! which their messages come. A frame counts as handled when all of it was handed over, so what waits is bounded by the other node's credit.

use super::unpack::{UnpackMsg, Unpacker};
use super::{NodeEvent, guarded};
use crate::link::Delivery;
use crate::message::{self, ActorKey, Control, Item, Offer};
use crate::payload::{PayloadError, Want};
use actinium_actor::Context;
use actinium_memory::heap::Payload;
use actinium_wire::Encoding;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;

/// Why a message is handed over without what it belongs to: not at all.
pub(super) enum Missing {
    /// There was no such actor, so that nothing was fetched.
    Actor,
    Payload(PayloadError),
}

/// Messages of a piece: as many as an actor handles in a turn, unless the system's builder says otherwise.
const PIECE: usize = 64;

/// Why no more of a frame was handed over.
enum Stop {
    /// That was all.
    End,
    /// That was a piece.
    Piece(usize),
    /// The message at this place waits for its payload.
    Payload(usize),
}

/// What waits.
#[derive(Default)]
pub(super) struct Held {
    /// Frames, and what is to come behind them; the first is a frame that has been handed over up to `at`.
    queue: VecDeque<UnpackMsg>,
    at: usize,
    /// Messages of the present piece so far.
    handed: usize,
    /// The actor has told itself to go on.
    goes_on: bool,
    /// A payload was waited for since the queue was last empty: all that are offered in it are wanted.
    wants: bool,
    /// The ticket of the next payload that is wanted, and that of the next whose turn it is.
    last: u64,
    turn: u64,
    fetched: BTreeMap<u64, Result<Payload, Missing>>,
}

impl Unpacker {
    /// A frame has come.
    pub(super) fn frame(&mut self, frame: Delivery, ctx: &mut Context<'_, Self>) {
        if self.held.wants {
            self.want(&frame, 0);
        }
        self.behind(UnpackMsg::Frame(frame), ctx);
    }

    /// Something is to be done behind all that waits.
    pub(super) fn behind(&mut self, msg: UnpackMsg, ctx: &mut Context<'_, Self>) {
        let is_first = self.held.queue.is_empty();
        self.held.queue.push_back(msg);
        if is_first {
            self.go_on(ctx);
        }
    }

    /// Something that was wanted has come, or will not.
    pub(super) fn fetched(
        &mut self,
        ticket: u64,
        outcome: Result<Payload, PayloadError>,
        ctx: &mut Context<'_, Self>,
    ) {
        self.held.fetched.insert(ticket, outcome.map_err(Missing::Payload));
        if ticket == self.held.turn && !self.held.goes_on {
            self.go_on(ctx);
        }
    }

    /// The actor has told itself so.
    pub(super) fn told_to_go_on(&mut self, ctx: &mut Context<'_, Self>) {
        self.held.goes_on = false;
        self.go_on(ctx);
    }

    /// Hands over what can be: a frame, or a piece of one. So full mailboxes stop it, too.
    fn go_on(&mut self, ctx: &mut Context<'_, Self>) {
        while let Some(first) = self.held.queue.pop_front() {
            let UnpackMsg::Frame(mut frame) = first else {
                self.up_or_down(first);
                continue;
            };
            let at = std::mem::take(&mut self.held.at);
            let stop = self.hand_over(&mut frame, at, ctx);
            if self.held.handed == PIECE {
                self.held.handed = 0;
                ctx.yield_now();
            }
            match stop {
                Stop::End => self.handed_over(frame, ctx),
                Stop::Piece(at) | Stop::Payload(at) => {
                    self.held.at = at;
                    self.held.queue.push_front(UnpackMsg::Frame(frame));
                }
            }
            if let Stop::Payload(at) = stop {
                self.want_all(at);
                // Unless it is known at once that it will not come.
                if !self.held.fetched.contains_key(&self.held.turn) {
                    return;
                }
            }
            if !self.held.queue.is_empty() {
                self.held.goes_on = true;
                return ctx.address().tell(UnpackMsg::GoOn);
            }
        }
        self.held.wants = false;
    }

    /// Hands over the next piece of a frame, from a place on.
    fn hand_over(
        &mut self,
        frame: &mut Delivery,
        from: usize,
        ctx: &mut Context<'_, Self>,
    ) -> Stop {
        let mut is_awaited = false;
        let payload = frame.payload();
        let mut rest = payload.get(from..).unwrap_or_default();
        let (mut items, mut stop) = (0, Stop::End);
        while !rest.is_empty() {
            if self.held.handed == PIECE {
                stop = Stop::Piece(payload.len() - rest.len());
                break;
            }
            self.held.handed += 1;
            if let Some((key, encoding, message, behind)) = message::read_tell(rest) {
                items += u64::from(!self.tell(key, encoding, message));
                rest = behind;
                continue;
            }
            let Some((item, behind)) = message::read_one(rest) else {
                self.inner.not_understood();
                break;
            };
            if let Item::TellWith(key, encoding, offer, message) = item {
                let Some(outcome) = self.held.fetched.remove(&self.held.turn) else {
                    stop = Stop::Payload(payload.len() - rest.len());
                    break;
                };
                self.held.turn += 1;
                is_awaited = true;
                items += u64::from(!self.is_internal(&item));
                self.tell_with(key, encoding, offer, message, outcome);
            } else {
                items += u64::from(!self.is_internal(&item));
                self.item(item, ctx);
            }
            rest = behind;
        }
        // Relaxed: read by whoever waits until this system is idle, which the end of this turn comes before.
        self.inner.received.fetch_add(items, Ordering::Relaxed);
        frame.is_awaited |= is_awaited;
        self.tell_misaddressed();
        stop
    }

    /// Wants what is offered in all that waits, unless it does: in the first frame from a place on.
    fn want_all(&mut self, at: usize) {
        if std::mem::replace(&mut self.held.wants, true) {
            return;
        }
        let queue = std::mem::take(&mut self.held.queue);
        let frames = queue.iter().filter_map(|msg| match msg {
            UnpackMsg::Frame(frame) => Some(frame),
            _ => None,
        });
        for (index, frame) in frames.enumerate() {
            self.want(frame, if index == 0 { at } else { 0 });
        }
        self.held.queue = queue;
    }

    /// Wants what is offered in a frame from a place on.
    fn want(&mut self, frame: &Delivery, from: usize) {
        let mut rest = frame.payload().get(from..).unwrap_or_default();
        while let Some((item, behind)) = message::read_one(rest) {
            rest = behind;
            let Item::TellWith(key, _, offer, _) = item else { continue };
            let ticket = self.held.last;
            self.held.last += 1;
            if self.actor(key).is_none() {
                self.held.fetched.insert(ticket, Err(Missing::Actor));
            } else if !self.peer.payloads.wanted.want(frame.session, Want { ticket, offer }) {
                let down = Err(Missing::Payload(PayloadError::NodeDown));
                self.held.fetched.insert(ticket, down);
            }
        }
        self.inner.ring();
    }

    fn tell_with(
        &mut self,
        key: ActorKey,
        encoding: Encoding,
        offer: Offer,
        message: &[u8],
        outcome: Result<Payload, Missing>,
    ) {
        let payload = match outcome {
            Ok(payload) => payload,
            Err(Missing::Actor) => return self.misaddressed += 1,
            Err(Missing::Payload(why)) => return self.payload_lost(offer, why),
        };
        // Now there may be room for the next.
        self.peer.payloads.wanted.is_done(payload.len());
        self.inner.ring();
        let Some(actor) = self.actor(key) else { return self.misaddressed += 1 };
        let has_ended = actor.has_ended();
        // How bytes become its message is the user's code.
        match guarded(|| actor.tell_with(encoding, message, payload)) {
            Some(Some(true)) => self.misaddressed += u64::from(has_ended),
            Some(None) => self.payload_lost(offer, PayloadError::NotTaken),
            Some(Some(false)) | None => self.inner.not_understood(),
        }
    }

    fn payload_lost(&self, offer: Offer, why: PayloadError) {
        let bytes = offer.bytes;
        let lost = Control::PayloadLost { bytes, why: why.to_string() };
        self.control(&self.peer, &lost);
        self.inner.tell_listeners(&NodeEvent::PayloadLost { node: self.peer.node, bytes, why });
    }
}
