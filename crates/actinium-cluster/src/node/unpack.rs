//! The actor that takes frames of one other node apart, on a worker: what it sends from there is as cheap as any message between actors.
//!
//! A frame counts as handled when the actor has its next turn. If a bounded mailbox was overfilled meanwhile, it is muted and has none: then the
//! other node's credit is not renewed, and it stops sending.

use super::exports::{Exported, Place, Waiting};
use super::held::Held;
use super::{Inner, NodeEvent, Peer};
use crate::codec::decode_early;
use crate::link::Delivery;
use crate::message::{self, ActorKey, Control, Found, Item, Unanswered};
use crate::payload::PayloadError;
use actinium_actor::{Actor, Context, StopReason};
use actinium_memory::heap::Payload;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) enum UnpackMsg {
    Frame(Delivery),
    /// A frame of this session has been handled.
    Handled(u64),
    /// A question was answered by an actor of this node.
    Answered(u64, Result<Vec<u8>, Unanswered>),
    /// The two know each other.
    Up,
    /// The other node is down.
    Down(NodeEvent),
    /// A watched actor of this node has ended.
    Ended(u64, StopReason),
    /// An actor that another node has started has ended.
    Free(ActorKey),
    /// A payload that was wanted has come, or will not: by its ticket.
    Fetched(u64, Result<Payload, PayloadError>),
    /// Frames wait that can be handed over.
    GoOn,
}

pub(crate) struct Unpacker {
    pub(super) inner: Arc<Inner>,
    pub(super) peer: Arc<Peer>,
    /// The table of exports, as far as it was needed: the true one lies behind a lock.
    actors: Vec<Place>,
    /// Actors of this node that end with the other one.
    adopted: BTreeSet<ActorKey>,
    /// Frames that wait for payloads.
    pub(super) held: Held,
}

impl Actor for Unpacker {
    type Msg = UnpackMsg;

    fn handle(&mut self, msg: UnpackMsg, ctx: &mut Context<'_, Self>) {
        match msg {
            UnpackMsg::Frame(frame) => self.frame(frame, ctx),
            UnpackMsg::Up | UnpackMsg::Down(_) => self.behind(msg, ctx),
            UnpackMsg::Fetched(ticket, outcome) => self.fetched(ticket, outcome, ctx),
            UnpackMsg::GoOn => self.go_on(ctx),
            UnpackMsg::Handled(session) => self.inner.frame_handled(self.peer.node, session),
            UnpackMsg::Answered(question, answer) => self.answer(question, answer.as_deref()),
            UnpackMsg::Ended(watch, reason) => {
                let (is_abnormal, reason) = (reason.is_abnormal(), reason.to_string());
                self.control(&Control::Ended { watch, reason, is_abnormal });
            }
            UnpackMsg::Free(key) => {
                self.adopted.remove(&key);
                self.inner.exports_mut().remove_spawned(key);
            }
        }
    }
}

/// Runs the user's code. A panic of it must not end the actor that all messages of a node go through; it has been printed.
pub(super) fn guarded<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

impl Unpacker {
    pub(super) fn new(inner: Arc<Inner>, peer: Arc<Peer>) -> Self {
        let (adopted, held) = (BTreeSet::new(), Held::default());
        Unpacker { inner, peer, actors: Vec::new(), adopted, held }
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

    /// The other node is up, or down, and all that it had said before is handed over.
    pub(super) fn up_or_down(&mut self, msg: UnpackMsg) {
        match msg {
            UnpackMsg::Up => self.inner.went_up(&self.peer),
            UnpackMsg::Down(event) => {
                for key in std::mem::take(&mut self.adopted) {
                    self.stop(key, false);
                }
                self.inner.went_down(&self.peer, event);
            }
            _ => debug_assert!(false, "nothing else waits behind frames"),
        }
    }

    pub(super) fn item(&mut self, item: Item<'_>, ctx: &Context<'_, Self>) {
        let inner = self.inner.clone();
        match item {
            Item::Tell(key, encoding, message) => match self.actor(key) {
                // How bytes become its message is the user's code.
                Some(actor) => match guarded(|| actor.tell(encoding, message)) {
                    Some(true) => {}
                    Some(false) | None => inner.not_understood(),
                },
                // Relaxed: a count.
                None => drop(inner.misaddressed.fetch_add(1, Ordering::Relaxed)),
            },
            Item::TellWith(..) => debug_assert!(false, "these are handed over with their payload"),
            Item::Ask(key, question, encoding, message) => match self.actor(key) {
                Some(actor) => {
                    if guarded(|| actor.ask(question, encoding, message, ctx)).is_none() {
                        self.answer(question, Err(&Unanswered::NotUnderstood));
                    }
                }
                None => self.answer(question, Err(&Unanswered::Closed)),
            },
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
            Item::Control(Control::Watch { watch, key }) => match self.actor(key) {
                Some(actor) => actor.watch(watch, ctx),
                None => {
                    let reason = "this node has no such actor (any more)".to_owned();
                    self.control(&Control::Ended { watch, reason, is_abnormal: false });
                }
            },
            Item::Control(Control::Ended { watch, reason, is_abnormal }) => {
                inner.ended(watch, reason, is_abnormal);
            }
            Item::Control(Control::Spawn { question, hello, args }) => {
                let found = match decode_early(&hello) {
                    Ok(hello) => inner.spawn_for(&hello, &args, ctx),
                    Err(error) => Found::Unsettled(error.to_string()),
                };
                inner.found(&self.peer, question, &found);
            }
            Item::Control(Control::PayloadLost { bytes, why }) => {
                let node = self.peer.node;
                inner.tell_listeners(&NodeEvent::PayloadLostThere { node, bytes, why });
            }
            Item::Control(Control::Stop { key, now }) => self.stop(key, now),
            Item::Control(Control::Adopt { key }) => {
                if self.actor(key).is_some() {
                    self.adopted.insert(key);
                }
            }
        }
    }

    fn answer(&self, question: u64, answer: Result<&[u8], &Unanswered>) {
        self.inner.answer(&self.peer, question, answer.map_err(|unanswered| *unanswered));
    }

    pub(super) fn control(&self, control: &Control) {
        // If the other node is down by now, it was told all there is to know.
        let _ = self.inner.add(&self.peer, true, |frame| message::control(control, frame));
    }
}
