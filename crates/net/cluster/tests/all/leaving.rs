//! A node that leaves while actors are in the middle of a turn: what they have sent in it arrives.

use actinium_actor::{Actor, Address, Context, Reply, System};
use actinium_cluster::fabric::in_process::{InProcess, Network};
use actinium_cluster::fabric::{Bell, Fabric, NodeId, SendRefused};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{Node, NodeConfig, RemoteActor, RemoteAddress};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(240);

/// Passes on what it is told.
struct Sink(mpsc::Sender<u64>);

impl Actor for Sink {
    type Msg = u64;
    fn handle(&mut self, n: u64, _ctx: &mut Context<'_, Self>) {
        self.0.send(n).unwrap();
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.leaving-sink";
    type Message = u64;
    type Request = ();
    type Answer = ();
    fn message(n: u64) -> u64 {
        n
    }
    fn request((): (), reply: Reply<()>) -> u64 {
        drop(reply);
        0
    }
}

/// Sends some numbers, and then does what it is to do, in one turn.
struct Sender {
    sink: RemoteAddress<Sink>,
    then: Box<dyn FnMut() + Send>,
}

const NUMBERS: u64 = 5;

impl Actor for Sender {
    type Msg = ();
    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
        (1..=NUMBERS).for_each(|n| self.sink.send(n).unwrap());
        (self.then)();
    }
}

/// A fabric that says how often it was polled, and when it was given up.
struct Watched {
    fabric: InProcess,
    polls: Arc<AtomicU64>,
    is_gone: Arc<AtomicBool>,
    /// Whether it says when a frame has come.
    rings: bool,
}

impl Fabric for Watched {
    fn name(&self) -> &'static str {
        self.fabric.name()
    }
    fn node(&self) -> NodeId {
        self.fabric.node()
    }
    fn nodes(&self) -> Vec<NodeId> {
        self.fabric.nodes()
    }
    fn frame_bytes_max(&self) -> usize {
        self.fabric.frame_bytes_max()
    }
    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused> {
        self.fabric.send(to, frame)
    }
    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
        self.polls.fetch_add(1, Ordering::SeqCst);
        self.fabric.poll()
    }
    fn set_bell(&mut self, bell: Bell) -> bool {
        self.rings && self.fabric.set_bell(bell)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.is_gone.store(true, Ordering::SeqCst);
    }
}

struct Cluster {
    here: System,
    node: Arc<Node>,
    polls: Arc<AtomicU64>,
    is_gone: Arc<AtomicBool>,
    sink: RemoteAddress<Sink>,
    numbers: mpsc::Receiver<u64>,
    there: System,
    sink_node: (Node, Address<Sink>),
}

fn cluster() -> Cluster {
    cluster_that(true)
}

fn cluster_that(rings: bool) -> Cluster {
    let network = Network::new();
    // On a busy machine a thread may not run for seconds: that is no death here.
    let link = LinkConfig { down_after_ns: 240_000_000_000, ..LinkConfig::default() };
    let config = NodeConfig { link, linger: LIMIT, ..NodeConfig::default() };
    let system = || System::builder().workers(1).build().unwrap();
    let (here, there) = (system(), system());
    let (polls, is_gone) = (Arc::default(), Arc::default());
    let fabric = Watched {
        fabric: network.node(NodeId(0)),
        polls: Arc::clone(&polls),
        is_gone: Arc::clone(&is_gone),
        rings,
    };
    let node = Node::start(here.handle(), config.clone(), move || Ok(fabric)).unwrap();
    let fabric = network.node(NodeId(1));
    let sink_node = Node::start(there.handle(), config, move || Ok(fabric)).unwrap();
    let (sender, numbers) = mpsc::channel();
    let sink = there.spawn(Sink(sender));
    sink_node.export("sink", &sink).unwrap();
    let remote = node.find::<Sink>(NodeId(1), "sink", LIMIT).wait().unwrap();
    let node = Arc::new(node);
    Cluster {
        here,
        node,
        polls,
        is_gone,
        sink: remote,
        numbers,
        there,
        sink_node: (sink_node, sink),
    }
}

impl Cluster {
    /// The node has left: nothing is under way, and what has arrived is in mailboxes.
    fn expect_all(&self) {
        self.there.wait_idle(Duration::MAX).unwrap();
        let numbers: Vec<u64> = self.numbers.try_iter().collect();
        assert_eq!(numbers, (1..=NUMBERS).collect::<Vec<_>>());
    }
}

#[test]
fn what_a_turn_has_sent_before_it_leaves_arrives() {
    let cluster = cluster();
    let node = cluster.node.clone();
    let then = Box::new(move || node.leave());
    cluster.here.spawn(Sender { sink: cluster.sink.clone(), then }).send(()).unwrap();
    cluster.here.wait_idle(Duration::MAX).unwrap();
    cluster.expect_all();
}

#[test]
fn whoever_leaves_waits_for_the_turns_that_have_sent() {
    let cluster = cluster();
    let (node, polls, is_gone) =
        (cluster.node.clone(), cluster.polls.clone(), cluster.is_gone.clone());
    let (leaver, left) = mpsc::channel();
    let then = Box::new(move || {
        let (node, has_begun) = (node.clone(), Arc::new(AtomicBool::new(false)));
        let begun = has_begun.clone();
        let leaves = thread::spawn(move || {
            begun.store(true, Ordering::SeqCst);
            node.leave();
        });
        while !has_begun.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        // The node's thread turns so often and does not leave; or it has left, too early.
        let before = polls.load(Ordering::SeqCst);
        while polls.load(Ordering::SeqCst) < before + 20 && !is_gone.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        leaver.send(leaves).unwrap();
    });
    cluster.here.spawn(Sender { sink: cluster.sink.clone(), then }).send(()).unwrap();
    left.recv().unwrap().join().unwrap();
    assert!(cluster.is_gone.load(Ordering::SeqCst));
    cluster.expect_all();
}

/// Looks for frames after which a node that nobody can wake sleeps as long as it ever does.
const LOOKS_TO_REST: u64 = 1_500;

#[test]
fn a_node_that_must_look_for_frames_hears_after_a_rest_and_leaves() {
    let cluster = cluster_that(false);
    let here = cluster.here.spawn(Sink(mpsc::channel().0));
    cluster.node.export("here", &here).unwrap();
    let rest = || {
        let before = cluster.polls.load(Ordering::SeqCst);
        while cluster.polls.load(Ordering::SeqCst) < before + LOOKS_TO_REST {
            thread::yield_now();
        }
    };
    rest();
    // From the other node: found by a look alone.
    cluster.sink_node.0.find::<Sink>(NodeId(0), "here", LIMIT).wait().unwrap();
    rest();
    (1..=NUMBERS).for_each(|n| cluster.sink.send(n).unwrap());
    rest();
    cluster.node.leave();
    cluster.expect_all();
}
