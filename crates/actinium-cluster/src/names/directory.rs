//! The actor at each node that knows who has which name.
//!
//! It plays two parts: for the names that actors of this node have or ask for (`held`), and for the names whose directory this node is (`table`).

use super::{EXPORTED, NamesConfig};
use crate::fabric::NodeId;
use crate::node::{Inner, NodeEvent};
use crate::place::{key_hash, rendezvous};
use crate::remote::{RemoteActor, RemoteAddress, RemoteAskError};
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long another node may take to start its directory.
const MEET_LIMIT: Duration = Duration::from_secs(3600);

/// One actor's hold on a name. Of two the smaller counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Message)]
pub(super) struct Stamp {
    /// When it was asked for, by its node's clock: nanoseconds.
    since_ns: u64,
    node: u32,
    /// Tells those of one node apart.
    serial: u64,
}

impl Stamp {
    pub(super) fn node(&self) -> NodeId {
        NodeId(self.node)
    }

    /// What the actor is exported as.
    pub(super) fn exported(&self, name: &str) -> String {
        format!("actinium.name.{}.{name}", self.serial)
    }
}

/// What directories say to each other.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
pub(super) enum Say {
    /// "My actor wants this name", or has it.
    Claim { name: String, stamp: Stamp, has: bool },
    /// "It has it."
    Granted { name: String, stamp: Stamp },
    /// "That node's has it."
    Taken { name: String, stamp: Stamp, by: u32 },
    /// "It no longer has it."
    Release { name: String, stamp: Stamp },
    /// "Now I know you: claim what you have again." What was claimed before that was not heard.
    Again,
}

/// An actor that is to have a name, without its type.
pub(super) trait Holder: Send {
    fn export(&self, inner: &Arc<Inner>, name: &str);
    fn watch(&self, name: String, stamp: Stamp, ctx: &Context<'_, Directory>);
    fn stop(&self);
}

impl<A: RemoteActor> Holder for Address<A> {
    fn export(&self, inner: &Arc<Inner>, name: &str) {
        // The name has a serial number of its own: it is free.
        let _ = inner.export(name, std::slice::from_ref(self));
    }

    fn watch(&self, name: String, stamp: Stamp, ctx: &Context<'_, Directory>) {
        ctx.watch(self, move |_| Msg::Ended(name, stamp));
    }

    fn stop(&self) {
        Address::stop(self);
    }
}

type Claimed = Reply<Result<(), RemoteAskError>>;
type Found = Reply<Result<Stamp, RemoteAskError>>;

pub(super) enum Msg {
    /// An actor of this node wants a name.
    ClaimHere(String, Box<dyn Holder>, Claimed),
    ReleaseHere(String),
    /// Somebody at this node wants to know who has a name.
    Who(String, Duration, Found),
    /// What that name's directory says.
    Heard(String, Result<Option<Stamp>, RemoteAskError>, Found),
    /// Another node wants to know.
    WhoThere(String, Reply<Option<Stamp>>),
    Say(Say),
    /// An actor of this node that had a name has ended.
    Ended(String, Stamp),
    /// Another node is up; its directory was found; it is down; something that one of the two said to the other is lost.
    Up(NodeId),
    Met(NodeId, RemoteAddress<Directory>),
    Down(NodeId),
    Lost(NodeId),
}

/// A name that an actor of this node has, or has asked for.
struct Held {
    stamp: Stamp,
    holder: Box<dyn Holder>,
    /// None: it has it.
    asked: Option<Claimed>,
}

/// See the module.
pub(super) struct Directory {
    inner: Weak<Inner>,
    me: NodeId,
    config: NamesConfig,
    serial: u64,
    others: BTreeMap<NodeId, RemoteAddress<Directory>>,
    held: BTreeMap<String, Held>,
    table: BTreeMap<String, Stamp>,
}

impl Directory {
    pub(super) fn new(inner: &Arc<Inner>, config: NamesConfig) -> Self {
        Directory {
            inner: Arc::downgrade(inner),
            me: inner.id(),
            config,
            serial: 0,
            others: BTreeMap::new(),
            held: BTreeMap::new(),
            table: BTreeMap::new(),
        }
    }

    fn directory(&self, name: &str) -> NodeId {
        let nodes: Vec<NodeId> = self.others.keys().copied().chain([self.me]).collect();
        rendezvous(key_hash(name.as_bytes()), &nodes).unwrap_or(self.me)
    }

    fn is_up(&self, node: NodeId) -> bool {
        node == self.me || self.others.contains_key(&node)
    }

    fn check_quorum(&self) -> Result<(), RemoteAskError> {
        let (up, quorum) = (self.others.len() + 1, self.config.quorum);
        if up < quorum { Err(RemoteAskError::NoQuorum { up, quorum }) } else { Ok(()) }
    }

    fn say(&mut self, to: NodeId, say: Say) {
        if to == self.me {
            self.said(say);
        } else if let Some(other) = self.others.get(&to) {
            // If it is down, that will be told, and all is said again to whoever is the directory then.
            let _ = other.send(say);
        }
    }

    fn claim_here(
        &mut self,
        name: String,
        holder: Box<dyn Holder>,
        reply: Claimed,
        ctx: &Context<'_, Self>,
    ) {
        let Some(inner) = self.inner.upgrade() else { return };
        let refused = match self.held.get(&name) {
            Some(held) => {
                Err(RemoteAskError::NameTaken { name: name.clone(), node: held.stamp.node() })
            }
            None => self.check_quorum(),
        };
        if refused.is_err() {
            // Whoever asked may have stopped waiting.
            let _ = reply.send(refused);
            return;
        }
        self.serial += 1;
        let stamp = Stamp { since_ns: inner.time_ns(), node: self.me.0, serial: self.serial };
        holder.export(&inner, &stamp.exported(&name));
        holder.watch(name.clone(), stamp, ctx);
        self.held.insert(name.clone(), Held { stamp, holder, asked: Some(reply) });
        self.claim(&name);
    }

    /// Tells the directory what this node's actor wants or has.
    fn claim(&mut self, name: &str) {
        let Some(held) = self.held.get(name) else { return };
        let claim =
            Say::Claim { name: name.to_owned(), stamp: held.stamp, has: held.asked.is_none() };
        self.say(self.directory(name), claim);
    }

    /// This node's actor no longer has the name, or does not get it.
    fn give_up(&mut self, name: &str) -> Option<Held> {
        let held = self.held.remove(name)?;
        if let Some(inner) = self.inner.upgrade() {
            inner.unexport(&held.stamp.exported(name));
        }
        Some(held)
    }

    fn lose(&mut self, name: &str, why: RemoteAskError) {
        let Some(held) = self.give_up(name) else { return };
        match held.asked {
            // Whoever asked may have stopped waiting.
            Some(reply) => drop(reply.send(Err(why))),
            None => {
                held.holder.stop();
                if let Some(inner) = self.inner.upgrade() {
                    inner.tell_listeners(&NodeEvent::NameLost { name: name.to_owned(), why });
                }
            }
        }
    }

    fn release(&mut self, name: &str) {
        if let Some(held) = self.give_up(name) {
            let release = Say::Release { name: name.to_owned(), stamp: held.stamp };
            self.say(self.directory(name), release);
        }
    }

    fn said(&mut self, say: Say) {
        match say {
            Say::Claim { name, stamp, has } => self.claimed(name, stamp, has),
            Say::Granted { name, stamp } => {
                if let Some(held) = self.held.get_mut(&name)
                    && held.stamp == stamp
                    && let Some(reply) = held.asked.take()
                    && reply.send(Ok(())).is_err()
                {
                    // Nobody waits for it any more: nobody would know that it has the name.
                    self.release(&name);
                }
            }
            Say::Taken { name, stamp, by } => {
                if self.held.get(&name).is_some_and(|held| held.stamp == stamp) {
                    let taken = RemoteAskError::NameTaken { name: name.clone(), node: NodeId(by) };
                    self.lose(&name, taken);
                }
            }
            Say::Release { name, stamp } => {
                if self.table.get(&name) == Some(&stamp) {
                    self.table.remove(&name);
                }
            }
            Say::Again => self.claim_all(),
        }
    }

    /// This node is the directory, at least for whoever says this.
    fn claimed(&mut self, name: String, stamp: Stamp, has: bool) {
        if !self.is_up(stamp.node()) {
            // It could not be answered. It is asked again when it is met.
            return;
        }
        let before = self.table.get(&name).copied().filter(|&before| before != stamp);
        let loser = match before {
            // Who has it keeps it; of two that have had it apart, the older does.
            Some(before) if !has || before < stamp => Some((stamp, before)),
            Some(before) => Some((before, stamp)),
            None => None,
        };
        let winner = loser.map_or(stamp, |(_, winner)| winner);
        self.table.insert(name.clone(), winner);
        if let Some((loser, winner)) = loser {
            let taken = Say::Taken { name: name.clone(), stamp: loser, by: winner.node };
            self.say(loser.node(), taken);
        }
        if winner == stamp {
            self.say(stamp.node(), Say::Granted { name, stamp });
        }
    }

    /// Others are up than before.
    fn look_again(&mut self) {
        let stays =
            |name: &str, stamp: &Stamp| self.is_up(stamp.node()) && self.directory(name) == self.me;
        let gone: Vec<String> = self
            .table
            .iter()
            .filter(|(name, stamp)| !stays(name, stamp))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.table.remove(&name);
        }
        self.claim_all();
    }

    fn claim_all(&mut self) {
        let held: Vec<String> = self.held.keys().cloned().collect();
        for name in held {
            match self.check_quorum() {
                Ok(()) => self.claim(&name),
                Err(why) => self.lose(&name, why),
            }
        }
    }

    fn who(&mut self, name: String, limit: Duration, reply: Found, ctx: &Context<'_, Self>) {
        if let Err(why) = self.check_quorum() {
            // Whoever asked may have stopped waiting.
            let _ = reply.send(Err(why));
            return;
        }
        let directory = self.directory(&name);
        match self.others.get(&directory) {
            Some(other) => {
                let asked = other.ask(name.clone(), limit);
                ctx.pipe(asked, move |answer| Msg::Heard(name, answer, reply));
            }
            None => {
                let known = self.table.get(&name).copied();
                let _ = reply.send(known.ok_or(RemoteAskError::NoSuchName(name)));
            }
        }
    }

    fn meet(&self, node: NodeId, ctx: &Context<'_, Self>) {
        if node == self.me || self.others.contains_key(&node) {
            return;
        }
        let Some(inner) = self.inner.upgrade() else { return };
        let me = ctx.address().downgrade();
        let found = move |other, _| {
            if let Some(me) = me.upgrade() {
                me.tell(Msg::Met(node, other));
            }
        };
        // The answer is what `found` does. If that node goes down first, it is met when it is up again.
        drop(inner.find::<Directory, ()>(node, EXPORTED, MEET_LIMIT, true, found));
    }
}

impl Actor for Directory {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::ClaimHere(name, holder, reply) => self.claim_here(name, holder, reply, ctx),
            Msg::ReleaseHere(name) => self.release(&name),
            Msg::Who(name, limit, reply) => self.who(name, limit, reply, ctx),
            Msg::Heard(name, answer, reply) => {
                let found = answer.and_then(|known| known.ok_or(RemoteAskError::NoSuchName(name)));
                // Whoever asked may have stopped waiting.
                let _ = reply.send(found);
            }
            Msg::WhoThere(name, reply) => drop(reply.send(self.table.get(&name).copied())),
            Msg::Say(say) => self.said(say),
            Msg::Ended(name, stamp) => {
                if self.held.get(&name).is_some_and(|held| held.stamp == stamp) {
                    self.release(&name);
                }
            }
            Msg::Up(node) => self.meet(node, ctx),
            Msg::Met(node, other) => {
                self.others.insert(node, other);
                self.say(node, Say::Again);
                self.look_again();
            }
            Msg::Down(node) => {
                if self.others.remove(&node).is_some() {
                    self.look_again();
                }
            }
            Msg::Lost(node) => {
                self.meet(node, ctx);
                self.look_again();
            }
        }
    }
}

impl RemoteActor for Directory {
    const KIND: &'static str = "actinium.names";
    const INTERNAL: bool = true;
    type Message = Say;
    /// A name.
    type Question = String;
    type Answer = Option<Stamp>;

    fn message(say: Say) -> Msg {
        Msg::Say(say)
    }

    fn question(name: String, reply: Reply<Option<Stamp>>) -> Msg {
        Msg::WhoThere(name, reply)
    }
}
