//! The state that the parts of a node share: settings, tables, listeners and counters. Nothing in
//! this file sends anything.

use super::config::NodeConfig;
use super::counters::Counters;
use super::event::{NodeEvent, NodeStats, PeerStats};
use super::exports::Exports;
use super::frame_receiver::FrameReceiver;
use super::handles::Handles;
use super::limits::PeerLimits;
use super::neighbours::Heard;
use super::parcel::Parcel;
use super::peer::{Multihop, Peer};
use super::requests::{self, Requests};
use super::returns::{CameBack, Returns};
use super::session::Session;
use super::taps::NodeTaps;
use super::types::Types;
use super::unparker::Unparker;
use super::watches::Watches;
use crate::aggregator::Aggregator;
use crate::denial::Denial;
use crate::error::{RemoteAskError, RemoteDown, RemoteDownReason};
use crate::fabric::NodeId;
use crate::link::{BadConfig, DownReason};
use crate::locks::{lock, read, write};
use crate::message::{self, ActorKey, Control, HandleKey, Item, Unanswered};
use crate::payload::{PayloadConfig, PayloadError, Payloads};
use crate::region::table::Table as Regions;
use crate::region::window::{Leases, Order, Orders};
use crate::route::Grid;
use crate::traffic::Traffic;
use actinium_actor::travel::{BorderId, Given, crossing};
use actinium_actor::{Address, SystemHandle};
use actinium_memory::heap::{Arena, Unwritten};
use actinium_scheduler::Clock;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(super) type Listener = Arc<dyn Fn(&NodeEvent) + Send + Sync>;
/// Reaches an actor that moves, which began at that node as that one of its type.
pub(crate) type Reach = Arc<dyn Fn(NodeId, u64) -> Option<Arc<dyn Given>> + Send + Sync>;

/// The most bytes of a region in one message: much above its head, and far below what would keep
/// other messages waiting.
const REGION_PART_BYTES: usize = 64 << 10;

/// The state that the parts of a node share.
pub(crate) struct Inner {
    pub(super) node: NodeId,
    pub(super) system: SystemHandle,
    pub(super) config: NodeConfig,
    pub(super) frame_bytes_max: usize,
    pub(super) incarnation: u64,
    pub(super) clock: Clock,
    pub(super) unparker: Arc<Unparker>,
    pub(super) peers: RwLock<BTreeMap<NodeId, Arc<Peer>>>,
    pub(super) exports: RwLock<Exports>,
    pub(super) types: RwLock<Types>,
    /// The number of actors that were placed in turn: see [`crate::Placement::RoundRobin`].
    pub(super) placed: AtomicU64,
    pub(super) requests: Mutex<Requests>,
    /// The latest request to each node for each part of the cluster's own machinery: see
    /// [`Inner::meet`].
    pub(super) meeting: Mutex<BTreeMap<(NodeId, String), u64>>,
    pub(super) watches: Mutex<Watches>,
    pub(super) handles: Mutex<Handles>,
    /// The number under which this node is found by handles in its messages.
    pub(super) border: BorderId,
    /// The frames that were handled since the driver looked last, each with the node that it came
    /// from.
    pub(super) handled: Mutex<Vec<(NodeId, Parcel)>>,
    pub(super) listeners: Mutex<Vec<Listener>>,
    pub(super) grid: Grid,
    pub(super) heard: Mutex<Heard>,
    /// The nodes that are no neighbours and with which counts of messages are to be exchanged.
    pub(super) busy: Mutex<BTreeSet<NodeId>>,
    /// The frame receivers of nodes that are no neighbours and send payloads, or have had a link of
    /// their own with this one.
    pub(super) receivers: Mutex<BTreeMap<NodeId, Address<FrameReceiver>>>,
    /// The nodes that are no neighbours and with which there is something to be done for payloads.
    pub(super) payload_news: Mutex<BTreeMap<NodeId, Arc<Peer>>>,
    /// The arena of payloads that come from other nodes.
    pub(super) arena: Mutex<Option<Arena>>,
    pub(super) regions: Regions,
    /// What is to be done for regions in windows, and the right to reach them.
    pub(super) orders: Orders,
    pub(super) leases: Leases,
    /// Whether other nodes can ask for the regions of this one.
    pub(super) has_regions: Mutex<bool>,
    pub(super) counters: Counters,
    pub(super) taps: NodeTaps,
    /// Who talks with whom, if actors are moved for that.
    traffic: Option<Arc<Traffic>>,
    /// What belongs to each type of actors that move, by its kind.
    pub(crate) movables: Mutex<BTreeMap<&'static str, Arc<dyn Any + Send + Sync>>>,
    /// How actors that move are reached whose handles come, by the hash of their kind.
    pub(crate) roaming: Mutex<BTreeMap<u64, Reach>>,
    pub(super) leaving: AtomicBool,
    /// Whether the node has given back what it kept, and keeps nothing more: see `ending`. Changed
    /// before the locks are taken that it is read behind.
    pub(super) is_over: AtomicBool,
}

/// Runs the user's code. A panic of that code, which has been printed, must neither end the actor
/// that all messages of a node go through nor the worker or thread that moves its frames.
pub(super) fn guarded<R>(f: impl FnOnce() -> R) -> Option<R> {
    actinium_scheduler::guard::catch(f).ok()
}

impl Inner {
    pub(crate) fn new(
        node: NodeId,
        system: SystemHandle,
        config: NodeConfig,
        frame_bytes_max: usize,
        grid: Grid,
        incarnation: u64,
        clock: Clock,
    ) -> Result<Self, BadConfig> {
        config.check(frame_bytes_max)?;
        let traffic = config.repartition.clone().map(|config| Traffic::new(node, config));
        let generation = (incarnation ^ (incarnation >> 32)) as u32;
        Ok(Inner {
            node,
            system,
            config,
            frame_bytes_max,
            incarnation,
            clock,
            unparker: Arc::default(),
            peers: RwLock::default(),
            exports: RwLock::new(Exports::new(generation)),
            types: RwLock::default(),
            placed: AtomicU64::new(0),
            requests: Mutex::default(),
            meeting: Mutex::default(),
            watches: Mutex::default(),
            handles: Mutex::default(),
            border: BorderId::new(),
            handled: Mutex::default(),
            listeners: Mutex::default(),
            grid,
            heard: Mutex::default(),
            busy: Mutex::default(),
            receivers: Mutex::default(),
            payload_news: Mutex::default(),
            arena: Mutex::default(),
            regions: Regions::default(),
            orders: Orders::default(),
            leases: Leases::default(),
            has_regions: Mutex::default(),
            counters: Counters::default(),
            taps: NodeTaps::new(node),
            traffic: traffic.map(Arc::new),
            movables: Mutex::default(),
            roaming: Mutex::default(),
            leaving: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    pub(super) fn exports(&self) -> RwLockReadGuard<'_, Exports> {
        read(&self.exports)
    }

    /// Whether a node is or was there. If not, this node keeps nothing that others say about it.
    pub(crate) fn has_met(&self, node: NodeId) -> bool {
        node == self.node || self.known(node).is_some()
    }

    /// Whether a node is this one, or one that messages reach without a third.
    pub(crate) fn is_neighbour(&self, node: NodeId) -> bool {
        node == self.node || self.grid.are_neighbours(self.node.0, node.0)
    }

    /// Returns the state of a node, if this node knows it.
    pub(super) fn known(&self, node: NodeId) -> Option<Arc<Peer>> {
        let peers = read(&self.peers);
        peers.get(&node).cloned()
    }

    /// Returns the state of a node that this one knows, or that is in its grid.
    pub(super) fn met(&self, node: NodeId) -> Option<Arc<Peer>> {
        let is_of_grid = node.0 < self.grid.nodes() && node != self.node;
        self.known(node).or_else(|| is_of_grid.then(|| self.peer(node)))
    }

    /// Returns the state of a node, and makes it if necessary. The node may not be there yet: then
    /// messages for it wait.
    pub(crate) fn peer(&self, node: NodeId) -> Arc<Peer> {
        let is_multihop = !self.is_neighbour(node);
        // The next node on the way is a neighbour.
        let via = is_multihop.then(|| self.peer(NodeId(self.grid.next(self.node.0, node.0))));
        let mut peers = write(&self.peers);
        let new = || {
            let multihop = via.map(|via| {
                let mut back = node;
                while self.grid.next(back.0, self.node.0) != self.node.0 {
                    back = NodeId(self.grid.next(back.0, self.node.0));
                }
                Multihop::new(via, back, Session::new(node, self.incarnation))
            });
            // What goes through others has an envelope.
            let head = if multihop.is_some() { message::ENVELOPE_BYTES } else { 0 };
            let aggregator =
                Aggregator::new(self.config.aggregator.clone(), self.frame_bytes_max - head);
            Arc::new(Peer {
                node,
                aggregator,
                buffered: AtomicU32::new(0),
                payloads: Payloads::new(&self.config.payload),
                returns: Returns::default(),
                multihop,
                is_up: AtomicBool::new(false),
                ends_untold: AtomicUsize::new(0),
                frames_kept: AtomicUsize::new(0),
                link: Mutex::default(),
                inbound: Mutex::default(),
                denials: Mutex::default(),
            })
        };
        peers.entry(node).or_insert_with(new).clone()
    }

    /// Closes all aggregators because this node has left: waiting messages come back, and none wait
    /// from now on.
    pub(super) fn close_all(&self) {
        let known: Vec<Arc<Peer>> = {
            let peers = read(&self.peers);
            peers.values().cloned().collect()
        };
        for peer in known {
            let mut back = self.taken_back(&peer);
            let messages = self.end(&peer, &mut back);
            if messages > 0 {
                self.tell_listeners(&NodeEvent::Undelivered { node: peer.node, messages });
            }
            self.return_all(&peer, back);
        }
    }

    /// Takes back an item that did not leave, or was not acknowledged. Returns the number of
    /// messages to be counted for the node that it was to go to next: 1, but 0 for the reports of a
    /// grid, and 0 for an envelope, whose two ends notice the loss.
    pub(super) fn came_back(&self, item: &Item<'_>) -> u64 {
        match item {
            Item::Envelope(envelope) if envelope.from != self.node.0 => {
                self.counters.unroutable.add(envelope.messages.into());
                self.counters.received.add(envelope.messages.into());
                0
            }
            // Its session ends, and tells.
            Item::Envelope(_) => 0,
            Item::Control(Control::Reach { .. } | Control::Leaving { .. }) => 0,
            _ => 1,
        }
    }

    /// The number under which this node is found by handles in its messages.
    pub(crate) fn border_number(&self) -> u64 {
        self.border.number()
    }

    /// Returns a handle of an actor that moves and that began at node `home`, if this is its key
    /// and actors of its type may come to this node.
    pub(super) fn given_movable(&self, home: u32, key: HandleKey) -> Option<Arc<dyn Given>> {
        let (kind, serial) = key.movable()?;
        let reach = lock(&self.roaming).get(&kind).cloned()?;
        reach(NodeId(home), serial)
    }

    /// Returns a handle that was given away, or one of an exported actor or of one that moves, if
    /// this is its key.
    pub(super) fn given(&self, key: HandleKey) -> Option<Arc<dyn Given>> {
        if key.movable().is_some() {
            return self.given_movable(self.node.0, key);
        }
        let Some(exported) = key.exported() else { return lock(&self.handles).given(key).cloned() };
        let place = self.exports().place(exported.index as usize).cloned();
        let place = place.filter(|place| place.generation == exported.generation)?;
        Some(place.actor?.given())
    }

    /// Notes that the actor of a handle has ended, as its node says.
    pub(super) fn handle_ended(&self, peer: &Peer, key: HandleKey) {
        let used = lock(&self.handles).used(peer.node, key);
        if let Some(is_closed) = used {
            // Relaxed: a hint, which nothing is ordered by.
            is_closed.store(true, Ordering::Relaxed);
            lock(&self.handles).end_use(peer.node, key, is_closed);
        }
    }

    pub(super) fn complete(&self, request: u64, outcome: requests::Outcome<'_>) {
        let complete = lock(&self.requests).take(request);
        if let Some(complete) = complete {
            guarded(|| complete(outcome));
        }
    }

    /// Completes a request that a node has answered. Only the node that was asked may answer. A
    /// request that nobody waits for any more may be answered late.
    pub(super) fn answered(&self, peer: &Peer, request: u64, answer: Result<&[u8], Unanswered>) {
        let asked = lock(&self.requests).take_from(peer.node, request);
        match asked {
            Ok(Some(complete)) => {
                let complete = || complete(requests::outcome(answer));
                guarded(|| crossing(self.border.number(), peer.node.0, complete));
            }
            Ok(None) => {}
            Err(requests::NotAsked) => self.deny_lie(peer, None, Denial::Answer),
        }
    }

    pub(super) fn tell_watcher(&self, watch: u64, reason: RemoteDownReason) {
        let watcher = lock(&self.watches).take(watch);
        if let Some((node, notify)) = watcher {
            guarded(|| notify(RemoteDown { node, reason }));
        }
    }

    pub(super) fn ended(&self, peer: &Peer, watch: u64, reason: String, is_abnormal: bool) {
        let down = if is_abnormal { RemoteDownReason::Failed } else { RemoteDownReason::Ended };
        self.watched_ended(peer, watch, down(reason));
    }

    /// Tells a watcher that a node says its actor has ended. Only the node where the actor lives
    /// may say so.
    pub(super) fn watched_ended(&self, peer: &Peer, watch: u64, reason: RemoteDownReason) {
        let (of, was_given) = {
            let watches = lock(&self.watches);
            (watches.node_of(watch), watches.was_given(watch))
        };
        match of {
            Some(node) if node == peer.node => self.tell_watcher(watch, reason),
            None if was_given => {}
            _ => self.deny_lie(peer, None, Denial::Ended),
        }
    }

    /// Opens the aggregator of a node that is up, and tells the listeners.
    pub(super) fn went_up(&self, peer: &Peer) {
        peer.aggregator.open();
        // Relaxed: a figure.
        peer.is_up.store(true, Ordering::Relaxed);
        self.tell_listeners(&NodeEvent::Up(peer.node));
    }

    /// Tells all who want to hear of it that another node is down.
    pub(super) fn went_down(&self, peer: &Peer, mut event: NodeEvent) {
        // The driver has closed it at once; that the node was up may have been told after that,
        // here.
        let mut back = peer.returns.take_ended();
        let more = self.close(peer, &mut back);
        // What it said last is known by now.
        lock(&self.heard).forget(peer.node);
        let adopted = lock(&peer.inbound).leave();
        adopted.into_iter().for_each(|key| self.stop_exported(key));
        self.exports_mut().forget(peer.node);
        if let NodeEvent::Down { node, reason, undelivered, .. } = &mut event {
            *undelivered += more;
            self.tell_down(*node, *reason);
        }
        self.tell_listeners(&event);
        self.return_all(peer, back);
    }

    /// Tells all who wait for a node that it is down.
    pub(super) fn tell_down(&self, node: NodeId, reason: DownReason) {
        let requests = lock(&self.requests).take_of(node);
        for complete in requests {
            complete(Err(RemoteAskError::NodeDown(node)));
        }
        self.forget_replies(node);
        let watches = lock(&self.watches).of(node);
        for watch in watches {
            self.tell_watcher(watch, RemoteDownReason::NodeDown(Some(reason)));
        }
    }

    pub(crate) fn tell_listeners(&self, event: &NodeEvent) {
        if let NodeEvent::Down { node, .. } = event {
            self.leases.forget_node(*node);
        }
        let listeners = lock(&self.listeners).clone();
        for listener in listeners {
            guarded(|| listener(event));
        }
    }

    pub(super) fn frame_handled(&self, node: NodeId, frame: Parcel) {
        lock(&self.handled).push((node, frame));
        // What answers it goes in the same frame as the news of it, if it comes soon.
        self.unparker.ring_soon();
    }

    pub(super) fn not_understood(&self) {
        self.counters.not_understood.add(1);
    }

    pub(super) fn exports_mut(&self) -> RwLockWriteGuard<'_, Exports> {
        write(&self.exports)
    }

    pub(crate) fn limits(&self) -> &PeerLimits {
        &self.config.limits
    }

    pub(crate) fn payload_config(&self) -> &PayloadConfig {
        &self.config.payload
    }

    pub(crate) fn resend_ns(&self) -> u64 {
        self.config.link.resend_ns
    }

    /// The number of times that a node is asked again for a payload until it counts as one that
    /// does not answer: so often as fits into the silence after which a neighbour is down. A number
    /// of questions, because a process that was stopped has asked none meanwhile.
    pub(crate) fn asks_max(&self) -> u64 {
        let link = &self.config.link;
        (link.down_after_ns / link.resend_ns.max(1)).max(1)
    }

    /// The number of this incarnation of the node.
    pub(crate) fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Sets the arena of payloads that come from other nodes from now on.
    pub(super) fn take_payloads_in(&self, arena: Arena) {
        let mut place = lock(&self.arena);
        *place = Some(arena).filter(|_| !self.is_over());
    }

    /// Makes a buffer for a payload that comes.
    pub(crate) fn buffer_for_payload(&self, bytes: usize) -> Result<Unwritten, PayloadError> {
        match &mut *lock(&self.arena) {
            Some(arena) => arena.unwritten(bytes).map_err(PayloadError::Exhausted),
            None => Err(PayloadError::NoArena),
        }
    }

    /// The memory of this node that others may read and write.
    pub(crate) fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The right to reach regions in windows, of other nodes and of this one.
    pub(crate) fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Has the thread that has the fabric do something for a region in a window.
    pub(crate) fn order(&self, order: Order) {
        self.orders.add(order);
        self.unparker.ring();
    }

    /// Lets other nodes ask for the regions of this one, by `export`, unless that was done.
    pub(crate) fn begin_regions<E>(&self, export: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut has_regions = lock(&self.has_regions);
        if !*has_regions {
            export()?;
            *has_regions = true;
        }
        Ok(())
    }

    /// The most bytes of a region that one message carries, with its head and that of a grid.
    pub(crate) fn region_part_bytes(&self) -> u64 {
        let most = REGION_PART_BYTES.min(self.frame_bytes_max / 2);
        most as u64
    }

    /// Wakes whoever moves the frames, for new work.
    pub(crate) fn ring(&self) {
        self.unparker.ring();
    }

    /// Wakes whoever moves the frames, to do what there is to be done for payloads of a node.
    pub(super) fn ring_for_payloads(&self, peer: &Arc<Peer>) {
        if peer.is_multihop() {
            lock(&self.payload_news).insert(peer.node, peer.clone());
        }
        self.unparker.ring();
    }

    pub(crate) fn traffic(&self) -> Option<&Arc<Traffic>> {
        self.traffic.as_ref()
    }

    pub(crate) fn id(&self) -> NodeId {
        self.node
    }

    pub(crate) fn system(&self) -> &SystemHandle {
        &self.system
    }

    /// Returns the time in nanoseconds: the machine's clock at this node's start, plus the steady
    /// clock since.
    pub(crate) fn time_ns(&self) -> u64 {
        self.incarnation.saturating_add(self.clock.now_ns())
    }

    /// Returns the nodes that are or were there, this one included, in order.
    pub(crate) fn nodes(&self) -> Vec<NodeId> {
        let peers = read(&self.peers);
        let mut nodes: Vec<NodeId> = peers.keys().copied().chain([self.node]).collect();
        nodes.sort_unstable();
        nodes
    }

    /// The numbers of messages that this node has sent to others and has received from them,
    /// without those of the cluster's own machinery.
    pub(crate) fn sent_and_received(&self) -> (u64, u64) {
        // Whoever asks has waited until this system is idle.
        (self.counters.sent.get(), self.counters.received.get())
    }

    pub(super) fn stats(&self) -> NodeStats {
        let peers = read(&self.peers);
        let stats = |peer: &Arc<Peer>| {
            let (asked, watched, adopted) = lock(&peer.inbound).counts();
            PeerStats {
                node: peer.node,
                is_up: peer.is_up(),
                through: peer
                    .multihop
                    .as_ref()
                    .filter(|multihop| !multihop.is_straight())
                    .map(|multihop| multihop.via.node),
                aggregator: peer.aggregator.counters(),
                bytes_waiting: peer.aggregator.bytes_waiting(),
                payload_bytes_waiting: peer.payloads.offers.bytes(),
                payload_bytes_ahead: peer.payloads.wanted.ahead_bytes(),
                denied: peer.times_denied(),
                requests: lock(&self.requests).count_of(peer.node),
                watches: lock(&self.watches).of(peer.node).len(),
                lookups: self.exports().waiting_of(peer.node),
                asked,
                watched,
                adopted,
                link: *lock(&peer.link),
            }
        };
        NodeStats {
            peers: peers.values().map(stats).collect(),
            handed_on: self.counters.handed_on.get(),
            unroutable: self.counters.unroutable.get(),
            misaddressed: self.counters.misaddressed.get(),
            not_understood: self.counters.not_understood.get(),
            handles: lock(&self.handles).len(),
            driven: self.counters.driven.get(),
            rested: self.counters.rested.get(),
            rung: self.counters.rung.get(),
            repartition: self.traffic.as_ref().map(|traffic| traffic.stats()),
        }
    }

    /// Closes the aggregator of a node that is down, so that it takes no more messages. What had
    /// waited goes to `back`. Returns its number of messages.
    pub(super) fn close(&self, peer: &Peer, back: &mut CameBack) -> u64 {
        // Relaxed: a figure.
        peer.is_up.store(false, Ordering::Relaxed);
        let mut messages = 0;
        for batch in peer.aggregator.close() {
            message::read_unsent(&batch.frame, |item| messages += self.came_back(&item));
            back.add(batch.frame, batch.messages, false);
        }
        peer.payloads.offers.clear();
        messages
    }

    /// Closes the aggregator of a node like `close`, for good.
    fn end(&self, peer: &Peer, back: &mut CameBack) -> u64 {
        peer.aggregator.end();
        if let Some(multihop) = &peer.multihop {
            multihop.end();
        }
        self.close(peer, back)
    }

    /// Whether the node keeps nothing any more. The caller asks behind the lock of the table in
    /// which it wants to keep something.
    pub(super) fn is_over(&self) -> bool {
        // Relaxed: it is set before `give_back` takes that lock, so whoever has it later finds it
        // set.
        self.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn types_mut(&self) -> RwLockWriteGuard<'_, Types> {
        write(&self.types)
    }

    /// Ends an actor that another node has started. One that is gone needs no ending.
    pub(super) fn stop_exported(&self, key: ActorKey) {
        let place = self.exports().place(key.index as usize).cloned();
        if let Some(actor) =
            place.filter(|place| place.generation == key.generation).and_then(|it| it.actor)
        {
            actor.stop(false);
        }
    }

    /// Returns the nodes that are up as far as this one knows, this one included, in order.
    pub(crate) fn nodes_up(&self) -> Vec<NodeId> {
        let peers = read(&self.peers);
        // Relaxed: whoever is told of it here may be gone by the time that it is sent to.
        let is_up = |peer: &&Arc<Peer>| peer.is_up.load(Ordering::Relaxed);
        let up = peers.values().filter(is_up).map(|peer| peer.node);
        let mut nodes: Vec<NodeId> = up.chain([self.node]).collect();
        nodes.sort_unstable();
        nodes
    }

    /// Calls `listener` for each event from now on.
    pub(crate) fn on_event(&self, listener: Listener) {
        let mut listeners = lock(&self.listeners);
        if !self.is_over() {
            listeners.push(listener);
        }
    }

    /// Notes a refusal like [`Inner::deny`], of an operation of the cluster's own machinery. No
    /// honest node does this, so the other node is not told.
    #[cold]
    pub(crate) fn deny_lie(&self, peer: &Peer, actor: Option<&str>, what: Denial) {
        let Some(times) = peer.denied(what) else { return };
        let actor = actor.map(str::to_owned);
        self.tell_listeners(&NodeEvent::Denied { node: peer.node, actor, what, times });
    }

    /// Waits until it is worth sending again to a node for which too much waited.
    pub(crate) fn ready(&self, node: NodeId) -> impl Future<Output = ()> + Send + use<> {
        let ready = self.peer(node).next_hop().ready();
        async move {
            // That it was dropped says the same.
            let _ = ready.await;
        }
    }
}
