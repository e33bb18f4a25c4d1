//! The state of another node that all parts of this one share.

use super::inbound::Inbound;
use super::returns::Returns;
use super::session::Session;
use crate::aggregator::Aggregator;
use crate::denial::Denial;
use crate::fabric::NodeId;
use crate::link::LinkCounters;
use crate::locks::lock;
use crate::payload::Payloads;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The number of refusals of one node, by kind.
pub(super) type Denials = BTreeMap<Denial, u64>;

/// The state of another node.
pub(crate) struct Peer {
    pub(crate) node: NodeId,
    pub(crate) aggregator: Aggregator,
    /// The number of turns that have buffered messages for it and have not ended: a node that
    /// leaves waits for them.
    pub(crate) buffered: AtomicU32,
    /// The state of a node that is no neighbour: messages for it go through others.
    pub(super) multihop: Option<Multihop>,
    pub(crate) payloads: Payloads,
    /// Who takes back the messages that it does not get.
    pub(super) returns: Returns,
    pub(super) is_up: AtomicBool,
    /// The number of ends of its sessions that are to be told behind all that came before.
    pub(super) ends_untold: AtomicUsize,
    /// The number of its frames in which envelopes came that wait for payloads.
    pub(super) frames_kept: AtomicUsize,
    pub(super) link: Mutex<LinkCounters>,
    /// The requests, watches and children that its actors have here.
    pub(super) inbound: Mutex<Inbound>,
    /// The refusals that this node has given it.
    pub(super) denials: Mutex<Denials>,
}

impl Peer {
    /// Whether messages for the node go through others, in a grid.
    pub(crate) fn is_multihop(&self) -> bool {
        self.multihop.is_some()
    }

    /// Whether the node is no neighbour, and its messages go to a frame receiver of its own.
    pub(super) fn has_receiver(&self) -> bool {
        // Relaxed: see `Multihop::will_have_receiver`.
        self.multihop.as_ref().is_some_and(|it| it.has_receiver.load(Ordering::Relaxed))
    }

    /// Whether the two hear each other, as far as this node has been told.
    pub(super) fn is_up(&self) -> bool {
        // Relaxed: a hint.
        self.is_up.load(Ordering::Relaxed)
    }

    /// Returns the aggregator that takes messages for the node at the moment, for a sender
    /// that wants to know whether there is capacity.
    pub(crate) fn next_hop(&self) -> &Aggregator {
        match &self.multihop {
            Some(multihop) if multihop.is_up() => &multihop.via.aggregator,
            _ => &self.aggregator,
        }
    }

    /// Counts a refusal. Returns the number of refusals of this kind, if it is to be told.
    pub(super) fn denied(&self, what: Denial) -> Option<u64> {
        let mut denials = lock(&self.denials);
        let times = denials.entry(what).or_default();
        *times = times.saturating_add(1);
        times.is_power_of_two().then_some(*times)
    }

    /// The number of times that the node was refused something.
    pub(super) fn times_denied(&self) -> u64 {
        lock(&self.denials).values().fold(0, |sum, &times| sum.saturating_add(times))
    }

    /// The number of its frames in which envelopes came that wait for payloads.
    pub(super) fn frames_kept(&self) -> usize {
        // Relaxed: a bound; who has been handled late is heard late.
        self.frames_kept.load(Ordering::Relaxed)
    }

    /// The number of ends of its sessions that are still to be told.
    pub(super) fn ends_untold(&self) -> usize {
        // Relaxed: a bound; who was told late is heard late.
        self.ends_untold.load(Ordering::Relaxed)
    }
}

/// A mark for the end of a session. It lives until the end was told, or nobody is there to be told.
pub(crate) struct Untold(Arc<Peer>);

impl Untold {
    pub(super) fn new(peer: &Arc<Peer>) -> Self {
        // Relaxed: see `ends_untold`.
        peer.ends_untold.fetch_add(1, Ordering::Relaxed);
        Untold(peer.clone())
    }
}

impl Drop for Untold {
    fn drop(&mut self) {
        // Relaxed: see `ends_untold`.
        self.0.ends_untold.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The state of a node that is no neighbour, beside the state that all nodes have.
pub(crate) struct Multihop {
    /// The next node on the way.
    pub(super) via: Arc<Peer>,
    /// The last node on the way back.
    pub(super) back: NodeId,
    pub(super) session: Mutex<Session>,
    /// Whether messages are aggregated for `via`. This is changed behind the lock of the session,
    /// and read without it as a hint.
    pub(super) is_up: AtomicBool,
    /// Whether the two have a link of their own: changed and read like `is_up`.
    is_straight: AtomicBool,
    /// Whether its messages go to a frame receiver of its own. Never taken back.
    has_receiver: AtomicBool,
    /// Held while events are told, which keeps them in order.
    pub(super) telling: Mutex<()>,
}

impl Multihop {
    pub(super) fn new(via: Arc<Peer>, back: NodeId, session: Session) -> Self {
        Multihop {
            via,
            back,
            session: Mutex::new(session),
            is_up: AtomicBool::new(false),
            is_straight: AtomicBool::new(false),
            has_receiver: AtomicBool::new(false),
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

    /// Notes that its messages go to a frame receiver of its own from now on.
    pub(super) fn will_have_receiver(&self) {
        // Relaxed: the receiver itself is behind a lock. Who hands messages over and has not seen
        // this yet hands over earlier ones.
        self.has_receiver.store(true, Ordering::Relaxed);
    }

    /// Keeps any session from beginning, because this node has left.
    pub(super) fn end(&self) {
        lock(&self.session).is_over = true;
    }

    pub(super) fn note(&self, session: &Session) {
        // Relaxed, both: hints, whose truth is behind the lock.
        self.is_up.store(session.is_up(), Ordering::Relaxed);
        self.is_straight.store(session.is_straight, Ordering::Relaxed);
    }
}
