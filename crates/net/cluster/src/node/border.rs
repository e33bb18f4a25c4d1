//! Handles of actors in this node's messages: how they become tickets, and tickets handles.

use super::handles::NotGiven;
use super::leaving;
use super::line::{HandleLine, encoding, key};
use super::peer::Peer;
use super::replier::Replier;
use super::state::{Inner, guarded};
use crate::denial::Denial;
use crate::fabric::NodeId;
use crate::locks::lock;
use crate::message::HandleKey;
use actinium_actor::travel::{
    AnswerLater, Border, Given, GivenReply, Line, Origin, TakenIn, Ticket,
};
use actinium_wire::Encoding;
use std::sync::{Arc, Weak};

const LEFT: &str = "this node has left the cluster";

impl Inner {
    /// The reply handles after the first `before` have not left: their message comes back.
    #[cold]
    pub(super) fn have_not_left(&self, before: usize) {
        for serial in leaving::take(before) {
            let forgotten = lock(&self.handles).forget_reply(serial);
            drop(forgotten);
        }
    }

    /// Tells the askers whose reply handles a node has that there is no answer: it is down.
    pub(super) fn forget_replies(&self, node: NodeId) {
        let forgotten = lock(&self.handles).forget_replies(node);
        drop(forgotten);
    }

    /// Takes another node's answer to a reply handle that it was given.
    pub(super) fn replied(
        &self,
        peer: &Peer,
        key: HandleKey,
        encoding: Encoding,
        answer: Option<&[u8]>,
    ) {
        let given = lock(&self.handles).take_reply(key);
        match (given, answer) {
            (Ok(Some(given)), Some(answer)) => {
                if guarded(|| given.answer(encoding, answer)) != Some(true) {
                    self.not_understood();
                }
            }
            (Ok(_), _) => {}
            (Err(NotGiven), _) => self.deny_lie(peer, None, Denial::Answer),
        }
    }

    fn ticket(&self, key: HandleKey, actor: u64, fingerprint: u64) -> Ticket {
        let encodings = self.config.encodings.iter().fold(0, |bits, it| bits | 1 << it.id());
        let HandleKey { serial, secret } = key;
        Ticket { node: self.node.0, actor, serial, secret, fingerprint, encodings }
    }

    /// Lets handles in this node's messages be found.
    pub(super) fn open_border(self: &Arc<Self>) {
        let me: Weak<Inner> = Arc::downgrade(self);
        self.border.open(me);
    }
}

impl Border for Inner {
    fn give(
        self: Arc<Self>,
        origin: Origin,
        fingerprint: u64,
        given: &dyn Fn() -> Arc<dyn Given>,
    ) -> Result<Ticket, String> {
        let known = lock(&self.handles).known(&origin);
        let key = match known {
            Some(key) => key,
            None => {
                let given = given();
                let noted = {
                    let mut handles = lock(&self.handles);
                    let known = handles.known(&origin).map(|key| (key, false));
                    known.or_else(|| Some((handles.note(origin, given.clone())?, true)))
                };
                let (key, is_new) = noted.ok_or_else(|| LEFT.to_owned())?;
                if is_new {
                    // Not behind the lock: one that has ended by now tells so at once.
                    let (inner, serial) = (Arc::downgrade(&self), key.serial);
                    let forget = move |_| {
                        let inner = inner.upgrade();
                        drop(inner.and_then(|inner| lock(&inner.handles).forget(serial)));
                    };
                    given.watch(None, Box::new(forget));
                }
                key
            }
        };
        Ok(self.ticket(key, origin.actor, fingerprint))
    }

    fn take(self: Arc<Self>, ticket: &Ticket) -> Result<TakenIn, String> {
        // One that moves is reached from here, if its type is known here; else by its first node.
        if let Some(given) = self.given_movable(ticket.node, key(ticket)) {
            return Ok(TakenIn::Here(given));
        }
        if ticket.node != self.node.0 {
            return Ok(TakenIn::There(Arc::new(HandleLine::new(self, *ticket))));
        }
        // One of an earlier incarnation, or one that was never given, leads to nobody.
        let given = self.given(key(ticket));
        Ok(match given {
            Some(given) => TakenIn::Here(given),
            None => TakenIn::There(self.ended(ticket)),
        })
    }

    fn ended(self: Arc<Self>, ticket: &Ticket) -> Arc<dyn Line> {
        Arc::new(HandleLine::ended(self, *ticket))
    }

    fn give_reply(
        self: Arc<Self>,
        to: u32,
        fingerprint: u64,
        given: Arc<dyn GivenReply>,
    ) -> Result<Ticket, String> {
        let (key, swept) = lock(&self.handles).note_reply(NodeId(to), given);
        drop(swept);
        let key = key.ok_or_else(|| LEFT.to_owned())?;
        leaving::push(key.serial);
        // It is no actor's: the asker may be a thread.
        Ok(self.ticket(key, 0, fingerprint))
    }

    fn answers_in(&self, ticket: &Ticket, is_same: bool) -> Option<Encoding> {
        encoding(ticket, &self.config.encodings, is_same)
    }

    fn take_reply(
        self: Arc<Self>,
        from: u32,
        ticket: &Ticket,
        encoding: Encoding,
        answer: AnswerLater,
    ) -> Result<(), String> {
        let peer = self.met(NodeId(from)).filter(|_| ticket.node == from);
        let peer = peer.ok_or_else(|| {
            format!("a reply handle of node {} has come from node {from}", ticket.node)
        })?;
        let session = lock(&peer.inbound).ask(self.config.limits.asks);
        let Some(session) = session else {
            self.deny_lie(&peer, None, Denial::Asks);
            return Err("too many requests of that node are open (PeerLimits::asks)".to_owned());
        };
        let (inner, key, answer) = (Arc::downgrade(&self), key(ticket), Some(answer));
        self.system.spawn(Replier { inner, peer, session, key, encoding, answer });
        Ok(())
    }
}
