//! Messages that come back as values when the session of two nodes ends.

use crate::common::{Cluster, LIMIT, reliable};
use actinium_actor::{Actor, Address, Answer, Context, Recipient, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::route::Route;
use actinium_cluster::{
    AggregatorConfig, NodeConfig, NodeEvent, RemoteActor, RemoteAddress, RemoteSendError,
    Undelivered,
};
use actinium_memory::heap::{Heap, Payload};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};

#[derive(Default, Serialize, Deserialize, Message)]
struct Note {
    n: u64,
    text: Vec<u8>,
    whom: Option<Recipient<u64>>,
    reply: Option<Reply<u64>>,
}

fn note(n: u64) -> Note {
    Note { n, ..Note::default() }
}

/// Keeps the numbers of notes.
struct Desk(Arc<Mutex<Vec<u64>>>);

impl Actor for Desk {
    type Msg = Note;
    fn handle(&mut self, note: Note, _ctx: &mut Context<'_, Self>) {
        self.0.lock().unwrap().push(note.n);
    }
}

impl RemoteActor for Desk {
    const KIND: &'static str = "test.desk-of-notes";
    type Message = Note;
    type Request = ();
    type Answer = ();
    fn message(note: Note) -> Note {
        note
    }
    fn request((): (), _: Reply<()>) -> Note {
        unreachable!("nobody asks it")
    }
    fn with_payload(note: Note, _: Payload) -> Result<Note, (Note, Payload)> {
        Ok(note)
    }
}

/// Sends notes in one turn, and then says so.
struct Writer(RemoteAddress<Desk>);

impl Actor for Writer {
    type Msg = (std::ops::Range<u64>, Box<dyn FnOnce() + Send>);
    fn handle(&mut self, (numbers, then): Self::Msg, _ctx: &mut Context<'_, Self>) {
        numbers.for_each(|n| self.0.send(note(n)).unwrap());
        then();
    }
}

type Back = Arc<Mutex<Vec<Undelivered<Desk>>>>;

/// Nodes with a desk each, of which node 0 knows those of the others, and what has come back to it.
struct World {
    cluster: Cluster,
    seen: Vec<Arc<Mutex<Vec<u64>>>>,
    back: Back,
    desks: Vec<Address<Desk>>,
}

impl World {
    fn new(nodes: u32, config: NodeConfig) -> Self {
        let cluster = Cluster::new(1, nodes, Faults::default(), config);
        let (seen, desks) = (Vec::new(), Vec::new());
        let mut world = World { cluster, seen, desks, back: Back::default() };
        (0..nodes as usize).for_each(|host| world.desk(host));
        world
    }

    fn desk(&mut self, host: usize) {
        let seen = Arc::<Mutex<Vec<u64>>>::default();
        let host = &self.cluster.hosts[host];
        let desk = host.system.spawn(Desk(seen.clone()));
        host.node.export("desk", &desk).unwrap();
        self.seen.push(seen);
        self.desks.push(desk);
    }

    fn meet(&mut self, to: u32) -> RemoteAddress<Desk> {
        let found = self.cluster.hosts[0].node.find::<Desk>(NodeId(to), "desk", LIMIT);
        self.cluster.wait(found).unwrap()
    }

    /// The desk of a node, whose notes come back.
    fn wanted(&mut self, to: u32) -> RemoteAddress<Desk> {
        let (there, back) = (self.meet(to), self.back.clone());
        there.on_undelivered(move |undelivered| back.lock().unwrap().push(undelivered));
        there
    }

    /// Lets a node die, and node 0 notice it.
    fn kill(&mut self, node: u32) -> Vec<NodeEvent> {
        self.cluster.network.kill(NodeId(node));
        self.cluster.steps(1_500);
        self.cluster.events(0)
    }

    /// What has come back: the numbers, and whether each may have arrived.
    fn take(&self) -> Vec<(u64, bool)> {
        let back = std::mem::take(&mut *self.back.lock().unwrap());
        back.iter().map(|it| (it.message.n, it.may_have_arrived)).collect()
    }
}

/// How many messages were given back, were not kept, and could not be read, in sum; and in the
/// counts of the ends.
fn returned(events: &[NodeEvent]) -> ([u64; 3], u64) {
    let (mut sum, mut ended) = ([0; 3], 0);
    for event in events {
        match event {
            NodeEvent::Returned { messages, not_kept, unreadable, .. } => {
                let counts = [*messages, *not_kept, *unreadable];
                (0..3).for_each(|at| sum[at] += counts[at]);
            }
            NodeEvent::Down { unacknowledged, .. } => ended += unacknowledged.messages,
            _ => {}
        }
    }
    (sum, ended)
}

#[test]
fn what_a_dead_node_has_not_acknowledged_comes_back_in_order_on_any_link() {
    for config in [reliable(), NodeConfig::default()] {
        let mut world = World::new(2, config);
        let there = world.wanted(1);
        (1..4).for_each(|n| there.send(note(n)).unwrap());
        world.cluster.steps(50);
        world.cluster.network.kill(NodeId(1));
        (4..7).for_each(|n| there.send(note(n)).unwrap());
        let events = world.kill(1);
        assert_eq!(world.take(), [(4, true), (5, true), (6, true)]);
        assert_eq!(returned(&events), ([3, 0, 0], 3));
        let at = |which: fn(&NodeEvent) -> bool| events.iter().position(which);
        let down = at(|event| matches!(event, NodeEvent::Down { .. }));
        assert!(down.is_some() && down < at(|event| matches!(event, NodeEvent::Returned { .. })));
        assert_eq!(*world.seen[1].lock().unwrap(), [1, 2, 3]);
        let down = there.send(note(7)).unwrap_err();
        assert!(matches!(down, RemoteSendError::NodeDown(Note { n: 7, .. })), "{down}");
    }
}

#[test]
fn who_has_not_asked_gets_nothing_back_and_nothing_is_told() {
    let mut world = World::new(2, reliable());
    let there = world.meet(1);
    world.cluster.network.kill(NodeId(1));
    there.send(note(1)).unwrap();
    let events = world.kill(1);
    assert_eq!(returned(&events), ([0; 3], 1));
    assert!(!events.iter().any(|event| matches!(event, NodeEvent::Returned { .. })));
}

#[test]
fn what_never_left_has_certainly_not_arrived() {
    let mut config = reliable();
    config.link.window_frames = 1;
    config.aggregator = AggregatorConfig { frame_bytes: 256, ..AggregatorConfig::default() };
    let mut world = World::new(2, config);
    let there = world.wanted(1);
    world.cluster.network.kill(NodeId(1));
    there.send(note(1)).unwrap();
    world.cluster.steps(5);
    there.send(note(2)).unwrap();
    let events = world.kill(1);
    assert_eq!(world.take(), [(1, true), (2, false)]);
    assert_eq!(returned(&events), ([2, 0, 0], 1));
    // This node leaves in the turn that sends.
    let mut world = World::new(2, reliable());
    let there = world.wanted(1);
    let mut host = world.cluster.hosts.remove(0);
    let node = host.node;
    host.system.spawn(Writer(there)).tell((1..3, Box::new(move || node.leave())));
    host.system.run_until_idle();
    assert_eq!(world.take(), [(1, false), (2, false)]);
}

#[test]
fn what_comes_back_is_bounded_and_the_rest_is_counted() {
    for config in [reliable(), NodeConfig::default()] {
        let aggregator = AggregatorConfig { frame_bytes: 1_024, ..AggregatorConfig::default() };
        let config = NodeConfig { undelivered_bytes: 3_000, aggregator, ..config };
        let mut world = World::new(2, config);
        let there = world.wanted(1);
        world.cluster.network.kill(NodeId(1));
        for n in 0..5 {
            // Each a frame of its own.
            there.send(Note { text: vec![0; 1_100], ..note(n) }).unwrap();
            world.cluster.steps(1);
        }
        let events = world.kill(1);
        assert_eq!(world.take(), [(0, true), (1, true)]);
        assert_eq!(returned(&events), ([2, 3, 0], 5));
    }
}

#[test]
fn in_a_grid_what_a_dead_node_or_its_way_has_not_acknowledged_comes_back() {
    for dies in [3, 1] {
        let config = NodeConfig { route: Route::Square, grid_nodes: 4, ..reliable() };
        let mut world = World::new(4, config);
        let there = world.wanted(3);
        (1..4).for_each(|n| there.send(note(n)).unwrap());
        world.cluster.steps(200);
        assert_eq!(*world.seen[3].lock().unwrap(), [1, 2, 3]);
        world.cluster.network.kill(NodeId(dies));
        (4..7).for_each(|n| there.send(note(n)).unwrap());
        let events = world.kill(dies);
        assert_eq!(world.take(), [(4, true), (5, true), (6, true)], "node {dies} died");
        assert_eq!(returned(&events).0, [3, 0, 0]);
    }
}

#[test]
fn in_a_grid_what_is_kept_is_bounded_too() {
    let (route, grid_nodes) = (Route::Square, 4);
    let config = NodeConfig { route, grid_nodes, undelivered_bytes: 3_000, ..reliable() };
    let mut world = World::new(4, config);
    let there = world.wanted(3);
    for n in 0..20 {
        there.send(Note { text: vec![0; 1_100], ..note(n) }).unwrap();
        world.cluster.steps(100);
    }
    assert_eq!(world.seen[3].lock().unwrap().len(), 20, "what is acknowledged is let go");
    world.cluster.network.kill(NodeId(3));
    (20..25).for_each(|n| there.send(Note { text: vec![0; 1_100], ..note(n) }).unwrap());
    let events = world.kill(3);
    assert_eq!(world.take(), [(20, true), (21, true)]);
    assert_eq!(returned(&events).0, [2, 3, 0]);
}

#[test]
fn handles_come_back_as_they_were_and_a_reply_says_so_to_who_waits() {
    let mut world = World::new(2, reliable());
    let there = world.wanted(1);
    let system = &world.cluster.hosts[0].system;
    let mine = system.probe::<u64>();
    let mut reply = None;
    let answer: Answer<u64> = world.desks[0].ask(|own| {
        reply = Some(own);
        note(0)
    });
    world.cluster.network.kill(NodeId(1));
    there.send(Note { whom: Some(mine.recipient()), ..note(1) }).unwrap();
    there.send(Note { reply, ..note(2) }).unwrap();
    there.send(note(3)).unwrap();
    let events = world.kill(1);
    assert_eq!(returned(&events), ([2, 0, 1], 3));
    let back = std::mem::take(&mut *world.back.lock().unwrap());
    assert_eq!(back.iter().map(|it| it.message.n).collect::<Vec<_>>(), [1, 3]);
    let whom = back[0].message.whom.as_ref().unwrap();
    assert_eq!(*whom, mine.recipient());
    let mut cx = TaskContext::from_waker(Waker::noop());
    assert!(matches!(pin!(answer).poll(&mut cx), Poll::Ready(Err(_))));
}

#[test]
fn a_payload_comes_back_with_its_message() {
    let heap = Heap::leak_plain(1, 8).unwrap();
    let mut world = World::new(2, reliable());
    let there = world.wanted(1);
    world.cluster.network.kill(NodeId(1));
    let mut arena = heap.arena(0).unwrap();
    let payload = arena.payload_with(100, |bytes| bytes.fill(9)).unwrap();
    there.send_with_payload(note(1), payload).unwrap();
    world.kill(1);
    let back = std::mem::take(&mut *world.back.lock().unwrap());
    let payload = back[0].payload.as_ref().unwrap();
    assert!(payload.len() == 100 && payload.iter().all(|&byte| byte == 9));
    let stats = world.cluster.hosts[0].node.stats();
    assert_eq!(stats.peers[0].payload_bytes_waiting, 0);
}

#[test]
fn a_listener_that_panics_gets_the_next_one_and_a_later_one_takes_over() {
    let mut world = World::new(2, reliable());
    let there = world.meet(1);
    let calls = Arc::new(Mutex::new(0));
    let counted = calls.clone();
    there.on_undelivered(move |_| {
        *counted.lock().unwrap() += 1;
        panic!("the test wants it");
    });
    world.cluster.network.kill(NodeId(1));
    (1..4).for_each(|n| there.send(note(n)).unwrap());
    let events = world.kill(1);
    assert_eq!((*calls.lock().unwrap(), returned(&events).0), (3, [3, 0, 0]));

    // The next life of the node: another actor, at the same place.
    world.cluster.hosts[1] = world.cluster.host(1, 2);
    world.desk(1);
    world.cluster.steps(300);
    let again = world.wanted(1);
    assert_eq!(Arc::strong_count(&calls), 1, "the first listener is gone");
    world.cluster.network.kill(NodeId(1));
    again.send(note(4)).unwrap();
    world.kill(1);
    assert_eq!(world.take(), [(4, true)]);
}

#[test]
fn what_was_not_acknowledged_comes_back_to_a_node_that_leaves_and_what_it_kept_goes() {
    let mut world = World::new(2, reliable());
    let there = world.wanted(1);
    world.cluster.network.kill(NodeId(1));
    there.send(note(1)).unwrap();
    world.cluster.steps(5);
    let mut host = world.cluster.hosts.remove(0);
    host.node.leave();
    host.system.run_until_idle();
    assert_eq!(world.take(), [(1, true)]);
    assert_eq!(Arc::strong_count(&world.back), 1, "its listener is gone");
    there.on_undelivered({
        let back = world.back.clone();
        move |it| back.lock().unwrap().push(it)
    });
    assert_eq!(Arc::strong_count(&world.back), 1, "a node that is over keeps nothing");
}
