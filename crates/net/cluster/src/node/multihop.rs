//! Multihop messages in a grid: those between nodes that are no neighbours, and those of others
//! that this node hands on.
//!
//! **Capacity.** A message for a node further away is aggregated with all that goes to the next
//! node on its way, so a node needs aggregators for its neighbours only. Senders of this node are
//! refused when the next node does not keep up. What is handed on never is, because it was taken
//! long ago; instead the frame that brought it counts as handled only when the next node's
//! aggregator has capacity again. So of each neighbour at most `window_frames` frames wait here,
//! and a full node stops those behind it, hop by hop, up to the senders.
//!
//! **No circle.** A hop can wait for the next hop of one of its messages, and for nothing else:
//! what has arrived waits for mailboxes only, which actors empty without waiting for other nodes. A
//! message takes its coordinates in a fixed order, so hops that wait for each other never form a
//! circle: a test in `route` looks for one, also where the last row or file is short. A way that
//! was taken because the usual one had ended is straight, so its hop is the last one.
//!
//! **Payloads.** A message may wait for its payload, and what comes behind it from the same node
//! waits, too. The rest of a neighbour's frame must not: it is other nodes' traffic, and the news
//! that this node is gone. So a node that sends payloads gets a frame receiver of its own here,
//! which takes its messages from then on, by whatever neighbour they come. Their frame counts as
//! handled when they were handed over. Payloads come straight from their node (see `distant`), not
//! by a link, so that no circle is closed by those who wait for them.
//!
//! **No end.** No message is handed on more often than a grid has hops.

use super::event::NodeEvent;
use super::frame_receiver::{FrameReceiver, FrameReceiverMsg, News};
use super::parcel::{FromEnvelope, Mark, Parcel};
use super::peer::{Multihop, Peer};
use super::receive::Receiver;
use super::returns::Kept;
use super::session::{Session, payload_session};
use super::state::Inner;
use crate::codec::{NODES, decode};
use crate::fabric::NodeId;
use crate::link::{Delivery, DownReason, HEADER_BYTES};
use crate::locks::lock;
use crate::message::{Envelope, SessionSay};
use crate::payload::PayloadError;
use actinium_actor::Address;
use std::any::Any;
use std::sync::Arc;

/// The number of hops of the longest way.
const HOPS_MAX: u8 = 3;

impl Inner {
    /// Returns another node of the grid, which the fabric may not have told of yet.
    fn of_grid(&self, node: u32) -> Option<Arc<Peer>> {
        let is_other = node < self.grid.nodes() && node != self.node.0;
        is_other.then(|| self.met(NodeId(node))).flatten()
    }

    /// Hands an envelope on. Returns the next node, if too much waits for it and this node has a
    /// link with it. A node without a link may never come, and waiting for it would stop all
    /// traffic of the neighbour that brought the envelope. So only a little is buffered for such a
    /// node, in case its link has just begun, and the rest has no way.
    pub(super) fn hand_on(&self, envelope: &Envelope<'_>) -> Option<Arc<Peer>> {
        let to = self.of_grid(envelope.to).filter(|_| envelope.hops < HOPS_MAX);
        let hop = to.map(|to| match &to.multihop {
            Some(multihop) if !multihop.is_straight() => multihop.via.clone(),
            _ => to,
        });
        let envelope = Envelope { hops: envelope.hops.saturating_add(1), ..*envelope };
        let messages = u64::from(envelope.messages);
        let has_link = hop.as_ref().is_some_and(|hop| hop.is_up());
        let has_room = |hop: &Arc<Peer>| has_link || !hop.aggregator.is_full();
        if let Some(hop) = hop.filter(has_room)
            && let Ok(is_first) = self.put(&hop, &envelope)
        {
            self.counters.handed_on.add(messages);
            if is_first {
                self.unparker.ring();
            }
            return (has_link && hop.aggregator.is_full()).then_some(hop);
        }
        // Its two ends miss it by its number. Nobody needs to wait for them: see
        // `sent_and_received`.
        self.counters.unroutable.add(messages);
        self.counters.received.add(messages);
        None
    }

    /// Takes an envelope that is for this node. Returns the sender, if its messages are to be
    /// handed over now. `frame` keeps the frame that the envelope came in from counting as handled,
    /// if they are handed over later.
    pub(super) fn arrived(
        self: &Arc<Self>,
        envelope: &Envelope<'_>,
        frame: impl FnOnce() -> Arc<dyn Any + Send + Sync>,
    ) -> Result<Option<Arc<Peer>>, NotOurs> {
        let peer = self.of_grid(envelope.from).ok_or(NotOurs)?;
        let multihop = peer.multihop.as_ref().ok_or(NotOurs)?;
        let mut session = lock(&multihop.session);
        let (was_up, before) = (session.is_up(), session.incarnation());
        let mut answer = None;
        let mut is_new = false;
        if envelope.messages == 0 {
            let say: SessionSay = decode(NODES, envelope.payload).map_err(|_| NotOurs)?;
            let ended = |kept| self.closed(&peer, kept);
            answer = session.said(envelope.to_incarnation, say, ended);
        } else {
            is_new = session.arrived(envelope.to_incarnation, envelope.number, envelope.messages);
        }
        multihop.note(&session);
        if session.is_up() && (!was_up || session.incarnation() != before) {
            peer.payloads.wanted.open(payload_session(session.incarnation()));
        }
        if session.is_up() && !was_up {
            self.send_waiting(&peer, multihop, &mut session);
        }
        let ended = session.take_ended_offers();
        // Behind the lock of the session, so that all comes to the receiver in order.
        let receiver = self.receiver_for(&peer, &session, is_new && envelope.has_offers);
        if let Some(receiver) = &receiver {
            if !session.events.is_empty() {
                // A system that drains takes nothing from outside, here and below.
                let so_far = session.events_so_far();
                let news = News { peer: peer.clone(), so_far, _untold: None };
                drop(receiver.send(FrameReceiverMsg::Multihop(news)));
            }
            if is_new {
                let mark = session.wait(envelope.messages);
                let messages = envelope.payload;
                let envelope = Box::new(FromEnvelope { mark, _frame: frame() });
                let parcel = parcel(messages, envelope);
                drop(receiver.send(FrameReceiverMsg::Frame(parcel)));
            }
        }
        if session.is_busy() {
            lock(&self.busy).insert(peer.node);
        }
        let to_incarnation = session.to_incarnation();
        drop(session);
        if let Some(say) = answer {
            self.say_multihop(&peer, multihop, to_incarnation, say);
        }
        if !ended.is_empty() {
            peer.payloads.offers.release(&ended);
            self.ring_for_payloads(&peer);
        }
        if receiver.is_none() {
            self.tell_multihop(&peer, u64::MAX);
        }
        if !is_new {
            // What is dropped needs nobody to wait for it: see `sent_and_received`.
            self.counters.received.add(envelope.messages.into());
        }
        Ok((is_new && receiver.is_none()).then_some(peer))
    }

    /// Returns the frame receiver of a node that is no neighbour, if it has one of its own, or is
    /// to get one.
    fn receiver_for(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        session: &Session,
        is_needed: bool,
    ) -> Option<Address<FrameReceiver>> {
        // A node that has ended gives its receivers up, and makes no more.
        let is_over = session.is_over;
        (!is_over && (is_needed || peer.has_receiver())).then(|| self.new_receiver(peer))
    }

    /// Returns the actor that takes a node's frames apart, and makes it if necessary. A node that
    /// is no neighbour has one at most, by whatever way its messages come: so they stay in order.
    pub(super) fn new_receiver(self: &Arc<Self>, peer: &Arc<Peer>) -> Address<FrameReceiver> {
        let new = || {
            let receiver = Receiver::new(self.clone(), peer.clone());
            self.system.spawn(FrameReceiver(Box::new(receiver)))
        };
        let Some(multihop) = &peer.multihop else { return new() };
        let mut receivers = lock(&self.receivers);
        multihop.will_have_receiver();
        receivers.entry(peer.node).or_insert_with(new).clone()
    }

    /// Notes that the messages of an envelope that has waited were handed over.
    pub(super) fn envelope_handled(&self, node: NodeId, mark: &Mark) {
        let peer = self.known(node);
        if let Some(multihop) = peer.as_ref().and_then(|peer| peer.multihop.as_ref()) {
            let mut session = lock(&multihop.session);
            session.handed_over(mark);
            if session.is_busy() {
                lock(&self.busy).insert(node);
            }
        }
    }

    /// Tells events of a node that is no neighbour, behind what has come from it so far: by its own
    /// receiver, if it has one.
    pub(super) fn tell_multihop_in_order(&self, news: News) {
        let receiver = lock(&self.receivers).get(&news.peer.node).cloned();
        self.tell_behind(receiver.as_ref(), news);
    }

    /// Has a receiver tell events of a node that is no neighbour, behind what it is to hand over.
    pub(super) fn tell_behind(&self, receiver: Option<&Address<FrameReceiver>>, news: News) {
        let (peer, so_far) = (news.peer.clone(), news.so_far);
        let told = receiver.map(|it| it.send(FrameReceiverMsg::Multihop(news)));
        // A system that drains takes nothing from outside.
        if !matches!(told, Some(Ok(()))) {
            self.tell_multihop(&peer, so_far);
        }
    }

    /// Sends the messages that have waited for the session to begin.
    fn send_waiting(&self, peer: &Peer, multihop: &Multihop, session: &mut Session) {
        if peer.aggregator.is_closed() {
            return;
        }
        let waiting = peer.aggregator.close();
        peer.aggregator.open();
        for batch in waiting {
            let payload = &batch.frame[HEADER_BYTES..];
            // If there is no way, the session ends.
            if self.add_multihop(peer, multihop, session, batch.messages, payload).is_err() {
                let messages = batch.messages.into();
                if peer.returns.are_wanted() {
                    session.lost_kept.push(batch.frame, batch.messages);
                }
                session.events.push_back(NodeEvent::Undelivered { node: peer.node, messages });
            }
        }
        self.unparker.ring();
    }

    /// Closes the aggregators for a node, and returns the number of messages that came back.
    fn closed(&self, peer: &Arc<Peer>, kept: Kept) -> u64 {
        for want in peer.payloads.wanted.close() {
            self.fetched(peer, want.ticket, Err(PayloadError::NodeDown));
        }
        self.ring_for_payloads(peer);
        let mut back = self.taken_back(peer);
        back.add_kept(kept);
        let undelivered = self.close(peer, &mut back);
        peer.returns.end(back);
        undelivered
    }

    /// Ends the session with a node: the way to it has ended, or the two meet directly from now on
    /// (or no longer).
    pub(super) fn end_multihop(&self, peer: &Arc<Peer>, reason: DownReason, is_straight: bool) {
        let Some(multihop) = &peer.multihop else { return };
        let mut session = lock(&multihop.session);
        session.is_straight = is_straight;
        session.end(reason, |kept| self.closed(peer, kept));
        multihop.note(&session);
    }

    /// Ends the session with a node because this node leaves, and says farewell.
    pub(super) fn leave_multihop(&self, peer: &Arc<Peer>) {
        let Some(multihop) = &peer.multihop else { return };
        let mut session = lock(&multihop.session);
        let bye = session.leave(|kept| self.closed(peer, kept));
        multihop.note(&session);
        drop(session);
        if let Some((to_incarnation, say)) = bye {
            self.say_multihop(peer, multihop, to_incarnation, say);
        }
        self.tell_multihop_in_order(News::of(peer, None));
    }

    /// Queues an event of a node that is no neighbour: it is told behind the earlier ones.
    pub(super) fn will_tell(&self, peer: &Peer, event: NodeEvent) {
        if let Some(multihop) = &peer.multihop {
            lock(&multihop.session).events.push_back(event);
        }
    }

    /// Tells the events of a node that is no neighbour that are among its first so many.
    pub(super) fn tell_multihop(&self, peer: &Peer, so_far: u64) {
        let Some(multihop) = &peer.multihop else { return };
        let _in_order = lock(&multihop.telling);
        loop {
            let event = lock(&multihop.session).take_event(so_far);
            match event {
                None => return,
                Some(NodeEvent::Up(_)) => self.went_up(peer),
                Some(event @ NodeEvent::Down { .. }) => self.went_down(peer, event),
                Some(event @ (NodeEvent::LostThere(..) | NodeEvent::Undelivered { .. })) => {
                    let lost = std::mem::take(&mut lock(&multihop.session).lost_kept);
                    self.tell_listeners(&event);
                    let mut back = self.taken_back(peer);
                    let ended = lock(&multihop.session).take_ended_offers();
                    peer.payloads.offers.release(&ended);
                    back.add_kept(lost);
                    self.return_all(peer, back);
                }
                Some(event) => self.tell_listeners(&event),
            }
        }
    }
}

/// Makes a frame of the messages of an envelope.
fn parcel(payload: &[u8], envelope: Box<FromEnvelope>) -> Parcel {
    let mut frame = Vec::with_capacity(HEADER_BYTES + payload.len());
    frame.resize(HEADER_BYTES, 0);
    frame.extend_from_slice(payload);
    let session = payload_session(envelope.mark.incarnation);
    let delivery = Delivery { session, frame, is_awaited: false, is_malformed: false };
    Parcel { delivery, envelope: Some(envelope) }
}

/// The error of an envelope from a node with which this one has no multihop session.
#[derive(Debug)]
pub(super) struct NotOurs;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeConfig;
    use crate::route::{Grid, Route};
    use actinium_actor::testing::TestSystem;
    use actinium_scheduler::Clock;

    #[test]
    fn who_sends_to_a_node_that_never_comes_does_not_stop_its_neighbour() {
        let system = TestSystem::seeded(0);
        let config = NodeConfig { route: Route::Square, ..NodeConfig::default() };
        let (grid, clock) = (Grid::new(Route::Square, 4), Clock::virtual_time());
        let me = NodeId(1);
        let inner = Inner::new(me, system.handle(), config, 1 << 16, grid, 1, clock);
        let inner = inner.expect("it makes sense");
        let payload = &[0; 1_000][..];
        let mut hand_on = |number| {
            let (to, from, hops, to_incarnation, messages) = (3, 0, 0, 1, 1);
            let has_offers = false;
            let envelope =
                Envelope { to, from, hops, to_incarnation, number, messages, has_offers, payload };
            inner.hand_on(&envelope).is_some()
        };
        assert!(!(0..1_000).any(&mut hand_on), "it would wait for ever");
        let unroutable = inner.stats().unroutable;
        assert!(
            unroutable > 0 && unroutable < 1_000,
            "a little waits for it, and not more: {unroutable}"
        );
        // It comes: from now on it has to keep up.
        let hop = inner.peer(NodeId(3));
        inner.went_up(&hop);
        assert!(hand_on(1_000));
        assert_eq!(inner.stats().unroutable, unroutable);
        // It goes again.
        inner.went_down(
            &hop,
            NodeEvent::Down {
                node: NodeId(3),
                reason: DownReason::Left,
                last_acknowledged: 0,
                unacknowledged: crate::link::Lost::default(),
                undelivered: 0,
            },
        );
        assert!(!(0..1_000).any(hand_on));
        assert_eq!(inner.stats().unroutable, 2_001, "all of it is counted");
    }
}
