//! What a peer that does not keep to the usual order can make a node keep: so much, and no more.

use crate::common::{Cluster, LIMIT, reliable};
use crate::liar::{Control, Key, Liar, control, denials, tell};
use actinium_actor::{Actor, Context, Reply, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::link::{Breach, DownReason, HEADER_BYTES, LinkConfig};
use actinium_cluster::{
    Denial, NamesConfig, Node, NodeConfig, NodeEvent, PeerLimits, RemoteActor, RemoteAskError,
};
use actinium_wire::Encoding;
use actinium_wire::hello::Hello;
use actinium_wire::schema::Schema;
use std::time::Duration;

struct Counter(u64);

enum Msg {
    Count,
    Tell(Reply<u64>),
}

impl Actor for Counter {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Count => self.0 += 1,
            Msg::Tell(reply) => reply.send(self.0).unwrap(),
        }
    }
}

impl RemoteActor for Counter {
    const KIND: &'static str = "test.bounds";
    type Message = u64;
    type Request = ();
    type Answer = u64;
    fn message(_: u64) -> Msg {
        Msg::Count
    }
    fn request((): (), reply: Reply<u64>) -> Msg {
        Msg::Tell(reply)
    }
}

/// Nobody's.
const KEY: Key = Key { index: 1_000, life: 1 };

fn frame_of(items: &[Vec<u8>]) -> Vec<u8> {
    [vec![0; HEADER_BYTES], items.concat()].concat()
}

#[test]
fn who_asks_for_more_than_it_takes_is_cut_off() {
    let limits = PeerLimits { unread_bytes: 1 << 20, ..PeerLimits::default() };
    let mut cluster = Cluster::new(1, 1, Faults::default(), NodeConfig { limits, ..reliable() });
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    liar.is_deaf = true;
    let watches: Vec<_> =
        (0..500).map(|watch| control(&Control::Watch { watch, key: KEY })).collect();
    let mut waiting = Vec::new();
    for _ in 0..500 {
        let _ = liar.link.send(500, frame_of(&watches));
        liar.steps(&mut cluster, 1);
        waiting.push(cluster.hosts[0].node.stats().peers[0].bytes_waiting);
        let is_cut = |event: &NodeEvent| match event {
            NodeEvent::Down {
                reason: DownReason::Broke(Breach::Unread { bytes, most }), ..
            } => bytes > most && *most == 1 << 20,
            _ => false,
        };
        if cluster.events(0).iter().any(is_cut) {
            assert!(waiting.iter().all(|&bytes| bytes < (1 << 20) + (1 << 18)), "{waiting:?}");
            assert!(waiting.iter().any(|&bytes| bytes > 1 << 19), "{waiting:?}");
            assert_eq!(waiting.last(), Some(&0), "it is given back");
            return;
        }
    }
    panic!("the answers pile up: {waiting:?}");
}

#[test]
fn who_comes_again_and_again_while_no_actor_has_a_turn_is_heard_when_one_has() {
    let link = LinkConfig { reliable: true, window_frames: 8, ..LinkConfig::default() };
    let config = NodeConfig { link, ..NodeConfig::default() };
    let mut cluster = Cluster::new(1, 1, Faults::default(), config);
    let counter = cluster.hosts[0].system.spawn(Counter(0));
    cluster.hosts[0].node.export("counter", &counter).unwrap();
    Liar::meet(&mut cluster, 1, 1).key::<Counter>(&mut cluster, "counter");
    // Its thread has the node's frames all the same.
    cluster.is_busy = true;
    for incarnation in 2..100 {
        let mut liar = Liar::new(&cluster, 1, incarnation);
        liar.steps(&mut cluster, 5);
        while liar.link.send(1, frame_of(&[tell(KEY, &1_u64)])).is_ok() {}
        liar.steps(&mut cluster, 5);
    }
    let waiting = cluster.hosts[0].system.audit().queued;
    assert!(waiting <= 3 * 10, "{waiting} messages wait for the actor that takes frames apart");
    cluster.is_busy = false;
    let mut liar = Liar::meet(&mut cluster, 1, 100);
    let key = liar.key::<Counter>(&mut cluster, "counter");
    liar.say(&mut cluster, &[tell(key, &1_u64)]);
    let answer = counter.ask(Msg::Tell);
    cluster.steps(1);
    assert_eq!(futures_lite::future::block_on(answer), Ok(1));
    assert_eq!(cluster.hosts[0].node.stats().peers[0].node, NodeId(1));
}

#[test]
fn a_peer_s_waiting_lookups_are_bounded_by_their_bytes_too() {
    let mut cluster = Cluster::new(1, 1, Faults::default(), reliable());
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    let schema = Schema::of::<(u64, (), u64)>(Counter::KIND, Counter::VERSION);
    let mut hello = Vec::new();
    let said = Hello::with_schema(schema, &Encoding::ALL, false);
    Encoding::SelfDescribing.encode(&said, &mut hello).unwrap();
    for request in 0..200 {
        let (name, hello) = ("a".repeat(500_000), hello.clone());
        liar.say(&mut cluster, &[control(&Control::Lookup { request, name, hello, wait: true })]);
    }
    let waiting = cluster.hosts[0].node.stats().peers[0].lookups;
    assert!((10..70).contains(&waiting), "{waiting} lookups of half a megabyte wait");
    assert!(denials(&cluster).iter().any(|(what, ..)| *what == Denial::Lookups));
    assert!(liar.link.is_up());
}

/// What is lost on a plain link may be what the node has asked, so it asks again.
#[test]
fn a_peer_that_loses_all_that_it_says_is_asked_one_request_at_a_time() {
    let mut cluster = Cluster::new(1, 1, Faults::default(), NodeConfig::default());
    let node = &cluster.hosts[0].node;
    let _names = node.names(NamesConfig::default()).unwrap();
    let own = cluster.hosts[0].system.spawn(Counter(0));
    let _shards = node.shards("shares", &own).unwrap();
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    let before = cluster.hosts[0].node.stats().peers[0].requests;
    for _ in 0..50 {
        cluster.network.set_faults(Faults { loss: 1.0, ..Faults::default() });
        liar.link.send(1, frame_of(&[tell(KEY, &1_u64)])).unwrap();
        liar.steps(&mut cluster, 1);
        cluster.network.set_faults(Faults::default());
        liar.steps(&mut cluster, 30);
    }
    let is_lost = |event: &NodeEvent| matches!(event, NodeEvent::Lost(NodeId(1), _));
    let lost = cluster.events(0).iter().filter(|event| is_lost(event)).count();
    assert!(lost > 30 && liar.link.is_up(), "{lost}");
    let requests = cluster.hosts[0].node.stats().peers[0].requests;
    assert!(before > 0 && requests <= before, "{requests} requests are open, and {before} were");
}

#[test]
fn a_name_of_the_cluster_has_so_many_bytes() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    let own = cluster.hosts[0].system.spawn(Counter(0));
    let of = |host: usize| cluster.hosts[host].node.names(NamesConfig::default()).unwrap();
    let names = [of(0), of(1)];
    cluster.steps(10);
    for (bytes, is_taken) in [(4096, true), (4097, false), (100_000, false)] {
        let name = "n".repeat(bytes);
        let claimed = names[0].claim(&name, &own, LIMIT);
        match cluster.wait(claimed) {
            Err(RemoteAskError::Unsendable(why)) => assert!(!is_taken && why.contains("4096")),
            claimed => assert_eq!((claimed, is_taken), (Ok(()), true)),
        }
        let found = names[1].find::<Counter>(&name, LIMIT);
        assert_eq!(cluster.wait(found).is_ok(), is_taken);
    }
}

#[test]
fn a_name_has_so_many_actors_elsewhere_and_no_more() {
    let network = Network::new();
    let system = System::builder().workers(1).build().unwrap();
    let node = |n, found| {
        let fabric = network.node(NodeId(n));
        let limits = PeerLimits { found, ..PeerLimits::default() };
        // On a busy machine a thread may not run for seconds: that is no death here.
        let link = LinkConfig { down_after_ns: 240_000_000_000, ..LinkConfig::default() };
        let config = NodeConfig { limits, link, linger: Duration::ZERO, ..NodeConfig::default() };
        Node::start(system.handle(), config, move || Ok(fabric)).unwrap()
    };
    let (has, few, enough) = (node(0, 1), node(1, 2), node(2, 3));
    let counters = [0; 3].map(|n| system.spawn(Counter(n)));
    has.export_all("counters", &counters).unwrap();
    let find = |node: &Node| {
        let found = node.find_all::<Counter>(NodeId(0), "counters", Duration::from_secs(240));
        found.wait().map(|found| found.len())
    };
    assert_eq!((find(&few), find(&enough)), (Err(RemoteAskError::NotUnderstood), Ok(3)));
}
