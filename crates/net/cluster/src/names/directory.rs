//! The actor at each node that knows who has which name.
//!
//! It plays two parts: for the names that actors of this node have or ask for (`held`), and for the
//! names whose directory this node is (`table`).

use crate::actor::RemoteActor;
use crate::denial::Denial;
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::node::state::Inner;
use crate::node::{Grants, NodeEvent};
use crate::place::{key_hash, rendezvous};
use crate::remote::RemoteAddress;
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The name under which the directories are exported.
pub(super) const EXPORTED: &str = "actinium.names";

/// One actor's hold on a name. Of two the smaller counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Message)]
pub(super) struct Stamp {
    /// The time at which the name was asked for, in nanoseconds of its node's clock.
    since_ns: u64,
    node: u32,
    /// Tells those of one node apart.
    serial: u64,
}

impl Stamp {
    pub(super) fn node(&self) -> NodeId {
        NodeId(self.node)
    }

    /// Returns the name under which the actor is exported.
    pub(super) fn exported(&self, name: &str) -> String {
        format!("actinium.name.{}.{name}", self.serial)
    }
}

/// A message of one directory to another.
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

/// The longest name: else the names of one node could fill the memory of another, however few they
/// are.
const NAME_BYTES_MAX: usize = 4096;

fn too_long(name: &str) -> RemoteAskError {
    let bytes = name.len();
    let why =
        format!("the name has {bytes} bytes, and one of the cluster at most {NAME_BYTES_MAX}");
    RemoteAskError::Unsendable(why)
}

/// An actor that is to have a name, without its type.
pub(super) trait Holder: Send {
    fn export(&self, inner: &Arc<Inner>, name: &str);
    fn watch(&self, name: String, stamp: Stamp, ctx: &Context<'_, Directory>);
    /// It has lost the name. Returns whether the node's listeners are to hear of it.
    fn lost(&self) -> bool;
}

impl<A: RemoteActor> Holder for Address<A> {
    fn export(&self, inner: &Arc<Inner>, name: &str) {
        // The name has a serial number of its own: it is free.
        let _ = inner.export(name, std::slice::from_ref(self), Grants::default());
    }

    fn watch(&self, name: String, stamp: Stamp, ctx: &Context<'_, Directory>) {
        ctx.watch(self, move |_| Msg::Ended(name, stamp));
    }

    fn lost(&self) -> bool {
        self.stop();
        true
    }
}

/// An actor of the cluster's own machinery that has a name on behalf of another one. It is told
/// when the name is lost.
pub(super) struct Trustee<A: RemoteActor> {
    pub(super) address: Address<A>,
    pub(super) lost: Box<dyn Fn() -> A::Msg + Send>,
}

impl<A: RemoteActor> Holder for Trustee<A> {
    fn export(&self, inner: &Arc<Inner>, name: &str) {
        self.address.export(inner, name);
    }

    fn watch(&self, name: String, stamp: Stamp, ctx: &Context<'_, Directory>) {
        Holder::watch(&self.address, name, stamp, ctx);
    }

    fn lost(&self) -> bool {
        self.address.tell((self.lost)());
        false
    }
}

type Claimed = Reply<Result<(), RemoteAskError>>;
type Found = Reply<Result<Stamp, RemoteAskError>>;

pub(super) enum Msg {
    /// An actor of this node wants a name, and has wanted it since that time.
    ClaimHere(String, u64, Box<dyn Holder>, Claimed),
    /// What has a name has come to this node.
    TakeOver(String, u64, Box<dyn Holder>),
    ReleaseHere(String),
    /// Somebody at this node wants to know who has a name.
    Who(String, Duration, Found),
    /// The answer of the name's directory.
    Heard(String, Result<Option<Stamp>, RemoteAskError>, Found),
    /// Another node wants to know.
    WhoThere(String, Reply<Option<Stamp>>),
    /// A node's directory, this one's included, says something.
    Say(NodeId, Say),
    /// An actor of this node that had a name has ended.
    Ended(String, Stamp),
    /// Another node is up; its directory was found; it is down; something that one of the two said
    /// to the other is lost.
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
    /// The nodes whose directories were told: only they can give it or take it away. Which one it
    /// is depends on who is up, and not all see the same.
    told: BTreeSet<NodeId>,
}

/// See the module.
pub(super) struct Directory {
    inner: Weak<Inner>,
    me: NodeId,
    quorum: usize,
    serial: u64,
    others: BTreeMap<NodeId, RemoteAddress<Directory>>,
    held: BTreeMap<String, Held>,
    table: BTreeMap<String, Stamp>,
    /// How many names of the table each node's actors have.
    names: BTreeMap<NodeId, usize>,
}

impl Directory {
    pub(super) fn new(inner: &Arc<Inner>, quorum: usize) -> Self {
        Directory {
            inner: Arc::downgrade(inner),
            me: inner.id(),
            quorum,
            serial: 0,
            others: BTreeMap::new(),
            held: BTreeMap::new(),
            table: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }

    fn directory(&self, name: &str) -> NodeId {
        let nodes: Vec<NodeId> = self.others.keys().copied().chain([self.me]).collect();
        rendezvous(key_hash(name.as_bytes()), nodes).unwrap_or(self.me)
    }

    fn is_up(&self, node: NodeId) -> bool {
        node == self.me || self.others.contains_key(&node)
    }

    fn check_quorum(&self) -> Result<(), RemoteAskError> {
        let (up, quorum) = (self.others.len() + 1, self.quorum);
        if up < quorum { Err(RemoteAskError::NoQuorum { up, quorum }) } else { Ok(()) }
    }

    fn say(&mut self, to: NodeId, say: Say) {
        if to == self.me {
            self.said(to, say);
        } else if let Some(other) = self.others.get(&to) {
            // If it is down, that will be told, and all is said again to whoever is the directory
            // then.
            let _ = other.send(say);
        }
    }

    fn claim_here(
        &mut self,
        (name, since_ns): (String, u64),
        holder: Box<dyn Holder>,
        reply: Claimed,
        ctx: &Context<'_, Self>,
    ) {
        let refused = match self.held.get(&name) {
            _ if name.len() > NAME_BYTES_MAX => Err(too_long(&name)),
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
        self.hold(&name, since_ns, (holder, Some(reply)), ctx);
    }

    /// Enters what an actor of this node wants or has, and tells the directory. Returns what stood
    /// there before.
    fn hold(
        &mut self,
        name: &str,
        since_ns: u64,
        (holder, asked): (Box<dyn Holder>, Option<Claimed>),
        ctx: &Context<'_, Self>,
    ) -> Option<Held> {
        let inner = self.inner.upgrade()?;
        self.serial += 1;
        let stamp = Stamp { since_ns, node: self.me.0, serial: self.serial };
        holder.export(&inner, &stamp.exported(name));
        holder.watch(name.to_owned(), stamp, ctx);
        let held = Held { stamp, holder, asked, told: BTreeSet::new() };
        let before = self.held.insert(name.to_owned(), held);
        self.claim(name);
        before
    }

    /// Of two claims the older counts: so whoever takes a name over has to say an earlier time than
    /// who had it. That one hears that it has lost it.
    fn take_over(
        &mut self,
        name: &str,
        since_ns: u64,
        holder: Box<dyn Holder>,
        ctx: &Context<'_, Self>,
    ) {
        if self.check_quorum().is_err() {
            holder.lost();
            return;
        }
        // This comes after the new claim: in between, nobody finds the name free.
        if let Some(before) = self.hold(name, since_ns, (holder, None), ctx) {
            self.give_back(name, &before);
        }
    }

    /// Tells the directory what this node's actor wants or has.
    fn claim(&mut self, name: &str) {
        let directory = self.directory(name);
        let Some(held) = self.held.get_mut(name) else { return };
        held.told.insert(directory);
        let claim =
            Say::Claim { name: name.to_owned(), stamp: held.stamp, has: held.asked.is_none() };
        self.say(directory, claim);
    }

    /// This node's actor no longer has the name, or does not get it: nobody is to think so.
    fn give_up(&mut self, name: &str) -> Option<Held> {
        let held = self.held.remove(name)?;
        self.give_back(name, &held);
        Some(held)
    }

    fn give_back(&mut self, name: &str, held: &Held) {
        for &told in &held.told {
            self.say(told, Say::Release { name: name.to_owned(), stamp: held.stamp });
        }
        if let Some(inner) = self.inner.upgrade() {
            inner.unexport(&held.stamp.exported(name));
        }
    }

    fn lose(&mut self, name: &str, why: RemoteAskError) {
        let Some(held) = self.give_up(name) else { return };
        match held.asked {
            // Whoever asked may have stopped waiting.
            Some(reply) => drop(reply.send(Err(why))),
            None => {
                if held.holder.lost()
                    && let Some(inner) = self.inner.upgrade()
                {
                    inner.tell_listeners(&NodeEvent::NameLost { name: name.to_owned(), why });
                }
            }
        }
    }

    /// A node may speak for its own actors, and for the directory that it was told to be.
    fn said(&mut self, from: NodeId, say: Say) {
        let denial = match &say {
            Say::Claim { stamp, .. } | Say::Release { stamp, .. } => {
                (stamp.node() != from).then_some(Denial::Claim)
            }
            Say::Granted { name, stamp } | Say::Taken { name, stamp, .. } => {
                let held = self.held.get(name).filter(|held| held.stamp == *stamp);
                held.filter(|held| !held.told.contains(&from)).map(|_| Denial::NotAsked)
            }
            Say::Again => None,
        };
        if let Some(what) = denial {
            return self.deny(from, what);
        }
        match say {
            Say::Claim { name, stamp, has } => self.claimed(name, stamp, has),
            Say::Granted { name, stamp } => match self.held.get_mut(&name) {
                Some(held) if held.stamp == stamp => {
                    if let Some(reply) = held.asked.take()
                        && reply.send(Ok(())).is_err()
                    {
                        // Nobody waits for it any more: nobody would know that it has the name.
                        drop(self.give_up(&name));
                    }
                }
                // That it was given back was not heard.
                _ if stamp.node() == self.me => self.say(from, Say::Release { name, stamp }),
                _ => {}
            },
            Say::Taken { name, stamp, by } => {
                if self.held.get(&name).is_some_and(|held| held.stamp == stamp) {
                    let taken = RemoteAskError::NameTaken { name: name.clone(), node: NodeId(by) };
                    self.lose(&name, taken);
                }
            }
            Say::Release { name, stamp } => {
                if self.table.get(&name) == Some(&stamp) {
                    self.forget(&name);
                }
            }
            Say::Again => self.claim_all(Some(from)),
        }
    }

    fn deny(&self, node: NodeId, what: Denial) {
        if let Some(inner) = self.inner.upgrade() {
            inner.deny_lie(&inner.peer(node), Some(EXPORTED), what);
        }
    }

    /// Enters who has a name.
    fn enter(&mut self, name: &str, stamp: Stamp) {
        self.forget(name);
        *self.names.entry(stamp.node()).or_default() += 1;
        self.table.insert(name.to_owned(), stamp);
    }

    fn forget(&mut self, name: &str) {
        let before = self.table.remove(name);
        if let Some(names) = before.and_then(|stamp| self.names.get_mut(&stamp.node())) {
            *names -= 1;
        }
    }

    /// Whether a node other than this one has as many names as it may.
    fn has_too_many(&self, node: NodeId) -> bool {
        let most = self.inner.upgrade().map_or(usize::MAX, |inner| inner.limits().names);
        node != self.me && self.names.get(&node).is_some_and(|&names| names >= most)
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
        if winner == stamp && self.table.get(&name) != Some(&stamp) {
            let is_too_long = name.len() > NAME_BYTES_MAX;
            if is_too_long || self.has_too_many(stamp.node()) {
                self.deny(stamp.node(), Denial::Names);
                let taken = Say::Taken { name, stamp, by: self.me.0 };
                return self.say(stamp.node(), taken);
            }
            self.enter(&name, stamp);
        }
        if let Some((loser, winner)) = loser {
            let taken = Say::Taken { name: name.clone(), stamp: loser, by: winner.node };
            self.say(loser.node(), taken);
        }
        if winner == stamp {
            self.say(stamp.node(), Say::Granted { name, stamp });
        }
    }

    /// Others are up than before. What is known of the names of those who are stays, though another
    /// node may be their directory now: that one may be out of reach for who has them, who does not
    /// hear when it is gone.
    fn look_again(&mut self) {
        let gone = self.table.iter().filter(|(_, stamp)| !self.is_up(stamp.node()));
        let gone: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.forget(&name);
        }
        self.claim_all(None);
    }

    /// Tells a node which names its actors hold, as far as is known here. The node releases again
    /// those that they do not hold: its earlier release may have been lost.
    fn tell_what_it_has(&mut self, node: NodeId) {
        let of = self.table.iter().filter(|(_, stamp)| stamp.node() == node);
        let has: Vec<_> = of.map(|(name, &stamp)| (name.clone(), stamp)).collect();
        for (name, stamp) in has {
            self.say(node, Say::Granted { name, stamp });
        }
    }

    /// Claims again what actors of this node have or want; of one directory, or of all.
    fn claim_all(&mut self, of: Option<NodeId>) {
        let held: Vec<String> = self.held.keys().cloned().collect();
        for name in held {
            if of.is_some_and(|of| self.directory(&name) != of) {
                continue;
            }
            match self.check_quorum() {
                Ok(()) => self.claim(&name),
                Err(why) => self.lose(&name, why),
            }
        }
    }

    fn who(&mut self, name: String, timeout: Duration, reply: Found, ctx: &Context<'_, Self>) {
        if let Err(why) = self.check_quorum() {
            // Whoever asked may have stopped waiting.
            let _ = reply.send(Err(why));
            return;
        }
        let directory = self.directory(&name);
        match self.others.get(&directory) {
            Some(other) => {
                let asked = other.ask(name.clone(), timeout);
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
        let met = move |other| {
            if let Some(me) = me.upgrade() {
                me.tell(Msg::Met(node, other));
            }
        };
        // The answer is what `met` does. If that node goes down first, it is met when it is up
        // again.
        inner.meet::<Directory>(node, EXPORTED, met);
    }
}

impl Actor for Directory {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::ClaimHere(name, since_ns, holder, reply) => {
                self.claim_here((name, since_ns), holder, reply, ctx);
            }
            Msg::TakeOver(name, since_ns, holder) => self.take_over(&name, since_ns, holder, ctx),
            Msg::ReleaseHere(name) => drop(self.give_up(&name)),
            Msg::Who(name, timeout, reply) => self.who(name, timeout, reply, ctx),
            Msg::Heard(name, answer, reply) => {
                let found = answer.and_then(|known| known.ok_or(RemoteAskError::NoSuchName(name)));
                let found = found.and_then(|stamp| match self.inner.upgrade() {
                    Some(inner) if !inner.has_met(stamp.node()) => {
                        Err(RemoteAskError::NodeDown(stamp.node()))
                    }
                    _ => Ok(stamp),
                });
                // Whoever asked may have stopped waiting.
                let _ = reply.send(found);
            }
            Msg::WhoThere(name, reply) => drop(reply.send(self.table.get(&name).copied())),
            Msg::Say(from, say) => self.said(from, say),
            Msg::Ended(name, stamp) => {
                if self.held.get(&name).is_some_and(|held| held.stamp == stamp) {
                    drop(self.give_up(&name));
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
                self.tell_what_it_has(node);
            }
        }
    }
}

impl RemoteActor for Directory {
    const KIND: &'static str = "actinium.names";
    const INTERNAL: bool = true;
    type Message = Say;
    /// A name.
    type Request = String;
    type Answer = Option<Stamp>;

    /// Called of no node but for `message_from`, which is what is called.
    fn message(say: Say) -> Msg {
        Msg::Say(NodeId(u32::MAX), say)
    }

    fn message_from(node: NodeId, say: Say) -> Msg {
        Msg::Say(node, say)
    }

    fn request(name: String, reply: Reply<Option<Stamp>>) -> Msg {
        Msg::WhoThere(name, reply)
    }
}
