//! Nodes in a grid, whose messages go through others: on test systems, over a network that a seed
//! makes bad.

use crate::common::{Cluster, LIMIT, MS, bad_network, reliable};
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::link::{DownReason, Refusal};
use actinium_cluster::route::{Grid, Route};
use actinium_cluster::{
    AggregatorConfig, NodeConfig, NodeEvent, RemoteActor, RemoteAddress, RemoteDown,
    RemoteDownReason, RemoteSendError,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Keeps who sent what.
struct Sink {
    seen: Seen,
}

type Seen = Arc<Mutex<BTreeMap<u32, Vec<u64>>>>;

enum Msg {
    Tell((u32, u64)),
    Count(Reply<u64>),
}

impl Actor for Sink {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        let mut seen = self.seen.lock().unwrap();
        match msg {
            Msg::Tell((from, n)) => seen.entry(from).or_default().push(n),
            Msg::Count(reply) => drop(reply.send(seen.values().map(|of| of.len() as u64).sum())),
        }
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.grid-sink";
    type Message = (u32, u64);
    type Request = ();
    type Answer = u64;
    fn message(message: (u32, u64)) -> Msg {
        Msg::Tell(message)
    }
    fn request((): (), reply: Reply<u64>) -> Msg {
        Msg::Count(reply)
    }
}

fn in_grid(route: Route, grid_nodes: u32, config: NodeConfig) -> NodeConfig {
    NodeConfig { route, grid_nodes, ..config }
}

struct World {
    cluster: Cluster,
    sinks: Vec<(Address<Sink>, Seen)>,
    /// By sender and receiver.
    there: BTreeMap<(u32, u32), RemoteAddress<Sink>>,
    /// What was taken of each pair.
    sent: BTreeMap<(u32, u32), u64>,
    /// What each node was told, in order.
    events: Vec<Vec<NodeEvent>>,
}

impl World {
    /// A sink on each node, whose address all others have.
    fn new(seed: u64, nodes: u32, faults: Faults, config: NodeConfig) -> Self {
        let cluster = Cluster::new(seed, nodes, faults, config);
        let (sinks, there, sent) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let events = vec![Vec::new(); nodes as usize];
        let mut world = World { cluster, sinks, there, sent, events };
        for n in 0..nodes as usize {
            let sink = world.sink(n);
            world.sinks.push(sink);
        }
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        for (from, to) in pairs.filter(|(from, to)| from != to) {
            world.meet(from, to);
        }
        world
    }

    fn sink(&self, n: usize) -> (Address<Sink>, Seen) {
        let seen = Seen::default();
        let host = &self.cluster.hosts[n];
        let sink = host.system.spawn(Sink { seen: seen.clone() });
        host.node.export("sink", &sink).unwrap();
        (sink, seen)
    }

    fn meet(&mut self, from: u32, to: u32) {
        // What was asked or answered may be lost: as often as it takes.
        for _ in 0..20 {
            let limit = std::time::Duration::from_millis(500);
            let node = &self.cluster.hosts[from as usize].node;
            let answer = node.lookup::<Sink>(NodeId(to), "sink", limit);
            if let Ok(sink) = self.cluster.wait(answer) {
                self.there.insert((from, to), sink);
                return;
            }
        }
        panic!("node {from} does not find the sink of node {to}");
    }

    /// One more from each to each; what is refused or down is not sent.
    fn send(&mut self) {
        for (&(from, to), sink) in &self.there {
            let sent = self.sent.entry((from, to)).or_default();
            match sink.send((from, *sent)) {
                Ok(()) => *sent += 1,
                Err(RemoteSendError::Full(_) | RemoteSendError::NodeDown(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn listen(&mut self) {
        for n in 0..self.events.len() {
            let new = self.cluster.events(n);
            self.events[n].extend(new);
        }
    }

    fn seen(&self, from: u32, to: u32) -> Vec<u64> {
        let seen = self.sinks[to as usize].1.lock().unwrap();
        seen.get(&from).cloned().unwrap_or_default()
    }

    /// All that was sent was seen once and in order.
    fn expect_all(&self) {
        for (&(from, to), &sent) in &self.sent {
            let expected: Vec<u64> = (0..sent).collect();
            assert!(self.seen(from, to) == expected, "{from} to {to}");
        }
    }

    fn downs(&self, at: u32, of: u32) -> Vec<DownReason> {
        let of = NodeId(of);
        let down = |event: &NodeEvent| match event {
            NodeEvent::Down { node, reason, .. } if *node == of => Some(*reason),
            _ => None,
        };
        self.events[at as usize].iter().filter_map(down).collect()
    }

    /// Nodes that it has aggregated anything for.
    fn buffers(&self, n: u32) -> usize {
        let stats = self.cluster.hosts[n as usize].node.stats();
        stats.peers.iter().filter(|peer| peer.aggregator.frames > 0).count()
    }

    fn is_up(&self, at: u32, of: u32) -> bool {
        let stats = self.cluster.hosts[at as usize].node.stats();
        stats.peers.iter().any(|peer| peer.node == NodeId(of) && peer.is_up)
    }
}

#[test]
fn all_reach_all_in_order_with_few_aggregators() {
    for (route, nodes, most) in [
        (Route::Square, 9, 4),
        // The last row has one node only.
        (Route::Square, 10, 9),
        (Route::Cube, 27, 6),
        (Route::Direct, 9, 8),
    ] {
        let config = in_grid(route, nodes, reliable());
        let mut world = World::new(1, nodes, Faults::default(), config);
        for _ in 0..20 {
            world.send();
            world.cluster.step();
        }
        world.cluster.steps(100);
        world.expect_all();
        assert!(world.sent.values().all(|&sent| sent == 20));
        let grid = Grid::new(route, nodes);
        for n in 0..nodes {
            assert!(world.buffers(n) <= most, "{route}: {} at {n}", world.buffers(n));
            let stats = world.cluster.hosts[n as usize].node.stats();
            assert_eq!((stats.not_understood, stats.unroutable, stats.misaddressed), (0, 0, 0));
            for peer in &stats.peers {
                let next = NodeId(grid.next(n, peer.node.0));
                let is_far = !grid.are_neighbours(n, peer.node.0);
                assert_eq!(peer.through, is_far.then_some(next));
            }
            let handed_on = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
            let is_between = |&(from, to): &(u32, u32)| {
                from != n && to != n && from != to && {
                    let mut at = from;
                    while at != to && at != n {
                        at = grid.next(at, to);
                    }
                    at == n
                }
            };
            let expected = 20 * handed_on.filter(is_between).count() as u64;
            // Requests for sinks and their answers come on top.
            assert!(stats.handed_on >= expected && (route != Route::Direct || expected == 0));
        }
    }
}

#[test]
fn over_a_bad_network_reliable_links_lose_nothing_and_one_seed_gives_one_run() {
    let run = |seed, route, nodes| {
        let config = in_grid(route, nodes, reliable());
        let mut world = World::new(seed, nodes, bad_network(), config);
        for _ in 0..60 {
            world.send();
            world.cluster.step();
        }
        world.cluster.steps(1_000);
        world.expect_all();
        world.listen();
        let stats: Vec<_> = world.cluster.hosts.iter().map(|host| host.node.stats()).collect();
        (stats, world.events)
    };
    for seed in 0..3 {
        run(seed, Route::Square, 9);
    }
    assert_eq!(run(7, Route::Square, 5), run(7, Route::Square, 5));
    assert_eq!(run(8, Route::Cube, 11), run(8, Route::Cube, 11));
}

#[test]
fn over_a_bad_network_plain_links_report_what_each_pair_has_lost() {
    for seed in 0..3 {
        let config = in_grid(Route::Square, 9, NodeConfig::default());
        let mut world = World::new(seed, 9, Faults { loss: 0.02, ..Faults::default() }, config);
        for _ in 0..200 {
            world.send();
            world.cluster.step();
        }
        world.cluster.network.set_faults(Faults::default());
        world.cluster.steps(500);
        world.listen();
        let grid = Grid::new(Route::Square, 9);
        let mut lost = 0;
        for (&(from, to), &sent) in &world.sent {
            let seen = world.seen(from, to);
            assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{from} to {to}: {seen:?}");
            if grid.are_neighbours(from, to) {
                continue;
            }
            assert!(world.downs(from, to).is_empty());
            let sum = |at: u32, of: fn(&NodeEvent) -> Option<(NodeId, u64)>, node: u32| {
                let told = world.events[at as usize].iter().filter_map(of);
                told.filter(|it| it.0 == NodeId(node)).map(|it| it.1).sum::<u64>()
            };
            let at_receiver = |event: &NodeEvent| match event {
                NodeEvent::Lost(node, lost) => Some((*node, lost.messages)),
                _ => None,
            };
            let at_sender = |event: &NodeEvent| match event {
                NodeEvent::LostThere(node, lost) => Some((*node, lost.messages)),
                _ => None,
            };
            let told = sum(to, at_receiver, from);
            assert_eq!(sum(from, at_sender, to), told, "{from} to {to}");
            // Requests, answers and reports of ends are messages, too, and some of these were lost
            // while the nodes met.
            assert!(seen.len() as u64 + told >= sent, "{from} to {to}: {told}");
            lost += sent - seen.len() as u64;
        }
        assert!(lost > 0);
    }
}

#[test]
fn when_a_node_in_between_dies_its_pairs_are_told_and_meet_directly() {
    for (seed, faults) in [(1, Faults::default()), (2, bad_network()), (3, bad_network())] {
        // 0 1 2
        // 3 4 5   0 sends to 8 through 2, and 8 to 0 through 6.
        // 6 7 8
        let mut world = World::new(seed, 9, faults, in_grid(Route::Square, 9, reliable()));
        world.listen();
        world.events.iter_mut().for_each(Vec::clear);
        for step in 0..400 {
            if step == 100 {
                world.cluster.network.kill(NodeId(2));
            }
            world.send();
            world.cluster.step();
        }
        world.there.retain(|&(from, to), _| from != 2 && to != 2);
        world.sent.retain(|&(from, to), _| from != 2 && to != 2);
        let before_down = world.sent.clone();
        world.cluster.steps(800);
        world.listen();
        assert_eq!(world.downs(0, 8), [DownReason::NoWay { through: NodeId(2) }]);
        assert!(matches!(world.downs(0, 2)[..], [DownReason::Silent { .. }]));
        assert!(matches!(world.downs(6, 2)[..], [DownReason::NoWay { .. }]));
        // What was with the dead node is counted by whoever sent it.
        let unacknowledged = |at: u32, of: u32| -> u64 {
            let told = world.events[at as usize].iter();
            told.map(|event| match event {
                NodeEvent::Down { node, unacknowledged, .. } if *node == NodeId(of) => {
                    unacknowledged.messages
                }
                _ => 0,
            })
            .sum()
        };
        let missing = before_down[&(0, 8)] - world.seen(0, 8).len() as u64;
        assert!(missing > 0 && missing <= unacknowledged(0, 8), "{missing}");
        for (&(from, to), &sent) in &before_down {
            let seen = world.seen(from, to);
            assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{from} to {to}");
            let missing = sent - seen.len() as u64;
            assert!(missing <= unacknowledged(from, to), "{from} to {to}: {missing}");
        }
        world.cluster.steps(1_500);
        for (a, b) in [(0, 8), (8, 0), (1, 5), (5, 1), (0, 4), (7, 5)] {
            assert!(world.is_up(a, b), "{a} and {b}");
        }
        let through = |world: &World, at: usize, of: u32| {
            let stats = world.cluster.hosts[at].node.stats();
            stats.peers.iter().find(|peer| peer.node == NodeId(of)).unwrap().through
        };
        assert_eq!((through(&world, 0, 8), through(&world, 0, 4)), (None, Some(NodeId(1))));
        // All goes on, and the dead node's next life takes its place.
        let seen_before = world.seen(0, 8).len();
        for _ in 0..50 {
            world.send();
            world.cluster.step();
        }
        world.cluster.steps(500);
        assert_eq!(world.seen(0, 8).len(), seen_before + 50);
        world.cluster.hosts[2] = world.cluster.host(2, 100);
        world.sinks[2] = world.sink(2);
        world.cluster.steps(500);
        (0..9).filter(|&n| n != 2).for_each(|n| world.meet(n, 2));
        assert_eq!(through(&world, 6, 2), Some(NodeId(8)));
    }
}

#[test]
fn a_cut_between_neighbours_is_no_end_for_those_behind_it() {
    let mut world = World::new(4, 9, Faults::default(), in_grid(Route::Square, 9, reliable()));
    world.cluster.network.cut(NodeId(0), NodeId(2));
    world.cluster.steps(3_000);
    world.listen();
    // They have no other way: a neighbour goes straight, or not at all.
    assert!(!world.is_up(0, 2) && world.is_up(0, 8) && world.is_up(0, 5));
    for _ in 0..20 {
        world.send();
        world.cluster.step();
    }
    world.cluster.steps(50);
    world.expect_all();
    world.cluster.network.heal(NodeId(0), NodeId(2));
    world.cluster.steps(500);
    assert!(world.is_up(0, 2) && world.is_up(2, 0));
}

/// Over and over, by seed: whoever is not cut off for good is found again, and nothing is doubled,
/// out of order or lost in silence.
#[test]
fn cuts_and_deaths_by_seed() {
    for seed in 0..3 {
        let (route, nodes) = if seed % 2 == 0 { (Route::Square, 9) } else { (Route::Cube, 10) };
        let config = in_grid(route, nodes, reliable());
        let mut world = World::new(seed, nodes, bad_network(), config);
        let mut random = fastrand::Rng::with_seed(seed);
        for round in 0..4 {
            let (a, b) = (random.u32(..nodes), random.u32(..nodes));
            if round == 2 {
                world.cluster.network.kill(NodeId(a));
                // From now on it matters as one in between only.
                world.there.retain(|&(from, to), _| from != a && to != a);
                world.sent.retain(|&(from, to), _| from != a && to != a);
            } else {
                world.cluster.network.cut(NodeId(a), NodeId(b));
            }
            for _ in 0..random.u32(..1_600) {
                if random.u32(..20) == 0 {
                    world.send();
                }
                world.cluster.step();
            }
            world.cluster.network.heal(NodeId(a), NodeId(b));
            if round == 2 {
                world.cluster.hosts[a as usize] = world.cluster.host(a, 1_000);
            }
            world.cluster.steps(random.u32(..300));
        }
        world.cluster.steps(3_000);
        world.listen();
        for (&(from, to), &sent) in &world.sent {
            let seen = world.seen(from, to);
            assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{from} to {to}: {seen:?}");
            assert!(world.is_up(from, to), "{from} to {to}, seed {seed}");
            let told: u64 = world.events[from as usize]
                .iter()
                .map(|event| match event {
                    NodeEvent::Down { node, unacknowledged, undelivered, .. }
                        if *node == NodeId(to) =>
                    {
                        unacknowledged.messages + undelivered
                    }
                    NodeEvent::LostThere(node, lost) if *node == NodeId(to) => lost.messages,
                    _ => 0,
                })
                .sum();
            assert!(seen.len() as u64 + told >= sent, "{from} to {to}, seed {seed}: {told}");
        }
    }
}

/// Watches a remote sink for a probe.
struct Watcher {
    sink: RemoteAddress<Sink>,
    probe: Address<actinium_actor::testing::ProbeActor<RemoteDown>>,
}

impl Actor for Watcher {
    type Msg = RemoteDown;
    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        self.sink.watch(ctx, |down| down);
    }
    fn handle(&mut self, down: RemoteDown, _ctx: &mut Context<'_, Self>) {
        self.probe.tell(down);
    }
}

#[test]
fn watchers_far_away_are_told_of_ends_deaths_and_farewells() {
    let mut world = World::new(5, 9, Faults::default(), in_grid(Route::Square, 9, reliable()));
    let probe = world.cluster.hosts[0].system.probe();
    let watch = |far| {
        let sink = world.there[&(0, far)].clone();
        world.cluster.hosts[0].system.spawn(Watcher { sink, probe: probe.address() })
    };
    let _watchers = [4, 8, 7].map(watch);
    world.cluster.steps(10);
    probe.expect_none();
    world.sinks[4].0.stop();
    world.cluster.steps(10);
    probe.expect(|down| down.node == NodeId(4));
    world.cluster.network.kill(NodeId(8));
    let open = world.there[&(0, 8)].ask((), LIMIT);
    world.cluster.steps(1_200);
    let down = probe.expect(|down| down.node == NodeId(8));
    let no_way = DownReason::NoWay { through: NodeId(2) };
    assert_eq!(down.reason, RemoteDownReason::NodeDown(Some(no_way)));
    assert!(world.cluster.wait(open).is_err());
    let host = world.cluster.hosts.remove(7);
    host.node.leave();
    world.cluster.steps(10);
    let down = probe.expect(|down| down.node == NodeId(7));
    assert_eq!(down.reason, RemoteDownReason::NodeDown(Some(DownReason::Left)));
}

#[test]
fn a_node_far_away_that_was_started_again_is_not_taken_for_the_old_one() {
    let mut world = World::new(6, 9, Faults::default(), in_grid(Route::Square, 9, reliable()));
    world.listen();
    world.events[0].clear();
    // Sooner than anybody could notice by its silence.
    world.cluster.hosts[8] = world.cluster.host(8, 50);
    world.sinks[8] = world.sink(8);
    let old = world.there[&(0, 8)].clone();
    let asked = old.ask((), LIMIT);
    assert!(world.cluster.wait(asked).is_err());
    world.cluster.steps(300);
    world.listen();
    assert_eq!(world.downs(0, 8).len(), 1, "{:?}", world.events[0]);
    world.meet(0, 8);
    world.there[&(0, 8)].send((0, 1)).unwrap();
    world.cluster.steps(10);
    assert_eq!(world.seen(0, 8), [1]);
}

#[test]
fn nodes_that_disagree_on_the_route_refuse_each_other_and_say_both() {
    let direct = NodeConfig::default();
    for (config, other) in [
        (in_grid(Route::Square, 4, direct.clone()), direct.clone()),
        (in_grid(Route::Square, 4, direct.clone()), in_grid(Route::Cube, 4, direct.clone())),
        (in_grid(Route::Square, 4, direct.clone()), in_grid(Route::Square, 9, direct.clone())),
    ] {
        let grid = |config: &NodeConfig| Grid::new(config.route, config.grid_nodes);
        let (ours, theirs) = (grid(&config), grid(&other));
        let mut cluster = Cluster::new(1, 3, Faults::default(), config);
        cluster.config = other;
        // In a square of four, 3 is no neighbour of 0.
        let odd = cluster.host(3, 1);
        cluster.hosts.push(odd);
        cluster.steps(500);
        for n in 0..3 {
            let refused = cluster.events(n);
            let expected = NodeEvent::Refused(NodeId(3), Refusal::Route { theirs, ours });
            let is_met = n > 0 || theirs.are_neighbours(0, 3);
            assert_eq!(refused.contains(&expected), is_met, "{n}: {refused:?}");
        }
        let refused = cluster.events(3);
        for n in 1..3 {
            let other_way = Refusal::Route { theirs: ours, ours: theirs };
            assert!(refused.contains(&NodeEvent::Refused(NodeId(n), other_way)), "{refused:?}");
        }
        let refusal = Refusal::Route { theirs, ours }.to_string();
        assert!(refusal.contains(&ours.to_string()) && refusal.contains(&theirs.to_string()));
    }
}

#[test]
fn a_node_that_stops_reading_stops_those_who_send_through_others_and_all_arrives_in_the_end() {
    let aggregator =
        AggregatorConfig { frame_bytes: 1_024, frames_waiting: 2, ..AggregatorConfig::default() };
    let mut config = in_grid(Route::Square, 9, NodeConfig { aggregator, ..reliable() });
    config.link.window_frames = 4;
    let mut world = World::new(9, 9, Faults::default(), config);
    let mut counts = Vec::new();
    for round in 0..400 {
        for _ in 0..40 {
            world.send();
        }
        // Node 8 keeps up its links, and handles nothing.
        world.cluster.network.advance(MS);
        let now_ns = world.cluster.network.now_ns();
        for (n, host) in world.cluster.hosts.iter_mut().enumerate() {
            if n != 8 {
                host.system.run_until_idle();
            }
            while host.node.turn(now_ns) {
                if n != 8 {
                    host.system.run_until_idle();
                }
            }
        }
        if round >= 300 {
            counts.push(world.sent[&(0, 8)]);
        }
    }
    // Nobody sends there any more, near or far; others are not stopped.
    assert_eq!(counts.first(), counts.last());
    assert!(counts[0] < 2_000, "{}", counts[0]);
    assert!(matches!(world.there[&(0, 8)].send((0, 0)), Err(RemoteSendError::Full(_))));
    assert!(world.sent[&(3, 1)] > 10 * counts[0], "{}", world.sent[&(3, 1)]);
    world.cluster.steps(200);
    world.expect_all();
}

#[test]
fn names_and_shards_see_all_nodes_of_a_grid() {
    let mut cluster = Cluster::new(3, 9, Faults::default(), in_grid(Route::Square, 9, reliable()));
    let names: Vec<_> = cluster
        .hosts
        .iter()
        .map(|host| host.node.names(actinium_cluster::NamesConfig { quorum: 9 }).unwrap())
        .collect();
    let shards: Vec<_> = cluster
        .hosts
        .iter()
        .map(|host| {
            let sink = host.system.spawn(Sink { seen: Seen::default() });
            (host.node.shards("share", &sink).unwrap(), sink)
        })
        .collect();
    cluster.steps(200);
    let owner = cluster.hosts[0].system.spawn(Sink { seen: Seen::default() });
    let claimed = names[0].claim("one", &owner, LIMIT);
    cluster.wait(claimed).unwrap();
    let found = names[8].find::<Sink>("one", LIMIT);
    assert_eq!(cluster.wait(found).unwrap().node(), NodeId(0));
    for (shards, _) in &shards {
        assert_eq!(shards.nodes().len(), 9);
    }
    for key in ["a", "b", "c"] {
        let at: Vec<NodeId> = shards.iter().map(|(shards, _)| shards.at(key).node()).collect();
        assert!(at.iter().all(|&node| node == at[0]), "{at:?}");
    }
}
