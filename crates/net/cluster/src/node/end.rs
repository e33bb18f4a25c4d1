//! This end of the link with another node, and the driver's work for it, event by event.

use super::event::NodeEvent;
use super::exchange::{Exchange, Here};
use super::frame_receiver::{FrameReceiver, FrameReceiverMsg, News};
use super::parcel::Parcel;
use super::peer::{Peer, Untold};
use super::state::Inner;
use crate::fabric::Fabric;
use crate::link::{Breach, Down, DownReason, Link, LinkEvent};
use crate::message;
use actinium_actor::Address;
use std::sync::Arc;

/// The time between two looks at who is there, at which the links' counters are published, too.
pub(super) const REVIEW_NS: u64 = 10_000_000;

/// This end of the link with a neighbour, or in a grid with a node that is to be met directly.
pub(super) struct End {
    pub(super) link: Link,
    pub(super) peer: Arc<Peer>,
    pub(super) receiver: Address<FrameReceiver>,
    /// Whether this end is not needed at the moment: it is quiet until it hears something.
    pub(super) rests: bool,
    pub(super) exchange: Exchange,
}

impl End {
    pub(super) fn new(inner: &Arc<Inner>, peer: &Arc<Peer>, now_ns: u64) -> Option<Self> {
        let link = Link::in_grid(inner.config.link.clone(), inner.grid, inner.incarnation, now_ns);
        // Checked when the node was made.
        let link = link.ok()?;
        let receiver = inner.new_receiver(peer);
        let exchange = Exchange::default();
        Some(End { link, peer: peer.clone(), receiver, rests: false, exchange })
    }

    /// Whether frames of the other node are heard. A session may begin while the end of one earlier
    /// session is still to be told, with all that had come in it, but not while two are. Otherwise
    /// the other node could come again and again, each time with a window of frames, while the
    /// workers are busy. The same holds for frames in which envelopes came that wait for payloads.
    pub(super) fn hears(&self, inner: &Inner) -> bool {
        let window = inner.config.link.window_frames as usize;
        self.link.is_up() || self.peer.ends_untold() <= 1 && self.peer.frames_kept() <= window
    }

    /// Whether payloads of the other node go with this link: not in a grid, if it is no neighbour,
    /// and the two have no link of their own at the moment.
    pub(super) fn has_payloads(&self) -> bool {
        !self.peer.is_multihop() || self.link.is_up()
    }

    /// Cuts the other node off if too much waits for it. To be asked while it gives no credit.
    #[cold]
    pub(super) fn cut_if_unread(&mut self, inner: &Inner, now_ns: u64) -> bool {
        if !self.link.is_up() {
            return false;
        }
        let (bytes, most) = (self.peer.aggregator.bytes_waiting(), inner.limits().unread_bytes);
        if bytes > most {
            self.link.cut(Breach::Unread { bytes, most }, now_ns);
        }
        bytes > most
    }

    /// Queues an event of a node that is no neighbour, and has it told. All such events lie in one
    /// queue, because they come in two ways: by this link, or through other nodes.
    pub(super) fn event_multihop(&mut self, inner: &Inner, event: NodeEvent) {
        let untold = matches!(event, NodeEvent::Down { .. }).then(|| Untold::new(&self.peer));
        inner.will_tell(&self.peer, event);
        inner.tell_behind(Some(&self.receiver), News::of(&self.peer, untold));
    }

    /// Calls `f` with the payload transfers of this end and their context.
    pub(super) fn payloads<R>(
        &mut self,
        inner: &Inner,
        fabric: &mut dyn Fabric,
        f: impl FnOnce(&mut Exchange, &mut Here<'_>) -> R,
    ) -> R {
        let End { peer, receiver, exchange, .. } = self;
        // A system that drains takes nothing from outside: then nobody waits for it.
        let mut fetched =
            |ticket, outcome| drop(receiver.send(FrameReceiverMsg::Fetched(ticket, outcome)));
        let (now_ns, fetched) = (inner.clock.now_ns(), &mut fetched);
        f(exchange, &mut Here { fabric, inner, peer, now_ns, fetched })
    }

    /// Takes the events of the link. False if there were none.
    pub(super) fn take_events(&mut self, inner: &Inner, fabric: &mut dyn Fabric) -> bool {
        let mut any = false;
        while let Some(event) = self.link.poll_event() {
            any = true;
            self.event(inner, fabric, event);
        }
        any
    }

    pub(super) fn event(&mut self, inner: &Inner, fabric: &mut dyn Fabric, event: LinkEvent) {
        let node = self.peer.node;
        match event {
            LinkEvent::Up if self.peer.is_multihop() => {
                inner.end_multihop(&self.peer, DownReason::Straight, true);
                self.peer.payloads.wanted.open(self.link.session());
                self.event_multihop(inner, NodeEvent::Up(node));
            }
            // Behind what is still to be told of the session before: that it is down, say. A system
            // that drains takes nothing from outside.
            LinkEvent::Up => {
                self.peer.payloads.wanted.open(self.link.session());
                if self.receiver.send(FrameReceiverMsg::Up).is_err() {
                    inner.went_up(&self.peer);
                }
            }
            LinkEvent::Frame(delivery) => {
                let parcel = Parcel { delivery, envelope: None };
                self.receiver.tell(FrameReceiverMsg::Frame(parcel));
            }
            LinkEvent::Lost(lost) => {
                // Nobody needs to wait for them: see `sent_and_received`.
                inner.counters.received.add(lost.messages);
                inner.tell_listeners(&NodeEvent::Lost(node, lost));
            }
            LinkEvent::LostThere(lost) => inner.tell_listeners(&NodeEvent::LostThere(node, lost)),
            LinkEvent::Refused(refusal) => {
                inner.tell_listeners(&NodeEvent::Refused(node, refusal));
            }
            LinkEvent::Down(down) => self.down(inner, fabric, down),
        }
    }

    pub(super) fn down(&mut self, inner: &Inner, fabric: &mut dyn Fabric, down: Down) {
        let node = self.peer.node;
        let mut back = inner.taken_back(&self.peer);
        self.payloads(inner, fabric, |exchange, here| exchange.end(here));
        let mut undelivered = 0;
        let mut not_kept = down.unacknowledged.messages;
        for it in down.undelivered {
            message::read(it.payload(), |item| undelivered += inner.came_back(&item));
            not_kept = not_kept.saturating_sub(it.messages.into());
            back.add(it.frame, it.messages, it.was_sent);
        }
        back.beyond(not_kept);
        undelivered += inner.close(&self.peer, &mut back);
        let event = NodeEvent::Down {
            node,
            reason: down.reason,
            last_acknowledged: down.last_acknowledged,
            unacknowledged: down.unacknowledged,
            undelivered,
        };
        if self.peer.is_multihop() {
            inner.end_multihop(&self.peer, DownReason::Straight, false);
            self.rests = true;
            self.peer.returns.end(back);
            return self.event_multihop(inner, event);
        }
        self.peer.returns.end(back);
        // Behind all that it has said: an answer, say, that came just before it left. A system that
        // drains takes nothing from outside.
        if let Err(refused) =
            self.receiver.send(FrameReceiverMsg::Down(event, Untold::new(&self.peer)))
            && let FrameReceiverMsg::Down(event, _) = refused.into_inner()
        {
            inner.went_down(&self.peer, event);
        }
    }
}
