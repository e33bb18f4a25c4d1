//! Actors that are started, owned and stopped from other nodes, on test systems; one test with
//! threads.

use crate::common::{Cluster, LIMIT, bad_network, reliable};
use actinium_actor::testing::{Probe, ProbeActor};
use actinium_actor::{Actor, Address, Context, Reply, SpawnOptions, Supervision, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{
    AnyAddress, Node, NodeConfig, Placement, RemoteActor, RemoteAddress, RemoteAskError,
    RemoteDown, RemoteDownReason,
};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Adds up, from where it was started.
struct Counter(u64);

enum Msg {
    Add(u64),
    Sum(Reply<u64>),
}

/// Makes it fail.
const FAIL: u64 = u64::MAX;

impl Actor for Counter {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Add(FAIL) => panic!("on purpose"),
            Msg::Add(n) => self.0 += n,
            Msg::Sum(reply) => drop(reply.send(self.0)),
        }
    }
}

impl RemoteActor for Counter {
    const KIND: &'static str = "test.counter";
    type Message = u64;
    type Request = ();
    type Answer = u64;
    fn message(n: u64) -> Msg {
        Msg::Add(n)
    }
    fn request((): (), reply: Reply<u64>) -> Msg {
        Msg::Sum(reply)
    }
}

#[derive(Clone, Serialize, Deserialize, Message)]
struct Start {
    from: u64,
}

fn counter(start: Start) -> Counter {
    assert_ne!(start.from, FAIL, "not from there");
    Counter(start.from)
}

/// So many nodes that start counters for others.
fn cluster(seed: u64, nodes: u32, faults: Faults, config: NodeConfig) -> Cluster {
    let cluster = Cluster::new(seed, nodes, faults, config);
    for host in &cluster.hosts {
        host.node.register(SpawnOptions::new(), counter).unwrap();
    }
    cluster
}

fn spawn(
    cluster: &mut Cluster,
    from: usize,
    to: u32,
    start: u64,
) -> Result<AnyAddress<Counter>, RemoteAskError> {
    let answer = cluster.hosts[from].node.spawn_on(NodeId(to), Start { from: start }, LIMIT);
    cluster.wait(answer)
}

fn sum(cluster: &mut Cluster, counter: &AnyAddress<Counter>) -> Result<u64, RemoteAskError> {
    let answer = counter.ask((), LIMIT);
    cluster.wait(answer)
}

fn there(address: AnyAddress<Counter>) -> RemoteAddress<Counter> {
    let AnyAddress::There(there) = address else { panic!("{address:?} is on this node") };
    there
}

#[test]
fn an_actor_is_started_elsewhere_and_here_and_counts() {
    for seed in 0..3 {
        let mut cluster = cluster(seed, 2, bad_network(), reliable());
        for to in [1, 0] {
            let counter = spawn(&mut cluster, 0, to, 40).unwrap();
            assert_eq!(counter.node(), NodeId(to));
            counter.send(2).unwrap();
            assert_eq!(sum(&mut cluster, &counter), Ok(42));
            counter.stop();
            // Nothing says when: until it has.
            while sum(&mut cluster, &counter).is_ok() {}
            assert_eq!(sum(&mut cluster, &counter), Err(RemoteAskError::Closed));
        }
    }
}

#[test]
fn what_is_not_started_says_why() {
    let config = NodeConfig { spawned_max: 2, ..NodeConfig::default() };
    let mut cluster = cluster(1, 2, Faults::default(), config);
    let error = cluster.hosts[0].node.register(SpawnOptions::new(), counter).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an actor type of the kind 'test.counter' is registered at this node already"
    );

    for to in [1, 0] {
        let error = spawn(&mut cluster, 0, to, FAIL).unwrap_err();
        assert!(error.to_string().contains("no test.counter was started"), "{error}");
        assert!(error.to_string().contains("not from there"), "{error}");
        // Made of something else.
        let answer = cluster.hosts[0].node.spawn_on::<Counter, _>(NodeId(to), true, LIMIT);
        let error = cluster.wait(answer).unwrap_err();
        assert!(matches!(&error, RemoteAskError::Incompatible { .. }), "{error:?}");
    }

    // As many as may; one that ends makes room for one, at its place, which is no longer its.
    let first = spawn(&mut cluster, 0, 1, 1).unwrap();
    let _second = spawn(&mut cluster, 0, 1, 2).unwrap();
    let full = RemoteAskError::AtCapacity { node: NodeId(1), actors: 2 };
    assert_eq!(spawn(&mut cluster, 0, 1, 3).unwrap_err(), full);
    first.kill();
    cluster.steps(10);
    let third = spawn(&mut cluster, 0, 1, 3).unwrap();
    first.send(100).unwrap();
    assert_eq!(sum(&mut cluster, &first), Err(RemoteAskError::Closed));
    assert_eq!(sum(&mut cluster, &third), Ok(3));

    cluster.network.kill(NodeId(1));
    let error = spawn(&mut cluster, 0, 1, 1).unwrap_err();
    assert_eq!(error, RemoteAskError::NodeDown(NodeId(1)));
}

#[test]
fn a_type_that_is_not_registered_is_not_started() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), NodeConfig::default());
    for to in [0, 1] {
        let error = spawn(&mut cluster, 0, to, 1).unwrap_err();
        assert_eq!(error, RemoteAskError::NotRegistered("test.counter"));
    }
}

#[test]
fn actors_are_placed_in_turn_here_first_or_by_key() {
    let mut cluster = cluster(1, 3, Faults::default(), NodeConfig::default());
    cluster.steps(5);
    let place = |cluster: &mut Cluster, from: usize, placement: &Placement| {
        let answer = cluster.hosts[from].node.spawn_placed::<Counter, _>(
            placement,
            Start { from: 0 },
            LIMIT,
        );
        let address = cluster.wait(answer).unwrap();
        (address.node().0, address)
    };
    let in_turn: Vec<u32> =
        (0..6).map(|_| place(&mut cluster, 0, &Placement::RoundRobin).0).collect();
    assert_eq!(in_turn, [0, 1, 2, 0, 1, 2]);

    let most = cluster.hosts[0].system.stats().actors + 2;
    let first: Vec<_> =
        (0..4).map(|_| place(&mut cluster, 0, &Placement::LocalFirst { most })).collect();
    let nodes: Vec<u32> = first.iter().map(|(node, _)| *node).collect();
    assert_eq!(nodes[..2], [0, 0]);
    assert!(!nodes[2..].contains(&0), "{nodes:?}");

    // All agree on a key's node; when that one goes, only its keys move.
    let keys: Vec<String> = (0..40).map(|n| format!("key {n}")).collect();
    let places = |cluster: &mut Cluster, from: usize| -> BTreeMap<String, u32> {
        keys.iter()
            .map(|key| (key.clone(), place(cluster, from, &Placement::by_key(key)).0))
            .collect()
    };
    let before = places(&mut cluster, 0);
    assert_eq!(before, places(&mut cluster, 1));
    cluster.network.kill(NodeId(2));
    cluster.steps(1_200);
    let after = places(&mut cluster, 0);
    assert!(before.values().any(|&node| node == 2) && after.values().all(|&node| node < 2));
    assert!(keys.iter().all(|key| before[key] == 2 || before[key] == after[key]));
}

/// Owns a counter of another node, and passes on what it hears of it.
struct Parent {
    child: RemoteAddress<Counter>,
    heard: Address<ProbeActor<RemoteDown>>,
}

impl Actor for Parent {
    type Msg = RemoteDown;
    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        self.child.adopt(ctx, |down| down);
    }
    fn handle(&mut self, down: RemoteDown, _ctx: &mut Context<'_, Self>) {
        self.heard.tell(down);
    }
}

struct Family {
    cluster: Cluster,
    child: AnyAddress<Counter>,
    parent: Address<Parent>,
    heard: Probe<RemoteDown>,
}

fn family(supervision: Supervision) -> Family {
    let mut cluster = Cluster::new(5, 2, Faults::default(), reliable());
    let options = SpawnOptions::new().supervise(supervision);
    cluster.hosts[1].node.register(options, counter).unwrap();
    let child = spawn(&mut cluster, 0, 1, 7).unwrap();
    let heard = cluster.hosts[0].system.probe();
    let parent = Parent { child: there(child.clone()), heard: heard.address() };
    let parent = cluster.hosts[0].system.spawn(parent);
    cluster.steps(10);
    Family { cluster, child, parent, heard }
}

#[test]
fn a_child_that_fails_is_given_up_and_its_parent_hears_why() {
    let mut family = family(Supervision::stop());
    family.child.send(FAIL).unwrap();
    family.cluster.steps(10);
    let down = family.heard.expect(|down| down.node == NodeId(1));
    let RemoteDownReason::Failed(why) = down.reason else { panic!("{down:?}") };
    assert!(why.contains("on purpose"), "{why}");
}

#[test]
fn a_child_that_fails_starts_anew_as_often_as_it_may() {
    let mut family = family(Supervision::restart().limit(2, Duration::from_secs(60)));
    for _ in 0..2 {
        family.child.send(1).unwrap();
        assert_eq!(sum(&mut family.cluster, &family.child), Ok(8));
        family.child.send(FAIL).unwrap();
        assert_eq!(sum(&mut family.cluster, &family.child), Ok(7), "as it was started");
        family.heard.expect_none();
    }
    family.child.send(FAIL).unwrap();
    family.cluster.steps(10);
    family.heard.expect(|down| matches!(down.reason, RemoteDownReason::Failed(_)));
}

#[test]
fn a_child_ends_when_it_is_stopped_when_its_parent_ends_and_when_its_parents_node_dies() {
    let mut stopped = family(Supervision::restart());
    stopped.child.stop();
    stopped.cluster.steps(10);
    let reason = RemoteDownReason::Ended("stopped on request".to_owned());
    stopped.heard.expect_eq(RemoteDown { node: NodeId(1), reason });

    let mut left = family(Supervision::restart());
    left.parent.stop();
    left.cluster.steps(10);
    assert_eq!(sum(&mut left.cluster, &left.child), Err(RemoteAskError::Closed));

    let mut lost = family(Supervision::restart());
    let before = lost.cluster.hosts[1].system.stats().actors;
    lost.cluster.network.kill(NodeId(0));
    lost.cluster.steps(1_200);
    assert_eq!(lost.cluster.hosts[1].system.stats().actors, before - 1);
}

#[test]
fn places_are_used_again() {
    let mut cluster = cluster(3, 2, Faults::default(), reliable());
    for round in 0..100 {
        let counter = spawn(&mut cluster, 0, 1, round).unwrap();
        assert!(format!("{counter:?}").contains("test.counter 0 at node 1"), "{counter:?}");
        assert_eq!(sum(&mut cluster, &counter), Ok(round));
        counter.kill();
        cluster.steps(3);
    }
}

/// What comes late for a child that has ended is for nobody, and makes its place no worse for the
/// next.
#[test]
fn a_place_that_was_asked_for_while_it_was_empty_is_used_again() {
    let mut cluster = cluster(4, 2, Faults::default(), NodeConfig::default());
    for start in 0..5 {
        let child = spawn(&mut cluster, 0, 1, start).unwrap();
        assert_eq!(sum(&mut cluster, &child), Ok(start));
        child.stop();
        cluster.steps(10);
        assert_eq!(sum(&mut cluster, &child), Err(RemoteAskError::Closed));
        child.send(1).unwrap();
        cluster.steps(10);
    }
}

#[test]
fn threads_start_actors_at_each_other() {
    const EACH: u64 = 100;
    const WAIT: Duration = Duration::from_secs(240);
    let network = Network::new();
    let fabrics: Vec<_> = (0..2).map(|n| network.node(NodeId(n))).collect();
    let start = |fabric| {
        let link = LinkConfig { down_after_ns: 240_000_000_000, ..LinkConfig::default() };
        let system = System::builder().workers(2).build().unwrap();
        let config = NodeConfig { link, ..NodeConfig::default() };
        let node = Node::start(system.handle(), config, move || Ok(fabric)).unwrap();
        node.register(SpawnOptions::new(), counter).unwrap();
        (system, node)
    };
    let hosts: Vec<(System, Node)> = fabrics.into_iter().map(start).collect();
    std::thread::scope(|scope| {
        for (_, node) in &hosts {
            scope.spawn(move || {
                let other = NodeId(1 - node.id().0);
                for n in 0..EACH {
                    let answer = node.spawn_on::<Counter, _>(other, Start { from: n }, WAIT);
                    let counter = answer.wait().unwrap();
                    counter.send(1).unwrap();
                    assert_eq!(counter.ask((), WAIT).wait(), Ok(n + 1));
                    counter.stop();
                }
            });
        }
    });
    hosts.iter().for_each(|(_, node)| node.leave());
}
