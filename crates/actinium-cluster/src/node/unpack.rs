//! The actor that takes frames of one other node apart, on a worker: what it sends from there is as cheap as any message between actors.
//!
//! A frame counts as handled when the actor has its next turn. If a bounded mailbox was overfilled meanwhile, it is muted and has none: then the
//! other node's credit is not renewed, and it stops sending.

use super::exports::{Exported, Place, Waiting};
use super::held::Held;
use super::{Inner, NodeEvent, Peer, guarded, lock};
use crate::codec::decode_early;
use crate::link::Delivery;
use crate::message::{self, ActorKey, Control, Envelope, Found, Item, Unanswered};
use crate::payload::PayloadError;
use actinium_actor::{Actor, Context, StopReason};
use actinium_memory::heap::Payload;
use actinium_wire::Encoding;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) enum UnpackMsg {
    Frame(Delivery),
    /// A frame has been handled.
    Handled(Delivery),
    /// A question was answered by an actor of this node.
    Answered(Arc<Peer>, u64, Result<Vec<u8>, Unanswered>),
    /// The two know each other.
    Up,
    /// The other node is down.
    Down(NodeEvent),
    /// In a grid: there is something to be told of a node that is no neighbour.
    Far(Arc<Peer>),
    /// A watched actor of this node has ended.
    Ended(Arc<Peer>, u64, StopReason),
    /// An actor that another node has started has ended.
    Free(Arc<Peer>, ActorKey),
    /// A payload that was wanted has come, or will not: by its ticket.
    Fetched(u64, Result<Payload, PayloadError>),
    /// Frames wait that can be handed over.
    GoOn,
}

pub(crate) struct Unpacker {
    pub(super) inner: Arc<Inner>,
    /// Whose messages these are. In a grid, while those of a node further away are taken apart: that one.
    pub(super) peer: Arc<Peer>,
    /// The table of exports, as far as it was needed: the true one lies behind a lock.
    actors: Vec<Place>,
    /// An envelope is taken apart.
    is_inside: bool,
    /// In a grid: a node that too much of what is handed on waits for.
    full: Option<Arc<Peer>>,
    /// Messages of the frame or envelope that is taken apart that were for nobody.
    pub(super) misaddressed: u64,
    /// Frames that wait for payloads.
    pub(super) held: Held,
}

impl Actor for Unpacker {
    type Msg = UnpackMsg;

    fn handle(&mut self, msg: UnpackMsg, ctx: &mut Context<'_, Self>) {
        match msg {
            UnpackMsg::Frame(frame) => self.frame(frame, ctx),
            UnpackMsg::Up | UnpackMsg::Down(_) | UnpackMsg::Far(_) => self.behind(msg, ctx),
            UnpackMsg::Fetched(ticket, outcome) => self.fetched(ticket, outcome, ctx),
            UnpackMsg::GoOn => self.told_to_go_on(ctx),
            UnpackMsg::Handled(frame) => self.inner.frame_handled(self.peer.node, frame),
            UnpackMsg::Answered(peer, question, answer) => {
                let answer = answer.as_deref().map_err(|unanswered| *unanswered);
                self.inner.answer(&peer, question, answer);
            }
            UnpackMsg::Ended(peer, watch, reason) => {
                let (is_abnormal, reason) = (reason.is_abnormal(), reason.to_string());
                self.control(&peer, &Control::Ended { watch, reason, is_abnormal });
            }
            UnpackMsg::Free(peer, key) => {
                lock(&peer.adopted).remove(&key);
                self.inner.exports_mut().remove_spawned(key);
            }
        }
    }
}

impl Unpacker {
    pub(super) fn new(inner: Arc<Inner>, peer: Arc<Peer>) -> Self {
        let held = Held::default();
        let (actors, is_inside, full, misaddressed) = (Vec::new(), false, None, 0);
        Unpacker { inner, peer, actors, is_inside, full, misaddressed, held }
    }

    /// All of a frame was handed over.
    pub(super) fn handed_over(&mut self, frame: Delivery, ctx: &mut Context<'_, Self>) {
        match self.full.take() {
            None => ctx.address().tell(UnpackMsg::Handled(frame)),
            // Whoever sent it waits, and keeps room: see `far`.
            Some(full) => {
                let room = full.gather.room();
                ctx.pipe(room, move |_| UnpackMsg::Handled(frame));
            }
        }
    }

    /// What is told of other nodes, when all that they had said before is handed over.
    pub(super) fn up_or_down(&mut self, msg: UnpackMsg) {
        match msg {
            UnpackMsg::Up => self.inner.went_up(&self.peer),
            UnpackMsg::Down(event) => self.inner.went_down(&self.peer, event),
            UnpackMsg::Far(peer) => self.inner.tell_far(&peer),
            _ => debug_assert!(false, "nothing else waits behind frames"),
        }
    }

    /// Takes the messages of an envelope apart.
    fn items(&mut self, payload: &[u8], ctx: &Context<'_, Self>) {
        let mut items = 0;
        let whole = message::read(payload, |item| {
            items += u64::from(!self.is_internal(&item));
            self.item(item, ctx);
        });
        // Relaxed: read by whoever waits until this system is idle, which the end of this turn comes before.
        self.inner.received.fetch_add(items, Ordering::Relaxed);
        if !whole {
            self.inner.not_understood();
        }
    }

    /// In a grid: messages that are not between the two ends of this link.
    fn envelope(&mut self, envelope: &Envelope<'_>, ctx: &Context<'_, Self>) {
        if envelope.to != self.inner.node.0 {
            if let Some(full) = self.inner.hand_on(envelope) {
                self.full = Some(full);
            }
            return;
        }
        match self.inner.arrived(envelope) {
            Ok(None) => {}
            Ok(Some(from)) => {
                let neighbour = std::mem::replace(&mut self.peer, from);
                let of_neighbour = std::mem::take(&mut self.misaddressed);
                self.is_inside = true;
                self.items(envelope.payload, ctx);
                self.is_inside = false;
                self.tell_misaddressed();
                self.misaddressed = of_neighbour;
                self.peer = neighbour;
            }
            Err(_) => self.inner.not_understood(),
        }
    }

    /// Counts what was for nobody, and tells whoever sent it.
    pub(super) fn tell_misaddressed(&mut self) {
        let messages = std::mem::take(&mut self.misaddressed);
        if messages > 0 {
            // Relaxed: a count.
            self.inner.misaddressed.fetch_add(messages, Ordering::Relaxed);
            self.control(&self.peer, &Control::Misaddressed { messages });
        }
    }

    pub(super) fn actor(&mut self, key: ActorKey) -> Option<&dyn Exported> {
        let index = key.index as usize;
        let is_this = |place: &&Place| place.life == key.life;
        if self.actors.get(index).filter(is_this).is_none() {
            self.look_again(index);
        }
        self.actors.get(index).filter(is_this)?.actor.as_deref()
    }

    /// The table may have grown, or have another actor in this place.
    #[cold]
    fn look_again(&mut self, index: usize) {
        let exports = self.inner.exports();
        self.actors.extend_from_slice(exports.after(self.actors.len()));
        if let (Some(known), Some(place)) = (self.actors.get_mut(index), exports.place(index)) {
            known.clone_from(place);
        }
    }

    fn stop(&mut self, key: ActorKey, now: bool) {
        // One that is gone needs no stopping.
        if let Some(actor) = self.actor(key) {
            actor.stop(now);
        }
    }

    pub(super) fn is_internal(&mut self, item: &Item<'_>) -> bool {
        match item {
            Item::Tell(key, ..) | Item::TellWith(key, ..) => {
                self.actor(*key).is_some_and(Exported::is_internal)
            }
            // What lies in it is counted where it arrives.
            Item::Envelope(_) => true,
            Item::Control(Control::Reach { .. } | Control::Leaving { .. }) => true,
            _ => false,
        }
    }

    /// What most items are. Whether it is for the cluster's own machinery.
    #[inline]
    pub(super) fn tell(&mut self, key: ActorKey, encoding: Encoding, message: &[u8]) -> bool {
        let Some(actor) = self.actor(key) else {
            self.misaddressed += 1;
            return false;
        };
        let (is_internal, has_ended) = (actor.is_internal(), actor.has_ended());
        // How bytes become its message is the user's code.
        if guarded(|| actor.tell(encoding, message)) != Some(true) {
            self.inner.not_understood();
        }
        self.misaddressed += u64::from(has_ended);
        is_internal
    }

    pub(super) fn item(&mut self, item: Item<'_>, ctx: &Context<'_, Self>) {
        if let Item::Tell(key, encoding, message) = item {
            self.tell(key, encoding, message);
            return;
        }
        let inner = self.inner.clone();
        match item {
            Item::Tell(..) => {}
            // Frames hand these over together with their payload (`held`); nobody sends them in an envelope.
            Item::TellWith(..) => inner.not_understood(),
            Item::Ask(key, question, encoding, message) => {
                let peer = &self.peer.clone();
                match self.actor(key) {
                    Some(actor) => {
                        let asked = guarded(|| actor.ask(peer, question, encoding, message, ctx));
                        if asked.is_none() {
                            inner.answer(peer, question, Err(Unanswered::NotUnderstood));
                        }
                    }
                    None => inner.answer(peer, question, Err(Unanswered::Closed)),
                }
            }
            Item::Answer(question, answer) => inner.answered(question, answer),
            Item::Control(Control::Lookup { question, name, hello, wait }) => {
                match decode_early(&hello) {
                    Ok(hello) => {
                        let asked = Waiting { name, hello, peer: self.peer.clone(), question };
                        inner.look_up(asked, wait);
                    }
                    Err(error) => {
                        inner.found(&self.peer, question, &Found::Unsettled(error.to_string()));
                    }
                }
            }
            Item::Control(Control::Watch { watch, key }) => {
                let peer = &self.peer.clone();
                match self.actor(key) {
                    Some(actor) => actor.watch(peer, watch, ctx),
                    None => {
                        let reason = "this node has no such actor (any more)".to_owned();
                        self.control(peer, &Control::Ended { watch, reason, is_abnormal: false });
                    }
                }
            }
            Item::Control(Control::Ended { watch, reason, is_abnormal }) => {
                inner.ended(watch, reason, is_abnormal);
            }
            Item::Control(Control::Spawn { question, hello, args }) => {
                let found = match decode_early(&hello) {
                    Ok(hello) => inner.spawn_for(&self.peer, &hello, &args, ctx),
                    Err(error) => Found::Unsettled(error.to_string()),
                };
                inner.found(&self.peer, question, &found);
            }
            Item::Control(Control::PayloadLost { bytes, why }) => {
                let node = self.peer.node;
                inner.tell_listeners(&NodeEvent::PayloadLostThere { node, bytes, why });
            }
            Item::Control(Control::Misaddressed { messages }) => {
                inner.tell_listeners(&NodeEvent::Misaddressed { node: self.peer.node, messages });
            }
            Item::Control(Control::Stop { key, now }) => self.stop(key, now),
            Item::Control(Control::Adopt { key }) => {
                if self.actor(key).is_some() {
                    lock(&self.peer.adopted).insert(key);
                }
            }
            Item::Control(Control::Reach { nodes }) => {
                lock(&inner.heard).reach(self.peer.node, nodes);
                inner.alarm.ring();
            }
            Item::Control(Control::Leaving { level }) => {
                lock(&inner.heard).leaving(self.peer.node, level);
                inner.alarm.ring();
            }
            // Only whoever begins a way makes an envelope, and none in an envelope.
            Item::Envelope(_) if self.is_inside => inner.not_understood(),
            Item::Envelope(envelope) => self.envelope(&envelope, ctx),
        }
    }

    pub(super) fn control(&self, peer: &Arc<Peer>, control: &Control) {
        // If the other node is down by now, it was told all there is to know.
        let _ = self.inner.add(peer, true, |frame| message::control(control, frame));
    }
}
