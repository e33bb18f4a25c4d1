//! Actors of several nodes, on test systems, over a network that a seed makes bad: the whole crate
//! but for threads.

use crate::common::{Cluster, LIMIT, MS, bad_network, reliable};
use actinium_actor::testing::{ProbeActor, TestSystem};
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::link::{DownReason, Refusal};
use actinium_cluster::{
    AggregatorConfig, ManualNode, NodeConfig, NodeEvent, RemoteActor, RemoteAddress,
    RemoteAskError, RemoteDown, RemoteDownReason, RemoteSendError,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Keeps what it is told, and answers with their sum.
struct Sink {
    seen: Arc<Mutex<Vec<u64>>>,
}

enum SinkMsg {
    Tell(u64),
    Sum(Option<Reply<u64>>),
}

impl Actor for Sink {
    type Msg = SinkMsg;

    fn handle(&mut self, msg: SinkMsg, _ctx: &mut Context<'_, Self>) {
        let mut seen = self.seen.lock().unwrap();
        match msg {
            SinkMsg::Tell(n) => seen.push(n),
            SinkMsg::Sum(reply) => drop(reply.map(|reply| reply.send(seen.iter().sum()))),
        }
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.sink";
    type Message = u64;
    /// Whether to answer.
    type Request = bool;
    type Answer = u64;

    fn message(n: u64) -> SinkMsg {
        assert_ne!(n, u64::MAX, "on purpose");
        SinkMsg::Tell(n)
    }

    fn request(answer: bool, reply: Reply<u64>) -> SinkMsg {
        SinkMsg::Sum(answer.then_some(reply))
    }
}

/// Another type, and one whose messages are long.
struct Other;

impl Actor for Other {
    type Msg = Vec<u8>;
    fn handle(&mut self, _: Vec<u8>, _ctx: &mut Context<'_, Self>) {}
}

impl RemoteActor for Other {
    const KIND: &'static str = "test.other";
    type Message = Vec<u8>;
    type Request = ();
    type Answer = ();
    fn message(bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
    fn request((): (), _: Reply<()>) -> Vec<u8> {
        Vec::new()
    }
}

/// Watches a remote sink for a probe.
struct Watcher {
    sink: RemoteAddress<Sink>,
    probe: Address<ProbeActor<RemoteDown>>,
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

trait Sinks {
    /// An exported sink at a host, and what it sees.
    fn sink(&self, host: usize) -> (Address<Sink>, Arc<Mutex<Vec<u64>>>);
    fn lookup(&mut self, from: usize, to: u32) -> Result<RemoteAddress<Sink>, RemoteAskError>;
}

impl Sinks for Cluster {
    fn sink(&self, host: usize) -> (Address<Sink>, Arc<Mutex<Vec<u64>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let host = &self.hosts[host];
        let sink = host.system.spawn(Sink { seen: seen.clone() });
        host.node.export("sink", &sink).unwrap();
        (sink, seen)
    }

    fn lookup(&mut self, from: usize, to: u32) -> Result<RemoteAddress<Sink>, RemoteAskError> {
        let answer = self.hosts[from].node.lookup::<Sink>(NodeId(to), "sink", LIMIT);
        self.wait(answer)
    }
}

#[test]
fn messages_arrive_in_order_and_requests_are_answered_over_a_bad_network() {
    for seed in 0..2 {
        let mut cluster = Cluster::new(seed, 3, bad_network(), reliable());
        let (_sink, seen) = cluster.sink(2);
        let sinks = [cluster.lookup(0, 2).unwrap(), cluster.lookup(1, 2).unwrap()];
        let mut sent = [0_u64; 2];
        while sent.iter().sum::<u64>() < 4_000 {
            for (from, sink) in (0..).zip(&sinks) {
                // Even numbers from one, odd ones from the other.
                for _ in 0..100 {
                    sink.send(2 * sent[from] + from as u64).unwrap();
                    sent[from] += 1;
                }
            }
            cluster.step();
        }
        let answer = sinks[0].ask(true, LIMIT);
        cluster.wait(answer).unwrap();
        cluster.steps(500);
        let seen = seen.lock().unwrap();
        for from in 0..2 {
            let of: Vec<u64> = seen.iter().copied().filter(|n| n % 2 == from).collect();
            let expected: Vec<u64> = (0..sent[from as usize]).map(|n| 2 * n + from).collect();
            assert!(of == expected, "from {from}, seed {seed}");
        }
        assert!(cluster.hosts[0].system.audit().is_balanced());
        assert_eq!(cluster.hosts[2].node.stats().not_understood, 0);
    }
}

#[test]
fn a_request_that_cannot_be_answered_says_why() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), NodeConfig::default());
    let (local, _) = cluster.sink(1);
    let sink = cluster.lookup(0, 1).unwrap();

    let answer = sink.ask(false, LIMIT);
    assert_eq!(cluster.wait(answer), Err(RemoteAskError::NoReply));
    let node = &cluster.hosts[0].node;
    let answer = node.lookup::<Sink>(NodeId(1), "sank", LIMIT);
    assert_eq!(cluster.wait(answer).unwrap_err(), RemoteAskError::NoSuchName("sank".to_owned()));
    let answer = cluster.hosts[0].node.lookup::<Other>(NodeId(1), "sink", LIMIT);
    let error = cluster.wait(answer).unwrap_err();
    assert_eq!(error.to_string(), "the actor 'sink' there is a test.sink, not a test.other");
    for (node, error) in [(0, RemoteAskError::ThisNode), (9, RemoteAskError::Timeout(LIMIT))] {
        let answer = cluster.hosts[0].node.lookup::<Sink>(NodeId(node), "sink", LIMIT);
        assert_eq!(cluster.wait(answer).unwrap_err(), error);
    }
    assert!(cluster.hosts[1].node.export("sink", &local).is_err());

    cluster.network.cut(NodeId(0), NodeId(1));
    let limit = Duration::from_millis(30);
    let answer = sink.ask(true, limit);
    assert_eq!(cluster.wait(answer), Err(RemoteAskError::Timeout(limit)));
    cluster.network.heal(NodeId(0), NodeId(1));

    local.kill();
    cluster.hosts[1].system.run_until_idle();
    let answer = sink.ask(true, LIMIT);
    assert_eq!(cluster.wait(answer), Err(RemoteAskError::Closed));
}

#[test]
fn a_panic_while_a_message_is_made_costs_that_message_only() {
    let mut cluster = Cluster::new(8, 2, Faults::default(), NodeConfig::default());
    let (_local, seen) = cluster.sink(1);
    let sink = cluster.lookup(0, 1).unwrap();
    for n in [1, u64::MAX, 2] {
        sink.send(n).unwrap();
    }
    cluster.steps(10);
    assert_eq!(*seen.lock().unwrap(), [1, 2]);
    assert_eq!(cluster.hosts[1].node.stats().not_understood, 1);
}

#[test]
fn watchers_are_told_when_an_actor_ends_and_when_its_node_dies() {
    let mut cluster = Cluster::new(2, 2, Faults::default(), reliable());
    let (local, _) = cluster.sink(1);
    let sink = cluster.lookup(0, 1).unwrap();
    let probe = cluster.hosts[0].system.probe();
    let watch = |cluster: &Cluster| {
        let watcher = Watcher { sink: sink.clone(), probe: probe.address() };
        cluster.hosts[0].system.spawn(watcher)
    };
    let node = NodeId(1);
    let _watcher = watch(&cluster);
    cluster.steps(10);
    probe.expect_none();
    local.stop();
    cluster.hosts[1].system.run_until_idle();
    cluster.steps(10);
    let reason = RemoteDownReason::Ended("stopped on request".to_owned());
    probe.expect_eq(RemoteDown { node, reason });

    // One that has ended is reported at once.
    let _late = watch(&cluster);
    cluster.hosts[0].system.run_until_idle();
    cluster.steps(10);
    let reason = RemoteDownReason::Ended("it had already ended".to_owned());
    probe.expect_eq(RemoteDown { node, reason });

    // A new one, whose node dies.
    cluster.hosts[1]
        .node
        .export("second", &cluster.hosts[1].system.spawn(Sink { seen: Arc::default() }))
        .unwrap();
    let answer = cluster.hosts[0].node.lookup::<Sink>(node, "second", LIMIT);
    let second = cluster.wait(answer).unwrap();
    let watcher = Watcher { sink: second.clone(), probe: probe.address() };
    let _second_watcher = cluster.hosts[0].system.spawn(watcher);
    cluster.hosts[0].system.run_until_idle();
    cluster.steps(10);
    cluster.network.kill(node);
    let open = second.ask(true, LIMIT);
    second.send(1).unwrap();
    cluster.steps(900);
    probe.expect_none();
    cluster.steps(200);
    let down = probe.expect(|down| down.node == node);
    assert!(matches!(
        down.reason,
        RemoteDownReason::NodeDown(Some(DownReason::Silent { for_ns })) if for_ns > 1_000 * MS
    ));
    assert_eq!(cluster.wait(open), Err(RemoteAskError::NodeDown(node)));
    assert!(matches!(second.send(5), Err(RemoteSendError::NodeDown(5))));
    let events = cluster.events(0);
    let down = events.iter().find_map(|event| match event {
        NodeEvent::Down { undelivered, unacknowledged, .. } => {
            Some((*undelivered, *unacknowledged))
        }
        _ => None,
    });
    let (undelivered, unacknowledged) = down.unwrap();
    assert_eq!((undelivered, unacknowledged.messages), (2, 2));
}

#[test]
fn an_address_of_an_earlier_life_reaches_nobody_in_the_next() {
    let mut cluster = Cluster::new(3, 2, Faults::default(), reliable());
    let (_local, _) = cluster.sink(1);
    let old = cluster.lookup(0, 1).unwrap();
    cluster.network.kill(NodeId(1));
    cluster.hosts[1] = cluster.host(1, 2);
    let (_local, seen) = cluster.sink(1);
    cluster.steps(300);
    old.send(1).unwrap();
    let answer = old.ask(true, LIMIT);
    assert_eq!(cluster.wait(answer), Err(RemoteAskError::Closed));
    assert_eq!(cluster.hosts[1].node.stats().misaddressed, 1);
    let new = cluster.lookup(0, 1).unwrap();
    new.send(7).unwrap();
    cluster.steps(10);
    assert_eq!(*seen.lock().unwrap(), [7]);
    let events = cluster.events(0);
    let restarted =
        |event: &NodeEvent| matches!(event, NodeEvent::Down { reason: DownReason::Restarted, .. });
    assert!(events.iter().any(restarted), "{events:?}");
    let misaddressed = NodeEvent::Misaddressed { node: NodeId(1), messages: 1 };
    assert!(events.contains(&misaddressed), "{events:?}");
}

#[test]
fn who_sends_to_one_that_has_ended_is_told() {
    let mut cluster = Cluster::new(12, 2, Faults::default(), reliable());
    let (local, seen) = cluster.sink(1);
    let there = cluster.lookup(0, 1).unwrap();
    local.stop();
    cluster.steps(10);
    cluster.events(0);
    (0..3).for_each(|n| there.send(n).unwrap());
    cluster.steps(10);
    let misaddressed = NodeEvent::Misaddressed { node: NodeId(1), messages: 3 };
    assert_eq!(cluster.events(0), [misaddressed]);
    assert!(seen.lock().unwrap().is_empty());
}

/// Incarnations come from the machine's clock when a node starts: here a test's. One that was set
/// back between two lives, or was ahead in the one before.
#[test]
fn a_clock_that_was_set_back_is_told_on_both_sides_and_a_later_one_is_welcome() {
    const DAY: u64 = 86_400_000_000_000;
    let mut cluster = Cluster::new(11, 2, Faults::default(), reliable());
    // Tomorrow, by a clock that is ahead.
    cluster.hosts[1] = cluster.host(1, 2 * DAY);
    let (_local, _) = cluster.sink(1);
    cluster.steps(300);
    cluster.lookup(0, 1).unwrap();
    cluster.network.kill(NodeId(1));
    cluster.steps(1_500);
    cluster.events(0);
    // Its next life, by the clock as it should be.
    cluster.hosts[1] = cluster.host(1, DAY);
    let (_local, _) = cluster.sink(1);
    cluster.steps(500);
    let answer = cluster.hosts[1].node.lookup::<Sink>(NodeId(0), "sink", Duration::from_secs(1));
    assert_eq!(cluster.wait(answer).unwrap_err(), RemoteAskError::Timeout(Duration::from_secs(1)));
    let told = |events: Vec<NodeEvent>| match events[..] {
        [NodeEvent::Refused(_, refusal)] => refusal,
        _ => panic!("{events:?}"),
    };
    let theirs = Refusal::TheirOldIncarnation { theirs: DAY, seen: 2 * DAY };
    assert_eq!(told(cluster.events(0)), theirs);
    let ours = Refusal::OldIncarnation { ours: DAY, seen: 2 * DAY };
    assert_eq!(told(cluster.events(1)), ours);
    // Time has gone by.
    cluster.hosts[1] = cluster.host(1, 3 * DAY);
    let (_local, seen) = cluster.sink(1);
    cluster.steps(300);
    cluster.lookup(0, 1).unwrap().send(4).unwrap();
    cluster.steps(10);
    assert_eq!(*seen.lock().unwrap(), [4]);
}

/// Its worker has no turn in between: what is told of a session stays before what is told of the
/// next.
#[test]
fn that_a_node_went_down_is_told_before_that_its_next_life_is_up() {
    let mut cluster = Cluster::new(3, 2, Faults::default(), reliable());
    let (_local, _) = cluster.sink(1);
    cluster.lookup(0, 1).unwrap();
    cluster.events(0);
    cluster.hosts[1] = cluster.host(1, 2);
    let (_local, _) = cluster.sink(1);
    for _ in 0..300 {
        cluster.network.advance(MS);
        let now_ns = cluster.network.now_ns();
        cluster.hosts.iter_mut().for_each(|host| while host.node.turn(now_ns) {});
    }
    cluster.steps(10);
    let events = cluster.events(0);
    assert!(
        matches!(
            events[..],
            [NodeEvent::Down { reason: DownReason::Restarted, .. }, NodeEvent::Up(NodeId(1))]
        ),
        "{events:?}"
    );
    cluster.lookup(0, 1).unwrap();
}

#[test]
fn who_sends_too_much_is_told_so_and_what_was_taken_arrives() {
    let aggregator =
        AggregatorConfig { frame_bytes: 1_024, frames_waiting: 2, ..AggregatorConfig::default() };
    let mut cluster =
        Cluster::new(4, 2, Faults::default(), NodeConfig { aggregator, ..NodeConfig::default() });
    let (_local, seen) = cluster.sink(1);
    let sink = cluster.lookup(0, 1).unwrap();
    let taken = (0..10_000).take_while(|&n| sink.send(n).is_ok()).count();
    assert!((100..1_000).contains(&taken), "{taken}");
    assert!(matches!(sink.send(9), Err(RemoteSendError::Full(9))));
    let full = sink.ask(true, LIMIT);
    assert_eq!(cluster.wait(full), Err(RemoteAskError::Full(NodeId(1))));
    cluster.steps(10);
    assert_eq!(seen.lock().unwrap().len(), taken);
    let stats = cluster.hosts[0].node.stats().peers[0].aggregator;
    assert!(stats.full >= 2 && stats.refused >= 2 && stats.messages > taken as u64, "{stats:?}");

    let other = cluster.hosts[1].system.spawn(Other);
    cluster.hosts[1].node.export("other", &other).unwrap();
    let answer = cluster.hosts[0].node.lookup::<Other>(NodeId(1), "other", LIMIT);
    let other = cluster.wait(answer).unwrap();
    other.send(vec![0; 100_000]).unwrap();
    let error = other.send(vec![0; 2_000_000]).unwrap_err();
    assert!(matches!(error, RemoteSendError::TooLong { .. }), "{error}");
    assert_eq!(error.into_inner().len(), 2_000_000);
}

#[test]
fn a_node_that_leaves_is_gone_at_once_and_its_requests_end() {
    let mut cluster = Cluster::new(5, 2, Faults::default(), NodeConfig::default());
    let (_local, _) = cluster.sink(1);
    let sink = cluster.lookup(0, 1).unwrap();
    let asked = sink.ask(true, LIMIT);
    cluster.events(1);
    let host = cluster.hosts.remove(0);
    host.node.leave();
    assert_eq!(cluster.wait(asked), Err(RemoteAskError::Left));
    cluster.steps(2);
    let events = cluster.events(0);
    assert!(matches!(events[..], [NodeEvent::Down { reason: DownReason::Left, .. }]), "{events:?}");
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let system = TestSystem::seeded(0);
    let network = Network::new();
    for (frame_bytes, frames_waiting, setting) in
        [(10, 4, "frame_bytes"), (1 << 21, 4, "frame_bytes"), (1_024, 0, "frames_waiting")]
    {
        let aggregator =
            AggregatorConfig { frame_bytes, frames_waiting, ..AggregatorConfig::default() };
        let config = NodeConfig { aggregator, ..NodeConfig::default() };
        let error = ManualNode::join(system.handle(), network.node(NodeId(0)), config, 1).err();
        assert_eq!(error.unwrap().setting, setting);
    }
}

#[test]
fn one_seed_gives_one_run() {
    let run = |seed| {
        let mut cluster = Cluster::new(seed, 2, bad_network(), NodeConfig::default());
        let (_local, seen) = cluster.sink(1);
        let sink = cluster.lookup(0, 1).unwrap();
        for n in 0..2_000 {
            sink.send(n).unwrap();
            if n % 10 == 0 {
                cluster.step();
            }
        }
        cluster.steps(500);
        let seen = seen.lock().unwrap().clone();
        (seen, cluster.events(1), cluster.hosts[0].node.stats())
    };
    let (seen, events, stats) = run(6);
    assert!(seen.is_sorted() && seen.len() < 2_000);
    let lost: u64 = events
        .iter()
        .map(|event| if let NodeEvent::Lost(_, lost) = event { lost.messages } else { 0 })
        .sum();
    assert_eq!(seen.len() as u64 + lost, 2_000);
    assert_eq!((seen, events, stats), run(6));
}
