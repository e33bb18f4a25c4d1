//! Large payloads between nodes, on test systems, over a network that a seed makes bad: with remote
//! memory and without.

use crate::common::{Cluster, LIMIT, MS, bad_network, reliable};
use actinium_actor::{Actor, Address, Context, Mailbox, Reply, SpawnOptions};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::{
    AnyAddress, NodeConfig, NodeEvent, PayloadConfig, PayloadError, RemoteActor, RemoteAddress,
    RemoteSendError,
};
use actinium_memory::heap::{Arena, Heap, Payload, flush};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Waker};

const PAGE: usize = 64 << 10;
/// Of each arena.
const PAGES: usize = 64;

/// Keeps what came: a number, and a payload, if it had one.
struct Sink {
    seen: Arc<Mutex<Seen>>,
}

type Seen = Vec<(u32, Option<Payload>)>;

/// With how many bytes a message is sent, the number of which says which bytes.
type Msg = (u32, Option<Payload>);

impl Actor for Sink {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        self.seen.lock().unwrap().push(msg);
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.sink";
    type Message = u32;
    type Request = ();
    type Answer = ();
    fn message(number: u32) -> Msg {
        (number, None)
    }
    fn request((): (), _reply: Reply<()>) -> Msg {
        (u32::MAX, None)
    }
    fn with_payload(number: u32, payload: Payload) -> Result<Msg, (u32, Payload)> {
        assert_ne!(number, u32::MAX, "on purpose");
        Ok((number, Some(payload)))
    }
}

/// Takes no payloads.
struct Plain;

impl Actor for Plain {
    type Msg = ();
    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
}

impl RemoteActor for Plain {
    const KIND: &'static str = "test.plain";
    type Message = u32;
    type Request = ();
    type Answer = ();
    fn message(_: u32) {}
    fn request((): (), _reply: Reply<()>) {}
}

/// Ends when it has started.
struct Mayfly;

impl Actor for Mayfly {
    type Msg = ();
    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        ctx.stop();
    }
    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
}

impl RemoteActor for Mayfly {
    const KIND: &'static str = "test.mayfly";
    type Message = u32;
    type Request = ();
    type Answer = ();
    fn message(_: u32) {}
    fn request((): (), _reply: Reply<()>) {}
}

/// Two nodes: the first sends payloads of `arena` to the second's sink.
struct Pair {
    cluster: Cluster,
    heap: &'static Heap,
    arena: Arena,
    sink: Address<Sink>,
    seen: Arc<Mutex<Seen>>,
    there: RemoteAddress<Sink>,
}

fn byte(number: u32, at: usize) -> u8 {
    (number as usize).wrapping_mul(31).wrapping_add(at.wrapping_mul(7) ^ (at >> 8)) as u8
}

fn assert_bytes(number: u32, payload: &[u8]) {
    assert!((0..).zip(payload).all(|(at, &is)| is == byte(number, at)), "bytes of {number}");
}

fn payload(arena: &mut Arena, number: u32, len: usize) -> Payload {
    let write = |bytes: &mut [u8]| {
        (0..).zip(bytes).for_each(|(at, place)| *place = byte(number, at));
    };
    arena.payload_with(len, write).unwrap()
}

impl Pair {
    fn new(seed: u64, remote: bool, config: NodeConfig, mailbox: Option<usize>) -> Self {
        let mut cluster = Cluster::new(seed, 0, Faults::default(), config);
        if !remote {
            cluster.network = Network::seeded(seed, Faults::default()).without_remote_memory();
        }
        cluster.hosts = (0..2).map(|n| cluster.host(n, 1)).collect();
        let heap = Heap::leak_plain(2, PAGES).unwrap();
        let [arena, own] = [0, 1].map(|number| heap.arena(number).unwrap());
        cluster.hosts[1].node.take_payloads_in(own);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let options = SpawnOptions::new();
        let options = match mailbox {
            Some(len) => options.mailbox(Mailbox::Bounded(len)),
            None => options,
        };
        let keeps = seen.clone();
        let sink = move || Sink { seen: keeps.clone() };
        let sink = cluster.hosts[1].system.handle().spawn_with(options, sink).unwrap();
        cluster.hosts[1].node.export("sink", &sink).unwrap();
        let there = cluster.hosts[0].node.lookup::<Sink>(NodeId(1), "sink", LIMIT);
        let there = cluster.wait(there).unwrap();
        Pair { cluster, heap, arena, sink, seen, there }
    }

    /// What has come since.
    fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }

    fn send(&mut self, number: u32, len: usize) {
        self.there.send_with_payload(number, payload(&mut self.arena, number, len)).unwrap();
    }

    fn waiting(&self, host: usize) -> usize {
        self.cluster.hosts[host].node.stats().peers[0].payload_bytes_waiting
    }

    fn ahead(&self, host: usize) -> usize {
        self.cluster.hosts[host].node.stats().peers[0].payload_bytes_ahead
    }

    /// All blocks are given back, at both ends: each arena has room again for one that fills it.
    fn assert_nothing_leaks(self) {
        drop(self.take());
        flush();
        assert_eq!((self.waiting(0), self.ahead(1)), (0, 0));
        let Pair { cluster, heap, mut arena, sink, there, .. } = self;
        drop((cluster, sink, there));
        flush();
        let mut own = heap.arena(1).expect("the node has gone, and its arena is free");
        for arena in [&mut arena, &mut own] {
            assert!(arena.payload_with(PAGES * PAGE - 4096, |_| {}).is_ok(), "{arena:?}");
        }
    }
}

/// Whether a message with this number has a payload, and how long it is: more than a page, so that
/// whole runs come back.
fn len_of(number: u32) -> Option<usize> {
    (!number.is_multiple_of(3)).then_some(PAGE + (number as usize * 7_919) % (3 * PAGE))
}

/// Sends numbers from 0 on, with payloads and without, as fast as they are taken.
fn stream(pair: &mut Pair, count: u32) -> Seen {
    let mut seen = Vec::new();
    let mut number = 0;
    let keep = |pair: &Pair, seen: &mut Seen| {
        for (number, payload) in pair.take() {
            assert_eq!(payload.as_deref().map(<[u8]>::len), len_of(number));
            assert_bytes(number, payload.as_deref().unwrap_or_default());
            // Given back at once.
            seen.push((number, None));
        }
    };
    for _ in 0..100_000 {
        while number < count {
            let sent = match len_of(number) {
                // No room here: some are still on their way.
                Some(len) => match pair.arena.payload_with(len, |bytes| {
                    (0..).zip(bytes).for_each(|(at, place)| *place = byte(number, at));
                }) {
                    Ok(payload) => pair.there.send_with_payload(number, payload).map_err(drop),
                    Err(_) => Err(()),
                },
                None => pair.there.send(number).map_err(drop),
            };
            if sent.is_err() {
                break;
            }
            number += 1;
        }
        pair.cluster.step();
        keep(pair, &mut seen);
        if number == count && pair.waiting(0) == 0 {
            pair.cluster.steps(300);
            keep(pair, &mut seen);
            return seen;
        }
    }
    panic!("it hangs: {number} of {count} were sent, {} came", seen.len());
}

#[test]
fn payloads_come_whole_and_in_order_with_other_messages_over_a_bad_network() {
    for (seed, remote) in [(0, true), (1, false), (2, true), (3, false)] {
        let mut pair = Pair::new(seed, remote, reliable(), None);
        pair.cluster.network.set_faults(bad_network());
        let seen = stream(&mut pair, 120);
        let numbers: Vec<u32> = seen.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (0..120).collect::<Vec<_>>(), "seed {seed}");
        pair.assert_nothing_leaks();
    }
}

#[test]
fn what_is_lost_with_its_frame_is_reported_and_kept_by_nobody() {
    let mut all_lost = 0;
    for (seed, remote) in [(4, true), (5, false), (6, true), (7, false)] {
        let mut pair = Pair::new(seed, remote, NodeConfig::default(), None);
        (0..2).for_each(|host| drop(pair.cluster.events(host)));
        pair.cluster.network.set_faults(Faults { loss: 0.2, ..Faults::default() });
        let seen = stream(&mut pair, 200);
        assert!(seen.is_sorted_by_key(|(number, _)| *number), "seed {seed}");
        let lost = |host: usize| -> u64 {
            let lost = |event: &NodeEvent| match event {
                NodeEvent::Lost(_, lost) | NodeEvent::LostThere(_, lost) => lost.messages,
                other => panic!("{other:?}"),
            };
            pair.cluster.events(host).iter().map(lost).sum()
        };
        let lost = [0, 1].map(lost);
        assert_eq!(lost[0], lost[1], "both know the same");
        all_lost += lost[0];
        assert_eq!(seen.len() as u64 + lost[0], 200, "seed {seed}");
        pair.assert_nothing_leaks();
    }
    assert!(all_lost > 0);
}

#[test]
fn one_seed_gives_one_run() {
    let run = |seed| {
        let mut pair = Pair::new(seed, false, NodeConfig::default(), None);
        pair.cluster.network.set_faults(bad_network());
        let numbers: Vec<u32> = stream(&mut pair, 60).iter().map(|(number, _)| *number).collect();
        (numbers, pair.cluster.network.now_ns())
    };
    assert_eq!(run(11), run(11));
    assert_ne!(run(11), run(12));
}

#[test]
fn payloads_of_no_bytes_and_of_one_come_too() {
    for remote in [true, false] {
        let mut pair = Pair::new(0, remote, reliable(), None);
        for (number, len) in [(1, 0), (2, 1), (3, PAGE)] {
            pair.send(number, len);
        }
        pair.cluster.steps(10);
        let seen = pair.take();
        let lens: Vec<usize> = seen.iter().map(|(_, it)| it.as_ref().unwrap().len()).collect();
        assert_eq!(lens, [0, 1, PAGE]);
        seen.iter().for_each(|(number, it)| assert_bytes(*number, it.as_ref().unwrap()));
    }
}

fn lost(events: &[NodeEvent]) -> Vec<(u64, PayloadError)> {
    let lost = events.iter().filter_map(|event| match event {
        NodeEvent::PayloadLost { bytes, why, .. } => Some((*bytes, why.clone())),
        _ => None,
    });
    lost.collect()
}

fn lost_there(events: &[NodeEvent]) -> Vec<(u64, String)> {
    let lost = events.iter().filter_map(|event| match event {
        NodeEvent::PayloadLostThere { bytes, why, .. } => Some((*bytes, why.clone())),
        _ => None,
    });
    lost.collect()
}

#[test]
fn a_receiver_without_room_says_so_to_both_and_goes_on() {
    for remote in [true, false] {
        let mut pair = Pair::new(0, remote, reliable(), None);
        // The sink keeps all that comes: then there is no room.
        for number in 0..12 {
            pair.send(number, 10 * PAGE - 4096);
            pair.cluster.steps(20);
        }
        pair.there.send(12).unwrap();
        pair.cluster.steps(20);
        let seen = pair.take();
        let numbers: Vec<u32> = seen.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 12]);
        let (here, there) = (pair.cluster.events(1), pair.cluster.events(0));
        let (here, there) = (lost(&here), lost_there(&there));
        assert_eq!((here.len(), there.len()), (6, 6));
        assert!(
            matches!(here[0], (bytes, PayloadError::Exhausted(_)) if bytes == 10 * PAGE as u64 - 4096)
        );
        assert!(there[0].1.contains("no room for"), "{there:?}");
        drop(seen);
        flush();
        // Nothing could ever take this one.
        let huge = pair.arena.payload_with(PAGES * PAGE / 2, |_| {}).unwrap();
        pair.there.send_with_payload(13, huge).unwrap();
        pair.cluster.steps(20);
        assert_eq!(pair.take().len(), 1, "there is room again");
        pair.assert_nothing_leaks();
    }
}

#[test]
fn who_takes_none_has_nowhere_for_them_or_has_ended_gets_none() {
    let mut pair = Pair::new(0, true, reliable(), None);
    let plain = pair.cluster.hosts[1].system.spawn(Plain);
    pair.cluster.hosts[1].node.export("plain", &plain).unwrap();
    let to_plain = pair.cluster.hosts[0].node.lookup::<Plain>(NodeId(1), "plain", LIMIT);
    let to_plain = pair.cluster.wait(to_plain).unwrap();
    to_plain.send_with_payload(1, payload(&mut pair.arena, 1, PAGE)).unwrap();
    // One whose message can not be made, which is the user's code.
    pair.send(u32::MAX, PAGE);
    // The first node has said nothing of where payloads may lie.
    let other = Arc::new(Mutex::new(Vec::new()));
    let back = pair.cluster.hosts[0].system.spawn(Sink { seen: other.clone() });
    pair.cluster.hosts[0].node.export("sink", &back).unwrap();
    let to_back = pair.cluster.hosts[1].node.lookup::<Sink>(NodeId(0), "sink", LIMIT);
    let to_back = pair.cluster.wait(to_back).unwrap();
    to_back.send_with_payload(2, payload(&mut pair.arena, 2, PAGE)).unwrap();
    pair.cluster.steps(50);
    let (zero, one) = (pair.cluster.events(0), pair.cluster.events(1));
    assert_eq!(lost(&one), [(PAGE as u64, PayloadError::NotTaken)]);
    assert!(lost_there(&zero)[0].1.contains("takes no payloads"));
    assert_eq!(lost(&zero), [(PAGE as u64, PayloadError::NoArena)]);
    assert!(lost_there(&one)[0].1.contains("take_payloads_in"));
    assert_eq!(pair.cluster.hosts[1].node.stats().not_understood, 1);
    // One that has ended: the message is a dead letter, as any.
    pair.sink.stop();
    pair.cluster.steps(10);
    pair.send(3, PAGE);
    pair.cluster.steps(50);
    assert_eq!(pair.take().len(), 0);
    assert!(pair.cluster.hosts[1].system.audit().is_balanced());
    assert_eq!(pair.cluster.hosts[1].node.stats().peers[0].payload_bytes_waiting, 0);
    drop((to_plain, to_back, plain, back));
    pair.assert_nothing_leaks();
}

/// Its place in the table of exports is free again, so that it is known at once that nothing is to
/// be fetched.
#[test]
fn what_belongs_to_an_actor_that_is_no_more_holds_nothing_up() {
    for first_is_for_nobody in [true, false] {
        let mut pair = Pair::new(0, true, reliable(), None);
        let make = |(): ()| Mayfly;
        pair.cluster.hosts[1].node.register::<Mayfly, ()>(SpawnOptions::new(), make).unwrap();
        let started = pair.cluster.hosts[0].node.spawn_on::<Mayfly, ()>(NodeId(1), (), LIMIT);
        let AnyAddress::There(nobody) = pair.cluster.wait(started).unwrap() else {
            panic!("it was to start there")
        };
        pair.cluster.steps(50);
        if !first_is_for_nobody {
            pair.send(1, PAGE);
        }
        nobody.send_with_payload(2, payload(&mut pair.arena, 2, PAGE)).unwrap();
        pair.send(3, PAGE);
        pair.there.send(4).unwrap();
        pair.cluster.steps(100);
        let seen: Vec<u32> = pair.take().into_iter().map(|(number, _)| number).collect();
        assert_eq!(seen, if first_is_for_nobody { vec![3, 4] } else { vec![1, 3, 4] });
        let told = |event: &NodeEvent| matches!(event, NodeEvent::Misaddressed { messages: 1, .. });
        assert_eq!(pair.cluster.events(0).iter().filter(|event| told(event)).count(), 1);
        assert_eq!(pair.waiting(0), 0);
        drop(nobody);
        pair.assert_nothing_leaks();
    }
}

#[test]
fn when_the_two_lose_each_other_nothing_is_kept_and_what_is_behind_goes_on() {
    for remote in [true, false] {
        // Slowly, so that the cut comes while bytes are under way.
        let payloads = PayloadConfig { window_bytes: 256 << 10, ..PayloadConfig::default() };
        let config = NodeConfig { payload: payloads, ..NodeConfig::default() };
        let mut pair = Pair::new(0, remote, config, None);
        pair.cluster.network.set_faults(Faults { delay_ns: 5 * MS..=5 * MS, ..Faults::default() });
        for number in 0..8 {
            pair.send(number, 4 * PAGE);
        }
        pair.there.send(8).unwrap();
        pair.cluster.steps(if remote { 8 } else { 30 });
        assert!(pair.ahead(1) > 0, "something is being fetched");
        pair.cluster.network.cut(NodeId(0), NodeId(1));
        pair.cluster.steps(3_000);
        let numbers: Vec<u32> = pair.take().iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers.last(), Some(&8), "what had come behind them is handed over");
        let events = pair.cluster.events(1);
        let lost = lost(&events);
        assert_eq!(numbers.len() + lost.len(), 9, "{events:?}");
        assert!(lost.len() > 1 && lost.iter().all(|(_, why)| *why == PayloadError::NodeDown));
        let down = events.iter().position(|event| matches!(event, NodeEvent::Down { .. })).unwrap();
        let last = events.iter().rposition(|it| matches!(it, NodeEvent::PayloadLost { .. }));
        assert!(last.unwrap() < down, "that the node is down comes behind all that it had said");
        assert_eq!((pair.waiting(0), pair.ahead(1)), (0, 0));
        let refused = pair.there.send_with_payload(9, payload(&mut pair.arena, 9, PAGE));
        assert!(matches!(refused, Err(RemoteSendError::NodeDown((9, _)))));
        pair.cluster.network.heal(NodeId(0), NodeId(1));
        pair.cluster.steps(1_000);
        drop(refused);
        pair.send(10, PAGE);
        pair.cluster.steps(50);
        assert_bytes(10, pair.take()[0].1.as_ref().unwrap());
        pair.assert_nothing_leaks();
    }
}

#[test]
fn a_sender_that_dies_and_starts_again_is_not_taken_for_its_earlier_life() {
    for remote in [true, false] {
        let mut pair = Pair::new(0, remote, NodeConfig::default(), None);
        pair.cluster.network.set_faults(Faults { delay_ns: 5 * MS..=5 * MS, ..Faults::default() });
        for number in 0..4 {
            pair.send(number, 4 * PAGE);
        }
        pair.cluster.steps(8);
        pair.cluster.network.kill(NodeId(0));
        let next = pair.cluster.host(0, 100);
        drop(std::mem::replace(&mut pair.cluster.hosts[0], next));
        pair.cluster.steps(3_000);
        let events = pair.cluster.events(1);
        assert_eq!(pair.take().len() + lost(&events).len(), 4, "{events:?}");
        // Its first offer has the number that the dead one's first had.
        let there = pair.cluster.hosts[0].node.lookup::<Sink>(NodeId(1), "sink", LIMIT);
        pair.there = pair.cluster.wait(there).unwrap();
        pair.send(77, 3 * PAGE);
        pair.cluster.steps(100);
        let seen = pair.take();
        assert_eq!(seen.len(), 1);
        assert_bytes(77, seen[0].1.as_ref().unwrap());
        drop(seen);
        pair.assert_nothing_leaks();
    }
}

#[test]
fn what_waits_at_both_ends_is_bounded_and_a_refused_sender_is_told_of_room() {
    const WAITING: usize = 16 * PAGE;
    const AHEAD: usize = 4 * PAGE;
    for remote in [true, false] {
        let payloads = PayloadConfig {
            waiting_bytes_max: WAITING,
            ahead_bytes_max: AHEAD,
            ..PayloadConfig::default()
        };
        let config = NodeConfig { payload: payloads, ..reliable() };
        let mut pair = Pair::new(0, remote, config, Some(2));
        let mut number = 0;
        let mut seen = 0;
        for _ in 0..40 {
            loop {
                let one = payload(&mut pair.arena, number, PAGE);
                match pair.there.send_with_payload(number, one) {
                    Ok(()) => number += 1,
                    Err(RemoteSendError::Full((it, _))) if it == number => break,
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(pair.waiting(0) <= WAITING);
            let mut room = std::pin::pin!(pair.there.ready_for_payload());
            let mut cx = TaskContext::from_waker(Waker::noop());
            assert!(room.as_mut().poll(&mut cx).is_pending());
            for _ in 0..100 {
                pair.cluster.step();
                assert!(pair.ahead(1) <= AHEAD, "{}", pair.ahead(1));
                if room.as_mut().poll(&mut cx).is_ready() {
                    break;
                }
            }
            let mut again = std::pin::pin!(pair.there.ready_for_payload());
            assert!(again.as_mut().poll(&mut cx).is_ready() || pair.waiting(0) == WAITING);
            for (at, it) in pair.take() {
                assert_eq!(at, seen);
                assert_bytes(at, &it.unwrap());
                seen += 1;
            }
        }
        assert!(seen > 40, "{seen}");
    }
}
