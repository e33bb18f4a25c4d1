//! Addresses of actors that were found by name, or started elsewhere, as recipients.

use crate::common::{Cluster, LIMIT, Watcher, reliable};
use actinium_actor::{Actor, Address, Context, Down, Recipient, Reply, SendError, SpawnOptions};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::route::Route;
use actinium_cluster::{
    AnyAddress, Denial, Grants, NodeConfig, NodeEvent, RemoteActor, RemoteAddress,
};
use actinium_wire::Encoding;
use std::sync::{Arc, Mutex};

/// Keeps what it is told. Its own messages are others than those that it is sent.
struct Sink(Arc<Mutex<Vec<u64>>>);

impl Actor for Sink {
    type Msg = u64;
    fn handle(&mut self, n: u64, _ctx: &mut Context<'_, Self>) {
        self.0.lock().unwrap().push(n);
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.recipient-sink";
    type Message = u64;
    type Request = ();
    type Answer = ();
    fn message(n: u64) -> u64 {
        n + 100
    }
    fn request((): (), _: Reply<()>) -> u64 {
        unreachable!("nobody asks it")
    }
}

/// Keeps the handles that it is sent.
struct Desk(Arc<Mutex<Vec<Recipient<u64>>>>);

impl Actor for Desk {
    type Msg = Recipient<u64>;
    fn handle(&mut self, whom: Recipient<u64>, _ctx: &mut Context<'_, Self>) {
        self.0.lock().unwrap().push(whom);
    }
}

impl RemoteActor for Desk {
    const KIND: &'static str = "test.recipient-desk";
    type Message = Recipient<u64>;
    type Request = ();
    type Answer = ();
    fn message(whom: Recipient<u64>) -> Recipient<u64> {
        whom
    }
    fn request((): (), _: Reply<()>) -> Recipient<u64> {
        unreachable!("nobody asks it")
    }
}

/// A desk on each node, and a sink on node 1.
struct World {
    cluster: Cluster,
    kept: Vec<Arc<Mutex<Vec<Recipient<u64>>>>>,
    sink: Address<Sink>,
    seen: Arc<Mutex<Vec<u64>>>,
}

impl World {
    fn new(nodes: u32, config: NodeConfig, grants: Grants) -> Self {
        let cluster = Cluster::new(5, nodes, Faults::default(), config);
        let mut kept = Vec::new();
        for host in &cluster.hosts {
            let keeps = Arc::<Mutex<Vec<Recipient<u64>>>>::default();
            host.node.export("desk", &host.system.spawn(Desk(keeps.clone()))).unwrap();
            kept.push(keeps);
        }
        let seen = Arc::<Mutex<Vec<u64>>>::default();
        let sink = cluster.hosts[1].system.spawn(Sink(seen.clone()));
        cluster.hosts[1].node.export_with("sink", &sink, grants).unwrap();
        World { cluster, kept, sink, seen }
    }

    fn found<A: RemoteActor>(&mut self, from: usize, to: u32, name: &str) -> RemoteAddress<A> {
        let found = self.cluster.hosts[from].node.find::<A>(NodeId(to), name, LIMIT);
        self.cluster.wait(found).unwrap()
    }

    /// Sends a handle to another node, as it comes there.
    fn pass(&mut self, from: usize, to: u32, whom: &Recipient<u64>) -> Recipient<u64> {
        self.found::<Desk>(from, to, "desk").send(whom.clone()).unwrap();
        self.cluster.steps(200);
        self.kept[to as usize].lock().unwrap().pop().expect("it came")
    }

    fn take(&mut self) -> Vec<u64> {
        self.cluster.steps(200);
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

#[test]
fn a_remote_address_is_a_recipient_that_travels_and_comes_home() {
    let text = NodeConfig { encodings: vec![Encoding::Text], ..reliable() };
    let grid = NodeConfig { route: Route::Square, grid_nodes: 4, ..reliable() };
    for (nodes, config) in [(3, reliable()), (3, text), (4, grid)] {
        let last = nodes - 1;
        let mut world = World::new(nodes, config, Grants::default());
        let there = world.found::<Sink>(0, 1, "sink");
        let at_0: Recipient<u64> = (&there).into();
        assert_eq!(at_0, there.clone().into(), "the same actor");
        at_0.send_urgent(1).unwrap();
        there.send(2).unwrap();
        assert_eq!(world.take(), [101, 102]);

        let at_last = world.pass(0, last, &at_0);
        // The node between is not needed any more.
        drop((at_0, there));
        at_last.send(3).unwrap();
        assert_eq!(world.take(), [103]);

        let home = world.pass(last as usize, 1, &at_last);
        assert!(format!("{home:?}").contains("Sink"), "the actor's own: {home:?}");
        home.send(4).unwrap();
        assert_eq!(world.take(), [104]);
    }
}

#[test]
fn an_any_address_is_a_recipient_on_its_own_node_and_elsewhere() {
    let mut world = World::new(2, reliable(), Grants::default());
    let seen = world.seen.clone();
    let factory = move |_: u64| Sink(seen.clone());
    world.cluster.hosts[1].node.register(SpawnOptions::new(), factory).unwrap();
    for from in 0..2 {
        let spawned = world.cluster.hosts[from].node.spawn_on::<Sink, u64>(NodeId(1), 0, LIMIT);
        let spawned: AnyAddress<Sink> = world.cluster.wait(spawned).unwrap();
        let whom = Recipient::from(&spawned);
        assert_eq!(whom, spawned.into());
        whom.send(5).unwrap();
        assert_eq!(world.take(), [105]);
    }
}

#[test]
fn whoever_watches_or_sends_to_one_that_has_ended_is_told() {
    let mut world = World::new(2, reliable(), Grants::default());
    let whom = Recipient::from(world.found::<Sink>(0, 1, "sink"));
    let downs = Arc::<Mutex<Vec<Down>>>::default();
    let _watcher = world.cluster.hosts[0].system.spawn(Watcher(whom.clone(), downs.clone()));
    world.cluster.steps(20);
    assert!(downs.lock().unwrap().is_empty());
    world.sink.stop();
    world.cluster.steps(20);
    assert_eq!(downs.lock().unwrap().len(), 1);
    whom.send(1).unwrap();
    assert!(world.take().is_empty());
    assert_eq!(whom.send(2), Err(SendError::Closed(2)));
}

#[test]
fn a_recipient_of_an_earlier_life_reaches_nobody_in_the_next() {
    let mut world = World::new(2, reliable(), Grants::default());
    let whom = Recipient::from(world.found::<Sink>(0, 1, "sink"));
    world.cluster.network.kill(NodeId(1));
    world.cluster.hosts[1] = world.cluster.host(1, 2);
    let sink = world.cluster.hosts[1].system.spawn(Sink(world.seen.clone()));
    // At the same place: the first that the node exports is the desk.
    world.cluster.hosts[1].node.export_all("sink", &[sink.clone(), sink]).unwrap();
    world.cluster.steps(300);
    whom.send(1).unwrap();
    assert!(world.take().is_empty());
    assert_eq!(whom.send(2), Err(SendError::Closed(2)));
}

#[test]
fn a_recipient_may_do_no_more_than_the_address_that_it_was_made_of() {
    let mut world = World::new(3, reliable(), Grants::WATCH);
    let at_0 = Recipient::from(world.found::<Sink>(0, 1, "sink"));
    let at_2 = world.pass(0, 2, &at_0);
    for (node, whom) in [(0, at_0), (2, at_2)] {
        whom.send(1).unwrap();
        assert!(world.take().is_empty());
        assert_eq!(whom.send(2), Err(SendError::Closed(2)));
        let events = world.cluster.events(1);
        let is_denied = |event: &NodeEvent| {
            matches!(event, NodeEvent::Denied { node: by, what: Denial::Send, actor, .. }
                if *by == NodeId(node) && actor.as_deref() == Some("test.recipient-sink 'sink'"))
        };
        assert!(events.iter().any(is_denied), "{events:?}");
    }
}
