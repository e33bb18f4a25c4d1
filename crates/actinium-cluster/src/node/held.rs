//! Frames whose messages wait for payloads: they and all that came behind them from the same node wait, so that order holds.
//!
//! All payloads that are offered in what waits are wanted at once, so that one is fetched while another is handed over. They have tickets: numbers in the order in
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

/// What waits.
#[derive(Default)]
pub(super) struct Held {
    /// Frames, and what is to come behind them; the first is a frame that has been handed over up to `at`.
    queue: VecDeque<UnpackMsg>,
    at: usize,
    /// The ticket of the next payload that is wanted, and that of the next whose turn it is.
    last: u64,
    turn: u64,
    fetched: BTreeMap<u64, Result<Payload, Missing>>,
}

impl Unpacker {
    /// A frame has come.
    pub(super) fn frame(&mut self, mut frame: Delivery, ctx: &mut Context<'_, Self>) {
        let at = if self.held.queue.is_empty() {
            match self.hand_over(&mut frame, 0, ctx) {
                None => return self.handed_over(frame, ctx),
                Some(at) => at,
            }
        } else {
            0
        };
        self.want(&frame, at);
        if self.held.queue.is_empty() {
            self.held.at = at;
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
        if ticket == self.held.turn {
            self.go_on(ctx);
        }
    }

    /// Hands over what can be: at most one frame in a turn, as when nothing waits, so that full mailboxes stop it.
    pub(super) fn go_on(&mut self, ctx: &mut Context<'_, Self>) {
        while let Some(first) = self.held.queue.pop_front() {
            let UnpackMsg::Frame(mut frame) = first else {
                self.up_or_down(first);
                continue;
            };
            let at = std::mem::take(&mut self.held.at);
            if let Some(at) = self.hand_over(&mut frame, at, ctx) {
                self.held.at = at;
                self.held.queue.push_front(UnpackMsg::Frame(frame));
                return;
            }
            self.handed_over(frame, ctx);
            if !self.held.queue.is_empty() {
                ctx.address().tell(UnpackMsg::GoOn);
            }
            return;
        }
    }

    /// Hands over the messages of a frame from a place on. Where it had to stop, because a payload is not there yet.
    fn hand_over(
        &mut self,
        frame: &mut Delivery,
        from: usize,
        ctx: &mut Context<'_, Self>,
    ) -> Option<usize> {
        let mut is_awaited = false;
        let payload = frame.payload();
        let mut rest = payload.get(from..).unwrap_or_default();
        let (mut items, mut stopped) = (0, None);
        while !rest.is_empty() {
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
                    stopped = Some(payload.len() - rest.len());
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
        stopped
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
