//! Large payloads to actors that move, on test systems, over a network that a seed makes bad: with
//! remote memory and without.

use crate::common::{Cluster, Host, LIMIT, MS, bad_network, reliable};
use actinium_actor::Context;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::route::Route;
use actinium_cluster::{
    Denial, Migrate, Movable, MovableAddress, Movables, NodeConfig, NodeEvent, PayloadConfig,
    PayloadHandler, PeerLimits, RemoteSendError,
};
use actinium_memory::heap::{Arena, Heap, Payload, flush};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::future::Future;
use std::task::{Context as TaskContext, Waker};

const PAGE: usize = 64 << 10;
/// Of each arena.
const PAGES: usize = 64;

/// Counts what comes from each sender with whole bytes, and what comes when it is not its turn.
#[derive(Clone, Default, Serialize, Deserialize, Message)]
struct Gallery {
    next: BTreeMap<u32, u64>,
    pictures: u64,
    disorder: u64,
}

/// Who, which, and how many bytes come along.
type Picture = (u32, u64, u64);

fn byte(number: u64, at: usize) -> u8 {
    (number as usize).wrapping_mul(31).wrapping_add(at.wrapping_mul(7) ^ (at >> 8)) as u8
}

impl Gallery {
    fn count(&mut self, (from, number, _): Picture) {
        let next = self.next.entry(from).or_default();
        self.disorder += u64::from(*next != number);
        *next = number + 1;
    }
}

impl Migrate for Gallery {
    const KIND: &'static str = "test.gallery";
    type Message = Picture;
    type Request = ();
    /// Of all senders, those with payloads, and in disorder.
    type Answer = (Vec<u64>, u64, u64);

    fn message(&mut self, message: Picture, _ctx: &Context<'_, Movable<Self>>) {
        assert_eq!(message.2, 0, "its payload is missing");
        self.count(message);
    }

    fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> (Vec<u64>, u64, u64) {
        (self.next.values().copied().collect(), self.pictures, self.disorder)
    }

    fn with_payload() -> Option<PayloadHandler<Self>> {
        Some(|gallery, message, payload, _ctx| {
            assert_eq!(message.2, payload.len() as u64);
            let is_whole = (0..).zip(&*payload).all(|(at, &is)| is == byte(message.1, at));
            assert!(is_whole, "bytes of {message:?}");
            gallery.count(message);
            gallery.pictures += 1;
        })
    }
}

/// Takes no payloads.
#[derive(Clone, Serialize, Deserialize, Message)]
struct Plain;

impl Migrate for Plain {
    const KIND: &'static str = "test.plain-movable";
    type Message = u64;
    type Request = ();
    type Answer = ();
    fn message(&mut self, _: u64, _ctx: &Context<'_, Movable<Self>>) {}
    fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) {}
}

/// Nodes that send to one gallery, which begins at the first.
struct World {
    cluster: Cluster,
    heap: &'static Heap,
    /// By node: what it sends lies in its own.
    arenas: Vec<Arena>,
    movables: Vec<Movables<Gallery>>,
    gallery: Vec<MovableAddress<Gallery>>,
}

impl World {
    fn new(seed: u64, nodes: u32, remote: bool, config: NodeConfig) -> Self {
        let mut cluster = Cluster::new(seed, 0, Faults::default(), config);
        if !remote {
            cluster.network = Network::seeded(seed, Faults::default()).without_remote_memory();
        }
        cluster.hosts = (0..nodes).map(|n| cluster.host(n, 1)).collect();
        let nodes = nodes as usize;
        let heap = Heap::leak_plain(2 * nodes, PAGES).unwrap();
        let mut arenas: Vec<_> = (0..2 * nodes).map(|number| heap.arena(number).unwrap()).collect();
        for (host, own) in cluster.hosts.iter().zip(arenas.drain(nodes..)) {
            host.node.take_payloads_in(own);
        }
        let start = |host: &Host| host.node.movables().unwrap();
        let movables: Vec<Movables<Gallery>> = cluster.hosts.iter().map(start).collect();
        let first = movables[0].spawn(Gallery::default());
        let id = first.id();
        let mut gallery = vec![first];
        for others in &movables[1..] {
            let found = others.find(id, LIMIT);
            gallery.push(cluster.wait(found).unwrap());
        }
        World { cluster, heap, arenas, movables, gallery }
    }

    fn payload(&mut self, from: usize, number: u64, len: usize) -> Option<Payload> {
        let write = |bytes: &mut [u8]| {
            (0..).zip(bytes).for_each(|(at, place)| *place = byte(number, at));
        };
        self.arenas[from].payload_with(len, write).ok()
    }

    /// Sends a message with a payload. False: there is no room for it.
    fn send(&mut self, from: usize, number: u64, len: usize) -> bool {
        let Some(payload) = self.payload(from, number, len) else { return false };
        let message = (from as u32, number, len as u64);
        match self.gallery[from].send_with_payload(message, payload) {
            Ok(()) => true,
            Err(RemoteSendError::Full((back, payload))) => {
                assert_eq!((back, payload.len()), (message, len));
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn ask(&mut self, from: usize) -> (Vec<u64>, u64, u64) {
        let answer = self.gallery[from].ask((), LIMIT);
        self.cluster.wait(answer).unwrap()
    }

    fn move_to(&mut self, from: usize, to: u32) {
        let moved = self.gallery[from].move_to(NodeId(to), LIMIT);
        self.cluster.wait(moved).unwrap();
    }

    fn lost_there(&self, host: usize) -> Vec<(NodeId, u64, String)> {
        let lost = self.cluster.events(host).into_iter().filter_map(|event| match event {
            NodeEvent::PayloadLostThere { node, bytes, why } => Some((node, bytes, why)),
            _ => None,
        });
        lost.collect()
    }

    /// All blocks are given back: each arena has room again for one that fills it.
    fn assert_nothing_leaks(self) {
        flush();
        for host in &self.cluster.hosts {
            for peer in host.node.stats().peers {
                assert_eq!((peer.payload_bytes_waiting, peer.payload_bytes_ahead), (0, 0));
            }
        }
        let World { cluster, heap, mut arenas, movables, gallery } = self;
        drop((cluster, movables, gallery));
        flush();
        let nodes = arenas.len();
        let own = (nodes..2 * nodes).map(|number| heap.arena(number).expect("its node has gone"));
        arenas.extend(own);
        for (number, arena) in arenas.iter_mut().enumerate() {
            let all = arena.payload_with(PAGES * PAGE - 4096, |_| {});
            assert!(all.is_ok(), "arena {number}: {:?}", all.map(drop));
        }
    }
}

/// Whatever moves when: all messages arrive, each once, in order, with their bytes.
#[test]
fn payloads_arrive_once_whole_and_in_order_while_it_moves() {
    let (mut moves, mut refused) = (0, 0);
    for seed in 0..6 {
        let mut random = fastrand::Rng::with_seed(seed);
        // Few bytes wait: senders and forwarders have to wait for room.
        let payload = PayloadConfig {
            waiting_bytes_max: 4 * PAGE,
            ahead_bytes_max: 2 * PAGE,
            ..PayloadConfig::default()
        };
        let config = NodeConfig { payload, ..reliable() };
        let mut world = World::new(seed, 4, seed % 2 == 0, config);
        world.cluster.network.set_faults(bad_network());
        let (mut sent, mut pictures, mut open) = ([0_u64; 4], 0, Vec::new());
        for _ in 0..120 {
            let from = random.usize(..4);
            for _ in 0..random.u32(..4) {
                if random.bool() {
                    // More than a page, so that whole runs come back.
                    let len = random.usize(PAGE..2 * PAGE);
                    if !world.send(from, sent[from], len) {
                        refused += 1;
                        continue;
                    }
                    pictures += 1;
                } else {
                    world.gallery[from].send((from as u32, sent[from], 0)).unwrap();
                }
                sent[from] += 1;
            }
            if random.u32(..8) == 0 {
                let to = NodeId(random.u32(..4));
                open.push(world.gallery[random.usize(..4)].move_to(to, 20 * LIMIT));
            }
            world.cluster.steps(random.u32(..25));
        }
        moves += open.len();
        for answer in open {
            world.cluster.wait(answer).unwrap();
        }
        // Behind all that the same node has sent.
        for from in 0..4 {
            let answer = world.gallery[from].ask((), 20 * LIMIT);
            world.cluster.wait(answer).unwrap();
        }
        assert_eq!(world.ask(0), (sent.to_vec(), pictures, 0), "seed {seed}");
        assert!(pictures > 50, "{pictures}");
        (0..4).for_each(|host| assert_eq!(world.lost_there(host), [], "seed {seed}"));
        world.cluster.steps(300);
        world.assert_nothing_leaks();
    }
    assert!(moves > 40 && refused > 20, "{moves} {refused}");
}

/// The way to the new node is cut for the sender: all goes through the old one.
fn behind_the_old_node(remote: bool) -> World {
    let mut world = World::new(2, 3, remote, reliable());
    world.cluster.steps(300);
    world.cluster.network.cut(NodeId(1), NodeId(2));
    world.cluster.steps(20);
    world.move_to(0, 1);
    world
}

#[test]
fn the_old_node_sends_payloads_after_it() {
    for remote in [true, false] {
        let mut world = behind_the_old_node(remote);
        for number in 0..5 {
            assert!(world.send(2, number, PAGE));
        }
        assert_eq!(world.ask(2), (vec![5], 5, 0));
        world.cluster.steps(100);
        world.assert_nothing_leaks();
    }
}

#[test]
fn what_the_old_node_cannot_send_after_it_is_told_to_the_sender() {
    for remote in [true, false] {
        let mut world = behind_the_old_node(remote);
        // The old node hears of that, and the sender does not.
        world.cluster.hosts.remove(1).node.leave();
        world.cluster.steps(50);
        let down = |event: &NodeEvent| matches!(event, NodeEvent::Down { node: NodeId(1), .. });
        assert!(world.cluster.events(0).iter().any(down));
        for number in 0..3 {
            assert!(world.send(2, number, PAGE));
        }
        world.cluster.steps(50);
        let bytes = PAGE as u64;
        let why = "the node is down".to_owned();
        assert_eq!(world.lost_there(0), vec![(NodeId(1), bytes, why); 3]);
        let why = "on its way to node 1, where its actor has gone: the node is down".to_owned();
        assert_eq!(world.lost_there(1), vec![(NodeId(0), bytes, why); 3]);
        world.assert_nothing_leaks();
    }
}

/// What waits in it lies in the memory of its node: what finds no room there is told.
#[test]
fn without_room_while_it_moves_the_sender_is_told_and_the_rest_goes_on() {
    const LEN: usize = 10 * PAGE - 4096;
    for remote in [true, false] {
        let mut world = World::new(3, 3, remote, reliable());
        world.cluster.steps(300);
        world.cluster.network.cut(NodeId(0), NodeId(1));
        let moved = world.gallery[0].move_to(NodeId(1), LIMIT);
        world.cluster.steps(5);
        for _ in 0..9 {
            assert!(world.send(2, 0, LEN));
            world.cluster.steps(60);
        }
        let told = world.lost_there(2);
        let is_full = |(node, bytes, why): &(NodeId, u64, String)| {
            (*node, *bytes) == (NodeId(0), LEN as u64) && why.contains("no room for")
        };
        assert!(told.len() == 3 && told.iter().all(is_full), "{told:?}");
        world.cluster.network.heal(NodeId(0), NodeId(1));
        world.cluster.wait(moved).unwrap();
        let (_, pictures, _) = world.ask(2);
        assert_eq!(pictures, 6);
        world.cluster.steps(100);
        world.assert_nothing_leaks();
    }
}

#[test]
fn so_many_payloads_wait_in_an_actor_that_moves_and_no_more() {
    let limits = PeerLimits { pending: 4, ..PeerLimits::default() };
    let mut world = World::new(3, 3, true, NodeConfig { limits, ..reliable() });
    world.cluster.steps(300);
    world.cluster.network.cut(NodeId(0), NodeId(1));
    let moved = world.gallery[0].move_to(NodeId(1), LIMIT);
    world.cluster.steps(5);
    for number in 0..5 {
        assert!(world.send(2, number, PAGE));
    }
    world.cluster.steps(50);
    let denied = |event: &NodeEvent| {
        matches!(event, NodeEvent::DeniedThere { what: Denial::Pending, times: 1, .. })
    };
    assert_eq!(world.cluster.events(2).iter().filter(|event| denied(event)).count(), 1);
    world.cluster.network.heal(NodeId(0), NodeId(1));
    world.cluster.wait(moved).unwrap();
    assert_eq!(world.ask(2), (vec![4], 4, 0));
    world.cluster.steps(100);
    world.assert_nothing_leaks();
}

#[test]
fn what_waits_for_its_way_is_bounded_and_a_refused_sender_is_told_of_room() {
    let payload = PayloadConfig { waiting_bytes_max: 3 * PAGE, ..PayloadConfig::default() };
    let mut world = World::new(5, 2, true, NodeConfig { payload, ..reliable() });
    let mut cx = TaskContext::from_waker(Waker::noop());
    let is_ready = |world: &World, cx: &mut TaskContext<'_>| {
        std::pin::pin!(world.gallery[1].ready()).as_mut().poll(cx).is_ready()
    };
    assert!(is_ready(&world, &mut cx));
    // One passes whatever its size.
    assert!(world.send(1, 0, 8 * PAGE));
    assert!(!world.send(1, 1, PAGE));
    let mut ready = std::pin::pin!(world.gallery[1].ready());
    assert!(ready.as_mut().poll(&mut cx).is_pending());
    world.cluster.steps(20);
    assert!(ready.as_mut().poll(&mut cx).is_ready());
    assert_eq!(world.ask(1), (vec![1], 1, 0));
    for number in 1..4 {
        assert!(world.send(1, number, PAGE));
    }
    assert!(!world.send(1, 4, PAGE), "together they are as many as may wait");
    assert_eq!(world.ask(1), (vec![4], 4, 0));
    // Whoever waits when there is no way any more hears of that.
    world.cluster.network.set_faults(Faults { delay_ns: 5 * MS..=5 * MS, ..Faults::default() });
    world.cluster.network.kill(NodeId(0));
    let mut number = 4;
    while world.send(1, number, PAGE) {
        number += 1;
        world.cluster.step();
    }
    let mut ready = std::pin::pin!(world.gallery[1].ready());
    assert!(ready.as_mut().poll(&mut cx).is_pending());
    world.cluster.steps(3_000);
    assert!(ready.as_mut().poll(&mut cx).is_ready());
    // Three more were offered, which are lost with the session.
    let why = "the node is down";
    let told = world.lost_there(1);
    assert!(told.len() == 3 && told.iter().all(|(_, _, told)| told == why), "{told:?}");
    let payload = world.payload(1, 9, PAGE).unwrap();
    let refused = world.gallery[1].send_with_payload((1, 9, 0), payload);
    assert!(matches!(refused, Err(RemoteSendError::NodeDown(((1, 9, 0), _)))));
    drop(refused);
    world.assert_nothing_leaks();
}

#[test]
fn a_type_that_takes_none_gives_them_back() {
    let mut world = World::new(6, 2, true, reliable());
    let plain = world.cluster.hosts[0].node.movables::<Plain>().unwrap().spawn(Plain);
    let payload = world.payload(0, 7, PAGE).unwrap();
    let refused = plain.send_with_payload(7, payload.clone()).unwrap_err();
    let RemoteSendError::NotTaken((7, back)) = refused else { panic!("{refused}") };
    assert_eq!((back.len(), payload.shares()), (PAGE, 2));
    drop((back, payload, plain));
    world.assert_nothing_leaks();
}

/// Where the actor is, and where it has been, may be no neighbours of its senders and each other.
#[test]
fn in_a_grid_payloads_follow_it_to_any_node() {
    for (seed, remote) in [(7, true), (8, false)] {
        let config = NodeConfig { route: Route::Square, grid_nodes: 9, ..reliable() };
        let mut world = World::new(seed, 9, remote, config);
        world.cluster.steps(300);
        world.move_to(0, 1);
        world.ask(2);
        world.cluster.steps(100);
        // It comes while the actor moves to a node that is no neighbour of the one where it waits.
        let moved = world.gallery[2].move_to(NodeId(8), LIMIT);
        assert!(world.send(2, 0, PAGE));
        world.cluster.wait(moved).unwrap();
        world.cluster.steps(100);
        // Now it is known where it is. Node 2 is a neighbour of that one, and node 0 is not.
        assert!(world.send(2, 1, PAGE) && world.send(0, 0, 2 * PAGE));
        world.gallery[0].send((0, 1, 0)).unwrap();
        world.ask(0);
        assert_eq!(world.ask(2), (vec![2, 2], 3, 0));
        (0..9).for_each(|host| assert_eq!(world.lost_there(host), [], "seed {seed}"));
        world.cluster.steps(100);
        world.assert_nothing_leaks();
    }
}
