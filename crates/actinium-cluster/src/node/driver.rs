//! What moves a node's frames: whoever owns it has the fabric, and gives it turns.

use super::around::Around;
use super::unpack::{UnpackMsg, Unpacker};
use super::{Inner, NodeConfig, NodeEvent, NodeStats, Peer, RegisterError, SpawnArgs, lock};
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::fabric::{Arming, Bell, Fabric, NodeId};
use crate::link::{BadConfig, Delivery, Down, DownReason, HEADER_BYTES, Link, LinkEvent};
use crate::message;
use crate::movable::{Migrate, Movables};
use crate::names::{Names, NamesConfig};
use crate::node::ExportError;
use crate::payload::{Exchange, Here, is_datagram};
use crate::place::Placement;
use crate::remote::{RemoteActor, RemoteAddress, RemoteAskError};
use crate::route::{Grid, Route};
use crate::shards::Shards;
use crate::stage;
use actinium_actor::{Address, SpawnOptions, SystemHandle};
use actinium_memory::heap::Arena;
use actinium_scheduler::Clock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Frames taken from the fabric in one turn: few enough that none of the other work waits long.
const FRAMES_PER_TURN: usize = 16;
/// How often it asks the fabric who is there, and publishes what the links have counted.
pub(super) const REVIEW_NS: u64 = 10_000_000;

/// See the module.
pub(super) struct Driver {
    pub(super) inner: Arc<Inner>,
    fabric: Box<dyn Fabric>,
    ends: BTreeMap<NodeId, End>,
    /// In a grid: the nodes that are no neighbours.
    around: Option<Around>,
    pub(super) review_at_ns: u64,
    /// Room for what the workers have handled.
    handled: Vec<(NodeId, Delivery)>,
    pub(super) can_ring: bool,
}

/// This end of the link with a neighbour, or in a grid with a node that is to be met directly.
pub(super) struct End {
    pub(super) link: Link,
    pub(super) peer: Arc<Peer>,
    pub(super) unpacker: Address<Unpacker>,
    /// It is not needed at the moment: it is quiet until it hears something.
    pub(super) rests: bool,
    exchange: Exchange,
}

impl Driver {
    pub(super) fn new(
        system: SystemHandle,
        mut fabric: Box<dyn Fabric>,
        config: NodeConfig,
        epoch: u64,
        clock: Clock,
    ) -> Result<Self, BadConfig> {
        let nodes = fabric.nodes().iter().map(|node| node.0.saturating_add(1)).max();
        let grid = match (config.route, config.grid_nodes) {
            (Route::Direct, _) => Grid::DIRECT,
            (route, 0) => Grid::new(route, nodes.unwrap_or(1)),
            (route, nodes) => Grid::new(route, nodes),
        };
        let (node, frame_bytes_max) = (fabric.node(), fabric.frame_bytes_max());
        let inner = Inner::new(node, system, config, frame_bytes_max, grid, epoch, clock)?;
        let inner = Arc::new(inner);
        let alarm = inner.alarm.clone();
        let bell: Bell = Arc::new(move || alarm.ring());
        let can_ring = fabric.set_bell(bell);
        if let Some(doorbell) = fabric.doorbell() {
            inner.alarm.sleep_at(doorbell);
        }
        let around = Around::new(grid);
        let mut driver = Driver {
            inner,
            fabric,
            ends: BTreeMap::new(),
            around,
            review_at_ns: 0,
            handled: Vec::new(),
            can_ring,
        };
        driver.review(driver.inner.clock.now_ns());
        Ok(driver)
    }

    /// Does what there is to do; false if that was nothing. `is_idle`: by a worker that has nothing else to do.
    pub(super) fn turn(&mut self, is_idle: bool) -> bool {
        let mut now_ns = self.inner.clock.now_ns();
        let mut did = self.receive(now_ns);
        if did {
            // A fabric may take its time over a long frame.
            now_ns = self.inner.clock.now_ns();
        }
        did |= self.acknowledge(now_ns);
        if now_ns >= self.review_at_ns {
            self.review(now_ns);
        }
        did |= self.fail_late_questions(now_ns);
        if let Some(around) = &mut self.around {
            did |= around.turn(&self.inner, &mut self.ends, now_ns);
        }
        let (fabric, inner) = (&mut self.fabric, &self.inner);
        for (&node, end) in &mut self.ends {
            if end.rests {
                continue;
            }
            end.link.tick(now_ns);
            while let Some(event) = end.link.poll_event() {
                did = true;
                if let Some(around) = &mut self.around {
                    around.heard(node, &event);
                }
                end.event(inner, &mut **fabric, event);
            }
            while end.link.has_credit()
                && let Some(gathered) = end.peer.gather.take(now_ns, is_idle)
            {
                did = true;
                let payload = &gathered.frame[HEADER_BYTES..];
                end.exchange.frame_leaves(&end.peer, end.link.next_number(), payload);
                let sent = end.link.send(gathered.messages, gathered.frame);
                debug_assert!(sent.is_ok(), "it had credit");
            }
            end.link.transmit(now_ns, |frame| fabric.send(node, frame).is_ok());
            let handled = end.link.handled_there();
            if !end.exchange.is_idle(&end.peer, handled) {
                did |= end
                    .payloads(inner, &mut **fabric, |exchange, here| exchange.turn(here, handled));
            }
        }
        did | self.transferred()
    }

    /// What the fabric has read for payloads.
    fn transferred(&mut self) -> bool {
        let mut did = false;
        while self.ends.values().any(|end| end.exchange.is_fetching())
            && let Some(memory) = self.fabric.remote_memory()
            && let Some((transfer, outcome)) = memory.poll_ended()
        {
            did = true;
            // What nobody waits for any more is dropped.
            for end in self.ends.values_mut() {
                end.payloads(&self.inner, &mut *self.fabric, |exchange, here| {
                    exchange.transferred(here, transfer, outcome.as_ref().ok())
                });
            }
        }
        did
    }

    /// False if nothing came, or signs of life only: no more is to be expected behind these.
    fn receive(&mut self, now_ns: u64) -> bool {
        let mut did = false;
        for _ in 0..FRAMES_PER_TURN {
            let Some((from, frame)) = self.fabric.poll() else { return did };
            if !self.ends.contains_key(&from) {
                self.review(now_ns);
                if self.around.is_some() {
                    self.meet(from, now_ns);
                }
            }
            if let Some(end) = self.ends.get_mut(&from) {
                end.rests = false;
                if is_datagram(&frame) {
                    did = true;
                    end.payloads(&self.inner, &mut *self.fabric, |exchange, here| {
                        exchange.receive(here, &frame);
                    });
                    self.fabric.recycle(frame);
                } else {
                    end.link.receive(frame, now_ns);
                    did |= end.link.has_event();
                }
            }
        }
        true
    }

    /// What the workers have handled meanwhile.
    fn acknowledge(&mut self, now_ns: u64) -> bool {
        std::mem::swap(&mut *lock(&self.inner.handled), &mut self.handled);
        let any = !self.handled.is_empty();
        for (node, Delivery { session, frame, is_awaited }) in self.handled.drain(..) {
            if let Some(end) = self.ends.get_mut(&node) {
                end.link.handled(session, 1, now_ns);
                if is_awaited {
                    end.link.acknowledge_now();
                }
            }
            self.fabric.recycle(frame);
        }
        any
    }

    fn fail_late_questions(&mut self, now_ns: u64) -> bool {
        let mut did = false;
        loop {
            let late = lock(&self.inner.questions).take_late(now_ns);
            let Some((complete, limit)) = late else { return did };
            complete(Err(RemoteAskError::Timeout(limit)));
            did = true;
        }
    }

    /// Sees who is there, and publishes figures.
    fn review(&mut self, now_ns: u64) {
        self.review_at_ns = now_ns + REVIEW_NS;
        for end in self.ends.values() {
            *lock(&end.peer.link) = end.link.counters();
        }
        for node in self.fabric.nodes() {
            if node == self.inner.node || self.ends.contains_key(&node) {
                continue;
            }
            match &mut self.around {
                Some(around) if !around.is_neighbour(&self.inner, node) => {
                    around.add(self.inner.peer(node));
                }
                _ => self.meet(node, now_ns),
            }
        }
    }

    /// Begins a link with a node: a neighbour, or one that wants to be met directly.
    fn meet(&mut self, node: NodeId, now_ns: u64) {
        if node == self.inner.node || self.ends.contains_key(&node) {
            return;
        }
        let peer = self.inner.peer(node);
        self.ends.extend(End::new(&self.inner, &peer, now_ns).map(|end| (node, end)));
    }

    /// Whether something waits that will leave without anything else happening first.
    pub(super) fn is_gathering(&self) -> bool {
        self.ends.values().any(|end| end.link.has_credit() && !end.peer.gather.is_empty())
    }

    /// The node's thread wants to sleep.
    pub(super) fn arm(&mut self) -> Arming {
        self.fabric.arm()
    }

    /// Whether payloads are being fetched.
    pub(super) fn is_fetching(&self) -> bool {
        self.ends.values().any(|end| end.exchange.is_fetching())
    }

    /// Whether all that this node has sent to its neighbours was handled, as far as it can be.
    pub(super) fn is_settled(&self) -> bool {
        let is_settled = |end: &End| {
            // Acquire: pairs with the release when a turn's messages were gathered. First: what is staged is gathered next.
            let nothing_is_staged = end.peer.staged.load(Ordering::Acquire) == 0;
            !end.link.is_up()
                || nothing_is_staged && end.link.is_settled() && end.peer.gather.is_empty()
        };
        self.ends.values().all(is_settled)
    }

    /// Whether all that it has sent to anybody was handled, as far as it can be, and none needs it to hand on more. To be asked when this node wants to leave.
    pub(super) fn may_leave(&mut self) -> bool {
        let is_settled = self.is_settled();
        let Some(around) = &mut self.around else { return is_settled };
        is_settled && around.is_settled() && around.may_leave(&self.inner, &self.ends)
    }

    /// When there is something to do, if nothing happens before; to see who is there aside.
    pub(super) fn due_ns(&self) -> u64 {
        let (now_ns, resend_ns) = (self.inner.clock.now_ns(), self.inner.resend_ns());
        let links = self.ends.values().filter(|end| !end.rests).map(|end| {
            let payloads = end.exchange.due_ns(now_ns, resend_ns).unwrap_or(u64::MAX);
            end.link.due_ns().min(payloads)
        });
        let questions = lock(&self.inner.questions).next_deadline_ns();
        links.chain(questions).min().unwrap_or(u64::MAX)
    }

    /// Says farewell, and tells all that wait for an answer that none will come.
    pub(super) fn leave(&mut self) {
        let (fabric, inner) = (&mut self.fabric, &self.inner);
        let questions = lock(&inner.questions).take_of(None);
        for complete in questions {
            complete(Err(RemoteAskError::Left));
        }
        if let Some(around) = &mut self.around {
            around.leave(inner);
        }
        for (&node, end) in &mut self.ends {
            // What was said to those further away just now leaves, held or not.
            let due_ns = inner.clock.now_ns().saturating_add(inner.config.gather.hold_ns);
            while self.around.is_some()
                && end.link.has_credit()
                && let Some(gathered) = end.peer.gather.take(due_ns, false)
            {
                let sent = end.link.send(gathered.messages, gathered.frame);
                debug_assert!(sent.is_ok(), "it had credit");
            }
            end.link.transmit(inner.clock.now_ns(), |frame| fabric.send(node, frame).is_ok());
            end.link.leave(|frame| fabric.send(node, frame).is_ok());
            while let Some(event) = end.link.poll_event() {
                end.event(inner, &mut **fabric, event);
            }
            end.payloads(inner, &mut **fabric, |exchange, here| exchange.end(here));
            end.peer.gather.close();
            *lock(&end.peer.link) = end.link.counters();
        }
    }
}

impl End {
    pub(super) fn new(inner: &Arc<Inner>, peer: &Arc<Peer>, now_ns: u64) -> Option<Self> {
        let link = Link::in_grid(inner.config.link.clone(), inner.grid, inner.epoch, now_ns);
        // Checked when the node was made.
        let link = link.ok()?;
        let unpacker = inner.system.spawn(Unpacker::new(inner.clone(), peer.clone()));
        let exchange = Exchange::default();
        Some(End { link, peer: peer.clone(), unpacker, rests: false, exchange })
    }

    /// As `event`, for one that is no neighbour: what is told of it lies in one place, because there are two ways for it to come.
    fn event_far(&mut self, inner: &Inner, event: NodeEvent) {
        inner.will_tell(&self.peer, event);
        if self.unpacker.send(UnpackMsg::Far(self.peer.clone())).is_err() {
            inner.tell_far(&self.peer);
        }
    }

    /// Does something about payloads.
    fn payloads<R>(
        &mut self,
        inner: &Inner,
        fabric: &mut dyn Fabric,
        f: impl FnOnce(&mut Exchange, &mut Here<'_>) -> R,
    ) -> R {
        let End { peer, unpacker, exchange, .. } = self;
        // A system that drains takes nothing from outside: then nobody waits for it.
        let mut fetched =
            |ticket, outcome| drop(unpacker.send(UnpackMsg::Fetched(ticket, outcome)));
        let (now_ns, fetched) = (inner.clock.now_ns(), &mut fetched);
        f(exchange, &mut Here { fabric, inner, peer, now_ns, fetched })
    }

    fn event(&mut self, inner: &Inner, fabric: &mut dyn Fabric, event: LinkEvent) {
        let node = self.peer.node;
        match event {
            LinkEvent::Up if inner.is_far(&self.peer) => {
                inner.end_far(&self.peer, DownReason::Straight, true);
                self.event_far(inner, NodeEvent::Up(node));
            }
            // Behind what is still to be told of the session before: that it is down, say. A system that drains takes nothing from outside.
            LinkEvent::Up => {
                self.peer.payloads.wanted.open(self.link.session());
                if self.unpacker.send(UnpackMsg::Up).is_err() {
                    inner.went_up(&self.peer);
                }
            }
            LinkEvent::Frame(frame) => self.unpacker.tell(UnpackMsg::Frame(frame)),
            LinkEvent::Lost(lost) => {
                // Nobody needs to wait for them. Relaxed: see `sent_and_received`.
                inner.received.fetch_add(lost.messages, Ordering::Relaxed);
                inner.tell_listeners(&NodeEvent::Lost(node, lost));
            }
            LinkEvent::LostThere(lost) => inner.tell_listeners(&NodeEvent::LostThere(node, lost)),
            LinkEvent::Refused(refusal) => {
                inner.tell_listeners(&NodeEvent::Refused(node, refusal));
            }
            LinkEvent::Down(down) => self.down(inner, fabric, down),
        }
    }

    fn down(&mut self, inner: &Inner, fabric: &mut dyn Fabric, down: Down) {
        let node = self.peer.node;
        self.payloads(inner, fabric, |exchange, here| exchange.end(here));
        let mut undelivered = 0;
        for back in &down.undelivered {
            message::read(back.payload(), |item| undelivered += inner.came_back(&item));
        }
        undelivered += self.peer.close(inner);
        let event = NodeEvent::Down {
            node,
            reason: down.reason,
            last_acknowledged: down.last_acknowledged,
            unacknowledged: down.unacknowledged,
            undelivered,
        };
        if inner.is_far(&self.peer) {
            inner.end_far(&self.peer, DownReason::Straight, false);
            self.rests = true;
            return self.event_far(inner, event);
        }
        // Behind all that it has said: an answer, say, that came just before it left. A system that drains takes nothing from outside.
        if let Err(refused) = self.unpacker.send(UnpackMsg::Down(event))
            && let UnpackMsg::Down(event) = refused.into_inner()
        {
            inner.went_down(&self.peer, event);
        }
    }
}

/// A node that the caller drives, turn by turn, with the caller's time: for tests, with a
/// [`TestSystem`](actinium_actor::testing::TestSystem) and an in-process network.
pub struct ManualNode(Driver);

impl ManualNode {
    /// Joins a system to a fabric. The epoch is larger than any that this node had before.
    ///
    /// # Errors
    /// If the configuration makes no sense.
    pub fn join(
        system: SystemHandle,
        fabric: impl Fabric + 'static,
        config: NodeConfig,
        epoch: u64,
    ) -> Result<Self, BadConfig> {
        Driver::new(system, Box::new(fabric), config, epoch, Clock::virtual_time()).map(ManualNode)
    }

    /// Sets the time, and does what there is to do then. True if there was something.
    pub fn turn(&mut self, now_ns: u64) -> bool {
        let clock = &self.0.inner.clock;
        clock.advance(now_ns.saturating_sub(clock.now_ns()));
        self.0.turn(false)
    }

    /// See [`super::Node::export`].
    ///
    /// # Errors
    /// If the name is taken.
    pub fn export<A: RemoteActor>(
        &self,
        name: &str,
        address: &Address<A>,
    ) -> Result<(), ExportError> {
        self.0.inner.export(name, std::slice::from_ref(address))
    }

    /// See [`super::Node::lookup`].
    pub fn lookup<A: RemoteActor>(
        &self,
        node: NodeId,
        name: &str,
        limit: Duration,
    ) -> RemoteAnswer<RemoteAddress<A>> {
        self.0.inner.lookup(node, name, limit)
    }

    /// See [`super::Node::register`].
    ///
    /// # Errors
    /// If a type of this kind is registered.
    pub fn register<A: RemoteActor, Args: SpawnArgs>(
        &self,
        options: SpawnOptions,
        factory: impl Fn(Args) -> A + Send + Sync + 'static,
    ) -> Result<(), RegisterError> {
        self.0.inner.register(options, factory)
    }

    /// See [`super::Node::spawn_on`].
    pub fn spawn_on<A: RemoteActor, Args: SpawnArgs>(
        &self,
        node: NodeId,
        args: Args,
        limit: Duration,
    ) -> RemoteAnswer<AnyAddress<A>> {
        self.0.inner.spawn_on(node, &args, limit)
    }

    /// See [`super::Node::spawn_placed`].
    pub fn spawn_placed<A: RemoteActor, Args: SpawnArgs>(
        &self,
        placement: &Placement,
        args: Args,
        limit: Duration,
    ) -> RemoteAnswer<AnyAddress<A>> {
        self.0.inner.spawn_on(self.0.inner.place(placement), &args, limit)
    }

    /// See [`super::Node::shards`].
    ///
    /// # Errors
    /// If this node has an actor for shares of this name.
    pub fn shards<A: RemoteActor>(
        &self,
        name: &str,
        own: &Address<A>,
    ) -> Result<Shards<A>, ExportError> {
        Shards::start(&self.0.inner, name, own)
    }

    /// Actors of a type whose state moves between the nodes that do this: see [`Migrate`]. Once per type and node.
    ///
    /// # Errors
    /// If a type of this kind is registered.
    pub fn movables<S: Migrate>(&self) -> Result<Movables<S>, RegisterError> {
        Movables::start(&self.0.inner)
    }

    /// See [`super::Node::names`].
    ///
    /// # Errors
    /// If it was done before.
    pub fn names(&self, config: NamesConfig) -> Result<Names, ExportError> {
        Names::start(&self.0.inner, config)
    }

    /// See [`super::Node::take_payloads_in`].
    pub fn take_payloads_in(&self, arena: Arena) {
        self.0.inner.take_payloads_in(arena);
    }

    /// See [`super::Node::on_event`].
    pub fn on_event(&self, listener: impl Fn(&NodeEvent) + Send + Sync + 'static) {
        self.0.inner.on_event(Arc::new(listener));
    }

    /// What it has counted.
    pub fn stats(&self) -> NodeStats {
        self.0.inner.stats()
    }

    /// See [`super::Node::leave`]; waits for nothing.
    pub fn leave(mut self) {
        stage::leave();
        self.0.leave();
    }
}
