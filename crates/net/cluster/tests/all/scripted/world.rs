//! The node and its peer: what they do, and what has to hold.

use super::script::{Input, set_word, with_magic, word};
use crate::common::{Cluster, LIMIT, MS};
use crate::liar::{Liar, datagram, frame, signed};
use actinium_actor::{Actor, Address, Context, Mailbox, Reply, SpawnOptions};
use actinium_cluster::fabric::in_process::{Faults, InProcess};
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::{HEADER_BYTES, LinkConfig};
use actinium_cluster::route::Route;
use actinium_cluster::{
    AggregatorConfig, Grants, Names, NamesConfig, NodeConfig, NodeEvent, PayloadConfig, PeerLimits,
    RemoteActor, RemoteAddress, RemoteDown, Shards,
};
use actinium_memory::heap::{Arena, Heap, Payload, flush};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

const LIMITS: PeerLimits = PeerLimits {
    asks: 4,
    watches: 6,
    lookups: 3,
    spawned: 3,
    names: 4,
    rounds: 4,
    found: 8,
    unread_bytes: 4 << 10,
    pending: 64,
};
/// What one frame of the peer, and one act of the node's own, may add to what waits.
const AT_ONCE_BYTES: usize = 16 << 10;
const PAYLOADS: PayloadConfig =
    PayloadConfig { waiting_bytes_max: 4 << 10, ahead_bytes_max: 4 << 10, window_bytes: 1 << 10 };
/// Pages of an arena, of 64 KiB.
const PAGES: usize = 4;
/// The nodes of a grid, of which the liar is one.
const GRID_NODES: u32 = 4;
const LIAR: u32 = 1;
/// Somebody else who speaks out of turn.
const OTHER: u32 = 2;
/// What the node asks at a time, and actors of others that it knows.
const OPEN_MAX: usize = 16;

/// An actor of the node.
pub(super) struct Worker {
    kept: Vec<Reply<u64>>,
    /// Shows that it lives.
    _life: Arc<()>,
}

type Deed = Box<dyn FnOnce(&mut Context<'_, Worker>) + Send>;

pub(super) enum Msg {
    Take,
    TakePayload(Payload),
    Ask(bool, Reply<u64>),
    AnswerWhatIsKept,
    Do(Deed),
}

impl Actor for Worker {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Take => {}
            Msg::TakePayload(payload) => drop(payload),
            Msg::Ask(true, reply) => {
                let _ = reply.send(7);
            }
            Msg::Ask(false, reply) => self.kept.push(reply),
            Msg::AnswerWhatIsKept => {
                // Whoever has asked may have gone.
                self.kept.drain(..).for_each(|reply| {
                    let _ = reply.send(8);
                });
            }
            Msg::Do(deed) => deed(ctx),
        }
    }
}

impl RemoteActor for Worker {
    const KIND: &'static str = "test.scripted";
    type Message = u64;
    /// Whether to answer at once.
    type Request = bool;
    type Answer = u64;

    fn message(_: u64) -> Msg {
        Msg::Take
    }

    fn request(at_once: bool, reply: Reply<u64>) -> Msg {
        Msg::Ask(at_once, reply)
    }

    fn with_payload(_: u64, payload: Payload) -> Result<Msg, (u64, Payload)> {
        Ok(Msg::TakePayload(payload))
    }
}

/// What the node's user waits for. What it may have found.
type Open = Pin<Box<dyn Future<Output = Option<RemoteAddress<Worker>>>>>;

pub(super) struct World {
    cluster: Cluster,
    liar: Liar,
    incarnation: u64,
    other: InProcess,
    usual: Address<Worker>,
    all: Address<Worker>,
    names: Names,
    shards: Shards<Worker>,
    arena: Arena,
    there: Vec<RemoteAddress<Worker>>,
    open: Vec<Open>,
    /// Has a clone in all that is to be gone in the end.
    life: Arc<()>,
    /// Has a clone in each actor that others have started.
    started: Arc<()>,
    heap: &'static Heap,
    /// How it ends.
    how: u8,
    /// What the node has told.
    events: Vec<NodeEvent>,
}

thread_local! {
    /// Where payloads lie, of all runs of this thread.
    static HEAP: Cell<Option<&'static Heap>> = const { Cell::new(None) };
}

/// The node's settings, as the first byte of the input chooses.
fn config(choices: u8) -> NodeConfig {
    let link = LinkConfig { reliable: choices & 1 > 0, window_frames: 8, ..LinkConfig::default() };
    let route = if choices & 2 > 0 { Route::Square } else { Route::Direct };
    let (limits, payload, spawned_max, grid_nodes) = (LIMITS, PAYLOADS, 5, GRID_NODES);
    let aggregator =
        AggregatorConfig { frame_bytes: 256, frames_waiting: 2, ..AggregatorConfig::default() };
    NodeConfig {
        link,
        aggregator,
        route,
        grid_nodes,
        limits,
        payload,
        spawned_max,
        ..NodeConfig::default()
    }
}

impl World {
    pub(super) fn new(input: &mut Input<'_>) -> Self {
        let heap =
            HEAP.take().unwrap_or_else(|| Heap::leak_plain(2, PAGES).expect("there is room"));
        let choices = input.byte();
        let config = config(choices);
        let mut cluster = Cluster::new(1, 1, Faults::default(), config);
        if choices & 4 > 0 {
            cluster.network = cluster.network.without_remote_memory();
        }
        let (life, started) = (Arc::new(()), Arc::new(()));
        let node = &cluster.hosts[0].node;
        let system = &cluster.hosts[0].system;
        let kept = life.clone();
        node.on_event(move |_| assert!(Arc::strong_count(&kept) > 1, "its owner has one"));
        let names = node.names(NamesConfig::default()).expect("its first names");
        let worker = || Worker { kept: Vec::new(), _life: life.clone() };
        let [usual, none, all] = std::array::from_fn(|_| system.spawn(worker()));
        let few = SpawnOptions::new().mailbox(Mailbox::bounded(1));
        let of_busy = life.clone();
        let busy = system.spawn_with(few, move || Worker { kept: vec![], _life: of_busy.clone() });
        let busy = busy.expect("nothing is wrong with it");
        for (name, actor, grants) in [
            ("usual", &usual, Grants::default()),
            ("none", &none, Grants::NONE),
            ("all", &all, Grants::ALL),
            ("busy", &busy, Grants::default()),
        ] {
            node.export_with(name, actor, grants).expect("its first name");
        }
        let shards = node.shards("shares", &usual).expect("its first shards");
        let of_started = started.clone();
        let start = move |_: u64| Worker { kept: Vec::new(), _life: of_started.clone() };
        node.register::<Worker, u64>(SpawnOptions::new(), start).expect("its first such type");
        let arena = heap.arena(0).expect("the run before has given it back");
        node.take_payloads_in(heap.arena(1).expect("the run before has given it back"));
        let liar = Liar::meet(&mut cluster, LIAR, 10);
        let other = cluster.network.node(NodeId(OTHER));
        let (incarnation, there, open) = (10, Vec::new(), Vec::new());
        World {
            cluster,
            liar,
            incarnation,
            other,
            usual,
            all,
            names,
            shards,
            arena,
            there,
            open,
            life,
            started,
            heap,
            how: choices >> 3 & 3,
            events: Vec::new(),
        }
    }

    /// One act of the peer, or of the node, or some time passes.
    pub(super) fn act(&mut self, input: &mut Input<'_>) {
        match input.pick(16) {
            0 => self.steps(1 + input.pick(8) as u32),
            1 => {
                self.cluster.network.advance(MS * u64::from(input.byte()) * 8);
                self.steps(1);
            }
            2 => self.half_a_step(input),
            3..=6 => self.say(input),
            7 => self.say_out_of_turn(input),
            8 => self.say_again(input),
            9 => self.say_of_payloads(input),
            10 => self.begin_anew(input),
            11 => self.liar.is_deaf = input.pick(2) == 1,
            12 => self.say_as_another(input),
            _ => self.node_acts(input),
        }
        self.look_at_open();
    }

    fn steps(&mut self, steps: u32) {
        self.liar.steps(&mut self.cluster, steps);
        while self.other.poll().is_some() {}
        self.liar.said.clear();
        self.liar.datagrams.clear();
        self.liar.events.clear();
        self.events.extend(self.cluster.events(0));
    }

    /// The node moves frames once, and some actors have turns.
    fn half_a_step(&mut self, input: &mut Input<'_>) {
        let now_ns = self.cluster.network.now_ns();
        let host = &mut self.cluster.hosts[0];
        host.node.turn(now_ns);
        let _ = (0..input.pick(6)).take_while(|_| host.system.step()).count();
    }

    /// A frame of messages, which may be spoilt.
    fn say(&mut self, input: &mut Input<'_>) {
        let mut frame = vec![0; HEADER_BYTES];
        let items = 1 + input.pick(6);
        for _ in 0..items {
            let mut item = input.item(0);
            if input.pick(4) == 0 {
                input.spoil(&mut item, 0);
            }
            frame.extend(item);
        }
        let messages = input.number(items as u64) as u32;
        // It may have no credit.
        let _ = self.liar.link.send(messages, frame);
        if input.pick(4) > 0 {
            self.steps(1);
        }
    }

    /// A frame of a link, with any numbers.
    fn say_out_of_turn(&mut self, input: &mut Input<'_>) {
        let like = self.liar.sent.back().cloned().unwrap_or_default();
        let words = std::array::from_fn(|index| input.number(word(&like, index)));
        let body = if input.pick(2) == 0 { input.bytes() } else { input.item(0) };
        let frame = frame(input.pick(8) as u8, words, &body);
        self.say_raw(&frame);
    }

    /// A frame that was sent before, as it was or changed.
    fn say_again(&mut self, input: &mut Input<'_>) {
        let sent = &self.liar.sent;
        let Some(at) = input.pick(16).checked_rem(sent.len()) else { return };
        let mut frame = sent[sent.len() - 1 - at].clone();
        for _ in 0..input.pick(3) {
            let index = input.pick(7);
            let value = input.number(word(&frame, index));
            set_word(&mut frame, index, value);
        }
        if input.pick(2) == 1 {
            input.spoil(&mut frame, HEADER_BYTES);
        }
        if input.pick(8) > 0 {
            frame = signed(&frame);
        }
        if input.pick(8) == 0 {
            frame.truncate(input.pick(frame.len() + 1));
        }
        self.say_raw(&frame);
    }

    fn say_raw(&mut self, frame: &[u8]) {
        self.liar.fabric.send(NodeId(0), frame).expect("the node is there");
        self.steps(1);
    }

    /// About a payload: of its own life and number mostly, or the node's.
    fn say_of_payloads(&mut self, input: &mut Input<'_>) {
        let asks = input.pick(2) == 0;
        let (life, id) = if asks { (1, 1) } else { (5, 6) };
        let words = [input.number(life), input.number(id), input.number(0)];
        let (kind, body) = match input.pick(6) {
            0 | 1 if asks => {
                let bytes = input.number(8).to_le_bytes();
                (1, [&bytes[..], &[input.pick(3) as u8]].concat())
            }
            0 | 1 => (2, vec![1; input.number(8) as usize % 256]),
            2 => {
                let region = [input.number(1), input.number(8)].map(u64::to_le_bytes).concat();
                (3, [&(input.pick(4) as u32).to_le_bytes()[..], &region].concat())
            }
            3 => (4, Vec::new()),
            _ => (input.byte(), input.bytes()),
        };
        self.say_raw(&datagram(kind, words, &body));
    }

    /// Its next life, or an earlier one; it calls from the first or waits.
    fn begin_anew(&mut self, input: &mut Input<'_>) {
        if input.pick(4) == 0 {
            let Liar { link, fabric, .. } = &mut self.liar;
            link.leave(|frame| fabric.send(NodeId(0), frame).is_ok());
        }
        let incarnation = input.number(self.incarnation.saturating_add(1)) & (i64::MAX as u64);
        self.incarnation = self.incarnation.max(incarnation);
        let sent = std::mem::take(&mut self.liar.sent);
        let is_deaf = self.liar.is_deaf;
        self.liar = Liar::new(&self.cluster, LIAR, incarnation);
        (self.liar.sent, self.liar.is_deaf) = (sent, is_deaf);
        self.steps(input.pick(8) as u32);
    }

    /// Another node says something, which nobody has met.
    fn say_as_another(&mut self, input: &mut Input<'_>) {
        let mut frame = match self.liar.sent.back() {
            Some(sent) if input.pick(2) == 0 => sent.clone(),
            _ => input.bytes(),
        };
        input.spoil(&mut frame, 0);
        with_magic(&mut frame, [*b"Ac", *b"Ap"][input.pick(2)]);
        self.other.send(NodeId(0), &signed(&frame)).expect("the node is there");
        self.steps(1);
    }

    /// What the node's own user does.
    fn node_acts(&mut self, input: &mut Input<'_>) {
        let what = input.pick(14);
        let to = [LIAR, LIAR, OTHER, 3][input.pick(4)];
        let node = &self.cluster.hosts[0].node;
        let there = input.pick(8).checked_rem(self.there.len()).map(|at| self.there[at].clone());
        let has_room = self.open.len() < OPEN_MAX;
        match (what, there) {
            (0 | 1, _) if has_room => {
                let found = node.lookup::<Worker>(NodeId(to), "there", LIMIT);
                self.open.push(Box::pin(async move { found.await.ok() }));
            }
            (2, _) if has_room => {
                let spawned = node.spawn_on::<Worker, u64>(NodeId(to), 7, LIMIT);
                self.open.push(Box::pin(async move { spawned.await.ok().and_then(there_of) }));
            }
            (3, _) if has_room => {
                let claimed = self.names.claim("name", &self.usual, LIMIT);
                self.open.push(Box::pin(async move { claimed.await.ok().and(None) }));
            }
            (4, _) if has_room => {
                let found = self.names.find::<Worker>("name", LIMIT);
                self.open.push(Box::pin(async move { found.await.ok().and_then(there_of) }));
            }
            (5, _) => self.names.release("name"),
            (6, _) => drop(node.export("late", &self.usual)),
            (7, _) => self.usual.tell(Msg::AnswerWhatIsKept),
            (8, _) => match input.pick(4) {
                0 => self.all.stop(),
                _ => drop(self.shards.at("key").send(1)),
            },
            (9, Some(there)) => {
                let mut bytes = input.number(100) as usize % 5_000;
                if input.pick(4) > 0 {
                    bytes = 0;
                }
                let _ = match self.arena.payload_with(bytes, |place| place.fill(9)) {
                    Ok(payload) if bytes > 0 => there.send_with_payload(1, payload).is_ok(),
                    _ => there.send(1).is_ok(),
                };
            }
            (10, Some(there)) if has_room => {
                let answer = there.ask(true, LIMIT);
                self.open.push(Box::pin(async move { answer.await.ok().and(None) }));
            }
            (11, Some(there)) => self.in_turn(move |ctx| there.watch(ctx, take)),
            (12, Some(there)) => self.in_turn(move |ctx| there.adopt(ctx, take)),
            (13, Some(there)) => there.stop(),
            _ => drop(self.there.pop()),
        }
        self.steps(1);
    }

    fn in_turn(&self, deed: impl FnOnce(&mut Context<'_, Worker>) + Send + 'static) {
        self.usual.tell(Msg::Do(Box::new(deed)));
    }

    /// Takes what has come of what the node has asked.
    fn look_at_open(&mut self) {
        let mut cx = TaskContext::from_waker(Waker::noop());
        for mut open in std::mem::take(&mut self.open) {
            match open.as_mut().poll(&mut cx) {
                Poll::Pending => self.open.push(open),
                Poll::Ready(found) if self.there.len() < OPEN_MAX => self.there.extend(found),
                Poll::Ready(_) => {}
            }
        }
    }

    /// Nobody has made the node keep more than it may.
    pub(super) fn check_bounds(&self) {
        let stats = self.cluster.hosts[0].node.stats();
        assert!(stats.peers.len() < GRID_NODES as usize, "nobody else was ever there: {stats:?}");
        for of in &stats.peers {
            assert!(of.asked <= LIMITS.asks, "{of:?}");
            assert!(of.watched <= LIMITS.watches, "{of:?}");
            assert!(of.lookups <= LIMITS.lookups, "{of:?}");
            assert!(of.bytes_waiting <= LIMITS.unread_bytes + AT_ONCE_BYTES, "{of:?}");
            // One passes whatever its size, if there is room for it.
            let ahead_most = PAYLOADS.ahead_bytes_max.max(PAGES << 16);
            assert!(of.payload_bytes_ahead <= ahead_most, "{of:?}");
        }
        // Besides these there is one in the factory, and one here.
        let started = Arc::strong_count(&self.started) - 2;
        assert!(started <= LIMITS.spawned, "{started} actors were started here");
    }

    /// The node goes, with a farewell or without, before its system or behind it. What it had told
    /// until then.
    pub(super) fn end(mut self) -> Vec<NodeEvent> {
        self.steps(20);
        self.check_bounds();
        let system = &mut self.cluster.hosts[0].system;
        let answer = self.usual.ask(|reply| Msg::Ask(true, reply));
        system.run_until_idle();
        let answer = outcome_of(answer);
        assert!(matches!(answer, Some(Ok(7))), "the node's own actor does not answer: {answer:?}");
        let audit = system.audit();
        assert!(audit.is_balanced(), "messages are missing: {audit:?}");

        let how = self.how;
        let World { cluster, open, heap, life, started, .. } = self;
        let (network, mut hosts) = (cluster.network, cluster.hosts);
        drop((self.liar, self.other, self.usual, self.all, self.names, self.shards, self.there));
        drop(self.arena);
        let host = hosts.pop().expect("there is one");
        match how {
            0 => {
                host.node.leave();
                drop(host.system);
            }
            1 => {
                drop(host.system);
                host.node.leave();
            }
            2 => {
                drop(host.node);
                drop(host.system);
            }
            _ => {
                drop(host.system);
                drop(host.node);
            }
        }
        for open in open {
            assert!(outcome_of(open).is_some(), "somebody waits for ever, {how}");
        }
        drop(network);
        flush();
        assert_eq!(Arc::strong_count(&life), 1, "something of the node lives on, {how}");
        assert_eq!(Arc::strong_count(&started), 1, "something of the node lives on, {how}");
        let arenas = [0, 1].map(|number| heap.arena(number).is_some());
        assert_eq!(arenas, [true; 2], "something of the node keeps memory, {how}");
        HEAP.set(Some(heap));
        self.events
    }
}

fn take(_: RemoteDown) -> Msg {
    Msg::Take
}

fn there_of(found: actinium_cluster::AnyAddress<Worker>) -> Option<RemoteAddress<Worker>> {
    match found {
        actinium_cluster::AnyAddress::There(there) => Some(there),
        actinium_cluster::AnyAddress::Here(..) => None,
    }
}

/// What comes of it, if that is known.
fn outcome_of<R>(open: impl Future<Output = R>) -> Option<R> {
    let mut open = std::pin::pin!(open);
    match open.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}
