//! A node's sender to a state that moves: it knows where that is, and finds out when it goes.
//!
//! ```text
//! sends the old way --"it is there now"--> looks it up (still sends the old way) --found--> "all here?" goes the old way, all else waits
//!        ^                                                                                        |
//!        +------------------------------- the new way is the old way <----- answered --------------+
//! ```

use super::delivery::Delivery;
use super::id::MovableId;
use super::lost;
use super::outbox::{Back, Outbox};
use super::shell::{Answer, CLOSE, Migrate, Movable, WHERE, hand_on};
use super::watchers::Watchers;
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::locks::lock;
use crate::node::NodeEvent;
use crate::node::state::Inner;
use actinium_actor::{Actor, Context, Reply, StopReason};
use futures_channel::oneshot;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
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
    /// The bytes of the payloads among them.
    payload_bytes: AtomicUsize,
    node: AtomicU32,
    /// Those who wait for room. `None`: the proxy has ended.
    waiters: Mutex<Option<Vec<oneshot::Sender<()>>>>,
    /// Those who want to hear when the actor has ended.
    pub(super) watchers: Watchers,
}

impl Known {
    pub(super) fn new(node: NodeId) -> Self {
        Known {
            waiting: AtomicUsize::new(0),
            payload_bytes: AtomicUsize::new(0),
            node: AtomicU32::new(node.0),
            waiters: Mutex::new(Some(Vec::new())),
            watchers: Watchers::default(),
        }
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

    /// The bytes of the payloads that wait.
    pub(super) fn payload_bytes(&self) -> usize {
        // Relaxed: see above.
        self.payload_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn add_payload(&self, bytes: usize) {
        // Relaxed: see above.
        self.payload_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many deliveries, with payloads of so many bytes, have left the proxy.
    fn have_left(&self, deliveries: usize, payload_bytes: usize) {
        if deliveries == 0 {
            return;
        }
        // Relaxed, both: see above. Whoever waits for room looks behind the lock that follows.
        self.waiting.fetch_sub(deliveries, Ordering::Relaxed);
        self.payload_bytes.fetch_sub(payload_bytes, Ordering::Relaxed);
        let waiters = lock(&self.waiters).as_mut().map(std::mem::take);
        // After the lock: whoever is called may send at once. It may have stopped waiting.
        for waiter in waiters.into_iter().flatten() {
            let _ = waiter.send(());
        }
    }

    /// Is done when something has left the proxy, or it has ended; at once if nothing waits.
    pub(super) fn ready(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        if let Some(waiters) = &mut *lock(&self.waiters)
            && self.waiting() > 0
        {
            waiters.push(sender);
        }
        // Else dropping it is news enough.
        receiver
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
    /// Why it has given up.
    given_up: Option<StopReason>,
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
            given_up: None,
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
    fn give_up(&mut self, error: Option<&RemoteAskError>, ctx: &Context<'_, Self>) {
        self.given_up = Some(match error {
            Some(RemoteAskError::NodeDown(_)) => StopReason::NodeDown,
            _ => StopReason::Elsewhere {
                reason: "nobody knows where the actor is: it has ended".to_owned(),
                is_abnormal: false,
            },
        });
        let messages = self.outbox.messages();
        if let (1.., Some(inner)) = (messages, self.inner.upgrade()) {
            let node = self.known.node();
            inner.tell_listeners(&NodeEvent::Undelivered { node, messages });
        }
        let why = "nobody knows where its actor is";
        lost::tell_of_all(&self.inner, self.known.node(), self.outbox.drain(), why);
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
        let (before, bytes_before) = (self.outbox.len(), self.outbox.payload_bytes());
        let back = Back { answered: ProxyMsg::Answered, ready: || ProxyMsg::Ready };
        self.outbox.pump(to, &self.inner, ctx, &back);
        let bytes = bytes_before - self.outbox.payload_bytes();
        self.known.have_left(before - self.outbox.len(), bytes);
    }

    /// Follows a state that has moved: the answer tells the node where it is now, and the number of
    /// its moves.
    fn gone(&mut self, asked: Asked<S>, ctx: &Context<'_, Self>) {
        match (asked, self.inner.upgrade(), &self.to) {
            (Ok((_, Some((node, moves)), _)), Some(inner), Some(to))
                if inner.has_met(NodeId(node)) =>
            {
                let name = self.id.exported(moves, to.node());
                let found = locate(&inner, NodeId(node), name, LOOKUP_TIMEOUT);
                ctx.pipe(found, ProxyMsg::Found);
            }
            // Its node is down: nobody knows where it is, if it is.
            (asked, ..) => self.give_up(asked.err().as_ref(), ctx),
        }
    }
}

impl<S: Migrate> Actor for Proxy<S> {
    type Msg = ProxyMsg<S>;

    fn stopped(&mut self, _ctx: &mut Context<'_, Self>, reason: &StopReason) {
        // That they are dropped is news enough for those who wait for room.
        drop(lock(&self.known.waiters).take());
        self.known.watchers.tell(self.given_up.as_ref().unwrap_or(reason));
    }

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
            ProxyMsg::Found(Err(why)) => self.give_up(Some(&why), ctx),
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
