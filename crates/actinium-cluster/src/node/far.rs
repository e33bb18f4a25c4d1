//! What goes through other nodes, in a grid: messages to nodes that are no neighbours, and those of others that are handed on.
//!
//! **Room.** A message for a node further away gathers with all that goes to the next node on its way, so a node needs gathering places for its neighbours
//! only. Senders of this node are refused when the next node does not keep up. What is handed on never is, because it was taken long
//! ago; instead the frame that brought it counts as handled only when there is room again at the next node's gathering place. So of each neighbour at
//! most `window_frames` frames wait here, and a full node stops those behind it, hop by hop, up to the senders.
//!
//! **No circle.** A hop can wait for the next hop of one of its messages, and for nothing else: what has arrived waits for mailboxes only, which actors empty
//! without waiting for other nodes. A message takes its coordinates in a fixed order, so hops that wait for each other never form a circle: a test
//! in `route` looks for one, also where the last row or file is short. A way that was taken because the usual one had ended is straight, so its hop is the last one.
//!
//! **No end.** No message is handed on more often than a grid has hops.

use super::session::Session;
use super::{Inner, NodeEvent, Peer, lock};
use crate::codec::{NODES, decode, encode};
use crate::fabric::NodeId;
use crate::gather::NotGathered;
use crate::link::{DownReason, HEADER_BYTES};
use crate::message::{self, Control, Envelope, FarSay};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Hops of the longest way.
const HOPS_MAX: u8 = 3;

/// What is known of a node that is no neighbour, besides what is known of all.
pub(crate) struct Far {
    /// The next node on the way.
    pub(super) via: Arc<Peer>,
    /// The last node on the way back.
    pub(super) back: NodeId,
    pub(super) session: Mutex<Session>,
    /// Whether messages gather for `via`: changed behind the lock of the session, read without it as a hint.
    is_up: AtomicBool,
    /// Likewise: whether the two have a link of their own.
    is_straight: AtomicBool,
    /// Held while events are told, which keeps them in order.
    telling: Mutex<()>,
}

thread_local! {
    /// What envelopes are written in.
    static FRAME: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A frame with nothing but room for the link's header.
fn take_frame() -> Vec<u8> {
    let mut frame = FRAME.take();
    frame.clear();
    frame.resize(HEADER_BYTES, 0);
    frame
}

impl Far {
    pub(super) fn new(via: Arc<Peer>, back: NodeId, session: Session) -> Self {
        Far {
            via,
            back,
            session: Mutex::new(session),
            is_up: AtomicBool::new(false),
            is_straight: AtomicBool::new(false),
            telling: Mutex::default(),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        // Relaxed: a hint.
        self.is_up.load(Ordering::Relaxed)
    }

    pub(super) fn is_straight(&self) -> bool {
        // Relaxed: a hint.
        self.is_straight.load(Ordering::Relaxed)
    }

    fn note(&self, session: &Session) {
        // Relaxed, both: hints, whose truth is behind the lock.
        self.is_up.store(session.is_up(), Ordering::Relaxed);
        self.is_straight.store(session.is_straight, Ordering::Relaxed);
    }
}

impl Peer {
    /// Where messages for it gather at the moment, for whoever wants to know whether there is room.
    pub(crate) fn outlet(&self) -> &crate::gather::Gather {
        match &self.far {
            Some(far) if far.is_up() => &far.via.gather,
            _ => &self.gather,
        }
    }
}

impl Inner {
    /// As `Gather::add`, on whatever way.
    pub(super) fn gather(
        &self,
        peer: &Peer,
        always: bool,
        message: &[u8],
    ) -> Result<bool, NotGathered> {
        let Some(far) = &peer.far else {
            return peer.gather.add(|| self.clock.now_ns(), always, message);
        };
        peer.gather.check_len(message.len())?;
        let session = &mut *lock(&far.session);
        if !session.is_up() {
            return peer.gather.add(|| self.clock.now_ns(), always, message);
        }
        if !always && far.via.gather.refuses() {
            return Err(NotGathered::Full);
        }
        self.gather_far(peer, far, session, 1, message)
    }

    /// As `Gather::add_staged`, on whatever way.
    pub(super) fn gather_staged(
        &self,
        peer: &Peer,
        messages: u32,
        frame: &mut Vec<u8>,
    ) -> Result<bool, NotGathered> {
        if let Some(far) = &peer.far {
            let session = &mut *lock(&far.session);
            if session.is_up() {
                let result = self.gather_far(peer, far, session, messages, &frame[HEADER_BYTES..]);
                frame.truncate(HEADER_BYTES);
                return result;
            }
        }
        peer.gather.add_staged(|| self.clock.now_ns(), messages, frame)
    }

    /// Numbers messages and gathers them for the next node.
    fn gather_far(
        &self,
        peer: &Peer,
        far: &Far,
        session: &mut Session,
        messages: u32,
        payload: &[u8],
    ) -> Result<bool, NotGathered> {
        // A session that has ended and begun again: closed until all have heard of that.
        if peer.gather.is_closed() {
            return Err(NotGathered::Closed);
        }
        let Some((to_epoch, number)) = session.send(messages) else {
            return Err(NotGathered::Closed);
        };
        let (to, from) = (peer.node.0, self.node.0);
        let envelope = Envelope { to, from, hops: 0, to_epoch, number, messages, payload };
        let gathered = self.put(&far.via, &envelope);
        if gathered.is_err() {
            session.unsend(messages);
        }
        lock(&self.busy).insert(peer.node);
        gathered
    }

    /// Gathers an envelope for a neighbour.
    fn put(&self, hop: &Peer, envelope: &Envelope<'_>) -> Result<bool, NotGathered> {
        let mut frame = take_frame();
        message::envelope(envelope, &mut frame);
        let now_ns = || self.clock.now_ns();
        let gathered = hop.gather.add_staged(now_ns, envelope.messages, &mut frame);
        FRAME.set(frame);
        gathered
    }

    /// Says something to a neighbour that is no message to be counted. False: it is not there.
    pub(super) fn say(&self, peer: &Peer, control: &Control) -> bool {
        let mut frame = take_frame();
        let written = message::control(control, &mut frame);
        debug_assert_eq!(written, Ok(()));
        let said = peer.gather.add_staged(|| self.clock.now_ns(), 0, &mut frame).is_ok();
        FRAME.set(frame);
        said
    }

    /// Says something about the session with a node that is no neighbour. If there is no way, it is said again when there is one.
    pub(super) fn say_far(&self, peer: &Peer, far: &Far, to_epoch: u64, say: FarSay) {
        let mut payload = Vec::new();
        let written = encode(NODES, &say, &mut payload);
        debug_assert_eq!(written, Ok(()));
        let (to, from) = (peer.node.0, self.node.0);
        let (hops, number, messages) = (0, 0, 0);
        let payload = &payload[..];
        let envelope = Envelope { to, from, hops, to_epoch, number, messages, payload };
        if self.put(&far.via, &envelope).is_ok() {
            self.alarm.ring();
        }
    }

    /// Another node of the grid, which the fabric may not have told of yet.
    fn of_grid(&self, node: u32) -> Option<Arc<Peer>> {
        let is_other = node < self.grid.nodes() && node != self.node.0;
        is_other.then(|| self.known(NodeId(node)).unwrap_or_else(|| self.peer(NodeId(node))))
    }

    /// Hands an envelope on. The next node, if too much waits for it.
    pub(super) fn hand_on(&self, envelope: &Envelope<'_>) -> Option<Arc<Peer>> {
        let to = self.of_grid(envelope.to).filter(|_| envelope.hops < HOPS_MAX);
        let hop = to.map(|to| match &to.far {
            Some(far) if !far.is_straight() => far.via.clone(),
            _ => to,
        });
        let envelope = Envelope { hops: envelope.hops.saturating_add(1), ..*envelope };
        let messages = u64::from(envelope.messages);
        if let Some(hop) = hop
            && let Ok(is_first) = self.put(&hop, &envelope)
        {
            // Relaxed: a count.
            self.handed_on.fetch_add(messages, Ordering::Relaxed);
            if is_first {
                self.alarm.ring();
            }
            return hop.gather.is_full().then_some(hop);
        }
        // Its two ends miss it by its number. Relaxed: a count; and nobody needs to wait for them: see `sent_and_received`.
        self.strayed.fetch_add(messages, Ordering::Relaxed);
        self.received.fetch_add(messages, Ordering::Relaxed);
        None
    }

    /// An envelope for this node has come. Whose messages are to be handed over, if any are.
    pub(super) fn arrived(&self, envelope: &Envelope<'_>) -> Result<Option<Arc<Peer>>, NotOurs> {
        let peer = self.of_grid(envelope.from).ok_or(NotOurs)?;
        let far = peer.far.as_ref().ok_or(NotOurs)?;
        let mut session = lock(&far.session);
        let was_up = session.is_up();
        let mut answer = None;
        let mut is_new = false;
        if envelope.messages == 0 {
            let say: FarSay = decode(NODES, envelope.payload).map_err(|_| NotOurs)?;
            let ended = || self.closed(&peer);
            answer = session.said(envelope.to_epoch, say, ended);
        } else {
            is_new = session.arrived(envelope.to_epoch, envelope.number, envelope.messages);
        }
        far.note(&session);
        if session.is_up() && !was_up {
            self.send_waiting(&peer, far, &mut session);
        }
        if session.is_busy() {
            lock(&self.busy).insert(peer.node);
        }
        let to_epoch = session.to_epoch();
        drop(session);
        if let Some(say) = answer {
            self.say_far(&peer, far, to_epoch, say);
        }
        self.tell_far(&peer);
        if !is_new {
            // What is dropped needs nobody to wait for it. Relaxed: see `sent_and_received`.
            self.received.fetch_add(envelope.messages.into(), Ordering::Relaxed);
        }
        Ok(is_new.then_some(peer))
    }

    /// The session has begun: what was said before that goes first.
    fn send_waiting(&self, peer: &Peer, far: &Far, session: &mut Session) {
        if peer.gather.is_closed() {
            return;
        }
        let waiting = peer.gather.close();
        peer.gather.open();
        for gathered in waiting {
            let payload = &gathered.frame[HEADER_BYTES..];
            // If the way has just ended, the session will, too.
            let _ = self.gather_far(peer, far, session, gathered.messages, payload);
        }
        self.alarm.ring();
    }

    /// Nothing more is gathered for a node; how many messages were, and came back.
    fn closed(&self, peer: &Peer) -> u64 {
        peer.close(self)
    }

    /// The way to a node has ended, or it is met directly from now on (or no longer).
    pub(super) fn end_far(&self, peer: &Peer, reason: DownReason, is_straight: bool) {
        let Some(far) = &peer.far else { return };
        let mut session = lock(&far.session);
        session.is_straight = is_straight;
        session.end(reason, || self.closed(peer));
        far.note(&session);
    }

    /// This node leaves.
    pub(super) fn leave_far(&self, peer: &Peer) {
        let Some(far) = &peer.far else { return };
        let mut session = lock(&far.session);
        let bye = session.leave(|| self.closed(peer));
        far.note(&session);
        drop(session);
        if let Some((to_epoch, say)) = bye {
            self.say_far(peer, far, to_epoch, say);
        }
        self.tell_far(peer);
    }

    pub(super) fn is_far(&self, peer: &Peer) -> bool {
        peer.far.is_some()
    }

    /// Something has happened with a node that is no neighbour: to be told behind what has happened before.
    pub(super) fn will_tell(&self, peer: &Peer, event: NodeEvent) {
        if let Some(far) = &peer.far {
            lock(&far.session).events.push_back(event);
        }
    }

    /// Tells what has happened with such a node.
    pub(super) fn tell_far(&self, peer: &Peer) {
        let Some(far) = &peer.far else { return };
        let _in_order = lock(&far.telling);
        loop {
            let event = lock(&far.session).events.pop_front();
            match event {
                None => return,
                Some(NodeEvent::Up(_)) => self.went_up(peer),
                Some(event @ NodeEvent::Down { .. }) => self.went_down(peer, event),
                Some(event) => self.tell_listeners(&event),
            }
        }
    }
}

/// An envelope of nobody that this node talks with that way.
#[derive(Debug)]
pub(super) struct NotOurs;
