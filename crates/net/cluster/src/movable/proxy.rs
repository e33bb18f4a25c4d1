//! A node's sender to a state that moves: it knows where that is, and finds out when it goes.
//!
//! ```text
//! sends the old way --"it is there now"--> looks it up (still sends the old way) --found--> "all here?" goes the old way, all else waits
//!        ^                                                                                        |
//!        +------------------------------- the new way is the old way <----- answered --------------+
//! ```

use super::outbox::{Back, Delivery, Outbox};
use super::shell::{Answer, CLOSE, Migrate, Movable, MovableId, WHERE, hand_on};
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::node::NodeEvent;
use crate::node::state::Inner;
use actinium_actor::{Actor, Context, Reply};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// For what is answered when it happens, and not before.
const WHENEVER: Duration = Duration::from_secs(1 << 32);
/// For looking a shell up that is there.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(60);

/// A shell of this name, at this node or at another.
pub(super) fn locate<S: Migrate>(
    inner: &Arc<Inner>,
    node: NodeId,
    exported: String,
    timeout: Duration,
) -> RemoteAnswer<AnyAddress<Movable<S>>> {
    if node == inner.id() {
        return RemoteAnswer::ready(inner.exported_here(&exported, &exported));
    }
    inner.find(node, &exported, timeout, false, |address, _| AnyAddress::There(address))
}

/// What the holders of an address see of its proxy.
pub(super) struct Known {
    /// The number of deliveries that were given to the proxy and have not left it yet.
    waiting: AtomicUsize,
    node: AtomicU32,
}

impl Known {
    pub(super) fn new(node: NodeId) -> Self {
        Known { waiting: AtomicUsize::new(0), node: AtomicU32::new(node.0) }
    }

    // Relaxed, all: bounds that hold roughly, and figures.

    pub(super) fn waiting(&self) -> usize {
        // Relaxed: see above.
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self) {
        // Relaxed: see above.
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// The node where the actor is, as far as the proxy knows.
    pub(super) fn node(&self) -> NodeId {
        // Relaxed: see above.
        NodeId(self.node.load(Ordering::Relaxed))
    }
}

pub(super) struct Proxy<S: Migrate> {
    inner: Weak<Inner>,
    id: MovableId,
    /// None: it is being looked for.
    to: Option<AnyAddress<Movable<S>>>,
    /// The new way, while it is being asked whether all is there that went the old one.
    closing: Option<AnyAddress<Movable<S>>>,
    outbox: Outbox<Movable<S>>,
    known: Arc<Known>,
    /// Requests whose answers it waits for, for others.
    open: usize,
    is_ending: bool,
}

type Asked<S> = Result<Answer<S>, RemoteAskError>;

pub(super) enum ProxyMsg<S: Migrate> {
    /// Ask where it goes.
    Begin,
    /// Ask whether all is there.
    Close,
    /// Nobody has its address any more.
    End,
    Delivery(Delivery<Movable<S>>),
    Gone(Asked<S>),
    Found(Result<AnyAddress<Movable<S>>, RemoteAskError>),
    Closed(Asked<S>),
    Answered(Reply<Answer<S>>, Asked<S>),
    Ready,
}

impl<S: Migrate> Proxy<S> {
    pub(super) fn new(
        inner: &Arc<Inner>,
        id: MovableId,
        to: Option<AnyAddress<Movable<S>>>,
        known: Arc<Known>,
    ) -> Self {
        let outbox = Outbox::new();
        Proxy {
            inner: Arc::downgrade(inner),
            id,
            to,
            closing: None,
            outbox,
            known,
            open: 0,
            is_ending: false,
        }
    }

    /// Asks where it goes; where it is, if that is not known.
    fn ask_where(&self, ctx: &Context<'_, Self>) {
        if let Some(to) = &self.to {
            return ctx.pipe(to.ask((WHERE, 0, None), WHENEVER), ProxyMsg::Gone);
        }
        let Some(inner) = self.inner.upgrade() else { return };
        let home = NodeId(self.id.node);
        let found = locate(&inner, home, self.id.exported(0, home), LOOKUP_TIMEOUT);
        ctx.pipe(found, ProxyMsg::Found);
    }

    fn ask_whether_all_is_there(&mut self, ctx: &Context<'_, Self>) {
        match &self.to {
            Some(to) => ctx.pipe(to.ask((CLOSE, 0, None), WHENEVER), ProxyMsg::Closed),
            // Nothing was sent by any way.
            None => self.take_new_way(ctx),
        }
    }

    fn take_new_way(&mut self, ctx: &Context<'_, Self>) {
        if let Some(new) = self.closing.take() {
            // Relaxed: a figure.
            self.known.node.store(new.node().0, Ordering::Relaxed);
            self.to = Some(new);
            self.ask_where(ctx);
            self.outbox.is_ready();
            self.pump(ctx);
        }
    }

    /// Ends. What waits does not arrive.
    fn give_up(&self, ctx: &Context<'_, Self>) {
        let messages = self.outbox.messages();
        if let (1.., Some(inner)) = (messages, self.inner.upgrade()) {
            let node = self.known.node();
            inner.tell_listeners(&NodeEvent::Undelivered { node, messages });
        }
        ctx.stop();
    }

    /// A request of this one's own was refused, because too much waits for that node: asks again
    /// when there is capacity.
    fn ask_again(&self, what: fn() -> ProxyMsg<S>, ctx: &Context<'_, Self>) {
        match &self.to {
            Some(AnyAddress::There(there)) => ctx.pipe(there.ready(), move |()| what()),
            _ => ctx.address().tell(what()),
        }
    }

    fn end_if_done(&self, ctx: &Context<'_, Self>) {
        let is_done = self.outbox.len() == 0 && self.open == 0 && self.closing.is_none();
        if self.is_ending && is_done {
            ctx.stop();
        }
    }

    fn pump(&mut self, ctx: &Context<'_, Self>) {
        let Some(to) = self.to.as_ref().filter(|_| self.closing.is_none()) else { return };
        let before = self.outbox.len();
        let back = Back { answered: ProxyMsg::Answered, ready: || ProxyMsg::Ready };
        self.outbox.pump(to, &self.inner, ctx, &back);
        // Relaxed: a bound that holds roughly.
        self.known.waiting.fetch_sub(before - self.outbox.len(), Ordering::Relaxed);
    }

    /// Follows a state that has moved: the answer tells the node where it is now, and the number of
    /// its moves.
    fn gone(&self, asked: Asked<S>, ctx: &Context<'_, Self>) {
        match (asked, self.inner.upgrade(), &self.to) {
            (Ok((_, Some((node, moves)), _)), Some(inner), Some(to))
                if inner.has_met(NodeId(node)) =>
            {
                let name = self.id.exported(moves, to.node());
                let found = locate(&inner, NodeId(node), name, LOOKUP_TIMEOUT);
                ctx.pipe(found, ProxyMsg::Found);
            }
            // Its node is down: nobody knows where it is, if it is.
            _ => self.give_up(ctx),
        }
    }
}

impl<S: Migrate> Actor for Proxy<S> {
    type Msg = ProxyMsg<S>;

    fn handle(&mut self, msg: ProxyMsg<S>, ctx: &mut Context<'_, Self>) {
        match msg {
            ProxyMsg::Begin => self.ask_where(ctx),
            ProxyMsg::Close => self.ask_whether_all_is_there(ctx),
            ProxyMsg::End => self.is_ending = true,
            ProxyMsg::Delivery(delivery) => {
                self.open += usize::from(matches!(delivery, Delivery::Ask(..)));
                self.outbox.push((delivery, None));
                self.pump(ctx);
            }
            ProxyMsg::Gone(Err(RemoteAskError::Full(_))) => self.ask_again(|| ProxyMsg::Begin, ctx),
            ProxyMsg::Gone(asked) => self.gone(asked, ctx),
            ProxyMsg::Found(Ok(new)) => {
                // What waits for capacity goes the new way.
                self.closing = Some(new);
                self.ask_whether_all_is_there(ctx);
            }
            ProxyMsg::Found(Err(RemoteAskError::Full(node))) => {
                if let Some(inner) = self.inner.upgrade() {
                    ctx.pipe(inner.ready(node), |()| ProxyMsg::Begin);
                }
            }
            ProxyMsg::Found(Err(RemoteAskError::Timeout(_))) => self.ask_where(ctx),
            // Where it has gone to, it has ended, or its node has.
            ProxyMsg::Found(Err(_)) => self.give_up(ctx),
            ProxyMsg::Closed(Err(RemoteAskError::Full(_))) => {
                self.ask_again(|| ProxyMsg::Close, ctx);
            }
            // If there is no answer, the old way is broken: what was on it is lost with its node,
            // which is told.
            ProxyMsg::Closed(_) => self.take_new_way(ctx),
            ProxyMsg::Answered(reply, answer) => {
                self.open -= 1;
                hand_on::<S>(reply, answer);
            }
            ProxyMsg::Ready => {
                self.outbox.is_ready();
                self.pump(ctx);
            }
        }
        self.end_if_done(ctx);
    }
}
