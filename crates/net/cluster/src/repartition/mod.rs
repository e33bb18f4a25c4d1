//! Exchanges of actors between nodes, so that those that talk lie on one node.
//!
//! Each node with [`NodeConfig::repartition`](crate::NodeConfig::repartition) has a
//! *repartitioner*, an actor. It begins the rounds of the node's partitioner (`actinium_placement`
//! decides), asks other repartitioners, and has actors moved.
//!
//! **Trust.** Another node says how much its actors talk with those here, and how many it has. By
//! that it may get actors that would better stay, as many in an exchange as the rules allow, and no
//! other way: nobody but this node moves its actors. What breaks the rules is refused and counted
//! ([`Denial::Exchange`]).

mod wire;

use crate::actor::RemoteActor;
use crate::denial::Denial;
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::node::state::Inner;
use crate::node::{Grants, NodeEvent};
use crate::remote::RemoteAddress;
use crate::traffic::{Key, Traffic};
use actinium_actor::{Actor, Context, Reply};
use actinium_placement::{Offer, Refusal};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use wire::{AnswerData, OfferData};

/// The name under which the repartitioners are exported.
const EXPORTED: &str = "actinium.repartition";
/// How long a node may take to decide.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts the repartitioner of a node that has one, once.
pub(crate) fn start(inner: &Arc<Inner>) {
    let Some(traffic) = inner.traffic().cloned() else { return };
    if !traffic.begin() {
        return;
    }
    let me = Repartitioner { inner: Arc::downgrade(inner), traffic, others: BTreeMap::new() };
    let me = inner.system().spawn(me);
    // Only this exports something under that name, and only once.
    let _ = inner.export(EXPORTED, std::slice::from_ref(&me), Grants::ASK);
    let listener = me.downgrade();
    let tell = move |msg| {
        if let Some(me) = listener.upgrade() {
            me.tell(msg);
        }
    };
    // Nobody is missed in between: who is up already is met twice, which is once.
    inner.on_event(Arc::new({
        let tell = tell.clone();
        move |event: &NodeEvent| match event {
            // What was lost may have been the request or its answer.
            NodeEvent::Up(node) | NodeEvent::Lost(node, _) | NodeEvent::LostThere(node, _) => {
                tell(Msg::Up(*node));
            }
            NodeEvent::Down { node, .. } => tell(Msg::Down(*node)),
            _ => {}
        }
    }));
    inner.nodes_up().into_iter().for_each(|node| tell(Msg::Up(node)));
}

/// See the module.
struct Repartitioner {
    inner: Weak<Inner>,
    traffic: Arc<Traffic>,
    others: BTreeMap<NodeId, RemoteAddress<Repartitioner>>,
}

enum Msg {
    Round,
    Up(NodeId),
    Met(NodeId, RemoteAddress<Repartitioner>),
    Down(NodeId),
    /// Another node's offer.
    Offered(NodeId, OfferData, Reply<Option<AnswerData>>),
    /// Another node's answer to an offer, which took so many actors.
    Answered(NodeId, Result<Option<AnswerData>, RemoteAskError>),
    /// An actor that was to move to a node has, or why not.
    Moved(Key, NodeId, Result<(), String>),
}

impl Repartitioner {
    /// Makes an offer. Who cannot be reached has refused.
    fn ask(&self, mut next: Option<(NodeId, Offer<Key>)>, ctx: &Context<'_, Self>) {
        while let Some((node, offer)) = next {
            if let Some(other) = self.others.get(&node) {
                let asked = other.ask(OfferData::from(&offer), ANSWER_TIMEOUT);
                return ctx.pipe(asked, move |answer| Msg::Answered(node, answer));
            }
            next = self.traffic.refused(node);
        }
    }

    fn offered(
        &self,
        from: NodeId,
        offer: OfferData,
        ctx: &Context<'_, Self>,
    ) -> Option<AnswerData> {
        let answer = match self.traffic.offered(from, &offer.into()) {
            Ok(answer) => answer,
            Err(why) => {
                self.deny(from, why);
                return None;
            }
        };
        let give = answer.give.iter().map(|&(key, _)| key).collect();
        self.exchange(from, give, answer.take.len(), ctx);
        Some((&answer).into())
    }

    fn answered(
        &self,
        from: NodeId,
        answer: Result<Option<AnswerData>, RemoteAskError>,
        ctx: &Context<'_, Self>,
    ) {
        let Ok(Some(answer)) = answer else {
            return self.ask(self.traffic.refused(from), ctx);
        };
        let answer = answer.into();
        match self.traffic.answered(from, &answer) {
            Ok(go) => self.exchange(from, go, answer.give.len(), ctx),
            Err(why) => self.deny(from, why),
        }
        // Nothing leaves, so that the exchange is over; else it is when the last one has left.
        self.ask(self.traffic.next_offer(), ctx);
    }

    fn deny(&self, node: NodeId, why: Refusal) {
        if let (Refusal::Malformed(why), Some(inner)) = (why, self.inner.upgrade()) {
            inner.deny_lie(&inner.peer(node), Some(why), Denial::Exchange);
        }
    }

    /// Moves actors to a node, from which so many come.
    fn exchange(&self, with: NodeId, go: Vec<Key>, come: usize, ctx: &Context<'_, Self>) {
        if let Some(inner) = self.inner.upgrade()
            && go.len() + come > 0
        {
            inner.tell_listeners(&NodeEvent::Exchange { node: with, leave: go.len(), come });
        }
        for key in go {
            let me = ctx.address().downgrade();
            let done = move |moved| {
                if let Some(me) = me.upgrade() {
                    me.tell(Msg::Moved(key, with, moved));
                }
            };
            match self.traffic.mover(key) {
                Some(mover) => mover.move_to(with, Box::new(done)),
                None => done(Err("it has ended".to_owned())),
            }
        }
    }

    fn meet(&self, node: NodeId, ctx: &Context<'_, Self>) {
        let Some(inner) = self.inner.upgrade() else { return };
        if node == inner.id() || self.others.contains_key(&node) {
            return;
        }
        let me = ctx.address().downgrade();
        let met = move |other| {
            if let Some(me) = me.upgrade() {
                me.tell(Msg::Met(node, other));
            }
        };
        // The answer is what `met` does. If that node goes down first, it is met when it is up
        // again.
        inner.meet::<Repartitioner>(node, EXPORTED, met);
    }
}

impl Actor for Repartitioner {
    type Msg = Msg;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        ctx.every(self.traffic.config.round, || Msg::Round);
    }

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Round => self.ask(self.traffic.round(), ctx),
            Msg::Up(node) => self.meet(node, ctx),
            Msg::Met(node, other) => drop(self.others.insert(node, other)),
            Msg::Down(node) => drop(self.others.remove(&node)),
            // Whoever asked may have stopped waiting.
            Msg::Offered(from, offer, reply) => drop(reply.send(self.offered(from, offer, ctx))),
            Msg::Answered(from, answer) => self.answered(from, answer, ctx),
            Msg::Moved(key, to, moved) => {
                self.traffic.moved(key, moved.is_ok());
                if let (Err(why), Some(inner)) = (moved, self.inner.upgrade()) {
                    let began = NodeId(key.node);
                    let serial = key.serial;
                    inner.tell_listeners(&NodeEvent::NotMoved { node: to, began, serial, why });
                }
                self.ask(self.traffic.next_offer(), ctx);
            }
        }
    }
}

impl RemoteActor for Repartitioner {
    const KIND: &'static str = "actinium.repartition";
    const INTERNAL: bool = true;
    type Message = ();
    type Request = OfferData;
    /// None: the node is busy, or the offer broke the rules.
    type Answer = Option<AnswerData>;

    /// Called of nobody: it is exported without the right to send to it.
    fn message((): ()) -> Msg {
        Msg::Down(NodeId(u32::MAX))
    }

    /// Called of no node but for `request_from`, which is what is called.
    fn request(offer: OfferData, reply: Reply<Option<AnswerData>>) -> Msg {
        Msg::Offered(NodeId(u32::MAX), offer, reply)
    }

    fn request_from(node: NodeId, offer: OfferData, reply: Reply<Option<AnswerData>>) -> Msg {
        Msg::Offered(node, offer, reply)
    }
}
