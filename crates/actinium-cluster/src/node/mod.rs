//! A node: a system of actors, joined to a fabric.
//!
//! `driver` moves frames (one thread, which alone uses the fabric), `unpack` takes them apart on the workers, `exports` says who may be
//! reached, `questions` waits for answers. In a grid, `far` is what goes through other nodes, `session` what its two ends know of it, and `around` who is reached
//! through whom.

mod around;
mod bell;
mod driver;
mod event;
mod exports;
mod far;
mod held;
mod helm;
mod lookup;
mod questions;
mod session;
mod spawn;
mod start;
mod unpack;

pub use driver::ManualNode;
pub use event::{NodeEvent, NodeStats, PeerStats};
pub use exports::ExportError;
pub use spawn::{RegisterError, SpawnArgs};
pub use start::{Node, StartError};

use crate::answer::RemoteAnswer;
use crate::codec::CodecError;
use crate::fabric::NodeId;
use crate::gather::{Gather, GatherConfig, NotGathered};
use crate::link::{BadConfig, Delivery, DownReason, HEADER_BYTES, LinkConfig, LinkCounters};
use crate::message::{self, ActorKey, Control, Item, Unanswered};
use crate::payload::{PayloadConfig, PayloadError, Payloads};
use crate::remote::{RemoteAskError, RemoteDown, RemoteDownReason};
use crate::route::{Grid, Route};
use crate::stage;
use actinium_actor::SystemHandle;
use actinium_memory::heap::{Arena, Unwritten};
use actinium_scheduler::Clock;
use actinium_wire::Encoding;
use around::Heard;
use bell::Alarm;
use exports::Exports;
use far::Far;
use futures_channel::oneshot;
use questions::Questions;
use session::Session;
use spawn::Types;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// How a node behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its links.
    pub link: LinkConfig,
    /// How its messages gather.
    pub gather: GatherConfig,
    /// How messages go: the same on all nodes, which refuse each other otherwise. In a grid a node has links and gathering places for some others only, and
    /// hands on what is for the rest.
    pub route: Route,
    /// How many nodes the grid of such a route has: those from 0 on; the same on all. 0: as many as the fabric knows when the node starts.
    pub grid_nodes: u32,
    /// How messages may travel, the dearest first; both nodes settle on one per type of actor (see [`actinium_wire::hello::settle`]).
    /// `ACTINIUM_ENCODING` is asked by whoever makes this: [`actinium_wire::Options::from_env`].
    pub encodings: Vec<Encoding>,
    /// How long [`Node::leave`] waits for what is under way.
    pub linger: Duration,
    /// Bounds on payloads: see [`RemoteAddress::send_with_payload`](crate::RemoteAddress::send_with_payload).
    pub payload: PayloadConfig,
    /// Living actors that other nodes may have started here ([`Node::spawn_on`]): a bound on what they take of this one.
    pub spawned_max: usize,
}

impl Default for NodeConfig {
    fn default() -> Self {
        NodeConfig {
            link: LinkConfig::default(),
            gather: GatherConfig::default(),
            route: Route::Direct,
            grid_nodes: 0,
            encodings: Encoding::ALL.to_vec(),
            linger: Duration::from_secs(1),
            payload: PayloadConfig::default(),
            spawned_max: 1 << 20,
        }
    }
}

impl NodeConfig {
    fn check(&self, frame_bytes_max: usize) -> Result<(), BadConfig> {
        self.link.check()?;
        let bad = |setting, value: usize, allowed: String| {
            Err(BadConfig { setting, value: value as u64, allowed })
        };
        let frame_bytes = self.gather.frame_bytes;
        if !(256..=frame_bytes_max).contains(&frame_bytes) {
            return bad("frame_bytes", frame_bytes, format!("256 to {frame_bytes_max}"));
        }
        if self.gather.frames_waiting == 0 {
            return bad("frames_waiting", 0, "1 or more".to_owned());
        }
        let PayloadConfig { waiting_bytes_max, ahead_bytes_max, window_bytes } = self.payload;
        for (setting, bytes) in [
            ("waiting_bytes_max", waiting_bytes_max),
            ("ahead_bytes_max", ahead_bytes_max),
            ("window_bytes", window_bytes),
        ] {
            if bytes == 0 {
                return bad(setting, 0, "1 or more".to_owned());
            }
        }
        if self.encodings.is_empty() {
            return bad("encodings", 0, "1 or more".to_owned());
        }
        Ok(())
    }
}

type Notify = Box<dyn FnOnce(RemoteDown) + Send>;
type Listener = Arc<dyn Fn(&NodeEvent) + Send + Sync>;

/// What this node knows of another.
pub(crate) struct Peer {
    pub(crate) node: NodeId,
    pub(crate) gather: Gather,
    /// Turns that have staged messages for it and have not ended: a node that leaves waits for them.
    pub(crate) staged: AtomicU32,
    /// It is no neighbour: what is said to it goes through others.
    far: Option<Far>,
    pub(crate) payloads: Payloads,
    is_up: AtomicBool,
    link: Mutex<LinkCounters>,
    /// Actors of this node that end with it.
    adopted: Mutex<BTreeSet<ActorKey>>,
}

impl Peer {
    /// In a grid: whether what is said to it goes through others.
    pub(crate) fn is_beyond_neighbours(&self) -> bool {
        self.far.is_some()
    }

    /// It is down: nothing more is gathered for it. How many messages were.
    fn close(&self, inner: &Inner) -> u64 {
        // Relaxed: a figure.
        self.is_up.store(false, Ordering::Relaxed);
        let mut messages = 0;
        for gathered in self.gather.close() {
            message::read_unsent(&gathered.frame, |item| messages += inner.came_back(&item));
        }
        self.payloads.offers.clear();
        messages
    }
}

/// What the parts of a node share.
pub(crate) struct Inner {
    node: NodeId,
    system: SystemHandle,
    config: NodeConfig,
    frame_bytes_max: usize,
    epoch: u64,
    clock: Clock,
    alarm: Arc<Alarm>,
    peers: RwLock<BTreeMap<NodeId, Arc<Peer>>>,
    exports: RwLock<Exports>,
    types: RwLock<Types>,
    /// How many actors were placed in turn: see [`crate::Placement::RoundRobin`].
    placed: AtomicU64,
    questions: Mutex<Questions>,
    watches: Mutex<BTreeMap<u64, (NodeId, Notify)>>,
    last_watch: AtomicU64,
    /// Frames that were handled since the driver looked last, and of which node they are.
    handled: Mutex<Vec<(NodeId, Delivery)>>,
    listeners: Mutex<Vec<Listener>>,
    grid: Grid,
    heard: Mutex<Heard>,
    /// Nodes that are no neighbours, with which there is something to be said about what was sent.
    busy: Mutex<BTreeSet<NodeId>>,
    /// Messages of others that this node has handed on, and that it could not.
    handed_on: AtomicU64,
    strayed: AtomicU64,
    /// Where payloads that come from other nodes lie.
    arena: Mutex<Option<Arena>>,
    misaddressed: AtomicU64,
    not_understood: AtomicU64,
    /// See [`Inner::sent_and_received`].
    sent: AtomicU64,
    received: AtomicU64,
    /// How often the worker has moved frames.
    steered: AtomicU64,
    /// How often the thread has slept where other nodes ring, and how often one did.
    rested: AtomicU64,
    rung: AtomicU64,
    leaving: AtomicBool,
}

/// What a thread keeps to encode messages in; a longer one is given back.
const SCRATCH_BYTES_MAX: usize = 64 << 10;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Runs the user's code. A panic of it, which has been printed, must neither end the actor that all messages of a node go through nor the worker or thread that moves
/// its frames.
fn guarded<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Inner {
    fn new(
        node: NodeId,
        system: SystemHandle,
        config: NodeConfig,
        frame_bytes_max: usize,
        grid: Grid,
        epoch: u64,
        clock: Clock,
    ) -> Result<Self, BadConfig> {
        config.check(frame_bytes_max)?;
        let life = (epoch ^ (epoch >> 32)) as u32;
        Ok(Inner {
            node,
            system,
            config,
            frame_bytes_max,
            epoch,
            clock,
            alarm: Arc::default(),
            peers: RwLock::default(),
            exports: RwLock::new(Exports::new(life)),
            types: RwLock::default(),
            placed: AtomicU64::new(0),
            questions: Mutex::default(),
            watches: Mutex::default(),
            last_watch: AtomicU64::new(0),
            handled: Mutex::default(),
            listeners: Mutex::default(),
            grid,
            heard: Mutex::default(),
            busy: Mutex::default(),
            handed_on: AtomicU64::new(0),
            strayed: AtomicU64::new(0),
            arena: Mutex::default(),
            misaddressed: AtomicU64::new(0),
            not_understood: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            steered: AtomicU64::new(0),
            rested: AtomicU64::new(0),
            rung: AtomicU64::new(0),
            leaving: AtomicBool::new(false),
        })
    }

    fn exports(&self) -> RwLockReadGuard<'_, Exports> {
        self.exports.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// What is known of a node, if anything is.
    fn known(&self, node: NodeId) -> Option<Arc<Peer>> {
        let peers = self.peers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        peers.get(&node).cloned()
    }

    /// What is known of a node. It may not be there yet: then what is said to it waits.
    fn peer(&self, node: NodeId) -> Arc<Peer> {
        let is_far = node != self.node && !self.grid.are_neighbours(self.node.0, node.0);
        // The next node on the way is a neighbour.
        let via = is_far.then(|| self.peer(NodeId(self.grid.next(self.node.0, node.0))));
        let mut peers = self.peers.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let new = || {
            let far = via.map(|via| {
                let mut back = node;
                while self.grid.next(back.0, self.node.0) != self.node.0 {
                    back = NodeId(self.grid.next(back.0, self.node.0));
                }
                Far::new(via, back, Session::new(node, self.epoch))
            });
            // What goes through others has an envelope.
            let head = if far.is_some() { message::ENVELOPE_BYTES } else { 0 };
            let gather = Gather::new(self.config.gather.clone(), self.frame_bytes_max - head);
            Arc::new(Peer {
                node,
                gather,
                staged: AtomicU32::new(0),
                payloads: Payloads::new(&self.config.payload),
                far,
                is_up: AtomicBool::new(false),
                link: Mutex::default(),
                adopted: Mutex::default(),
            })
        };
        peers.entry(node).or_insert_with(new).clone()
    }

    /// A message did not leave. How many of this node to the one that it was to go to next it was; of others, it is missed at their ends.
    fn came_back(&self, item: &Item<'_>) -> u64 {
        match item {
            Item::Envelope(envelope) if envelope.from != self.node.0 => {
                // Relaxed, both: as in `hand_on`.
                self.strayed.fetch_add(envelope.messages.into(), Ordering::Relaxed);
                self.received.fetch_add(envelope.messages.into(), Ordering::Relaxed);
                0
            }
            // Its session ends, and tells.
            Item::Envelope(_) => 0,
            Item::Control(Control::Reach { .. } | Control::Leaving { .. }) => 0,
            _ => 1,
        }
    }

    /// Adds the message that `write` appends to the next frame for a node.
    pub(crate) fn add(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        always: bool,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
    ) -> Result<(), NotGathered> {
        self.add_work(peer, always, true, write)
    }

    /// As `add`; whether the message is work, and not of the cluster's own machinery.
    pub(crate) fn add_work(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        always: bool,
        is_work: bool,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
    ) -> Result<(), NotGathered> {
        if !always && peer.outlet().refuses() {
            return Err(NotGathered::Full);
        }
        // Taken out, not borrowed: the user's code may send while it encodes.
        let mut bytes = SCRATCH.take();
        bytes.clear();
        let result = write(&mut bytes).map_err(NotGathered::Failed).and_then(|()| {
            if stage::add(self, peer, is_work, &bytes)? {
                return Ok(false);
            }
            let is_first = self.gather(peer, always, &bytes)?;
            // Relaxed: see `sent_and_received`.
            self.sent.fetch_add(is_work.into(), Ordering::Relaxed);
            Ok(is_first)
        });
        if bytes.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(bytes);
        }
        if result? {
            self.alarm.ring();
        }
        Ok(())
    }

    /// What was sent to a node so far does not wait for more.
    pub(crate) fn hurry(&self, peer: &Arc<Peer>) {
        stage::leave_for(peer);
        peer.gather.hurry();
        self.alarm.ring();
    }

    /// Adds what a turn has staged.
    pub(crate) fn add_staged(&self, peer: &Peer, messages: u32, work: u32, frame: &mut Vec<u8>) {
        // Relaxed: see `sent_and_received`.
        self.sent.fetch_add(work.into(), Ordering::Relaxed);
        let offered = peer.payloads.offers.of_frame(&frame[HEADER_BYTES..]);
        match self.gather_staged(peer, messages, frame) {
            Ok(true) => self.alarm.ring(),
            Ok(false) => {}
            // The node went down while the turn ran.
            Err(_) => {
                peer.payloads.offers.release(&offered);
                let messages = messages.into();
                self.tell_listeners(&NodeEvent::Undelivered { node: peer.node, messages });
            }
        }
    }

    /// Asks a node, or an actor there.
    pub(crate) fn question<R: Send + 'static>(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        limit: Duration,
        write: impl FnOnce(u64, &mut Vec<u8>) -> Result<(), CodecError>,
        read: impl FnOnce(&[u8]) -> Result<R, RemoteAskError> + Send + 'static,
    ) -> RemoteAnswer<R> {
        let (sender, receiver) = oneshot::channel();
        // Whoever asked may have stopped waiting.
        let complete = Box::new(move |outcome: questions::Outcome<'_>| {
            drop(sender.send(outcome.and_then(read)));
        });
        let id = lock(&self.questions).add(peer.node, self.clock.now_ns(), limit, complete);
        let error = match self.add(peer, false, |frame| write(id, frame)) {
            Ok(()) => return RemoteAnswer::new(receiver),
            Err(NotGathered::Full) => RemoteAskError::Full(peer.node),
            Err(NotGathered::Closed) => RemoteAskError::NodeDown(peer.node),
            Err(NotGathered::Failed(error)) => RemoteAskError::Unsendable(error.to_string()),
            Err(NotGathered::TooLong { bytes, allowed }) => RemoteAskError::Unsendable(format!(
                "it has {bytes} bytes, and at most {allowed} fit in a frame"
            )),
        };
        self.complete(id, Err(error));
        RemoteAnswer::new(receiver)
    }

    fn complete(&self, question: u64, outcome: questions::Outcome<'_>) {
        let complete = lock(&self.questions).take(question);
        if let Some(complete) = complete {
            guarded(|| complete(outcome));
        }
    }

    fn answered(&self, question: u64, answer: Result<&[u8], Unanswered>) {
        self.complete(question, questions::outcome(answer));
    }

    pub(crate) fn watch(self: &Arc<Self>, peer: &Arc<Peer>, key: ActorKey, notify: Notify) {
        // Relaxed: only uniqueness matters.
        let watch = self.last_watch.fetch_add(1, Ordering::Relaxed);
        lock(&self.watches).insert(watch, (peer.node, notify));
        let control = Control::Watch { watch, key };
        if self.add(peer, true, |frame| message::control(&control, frame)).is_err() {
            self.tell_watcher(watch, RemoteDownReason::NodeDown(None));
        }
    }

    fn tell_watcher(&self, watch: u64, reason: RemoteDownReason) {
        let watcher = lock(&self.watches).remove(&watch);
        if let Some((node, notify)) = watcher {
            guarded(|| notify(RemoteDown { node, reason }));
        }
    }

    fn ended(&self, watch: u64, reason: String, is_abnormal: bool) {
        let down = if is_abnormal { RemoteDownReason::Failed } else { RemoteDownReason::Ended };
        self.tell_watcher(watch, down(reason));
    }

    /// From now on there is somebody to send to; all who want to hear of it are told.
    fn went_up(&self, peer: &Peer) {
        peer.gather.open();
        // Relaxed: a figure.
        peer.is_up.store(true, Ordering::Relaxed);
        self.tell_listeners(&NodeEvent::Up(peer.node));
    }

    /// Tells all who want to hear of it that another node is down.
    fn went_down(&self, peer: &Peer, mut event: NodeEvent) {
        // The driver has closed it at once; that the node was up may have been told after that, here.
        let more = peer.close(self);
        // What it said last is known by now.
        lock(&self.heard).forget(peer.node);
        for key in std::mem::take(&mut *lock(&peer.adopted)) {
            self.stop_exported(key);
        }
        if let NodeEvent::Down { node, reason, undelivered, .. } = &mut event {
            *undelivered += more;
            self.tell_down(*node, *reason);
        }
        self.tell_listeners(&event);
    }

    /// Tells all that wait for a node that it is down.
    fn tell_down(&self, node: NodeId, reason: DownReason) {
        let questions = lock(&self.questions).take_of(Some(node));
        for complete in questions {
            complete(Err(RemoteAskError::NodeDown(node)));
        }
        let watches: Vec<u64> = lock(&self.watches)
            .iter()
            .filter(|(_, (of, _))| *of == node)
            .map(|(&watch, _)| watch)
            .collect();
        for watch in watches {
            self.tell_watcher(watch, RemoteDownReason::NodeDown(Some(reason)));
        }
    }

    pub(crate) fn tell_listeners(&self, event: &NodeEvent) {
        let listeners = lock(&self.listeners).clone();
        for listener in listeners {
            guarded(|| listener(event));
        }
    }

    fn frame_handled(&self, node: NodeId, frame: Delivery) {
        lock(&self.handled).push((node, frame));
        self.alarm.ring();
    }

    fn worker_is_idle(&self) {
        let peers = self.peers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut waits = false;
        for peer in peers.values() {
            waits |= peer.gather.worker_is_idle();
        }
        drop(peers);
        if waits {
            self.alarm.ring();
        }
    }

    fn not_understood(&self) {
        // Relaxed: a count.
        self.not_understood.fetch_add(1, Ordering::Relaxed);
    }

    fn exports_mut(&self) -> RwLockWriteGuard<'_, Exports> {
        self.exports.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Answers another node's question.
    fn answer(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        question: u64,
        answer: Result<&[u8], Unanswered>,
    ) {
        let write = |frame: &mut Vec<u8>| {
            message::answer(question, answer, frame);
            Ok(())
        };
        if let Err(NotGathered::TooLong { .. }) = self.add(peer, true, write) {
            self.answer(peer, question, Err(Unanswered::NotUnderstood));
        }
    }

    pub(crate) fn payload_config(&self) -> &PayloadConfig {
        &self.config.payload
    }

    pub(crate) fn resend_ns(&self) -> u64 {
        self.config.link.resend_ns
    }

    /// This life of this node.
    pub(crate) fn life(&self) -> u64 {
        self.epoch
    }

    /// From now on, payloads that come from other nodes lie here.
    fn take_payloads_in(&self, arena: Arena) {
        *lock(&self.arena) = Some(arena);
    }

    /// Room for a payload that comes.
    pub(crate) fn room_for_payload(&self, bytes: usize) -> Result<Unwritten, PayloadError> {
        match &mut *lock(&self.arena) {
            Some(arena) => arena.unwritten(bytes).map_err(PayloadError::Exhausted),
            None => Err(PayloadError::NoArena),
        }
    }

    /// There is something new to do for the node's thread.
    pub(crate) fn ring(&self) {
        self.alarm.ring();
    }

    pub(crate) fn id(&self) -> NodeId {
        self.node
    }

    pub(crate) fn system(&self) -> &SystemHandle {
        &self.system
    }

    /// Is done when it is worth trying again to send to a node what was refused because too much waited for it.
    pub(crate) fn room(&self, node: NodeId) -> impl Future<Output = ()> + Send + use<> {
        let room = self.peer(node).outlet().room();
        async move {
            // That it was dropped says the same.
            let _ = room.await;
        }
    }

    /// The machine's time as of this node's start, and by its steady clock since: nanoseconds.
    pub(crate) fn time_ns(&self) -> u64 {
        self.epoch.saturating_add(self.clock.now_ns())
    }

    /// The nodes that are or were there, this one included, in order.
    pub(crate) fn nodes(&self) -> Vec<NodeId> {
        let peers = self.peers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut nodes: Vec<NodeId> = peers.keys().copied().chain([self.node]).collect();
        nodes.sort_unstable();
        nodes
    }

    /// Messages that this node has sent to others and that it has of others, without those of the cluster's own machinery.
    pub(crate) fn sent_and_received(&self) -> (u64, u64) {
        // Relaxed: whoever asks has waited until this system is idle.
        (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }

    fn stats(&self) -> NodeStats {
        let peers = self.peers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let stats = |peer: &Arc<Peer>| PeerStats {
            node: peer.node,
            // Relaxed: a figure.
            is_up: peer.is_up.load(Ordering::Relaxed),
            through: peer.far.as_ref().filter(|far| !far.is_straight()).map(|far| far.via.node),
            gather: peer.gather.counters(),
            payload_bytes_waiting: peer.payloads.offers.bytes(),
            payload_bytes_ahead: peer.payloads.wanted.ahead_bytes(),
            link: *lock(&peer.link),
        };
        NodeStats {
            peers: peers.values().map(stats).collect(),
            // Relaxed: counts.
            handed_on: self.handed_on.load(Ordering::Relaxed),
            strayed: self.strayed.load(Ordering::Relaxed),
            misaddressed: self.misaddressed.load(Ordering::Relaxed),
            not_understood: self.not_understood.load(Ordering::Relaxed),
            steered: self.steered.load(Ordering::Relaxed),
            // Relaxed: counts, too.
            rested: self.rested.load(Ordering::Relaxed),
            rung: self.rung.load(Ordering::Relaxed),
        }
    }
}
