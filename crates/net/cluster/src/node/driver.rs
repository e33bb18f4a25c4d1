//! The driver of a node: its owner has the fabric, gives the driver turns, and so moves frames.

use super::config::NodeConfig;
use super::distant::DistantPayloads;
use super::end::{End, REVIEW_NS};
use super::ending::Ending;
use super::frame_receiver::FrameReceiverMsg;
use super::parcel::Parcel;
use super::reachability::Reachability;
use super::send;
use super::state::{Inner, guarded};
use super::windows::WindowTransfers;
use crate::error::RemoteAskError;
use crate::fabric::{Arming, Bell, Fabric, Moved, NodeId};
use crate::link::{BadConfig, Breach, Delivery, HEADER_BYTES};
use crate::locks::lock;
use crate::payload::is_datagram;
use crate::route::{Grid, Route};
use actinium_actor::SystemHandle;
use actinium_scheduler::Clock;
use actinium_scheduler::trace;
use actinium_tap::Direction;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The number of frames taken from the fabric in one turn: few enough that none of the other work
/// waits long.
const FRAMES_PER_TURN: usize = 16;

/// How long looks for frames are enough, after a whole turn: see [`Driver::look`].
const WHOLE_NS: u64 = 5_000;
/// The time between two looks of a worker that has other work.
const BUSY_NS: u64 = 1_000;

/// When it is enough to look for frames.
#[derive(Default)]
struct Looks {
    until_ns: u64,
    /// Something waits that neither a frame nor a call says the end of.
    are_not_enough: bool,
    /// When a worker that has other work looks next.
    next_ns: u64,
}

impl Looks {
    /// Whether only a frame could be news now. A whole turn looks at all that there might be, and
    /// takes some three times as long.
    fn are_enough(&self, now_ns: u64) -> bool {
        !self.are_not_enough && now_ns < self.until_ns
    }

    /// Whether it is time for one.
    fn is_due(&mut self, now_ns: u64, is_idle: bool) -> bool {
        let is_due = is_idle || now_ns >= self.next_ns;
        if is_due {
            self.next_ns = now_ns + BUSY_NS;
        }
        is_due
    }
}

/// The driver of a node: see the module.
pub(super) struct Driver {
    pub(super) inner: Arc<Inner>,
    fabric: Box<dyn Fabric>,
    ends: BTreeMap<NodeId, End>,
    /// In a grid: the nodes that are no neighbours.
    reachability: Option<Reachability>,
    /// The payloads of those.
    distant: DistantPayloads,
    /// The regions in windows.
    windows: WindowTransfers,
    pub(super) review_at_ns: u64,
    /// A frame that has come, for the next turn.
    come: Option<(NodeId, Vec<u8>)>,
    looks: Looks,
    /// Room for the frames that the workers have handled.
    handled: Vec<(NodeId, Parcel)>,
    pub(super) can_ring: bool,
    has_left: bool,
}

impl Driver {
    pub(super) fn new(
        system: SystemHandle,
        mut fabric: Box<dyn Fabric>,
        config: NodeConfig,
        incarnation: u64,
        clock: Clock,
    ) -> Result<Self, BadConfig> {
        let nodes = fabric.nodes().iter().map(|node| node.0.saturating_add(1)).max();
        let grid = match (config.route, config.grid_nodes) {
            (Route::Direct, _) => Grid::DIRECT,
            (route, 0) => Grid::new(route, nodes.unwrap_or(1)),
            (route, nodes) => Grid::new(route, nodes),
        };
        let (node, frame_bytes_max) = (fabric.node(), fabric.frame_bytes_max());
        let inner = Inner::new(node, system, config, frame_bytes_max, grid, incarnation, clock)?;
        let inner = Arc::new(inner);
        inner.open_border();
        let unparker = inner.unparker.clone();
        let bell: Bell = Arc::new(move || unparker.ring());
        let can_ring = fabric.set_bell(bell);
        if let Some(doorbell) = fabric.doorbell() {
            inner.unparker.sleep_at(doorbell);
        }
        let reachability = Reachability::new(grid);
        let mut driver = Driver {
            inner,
            fabric,
            ends: BTreeMap::new(),
            reachability,
            distant: DistantPayloads::default(),
            windows: WindowTransfers::default(),
            review_at_ns: 0,
            come: None,
            looks: Looks::default(),
            handled: Vec::new(),
            can_ring,
            has_left: false,
        };
        driver.review(driver.inner.clock.now_ns());
        Ok(driver)
    }

    /// Whether a frame has come, which the next turn then takes. It looks at nothing else.
    pub(super) fn has_come(&mut self) -> bool {
        self.come = self.come.take().or_else(|| self.fabric.poll());
        self.come.is_some()
    }

    /// Does what a worker does between its turns: looks for frames, and hands over one that it
    /// finds, or takes a whole turn if there may be other work. False if there was nothing.
    /// `is_idle`: the worker has nothing else to do.
    pub(super) fn look(&mut self, is_idle: bool) -> bool {
        let call = self.inner.unparker.call();
        let is_called = call.is_urgent() || is_idle && call.is_made();
        if !is_called {
            let now_ns = self.inner.clock.now_ns();
            if self.looks.are_enough(now_ns) {
                if !self.looks.is_due(now_ns, is_idle) || !self.has_come() {
                    return false;
                }
                if trace::apart(|| self.hand_over_first(now_ns)) {
                    return true;
                }
            }
        }
        self.inner.unparker.call().take();
        trace::apart(|| self.work(is_idle, is_called))
    }

    /// Hands over the frame that a look has found, and does nothing else: its receiver does not
    /// wait until all is looked after that there may be. The next look is a whole turn. False if
    /// a whole turn has to come at once: only that takes such a frame, or it was a sign of life.
    fn hand_over_first(&mut self, now_ns: u64) -> bool {
        let Some((from, frame)) = self.come.take() else { return false };
        let end = self.ends.get_mut(&from).filter(|end| end.link.is_up() && !end.rests);
        let Some(end) = end.filter(|_| self.reachability.is_none() && !is_datagram(&frame)) else {
            self.come = Some((from, frame));
            return false;
        };
        end.link.receive(frame, now_ns);
        self.looks.until_ns = now_ns;
        end.take_events(&self.inner, &mut *self.fabric)
    }

    /// Does the work there is, all of it; false if there was none.
    pub(super) fn turn(&mut self) -> bool {
        // What it sends to frame receivers begins no trace.
        trace::apart(|| self.work(false, false))
    }

    /// See [`Driver::look`]. `is_called`: there is something to send. That leaves first, because
    /// asking the fabric takes long.
    fn work(&mut self, is_idle: bool, is_called: bool) -> bool {
        let mut now_ns = self.inner.clock.now_ns();
        let mut did = is_called && self.acknowledge(now_ns) | self.turn_ends(now_ns, is_idle);
        let received = self.receive(now_ns);
        if received {
            // A fabric may take its time over a long frame.
            now_ns = self.inner.clock.now_ns();
        }
        did |= received | self.acknowledge(now_ns);
        if now_ns >= self.review_at_ns {
            self.review(now_ns);
        }
        did |= self.fail_late_requests(now_ns);
        if let Some(reachability) = &mut self.reachability {
            did |= reachability.turn(&self.inner, &mut self.ends, now_ns);
        }
        if received || !is_called {
            did |= self.turn_ends(now_ns, is_idle);
        }
        did |= self.turn_distant();
        did |= self.windows.turn(&self.inner, &mut *self.fabric);
        did |= self.transferred();
        self.looks.are_not_enough |= self.holds_frames() || self.is_fetching();
        self.looks.until_ns = now_ns + WHOLE_NS;
        did
    }

    /// Does what is due for each link: hands over what has come, and sends. False if there was
    /// nothing.
    fn turn_ends(&mut self, now_ns: u64, is_idle: bool) -> bool {
        let mut did = false;
        self.looks.are_not_enough = false;
        let (fabric, inner) = (&mut self.fabric, &self.inner);
        for (&node, end) in &mut self.ends {
            if end.rests {
                continue;
            }
            end.link.tick(now_ns);
            while let Some(event) = end.link.poll_event() {
                did = true;
                if let Some(reachability) = &mut self.reachability {
                    reachability.heard(node, &event);
                }
                end.event(inner, &mut **fabric, event);
            }
            while end.link.has_credit()
                && let Some(batch) = end.peer.aggregator.take(now_ns, is_idle)
            {
                did = true;
                let payload = &batch.frame[HEADER_BYTES..];
                if inner.taps.is_on() {
                    inner.show(Direction::Out, node, payload);
                }
                end.exchange.frame_leaves(&end.peer, end.link.next_number(), payload);
                let sent = end.link.send(batch.messages, batch.frame);
                debug_assert!(sent.is_ok(), "it had credit");
            }
            if !end.link.has_credit() {
                did |= end.cut_if_unread(inner, now_ns);
            }
            if end.peer.returns.are_wanted() {
                end.link.keep_sent(inner.config.undelivered_bytes);
            }
            end.link.transmit(now_ns, |frame| {
                let is_sent = fabric.send(node, frame).is_ok();
                self.looks.are_not_enough |= !is_sent;
                is_sent
            });
            if let Some(frame) = end.link.take_spent() {
                send::keep_frame(frame, inner.config.aggregator.frame_bytes);
            }
            let handled = end.link.handled_there();
            if end.has_payloads() && !end.exchange.is_idle(&end.peer, handled) {
                did |= end
                    .payloads(inner, &mut **fabric, |exchange, here| exchange.turn(here, handled));
            }
        }
        did
    }

    /// Does the work there is for payloads of nodes that are no neighbours. False if there was
    /// none.
    fn turn_distant(&mut self) -> bool {
        if self.reachability.is_none() {
            return false;
        }
        let ends = &self.ends;
        let is_straight = |node| ends.get(&node).is_some_and(End::has_payloads);
        self.distant.turn(&self.inner, &mut *self.fabric, is_straight)
    }

    /// Takes what the fabric has read from other nodes' memory, or written there. False if there
    /// was nothing.
    fn transferred(&mut self) -> bool {
        let mut did = false;
        while self.is_fetching()
            && let Some(memory) = self.fabric.remote_memory()
            && let Some((transfer, outcome)) = memory.poll_ended()
        {
            did = true;
            let Some(outcome) = self.windows.ended(transfer, outcome) else { continue };
            // What nobody waits for any more is dropped.
            let payload = outcome.ok().and_then(Moved::into_payload);
            let payload = payload.as_ref();
            for end in self.ends.values_mut() {
                end.payloads(&self.inner, &mut *self.fabric, |exchange, here| {
                    exchange.transferred(here, transfer, payload)
                });
            }
            self.distant.transferred(&self.inner, &mut *self.fabric, transfer, payload);
        }
        did
    }

    /// Takes frames from the fabric. False if nothing came, or signs of life only: no more is to be
    /// expected behind these.
    fn receive(&mut self, now_ns: u64) -> bool {
        let mut did = false;
        for _ in 0..FRAMES_PER_TURN {
            let come = self.come.take().or_else(|| self.fabric.poll());
            let Some((from, frame)) = come else { return did };
            if !self.ends.contains_key(&from) {
                self.review(now_ns);
            }
            if is_datagram(&frame) {
                did |= self.receive_datagram(from, &frame);
                self.fabric.recycle(frame);
                continue;
            }
            if self.reachability.is_some() {
                self.meet(from, now_ns);
            }
            if let Some(end) = self.ends.get_mut(&from) {
                end.rests = false;
                if end.hears(&self.inner) {
                    end.link.receive(frame, now_ns);
                    did |= end.link.has_event();
                } else {
                    self.fabric.recycle(frame);
                }
            }
        }
        true
    }

    /// Takes a datagram, which is about payloads. False if it came from somebody unknown.
    fn receive_datagram(&mut self, from: NodeId, frame: &[u8]) -> bool {
        let (inner, fabric) = (&self.inner, &mut *self.fabric);
        if let Some(end) = self.ends.get_mut(&from).filter(|end| end.has_payloads()) {
            end.payloads(inner, fabric, |exchange, here| exchange.receive(here, frame));
            return true;
        }
        let peer = inner.known(from).filter(|peer| peer.is_multihop());
        if let Some(peer) = &peer {
            self.distant.receive(inner, fabric, peer, frame);
        }
        peer.is_some()
    }

    /// Tells the links which frames the workers have handled meanwhile. False if there were none.
    fn acknowledge(&mut self, now_ns: u64) -> bool {
        std::mem::swap(&mut *lock(&self.inner.handled), &mut self.handled);
        let any = !self.handled.is_empty();
        for (node, Parcel { delivery, envelope }) in self.handled.drain(..) {
            let Delivery { session, frame, is_awaited, is_malformed } = delivery;
            if let Some(envelope) = envelope {
                self.inner.envelope_handled(node, &envelope.mark);
                if let Some(reachability) = self.reachability.as_mut().filter(|_| is_awaited) {
                    reachability.count_now();
                }
            } else if let Some(end) = self.ends.get_mut(&node) {
                end.link.handled(session, 1, now_ns);
                if is_malformed && session == end.link.session() {
                    end.link.cut(Breach::Malformed, now_ns);
                }
                if is_awaited {
                    end.link.acknowledge_now();
                }
            }
            self.fabric.recycle(frame);
        }
        any
    }

    fn fail_late_requests(&mut self, now_ns: u64) -> bool {
        let mut did = false;
        loop {
            let late = lock(&self.inner.requests).take_late(now_ns);
            let Some((complete, timeout)) = late else { return did };
            complete(Err(RemoteAskError::Timeout(timeout)));
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
            match &mut self.reachability {
                Some(reachability) if !reachability.is_neighbour(&self.inner, node) => {
                    reachability.add(self.inner.peer(node));
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

    /// Whether messages wait that will leave without anything else happening first.
    pub(super) fn is_aggregating(&self) -> bool {
        self.ends.values().any(|end| end.link.has_credit() && !end.peer.aggregator.is_empty())
    }

    /// Likewise, but a hint, which takes no lock.
    fn holds_frames(&self) -> bool {
        self.ends.values().any(|end| end.link.has_credit() && end.peer.aggregator.seems_to_hold())
    }

    /// Prepares the fabric for a sleep of the node's thread.
    pub(super) fn arm(&mut self) -> Arming {
        self.fabric.arm()
    }

    /// Whether payloads are being fetched, or regions in windows are read or written.
    pub(super) fn is_fetching(&self) -> bool {
        self.ends.values().any(|end| end.exchange.is_fetching())
            || self.distant.is_fetching()
            || self.windows.is_busy()
    }

    /// Whether all messages that this node has sent to its neighbours were handled, as far as they
    /// can be.
    pub(super) fn is_drained(&self) -> bool {
        let is_drained = |end: &End| {
            // Acquire: pairs with the release when a turn's messages were aggregated. First: what
            // is buffered is aggregated next.
            let nothing_is_buffered = end.peer.buffered.load(Ordering::Acquire) == 0;
            !end.link.is_up()
                || nothing_is_buffered && end.link.is_drained() && end.peer.aggregator.is_empty()
        };
        self.ends.values().all(is_drained)
    }

    /// Whether all messages that this node has sent to anybody were handled, as far as they can be,
    /// and no other node needs it to hand on more. To be asked when this node wants to leave.
    pub(super) fn may_leave(&mut self) -> bool {
        let is_drained = self.is_drained();
        let Some(reachability) = &mut self.reachability else { return is_drained };
        is_drained && reachability.is_drained() && reachability.may_leave(&self.inner, &self.ends)
    }

    /// Returns the time of the next work, if nothing happens before. The regular look at who is
    /// there does not count.
    pub(super) fn due_ns(&self) -> u64 {
        let (now_ns, resend_ns) = (self.inner.clock.now_ns(), self.inner.resend_ns());
        let links = self.ends.values().filter(|end| !end.rests).map(|end| {
            let payloads = end.exchange.due_ns(now_ns, resend_ns).unwrap_or(u64::MAX);
            end.link.due_ns().min(payloads)
        });
        let requests = lock(&self.inner.requests).next_deadline_ns();
        let distant = self.distant.due_ns(now_ns, resend_ns);
        links.chain(requests).chain(distant).min().unwrap_or(u64::MAX)
    }

    /// Says farewell, and tells all who wait for an answer that none will come.
    pub(super) fn leave(&mut self) {
        self.end(true);
    }

    fn end(&mut self, says_farewell: bool) {
        self.has_left = true;
        let (fabric, inner) = (&mut self.fabric, &self.inner);
        let requests = lock(&inner.requests).close();
        for complete in requests {
            complete(Err(RemoteAskError::Left));
        }
        if let Some(reachability) = &mut self.reachability {
            reachability.leave(inner);
        }
        for (&node, end) in &mut self.ends {
            // What was said to those further away just now leaves, held or not.
            let due_ns = inner.clock.now_ns().saturating_add(inner.config.aggregator.hold_ns);
            while self.reachability.is_some()
                && end.link.has_credit()
                && let Some(batch) = end.peer.aggregator.take(due_ns, false)
            {
                let sent = end.link.send(batch.messages, batch.frame);
                debug_assert!(sent.is_ok(), "it had credit");
            }
            let mut say = |frame: &[u8]| says_farewell && fabric.send(node, frame).is_ok();
            end.link.transmit(inner.clock.now_ns(), &mut say);
            end.link.leave(&mut say);
            end.take_events(inner, &mut **fabric);
            end.payloads(inner, &mut **fabric, |exchange, here| exchange.end(here));
            *lock(&end.peer.link) = end.link.counters();
        }
        self.distant.end(inner, &mut **fabric);
        self.windows.end(inner);
        inner.close_all();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if !self.has_left {
            // Its thread has panicked, maybe in the fabric, or whoever drove it by hand has dropped
            // it: the other nodes notice by its silence.
            guarded(|| self.end(false));
        }
        let last = Arc::new(Ending::of(self.inner.clone()));
        // Taken from the node, which would keep them, and they the node.
        let distant = std::mem::take(&mut *lock(&self.inner.receivers));
        for receiver in self.ends.values().map(|end| &end.receiver).chain(distant.values()) {
            // A system that drains takes nothing from outside: what comes from here is over then.
            drop(receiver.send(FrameReceiverMsg::Last(last.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::in_process::Network;
    use crate::message::Control;
    use actinium_actor::System;

    #[test]
    fn a_worker_only_looks_for_frames_until_something_is_urgent_or_time_has_passed() {
        let (fabric, system) =
            (Network::new().node(NodeId(0)), System::builder().workers(1).build());
        let (config, clock) = (NodeConfig::default(), Clock::virtual_time());
        let mut driver =
            Driver::new(system.unwrap().handle(), Box::new(fabric), config, 1, clock).unwrap();
        let inner = Arc::clone(&driver.inner);
        let call = inner.unparker.call();
        let mut answers = |is_idle| {
            driver.look(is_idle);
            !call.is_made()
        };
        call.soon();
        assert!(answers(false), "the first look");
        call.soon();
        assert!(!answers(false));
        call.now();
        assert!(answers(false));
        call.soon();
        assert!(answers(true));
        call.soon();
        inner.clock.advance(WHOLE_NS - 1);
        assert!(!answers(false));
        inner.clock.advance(1);
        assert!(answers(false));
    }

    fn two(system: &System) -> [Driver; 2] {
        let network = Network::new();
        [0, 1].map(|node| {
            let (fabric, config) = (network.node(NodeId(node)), NodeConfig::default());
            let clock = Clock::virtual_time();
            Driver::new(system.handle(), Box::new(fabric), config, 1, clock).unwrap()
        })
    }

    #[test]
    fn a_look_hands_over_the_frame_that_it_finds_and_the_next_one_is_a_whole_turn() {
        let system = System::builder().workers(1).build().unwrap();
        let [mut one, mut other] = two(&system);
        for _ in 0..20 {
            one.turn();
            other.turn();
        }
        while other.look(false) {}
        assert!(!other.look(true), "nothing has come");
        let peer = one.inner.known(NodeId(1)).unwrap();
        one.inner.say(&peer, &Control::Misaddressed { messages: 1 });
        one.turn();
        let delivered = |driver: &Driver| driver.ends[&NodeId(0)].link.counters().delivered;
        let before = delivered(&other);
        let call = Arc::clone(other.inner.unparker.call());
        call.soon();
        other.inner.clock.advance(BUSY_NS);
        assert!(other.look(false));
        assert_eq!(delivered(&other), before + 1);
        assert!(call.is_made(), "it does nothing else");
        other.look(false);
        assert!(!call.is_made(), "a whole turn answers it");
    }

    #[test]
    fn a_frame_that_a_look_has_found_is_taken_by_the_next_turn() {
        let system = System::builder().workers(1).build().unwrap();
        let mut drivers = two(&system);
        let mut looks = 0;
        for _ in 0..20 {
            for driver in &mut drivers {
                looks += u32::from(driver.has_come());
                // It stays there.
                assert_eq!(driver.has_come(), driver.come.is_some());
                driver.turn();
            }
        }
        // Time stands still: what is lost is not sent again.
        let is_up = |driver: &Driver| driver.ends.values().all(|end| end.link.is_up());
        assert!(looks > 0 && drivers.iter().all(is_up), "{looks}");
    }
}
