//! What is left of a node that has ended: answers for all that wait, and nothing that it has kept.

use crate::common::{Cluster, LIMIT, reliable};
use actinium_actor::{Actor, Address, Context, Reply, SpawnOptions, System};
use actinium_cluster::fabric::in_process::{Faults, InProcess, Network};
use actinium_cluster::fabric::{Fabric, NodeId, SendRefused};
use actinium_cluster::{
    ManualNode, Node, NodeConfig, RemoteActor, RemoteAddress, RemoteAskError, RemoteDown,
    RemoteDownReason, RemoteSendError,
};
use actinium_memory::heap::Heap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

/// Knows an actor of another node, and keeps what it is asked.
struct Worker {
    knows: Option<RemoteAddress<Worker>>,
    kept: Vec<Reply<u64>>,
    _life: Arc<()>,
}

enum Msg {
    Know(RemoteAddress<Worker>),
    Keep(Reply<u64>),
    /// Watches whom it knows, for whoever listens, with its address in the closure.
    Watch(Box<dyn Fn(RemoteDown) + Send>),
    Nothing,
}

impl Actor for Worker {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Know(there) => self.knows = Some(there),
            Msg::Keep(reply) => self.kept.push(reply),
            Msg::Watch(tell) => {
                let there = self.knows.clone().unwrap();
                there.clone().watch(ctx, move |down| {
                    assert_eq!(there.node(), down.node);
                    tell(down);
                    Msg::Nothing
                });
            }
            Msg::Nothing => {}
        }
    }
}

impl RemoteActor for Worker {
    const KIND: &'static str = "test.ending";
    type Message = u64;
    type Request = ();
    type Answer = u64;
    fn message(_: u64) -> Msg {
        Msg::Nothing
    }
    fn request((): (), reply: Reply<u64>) -> Msg {
        Msg::Keep(reply)
    }
}

fn worker(cluster: &Cluster, host: usize, life: &Arc<()>) -> Address<Worker> {
    let worker = Worker { knows: None, kept: Vec::new(), _life: life.clone() };
    let worker = cluster.hosts[host].system.spawn(worker);
    cluster.hosts[host].node.export("worker", &worker).unwrap();
    worker
}

/// What has come of it, if anything has.
fn now<R>(answer: &mut (impl Future<Output = R> + Unpin)) -> Option<R> {
    let mut cx = TaskContext::from_waker(Waker::noop());
    match std::pin::Pin::new(answer).poll(&mut cx) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

/// Ways of a node to end.
const WAYS: [fn(ManualNode); 2] = [|node| node.leave(), |node| drop(node)];

#[test]
fn what_waits_for_others_ends_with_the_node_and_what_is_asked_later_is_not_kept() {
    for end in WAYS {
        let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
        let life = Arc::new(());
        let _there = worker(&cluster, 1, &life);
        let found = cluster.hosts[0].node.lookup::<Worker>(NodeId(1), "worker", LIMIT);
        let there = cluster.wait(found).unwrap();
        let mut asked = there.ask((), LIMIT);
        let mut looked_for = cluster.hosts[0].node.lookup::<Worker>(NodeId(9), "worker", LIMIT);
        cluster.steps(3);
        assert!(now(&mut asked).is_none() && now(&mut looked_for).is_none());
        let mut host = cluster.hosts.remove(0);
        end(host.node);
        assert_eq!(now(&mut asked).unwrap(), Err(RemoteAskError::Left));
        assert_eq!(now(&mut looked_for).unwrap().unwrap_err(), RemoteAskError::Left);
        host.system.run_until_idle();
        assert_eq!(now(&mut there.ask((), LIMIT)).unwrap(), Err(RemoteAskError::Left));
        assert_eq!(there.send(1), Err(RemoteSendError::NodeDown(1)));
    }
}

#[test]
fn a_node_that_has_left_answers_at_once() {
    let network = Network::new();
    let (fabric, system) = (network.node(NodeId(0)), System::builder().workers(1).build().unwrap());
    let node = Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric)).unwrap();
    node.leave();
    let mut found = node.lookup::<Worker>(NodeId(1), "worker", LIMIT);
    assert_eq!(now(&mut found).expect("nobody will answer").unwrap_err(), RemoteAskError::Left);
}

/// Each of these is a circle through the node: an exported actor knows one of another node, so do a
/// listener, a factory and a watch; a request of another node is kept by an exported actor.
#[test]
fn what_only_a_node_has_kept_goes_with_it_while_its_system_lives() {
    let heap = Heap::leak_plain(1, 4).unwrap();
    for end in WAYS {
        let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
        let life = Arc::new(());
        let here = worker(&cluster, 0, &life);
        let _there = worker(&cluster, 1, &Arc::new(()));
        let found = cluster.hosts[0].node.lookup::<Worker>(NodeId(1), "worker", LIMIT);
        let there = cluster.wait(found).unwrap();
        let back = cluster.hosts[1].node.lookup::<Worker>(NodeId(0), "worker", LIMIT);
        let back = cluster.wait(back).unwrap();
        here.tell(Msg::Know(there.clone()));
        let probe = cluster.hosts[0].system.probe();
        here.tell(Msg::Watch(Box::new(probe.callback())));
        drop(here);
        let mut kept = back.ask((), LIMIT);
        let node = &cluster.hosts[0].node;
        let (of_listener, address) = (life.clone(), there.clone());
        node.on_event(move |_| assert_ne!((&of_listener, address.node()).1, NodeId(0)));
        let (of_factory, address) = (life.clone(), there.clone());
        let start = move |_: u64| Worker {
            knows: Some(address.clone()),
            kept: Vec::new(),
            _life: of_factory.clone(),
        };
        node.register(SpawnOptions::new(), start).unwrap();
        node.take_payloads_in(heap.arena(0).unwrap());
        cluster.steps(10);
        assert!(now(&mut kept).is_none() && heap.arena(0).is_none());
        let mut host = cluster.hosts.remove(0);
        end(host.node);
        host.system.run_until_idle();
        let down = probe.expect_next();
        assert!(matches!(down.reason, RemoteDownReason::NodeDown(_)), "{down:?}");
        assert_eq!(Arc::strong_count(&life), 1, "something is still kept");
        assert!(heap.arena(0).is_some(), "its memory is free again");
        // Whoever has an address still has it.
        assert_eq!(there.send(1), Err(RemoteSendError::NodeDown(1)));
        cluster.steps(2_000);
        assert!(now(&mut kept).is_some(), "the other node is told, or notices");
    }
}

/// A circle of two nodes with threads, each with an exported actor that knows the other's.
#[test]
fn what_nodes_with_threads_have_kept_goes_with_them_while_their_systems_live() {
    let network = Network::new();
    let life = Arc::new(());
    let systems = [0, 1].map(|_| System::builder().workers(2).build().unwrap());
    let nodes = [0, 1].map(|n| {
        let (fabric, system) = (network.node(NodeId(n)), systems[n as usize].handle());
        Node::start(system, NodeConfig::default(), move || Ok(fabric)).unwrap()
    });
    for (node, system) in nodes.iter().zip(&systems) {
        let worker = Worker { knows: None, kept: Vec::new(), _life: life.clone() };
        node.export("worker", &system.spawn(worker)).unwrap();
    }
    for (n, node) in nodes.iter().enumerate() {
        let there = node.lookup::<Worker>(NodeId(1 - n as u32), "worker", LIMIT).wait().unwrap();
        let worker = Worker { knows: Some(there), kept: Vec::new(), _life: life.clone() };
        node.export("second", &systems[n].spawn(worker)).unwrap();
    }
    assert_eq!(Arc::strong_count(&life), 5);
    drop(nodes);
    for system in &systems {
        system.wait_idle(LIMIT).unwrap();
    }
    assert_eq!(Arc::strong_count(&life), 1, "something is still kept");
}

/// A fabric that panics when it is told to.
struct Broken(InProcess, Arc<AtomicBool>);

impl Fabric for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }
    fn node(&self) -> NodeId {
        self.0.node()
    }
    fn nodes(&self) -> Vec<NodeId> {
        self.0.nodes()
    }
    fn frame_bytes_max(&self) -> usize {
        self.0.frame_bytes_max()
    }
    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused> {
        self.0.send(to, frame)
    }
    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
        assert!(!self.1.load(Ordering::SeqCst), "on purpose");
        self.0.poll()
    }
}

#[test]
fn a_node_whose_fabric_panics_leaves_nobody_waiting_and_its_system_goes_on() {
    let system = System::builder().workers(2).build().unwrap();
    let is_broken = Arc::new(AtomicBool::new(false));
    let fabric = Broken(Network::new().node(NodeId(0)), is_broken.clone());
    let node = Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric)).unwrap();
    let limit = Duration::MAX;
    let looked_for = node.lookup::<Worker>(NodeId(1), "worker", limit);
    is_broken.store(true, Ordering::SeqCst);
    assert_eq!(looked_for.wait().unwrap_err(), RemoteAskError::Left);
    let later = node.lookup::<Worker>(NodeId(1), "worker", limit);
    assert_eq!(later.wait().unwrap_err(), RemoteAskError::Left);
    // Whoever drove: the workers are still there.
    let worker = Worker { knows: None, kept: Vec::new(), _life: Arc::new(()) };
    system.spawn(worker).send(Msg::Nothing).unwrap();
    assert!(system.audit(limit).unwrap().is_balanced());
}
