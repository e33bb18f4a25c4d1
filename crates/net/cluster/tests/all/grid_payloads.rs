//! Large payloads between nodes of a grid that are no neighbours, on test systems, over a network
//! that a seed makes bad: with remote memory and without.

use crate::common::{Cluster, LIMIT, MS, bad_network, reliable};
use crate::liar::datagram;
use actinium_actor::{Actor, Address, Context, Reply, System};
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::route::{Grid, Route};
use actinium_cluster::{
    Node, NodeConfig, NodeEvent, PayloadConfig, PayloadError, RemoteActor, RemoteAddress,
    RemoteSendError,
};
use actinium_memory::heap::{Arena, Heap, Payload, flush};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

const PAGE: usize = 64 << 10;
/// Of each arena.
const PAGES: usize = 64;

/// Keeps what came: who has sent it, its number, and its payload, if it had one.
struct Sink(Arc<Mutex<Vec<Msg>>>);

type Msg = (u32, u32, Option<Payload>);

impl Actor for Sink {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        self.0.lock().unwrap().push(msg);
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.grid-payload-sink";
    type Message = (u32, u32);
    type Request = ();
    type Answer = ();
    fn message((from, number): (u32, u32)) -> Msg {
        (from, number, None)
    }
    fn request((): (), reply: Reply<()>) -> Msg {
        let _ = reply.send(());
        (u32::MAX, 0, None)
    }
    fn with_payload(
        (from, number): (u32, u32),
        payload: Payload,
    ) -> Result<Msg, ((u32, u32), Payload)> {
        Ok((from, number, Some(payload)))
    }
}

/// Nodes in a grid that send to the last one's sink.
struct World {
    cluster: Cluster,
    heap: &'static Heap,
    /// By node: what it sends lies in its own, and the last one is for what comes.
    arenas: Vec<Arena>,
    sink: Option<Address<Sink>>,
    seen: Arc<Mutex<Vec<Msg>>>,
    /// By sender.
    there: Vec<RemoteAddress<Sink>>,
}

fn byte(from: u32, number: u32, at: usize) -> u8 {
    (number as usize * 31).wrapping_add((at * 7) ^ (at >> 8)).wrapping_add(from as usize) as u8
}

impl World {
    fn new(seed: u64, (route, nodes): (Route, u32), remote: bool, config: NodeConfig) -> Self {
        let config = NodeConfig { route, grid_nodes: nodes, ..config };
        let mut cluster = Cluster::new(seed, 0, Faults::default(), config);
        if !remote {
            cluster.network = Network::seeded(seed, Faults::default()).without_remote_memory();
        }
        cluster.hosts = (0..nodes).map(|n| cluster.host(n, 1)).collect();
        let last = nodes as usize - 1;
        let heap = Heap::leak_plain(last + 1, PAGES).unwrap();
        let mut arenas: Vec<_> = (0..=last).map(|number| heap.arena(number).unwrap()).collect();
        cluster.hosts[last].node.take_payloads_in(arenas.pop().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = cluster.hosts[last].system.spawn(Sink(seen.clone()));
        cluster.hosts[last].node.export("sink", &sink).unwrap();
        let mut world = World { cluster, heap, arenas, sink: Some(sink), seen, there: Vec::new() };
        for n in 0..last {
            let there = world.look_up(n);
            world.there.push(there);
        }
        world.cluster.steps(50);
        world
    }

    fn last(&self) -> usize {
        self.cluster.hosts.len() - 1
    }

    fn look_up(&mut self, from: usize) -> RemoteAddress<Sink> {
        let to = NodeId(self.last() as u32);
        let there = self.cluster.hosts[from].node.lookup::<Sink>(to, "sink", LIMIT);
        self.cluster.wait(there).unwrap()
    }

    /// Sends a message, with a payload if it has a length. False: there is no room for it.
    fn send(&mut self, from: u32, number: u32, len: Option<usize>) -> bool {
        let there = &self.there[from as usize];
        let Some(len) = len else { return there.send((from, number)).is_ok() };
        let write = |bytes: &mut [u8]| {
            (0..).zip(bytes).for_each(|(at, place)| *place = byte(from, number, at));
        };
        let Ok(payload) = self.arenas[from as usize].payload_with(len, write) else { return false };
        match there.send_with_payload((from, number), payload) {
            Ok(()) => true,
            Err(RemoteSendError::Full(((_, back), payload))) => {
                assert_eq!((back, payload.len()), (number, len));
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The numbers that have come since of a sender's messages; all bytes are right.
    fn take(&self, from: u32) -> Vec<u32> {
        let mut seen = self.seen.lock().unwrap();
        let of_it = |msg: &Msg| msg.0 == from;
        let taken: Vec<Msg> = seen.extract_if(.., |msg| of_it(msg)).collect();
        let number = |(from, number, payload): Msg| {
            let bytes = payload.as_deref().unwrap_or_default();
            let is_right = (0..).zip(bytes).all(|(at, &is)| is == byte(from, number, at));
            assert!(is_right, "bytes of {number} of {from}");
            number
        };
        taken.into_iter().map(number).collect()
    }

    fn waiting(&self, host: usize) -> usize {
        let stats = self.cluster.hosts[host].node.stats();
        stats.peers.iter().map(|peer| peer.payload_bytes_waiting).sum()
    }

    fn ahead(&self) -> usize {
        let stats = self.cluster.hosts[self.last()].node.stats();
        stats.peers.iter().map(|peer| peer.payload_bytes_ahead).sum()
    }

    /// All blocks are given back: each arena has room again for one that fills it.
    fn assert_nothing_leaks(self) {
        self.seen.lock().unwrap().clear();
        flush();
        for host in 0..self.cluster.hosts.len() {
            assert_eq!(self.waiting(host), 0, "at {host}");
        }
        assert_eq!(self.ahead(), 0);
        let World { cluster, heap, mut arenas, sink, there, .. } = self;
        drop((cluster, sink, there));
        flush();
        arenas.push(heap.arena(arenas.len()).expect("the node has gone, and its arena is free"));
        for arena in &mut arenas {
            let all = arena.payload_with(PAGES * PAGE - 4096, |_| {});
            assert!(all.is_ok(), "arena {}", arena.number());
        }
    }
}

/// Whether a message with this number has a payload, and how long it is: more than a page, so that
/// whole runs come back.
fn len_of(number: u32) -> Option<usize> {
    (!number.is_multiple_of(3)).then_some(PAGE + (number as usize * 7_919) % (3 * PAGE))
}

fn lost(events: &[NodeEvent]) -> Vec<(NodeId, PayloadError)> {
    let lost = events.iter().filter_map(|event| match event {
        NodeEvent::PayloadLost { node, why, .. } => Some((*node, why.clone())),
        _ => None,
    });
    lost.collect()
}

fn lost_there(events: &[NodeEvent]) -> Vec<(NodeId, String)> {
    let lost = events.iter().filter_map(|event| match event {
        NodeEvent::PayloadLostThere { node, why, .. } => Some((*node, why.clone())),
        _ => None,
    });
    lost.collect()
}

/// Sends `count` messages from each of these nodes, with payloads and without, as fast as they are
/// taken. Returns the numbers that came, by sender.
fn stream(world: &mut World, senders: &[u32], count: u32) -> Vec<Vec<u32>> {
    let mut next = vec![0; senders.len()];
    let mut came = vec![Vec::new(); senders.len()];
    for _ in 0..20_000 {
        for (&from, next) in senders.iter().zip(&mut next) {
            while *next < count && world.send(from, *next, len_of(*next)) {
                *next += 1;
            }
        }
        world.cluster.step();
        for (&from, came) in senders.iter().zip(&mut came) {
            came.extend(world.take(from));
        }
        let is_over = |world: &World| senders.iter().all(|&from| world.waiting(from as usize) == 0);
        if next.iter().all(|&next| next == count) && is_over(world) {
            world.cluster.steps(300);
            for (&from, came) in senders.iter().zip(&mut came) {
                came.extend(world.take(from));
            }
            return came;
        }
    }
    panic!("it hangs: {next:?} of {count} were sent, {came:?} came");
}

const SQUARE: (Route, u32) = (Route::Square, 9);
const CUBE: (Route, u32) = (Route::Cube, 8);

#[test]
fn over_two_and_three_hops_payloads_come_whole_and_in_order_with_other_messages() {
    for (seed, grid, remote) in
        [(0, SQUARE, true), (1, SQUARE, false), (2, CUBE, true), (3, CUBE, false)]
    {
        // There is room for what comes of all of them.
        let payload = PayloadConfig { ahead_bytes_max: 8 * PAGE, ..PayloadConfig::default() };
        let mut world = World::new(seed, grid, remote, NodeConfig { payload, ..reliable() });
        world.cluster.network.set_faults(bad_network());
        // Of the last node, the first is as far away as can be, and one of these is a neighbour.
        let last = grid.1 - 1;
        let hops = |from: u32| {
            let (grid, mut at, mut hops) = (Grid::new(grid.0, grid.1), from, 0);
            while at != last {
                (at, hops) = (grid.next(at, last), hops + 1);
            }
            hops
        };
        let senders = [0, 1, last - 1];
        let most = if grid == CUBE { 3 } else { 2 };
        assert_eq!((hops(0), hops(last - 1)), (most, 1));
        let came = stream(&mut world, &senders, 40);
        for came in came {
            assert_eq!(came, (0..40).collect::<Vec<_>>(), "seed {seed}");
        }
        // No node on the way has memory for payloads, and none needs it.
        for host in 0..world.cluster.hosts.len() {
            assert_eq!(lost(&world.cluster.events(host)), [], "seed {seed}");
        }
        world.assert_nothing_leaks();
    }
}

#[test]
fn what_is_lost_on_the_way_is_reported_and_kept_by_nobody() {
    let mut all_lost = 0;
    for (seed, remote) in [(4, true), (5, false)] {
        let mut world = World::new(seed, SQUARE, remote, NodeConfig::default());
        (0..9).for_each(|host| drop(world.cluster.events(host)));
        world.cluster.network.set_faults(Faults { loss: 0.05, ..Faults::default() });
        let came = stream(&mut world, &[0], 100).remove(0);
        world.cluster.network.set_faults(Faults::default());
        world.cluster.steps(200);
        assert!(came.is_sorted(), "seed {seed}");
        let lost = |host: usize, of: u32| -> u64 {
            let lost = |event: &NodeEvent| match event {
                NodeEvent::Lost(node, lost) | NodeEvent::LostThere(node, lost)
                    if *node == NodeId(of) =>
                {
                    lost.messages
                }
                _ => 0,
            };
            world.cluster.events(host).iter().map(lost).sum()
        };
        let lost = [lost(0, 8), lost(8, 0)];
        assert_eq!(lost[0], lost[1], "both know the same");
        assert_eq!(came.len() as u64 + lost[0], 100, "seed {seed}");
        all_lost += lost[0];
        world.assert_nothing_leaks();
    }
    assert!(all_lost > 0);
}

#[test]
fn one_seed_gives_one_run() {
    let run = |seed| {
        let mut world = World::new(seed, SQUARE, false, NodeConfig::default());
        world.cluster.network.set_faults(bad_network());
        (stream(&mut world, &[0, 3], 20), world.cluster.network.now_ns())
    };
    assert_eq!(run(11), run(11));
    assert_ne!(run(11), run(12));
}

/// 0 1 2
/// 3 4 5   0 sends to 8 through 2, and 8 to 0 through 6.
/// 6 7 8
#[test]
fn when_a_node_on_the_way_dies_both_ends_hear_and_later_payloads_go_straight() {
    for remote in [true, false] {
        let payload = PayloadConfig { window_bytes: 256 << 10, ..PayloadConfig::default() };
        let config = NodeConfig { payload, ..reliable() };
        let mut world = World::new(6, SQUARE, remote, config);
        world.cluster.network.set_faults(Faults { delay_ns: 5 * MS..=5 * MS, ..Faults::default() });
        (0..9).for_each(|host| drop(world.cluster.events(host)));
        let count = 8;
        for number in 0..count {
            assert!(world.send(0, number, Some(4 * PAGE)));
        }
        assert!(world.send(0, count, None));
        world.cluster.steps(if remote { 25 } else { 40 });
        // It dies with this one.
        assert!(world.send(0, count + 1, Some(4 * PAGE)));
        world.cluster.steps(2);
        world.cluster.network.kill(NodeId(2));
        let mut came = world.take(0);
        assert!(came.len() < count as usize, "some are on their way: {came:?}");
        world.cluster.steps(3_000);
        came.extend(world.take(0));
        let (there, here) = (world.cluster.events(8), world.cluster.events(0));
        // What had come is handed over or told of, and then that the way has ended.
        let lost = lost(&there);
        assert_eq!(came.len() + lost.len(), 9, "{came:?} {there:?}");
        let unacknowledged = here.iter().find_map(|event| match event {
            NodeEvent::Down { node: NodeId(8), unacknowledged, .. } => {
                Some(unacknowledged.messages)
            }
            _ => None,
        });
        assert_eq!(unacknowledged, Some(1), "{here:?}");
        let is_down = |event: &NodeEvent| matches!(event, NodeEvent::Down { node: NodeId(0), .. });
        let down = there.iter().position(is_down).expect("it hears, too");
        let last = there.iter().rposition(|it| matches!(it, NodeEvent::PayloadLost { .. }));
        assert!(last.is_none_or(|last| last < down), "{there:?}");
        assert_eq!((world.waiting(0), world.ahead()), (0, 0));
        // The two have a link of their own by now.
        let peers = world.cluster.hosts[0].node.stats().peers;
        let of_it = peers.iter().find(|peer| peer.node == NodeId(8)).unwrap();
        assert!(of_it.is_up && of_it.through.is_none());
        for number in 20..23 {
            assert!(world.send(0, number, Some(2 * PAGE)));
        }
        world.cluster.steps(200);
        assert_eq!(world.take(0), [20, 21, 22]);
        world.assert_nothing_leaks();
    }
}

#[test]
fn a_distant_sender_that_dies_and_starts_again_is_not_taken_for_its_earlier_life() {
    for remote in [true, false] {
        let mut world = World::new(7, SQUARE, remote, reliable());
        world.cluster.network.set_faults(Faults { delay_ns: 5 * MS..=5 * MS, ..Faults::default() });
        drop(world.cluster.events(8));
        for number in 0..4 {
            assert!(world.send(0, number, Some(4 * PAGE)));
        }
        world.cluster.steps(18);
        world.cluster.network.kill(NodeId(0));
        let next = world.cluster.host(0, 100);
        drop(std::mem::replace(&mut world.cluster.hosts[0], next));
        world.cluster.steps(3_000);
        let events = world.cluster.events(8);
        assert_eq!(world.take(0).len() + lost(&events).len(), 4, "{events:?}");
        // Its first offer has the number that the dead one's first had.
        world.there[0] = world.look_up(0);
        assert!(world.send(0, 77, Some(3 * PAGE)));
        world.cluster.steps(100);
        assert_eq!(world.take(0), [77]);
        world.assert_nothing_leaks();
    }
}

/// Messages go through other nodes; bytes do not.
#[test]
fn where_messages_have_a_way_and_bytes_have_none_both_are_told_and_the_rest_goes_on() {
    for remote in [true, false] {
        let mut world = World::new(8, SQUARE, remote, reliable());
        [0, 8].iter().for_each(|&host| drop(world.cluster.events(host)));
        world.cluster.network.cut(NodeId(0), NodeId(8));
        for number in 0..20 {
            assert!(world.send(0, number, Some(PAGE)));
        }
        // In the same frames of node 2, for node 2's own sake.
        assert!(world.send(0, 20, None) && world.send(2, 0, Some(PAGE)));
        world.cluster.steps(100);
        assert_eq!(world.take(2), [0], "what is of others does not wait");
        assert_eq!(world.take(0), [0; 0]);
        world.cluster.steps(1_200);
        assert_eq!(world.take(0), [20]);
        let (there, here) = (lost(&world.cluster.events(8)), lost_there(&world.cluster.events(0)));
        assert_eq!(there, vec![(NodeId(0), PayloadError::NoAnswer); 20]);
        assert!(here.len() == 20 && here.iter().all(|(_, why)| why.contains("does not answer")));
        world.cluster.network.heal(NodeId(0), NodeId(8));
        assert!(world.send(0, 41, Some(PAGE)));
        world.cluster.steps(50);
        assert_eq!(world.take(0), [41]);
        world.assert_nothing_leaks();
    }
}

#[test]
fn a_distant_receiver_without_memory_or_room_says_so_to_both_and_goes_on() {
    for remote in [true, false] {
        let mut world = World::new(9, SQUARE, remote, reliable());
        [0, 8].iter().for_each(|&host| drop(world.cluster.events(host)));
        // The sink keeps all that comes: then there is no room.
        for number in 0..9 {
            assert!(world.send(0, number, Some(10 * PAGE - 4096)));
            world.cluster.steps(60);
        }
        assert!(world.send(0, 9, None));
        world.cluster.steps(60);
        assert_eq!(world.take(0), [0, 1, 2, 3, 4, 5, 9]);
        let (there, here) = (lost(&world.cluster.events(8)), lost_there(&world.cluster.events(0)));
        assert!(there.len() == 3 && matches!(there[0].1, PayloadError::Exhausted(_)), "{there:?}");
        assert!(here.len() == 3 && here[0].1.contains("no room for"), "{here:?}");
        // Node 0 has said nothing of where payloads may lie.
        let seen = Arc::new(Mutex::new(Vec::new()));
        let back = world.cluster.hosts[0].system.spawn(Sink(seen.clone()));
        world.cluster.hosts[0].node.export("sink", &back).unwrap();
        let to_back = world.cluster.hosts[8].node.lookup::<Sink>(NodeId(0), "sink", LIMIT);
        let to_back = world.cluster.wait(to_back).unwrap();
        let payload = world.arenas[1].payload_with(PAGE, |_| {}).unwrap();
        to_back.send_with_payload((8, 1), payload).unwrap();
        to_back.send((8, 2)).unwrap();
        world.cluster.steps(60);
        assert_eq!(seen.lock().unwrap().len(), 1);
        assert_eq!(lost(&world.cluster.events(0)), [(NodeId(8), PayloadError::NoArena)]);
        assert!(lost_there(&world.cluster.events(8))[0].1.contains("take_payloads_in"));
        drop((back, to_back));
        world.assert_nothing_leaks();
    }
}

#[test]
fn what_waits_for_a_distant_node_is_bounded_and_a_refused_sender_is_told_of_room() {
    let payload = PayloadConfig {
        waiting_bytes_max: 8 * PAGE,
        ahead_bytes_max: 2 * PAGE,
        ..PayloadConfig::default()
    };
    // Few frames, of which each may wait for payloads of several nodes.
    let link = LinkConfig { window_frames: 2, ..reliable().link };
    let config = NodeConfig { payload, link, ..reliable() };
    for remote in [true, false] {
        let mut world = World::new(10, SQUARE, remote, config.clone());
        let (mut number, mut came) = (0, Vec::new());
        for _ in 0..10 {
            while world.send(0, number, Some(PAGE)) {
                number += 1;
            }
            assert!(world.waiting(0) <= 8 * PAGE);
            let mut room = std::pin::pin!(world.there[0].ready_for_payload());
            let mut cx = TaskContext::from_waker(Waker::noop());
            assert!(room.as_mut().poll(&mut cx).is_pending());
            for _ in 0..200 {
                world.cluster.step();
                assert!(world.ahead() <= 2 * PAGE, "{}", world.ahead());
                if room.as_mut().poll(&mut cx).is_ready() {
                    break;
                }
            }
            came.extend(world.take(0));
        }
        world.cluster.steps(200);
        came.extend(world.take(0));
        assert!(number > 20, "{number}");
        assert_eq!(came, (0..number).collect::<Vec<_>>());
        world.assert_nothing_leaks();
    }
}

/// On threads of their own: a node that leaves waits until its payloads are there.
#[test]
fn nodes_that_leave_together_lose_no_payload() {
    let hour = Duration::from_secs(3_600);
    let link = LinkConfig { down_after_ns: hour.as_nanos() as u64, ..reliable().link };
    let config =
        NodeConfig { route: Route::Square, grid_nodes: 9, link, linger: hour, ..reliable() };
    for has_remote_memory in [true, false] {
        let network = match has_remote_memory {
            true => Network::new(),
            false => Network::new().without_remote_memory(),
        };
        let systems: Vec<System> =
            (0..9).map(|_| System::builder().workers(1).build().unwrap()).collect();
        let start = |(n, system): (u32, &System)| {
            let fabric = network.node(NodeId(n));
            Node::start(system.handle(), config.clone(), move || Ok(fabric)).unwrap()
        };
        let nodes: Vec<Node> = (0..).zip(&systems).map(start).collect();
        let heap = Heap::leak_plain(2, PAGES).unwrap();
        let mut arena = heap.arena(0).unwrap();
        nodes[8].take_payloads_in(heap.arena(1).unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = systems[8].spawn(Sink(seen.clone()));
        nodes[8].export("sink", &sink).unwrap();
        let there = nodes[0].find::<Sink>(NodeId(8), "sink", hour).wait().unwrap();
        for number in 0..6 {
            let payload = arena.payload_with(3 * PAGE, |bytes| bytes.fill(7)).unwrap();
            there.send_with_payload((0, number), payload).unwrap();
        }
        // Each hands on for others until nobody needs it.
        std::thread::scope(|scope| {
            nodes.iter().for_each(|node| drop(scope.spawn(|| node.leave())));
        });
        systems[8].wait_idle(Duration::MAX).unwrap();
        let seen = seen.lock().unwrap();
        let numbers: Vec<u32> = seen.iter().map(|(_, number, _)| *number).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
        let is_whole = |payload: &Payload| payload[..] == [7; 3 * PAGE];
        assert!(seen.iter().all(|(_, _, payload)| payload.as_ref().is_some_and(is_whole)));
    }
}

/// One that leaves at once: what is not there is told of, and kept by nobody.
#[test]
fn a_sender_that_leaves_at_once_and_a_receiver_that_does_free_all() {
    for (leaves, remote) in [(0, true), (0, false), (8, true), (8, false)] {
        let mut world = World::new(12, SQUARE, remote, reliable());
        world.cluster.network.set_faults(Faults { delay_ns: 5 * MS..=5 * MS, ..Faults::default() });
        [0, 8].iter().for_each(|&host| drop(world.cluster.events(host)));
        for number in 0..6 {
            assert!(world.send(0, number, Some(4 * PAGE)));
        }
        world.cluster.steps(18);
        let mut left = world.cluster.hosts.remove(leaves);
        left.node.leave();
        // The one that leaves tells of its own losses, too.
        left.system.run_until_idle();
        world.cluster.steps(1_500);
        let of_left = std::mem::take(&mut *left.events.lock().unwrap());
        drop(left.system);
        let (there, here) = match leaves {
            0 => (world.cluster.events(7), of_left),
            _ => (of_left, world.cluster.events(0)),
        };
        assert_eq!(world.take(0).len() + lost(&there).len(), 6, "{there:?}");
        let is_down = |event: &NodeEvent| {
            matches!(event, NodeEvent::Down { node, unacknowledged, .. }
                if *node == NodeId(8) && unacknowledged.messages > 0)
        };
        assert!(here.iter().any(is_down), "{leaves}: {here:?}");
        world.assert_nothing_leaks();
    }
}

/// Node 4 is no neighbour of either, like each of them of the other.
#[test]
fn a_node_gets_no_payload_that_is_for_another_and_gives_none_for_another() {
    const ASK: u8 = 1;
    const PART: u8 = 2;
    const GONE: u8 = 4;
    let mut world = World::new(13, SQUARE, false, reliable());
    world.cluster.network.set_faults(Faults { delay_ns: MS..=MS, ..Faults::default() });
    let mut liar = world.cluster.network.node(NodeId(4));
    assert!(world.send(0, 0, Some(2 * PAGE)));
    // The first offer of the first life of node 0.
    let ask = datagram(ASK, [1, 1, 0], &[&100_u64.to_le_bytes()[..], &[0]].concat());
    let part = datagram(PART, [1, 1, 0], &[0; 2 * PAGE]);
    let mut answers = Vec::new();
    for _ in 0..60 {
        liar.send(NodeId(0), &ask).unwrap();
        liar.send(NodeId(8), &part).unwrap();
        world.cluster.step();
        let is_datagram = |frame: &Vec<u8>| frame.starts_with(b"Ap");
        answers.extend(std::iter::from_fn(|| liar.poll()).map(|(_, it)| it).filter(is_datagram));
    }
    assert!(!answers.is_empty() && answers.iter().all(|answer| answer[3] == GONE));
    // With node 0's bytes, which are looked at here.
    assert_eq!(world.take(0), [0]);
    assert_eq!(lost(&world.cluster.events(8)), []);
    world.assert_nothing_leaks();
}
