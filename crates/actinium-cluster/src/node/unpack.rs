//! The actor that takes frames of one other node apart, on a worker: what it sends from there is as cheap as any message between actors.
//!
//! A frame counts as handled when the actor has its next turn. If a bounded mailbox was overfilled meanwhile, it is muted and has none: then the
//! other node's credit is not renewed, and it stops sending.

use super::exports::{Exported, Waiting};
use super::{Inner, NodeEvent, Peer};
use crate::codec::decode_hello;
use crate::link::Delivery;
use crate::message::{self, ActorKey, Control, Found, Item, Unanswered};
use actinium_actor::{Actor, Context};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) enum UnpackMsg {
    Frame(Delivery),
    /// A frame of this session has been handled.
    Handled(u64),
    /// A question was answered by an actor of this node.
    Answered(u64, Result<Vec<u8>, Unanswered>),
    /// The other node is down.
    Down(NodeEvent),
    /// A watched actor of this node has ended.
    Ended(u64, String),
}

pub(crate) struct Unpacker {
    pub(super) inner: Arc<Inner>,
    pub(super) peer: Arc<Peer>,
    /// The table of exports, as far as it was needed: it only grows, and lies behind a lock.
    actors: Vec<Arc<dyn Exported>>,
    life: u32,
}

impl Actor for Unpacker {
    type Msg = UnpackMsg;

    fn handle(&mut self, msg: UnpackMsg, ctx: &mut Context<'_, Self>) {
        match msg {
            UnpackMsg::Frame(frame) => {
                let mut items = 0;
                let whole = message::read(frame.payload(), |item| {
                    items += u64::from(!self.is_internal(&item));
                    self.item(item, ctx);
                });
                // Relaxed: read by whoever waits until this system is idle, which the end of this turn comes before.
                self.inner.received.fetch_add(items, Ordering::Relaxed);
                if !whole {
                    self.inner.not_understood();
                }
                ctx.address().tell(UnpackMsg::Handled(frame.session));
            }
            UnpackMsg::Handled(session) => self.inner.frame_handled(self.peer.node, session),
            UnpackMsg::Answered(question, answer) => self.answer(question, answer.as_deref()),
            UnpackMsg::Down(event) => self.inner.went_down(&event),
            UnpackMsg::Ended(watch, reason) => self.control(&Control::Ended { watch, reason }),
        }
    }
}

/// Runs the user's code. A panic of it must not end the actor that all messages of a node go through; it has been printed.
fn guarded<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

impl Unpacker {
    pub(super) fn new(inner: Arc<Inner>, peer: Arc<Peer>) -> Self {
        let life = inner.exports().life();
        Unpacker { inner, peer, actors: Vec::new(), life }
    }

    fn actor(&mut self, key: ActorKey) -> Option<&dyn Exported> {
        if key.life != self.life {
            return None;
        }
        let index = key.index as usize;
        if index >= self.actors.len() {
            self.actors.extend_from_slice(self.inner.exports().after(self.actors.len()));
        }
        self.actors.get(index).map(|actor| &**actor)
    }

    fn is_internal(&mut self, item: &Item<'_>) -> bool {
        match item {
            Item::Tell(key, ..) => self.actor(*key).is_some_and(Exported::is_internal),
            _ => false,
        }
    }

    fn item(&mut self, item: Item<'_>, ctx: &Context<'_, Self>) {
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
                match decode_hello(&hello) {
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
                    self.control(&Control::Ended { watch, reason });
                }
            },
            Item::Control(Control::Ended { watch, reason }) => inner.ended(watch, reason),
        }
    }

    fn answer(&self, question: u64, answer: Result<&[u8], &Unanswered>) {
        self.inner.answer(&self.peer, question, answer.map_err(|unanswered| *unanswered));
    }

    fn control(&self, control: &Control) {
        // If the other node is down by now, it was told all there is to know.
        let _ = self.inner.add(&self.peer, true, |frame| message::control(control, frame));
    }
}
