//! Nodes with threads of their own, in one process.

use crate::common::ask_until_taken;
use actinium_actor::{Actor, Address, Context, Reply, Shutdown, SpawnOptions, System};
use actinium_cluster::fabric::in_process::Network;
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::route::Route;
use actinium_cluster::{
    Node, NodeConfig, NodeEvent, RemoteActor, RemoteAddress, RemoteAskError, RemoteSendError,
    StartError,
};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// Sends each number on to the next node until it is 0, and then says so.
struct Relay {
    next: Option<RemoteAddress<Relay>>,
    done: mpsc::Sender<u64>,
    handled: u64,
    /// What there was no room for, and room is waited for.
    backlog: VecDeque<u64>,
}

enum Msg {
    Next(Box<RemoteAddress<Relay>>),
    Number(u64),
    Ready,
    Handled(Reply<u64>),
}

impl Actor for Relay {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Next(next) => self.next = Some(*next),
            Msg::Handled(reply) => drop(reply.send(self.handled)),
            Msg::Number(0) => drop(self.done.send(self.handled)),
            Msg::Number(n) => {
                self.handled += 1;
                self.backlog.push_back(n - 1);
                if self.backlog.len() == 1 {
                    self.send_on(ctx);
                }
            }
            Msg::Ready => self.send_on(ctx),
        }
    }
}

impl Relay {
    fn send_on(&mut self, ctx: &Context<'_, Self>) {
        let next = self.next.as_ref().unwrap();
        while let Some(&n) = self.backlog.front() {
            match next.send(n) {
                Ok(()) => drop(self.backlog.pop_front()),
                Err(RemoteSendError::Full(_)) => return ctx.pipe(next.ready(), |()| Msg::Ready),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl RemoteActor for Relay {
    const KIND: &'static str = "test.relay";
    type Message = u64;
    type Request = ();
    type Answer = u64;
    fn message(n: u64) -> Msg {
        Msg::Number(n)
    }
    fn request((): (), reply: Reply<u64>) -> Msg {
        Msg::Handled(reply)
    }
}

/// On a busy machine a thread may not run for seconds: that is no death here.
fn patient() -> NodeConfig {
    let link = LinkConfig { down_after_ns: 60_000_000_000, ..LinkConfig::default() };
    NodeConfig { link, ..NodeConfig::default() }
}

fn cluster(nodes: u32, config: &NodeConfig) -> (Network, Vec<(System, Node)>) {
    cluster_of(nodes, 1, config)
}

fn cluster_of(nodes: u32, workers: usize, config: &NodeConfig) -> (Network, Vec<(System, Node)>) {
    let network = Network::new();
    let fabrics: Vec<_> = (0..nodes).map(|n| network.node(NodeId(n))).collect();
    let start = |fabric| {
        let system = System::builder().workers(workers).build().unwrap();
        let node = Node::start(system.handle(), config.clone(), move || Ok(fabric)).unwrap();
        (system, node)
    };
    (network, fabrics.into_iter().map(start).collect())
}

fn relays(hosts: &[(System, Node)]) -> (Vec<Address<Relay>>, mpsc::Receiver<u64>) {
    let (done, receiver) = mpsc::channel();
    let relays: Vec<_> = hosts
        .iter()
        .map(|(system, node)| {
            let relay = system.spawn(Relay {
                next: None,
                done: done.clone(),
                handled: 0,
                backlog: VecDeque::new(),
            });
            node.export("relay", &relay).unwrap();
            relay
        })
        .collect();
    for (n, (_, node)) in hosts.iter().enumerate() {
        let next = NodeId(((n + 1) % hosts.len()) as u32);
        let next = node.lookup::<Relay>(next, "relay", LIMIT).wait().unwrap();
        relays[n].send(Msg::Next(Box::new(next))).unwrap();
    }
    (relays, receiver)
}

#[test]
fn a_message_goes_round_three_nodes() {
    let (_network, hosts) = cluster(3, &patient());
    let (relays, done) = relays(&hosts);
    relays[0].send(Msg::Number(3_000)).unwrap();
    assert_eq!(done.recv().unwrap(), 1_000);
    for (system, node) in &hosts {
        let aggregator =
            node.stats().peers.iter().map(|peer| peer.aggregator.messages).sum::<u64>();
        assert!(aggregator >= 1_000);
        node.leave();
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    }
}

/// Workers move frames while one is awake, and else the node's thread.
#[test]
fn workers_move_frames() {
    for workers in [1, 2, 4] {
        let (_network, hosts) = cluster_of(2, workers, &patient());
        let (relays, done) = relays(&hosts);
        relays[0].send(Msg::Number(40)).unwrap();
        assert_eq!(done.recv().unwrap(), 20);
        for (_, node) in &hosts {
            assert!(node.stats().driven > 0, "{workers} workers");
        }
    }
}

/// One worker is in a turn that does not end, whether it has moved frames so far or not.
#[test]
fn another_worker_moves_frames_while_one_is_in_a_long_turn() {
    let (_network, hosts) = cluster_of(2, 2, &patient());
    let (_relays, done) = relays(&hosts);
    let there = hosts[0].1.lookup::<Relay>(NodeId(1), "relay", LIMIT).wait().unwrap();
    for stuck in 0..2 {
        let (wake, woken) = mpsc::channel();
        let (asleep, sleeps) = mpsc::channel();
        let ends = Mutex::new(Some(Sleeper(woken, asleep)));
        let make = move || ends.lock().unwrap().take().unwrap();
        let options = SpawnOptions::new().on_worker(stuck);
        let sleeper = hosts[0].0.spawn_with(options, make).unwrap();
        sleeper.send(()).unwrap();
        sleeps.recv().unwrap();
        let before = hosts[0].1.stats().driven;
        for _ in 0..100 {
            there.send(0).unwrap();
            done.recv().unwrap();
        }
        if stuck == 1 {
            // The first worker is rung for. While that one is stuck, the thread may be as fast.
            assert!(hosts[0].1.stats().driven > before);
        }
        wake.send(()).unwrap();
    }
}

/// Its turn takes until it is told to wake.
struct Sleeper(mpsc::Receiver<()>, mpsc::Sender<()>);

impl Actor for Sleeper {
    type Msg = ();

    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
        self.1.send(()).unwrap();
        self.0.recv().unwrap();
    }
}

/// The worker is in one long turn: nobody but the node's thread answers for the node, and takes
/// what it has aggregated.
#[test]
fn the_thread_takes_over_while_a_turn_takes_long() {
    let link = LinkConfig { heartbeat_ns: 20_000_000, ..patient().link };
    let (_network, hosts) = cluster(2, &NodeConfig { link, ..NodeConfig::default() });
    let (_relays, done) = relays(&hosts);
    let (wake, woken) = mpsc::channel();
    let (asleep, sleeps) = mpsc::channel();
    let sleeper = hosts[0].0.spawn(Sleeper(woken, asleep));
    sleeper.send(()).unwrap();
    sleeps.recv().unwrap();
    // Sent by this thread, aggregated at a node whose worker will not look.
    let heard = hosts[1].1.stats().peers[0].link.delivered;
    drop(hosts[0].1.lookup::<Relay>(NodeId(1), "relay", LIMIT));
    while hosts[1].1.stats().peers[0].link.delivered == heard {
        std::thread::yield_now();
    }
    wake.send(()).unwrap();
    drop(done);
}

/// What is called when something happens is the user's, as what actors do.
#[test]
fn who_listens_and_panics_harms_nobody() {
    let (network, mut hosts) = cluster(2, &patient());
    let (sender, events) = mpsc::channel();
    let node = &hosts[0].1;
    node.on_event(|event| panic!("meant to panic, at {event:?}"));
    node.on_event(move |event| sender.send(format!("{event:?}")).unwrap());
    let (system, fabric) = (System::builder().workers(1).build().unwrap(), network.node(NodeId(2)));
    let third = Node::start(system.handle(), patient(), move || Ok(fabric)).unwrap();
    hosts.push((system, third));
    let (relays, done) = relays(&hosts);
    // The second node may be met after this listens.
    while events.recv_timeout(LIMIT).unwrap() != "Up(NodeId(2))" {}
    relays[0].send(Msg::Number(3_000)).unwrap();
    assert_eq!(done.recv().unwrap(), 1_000);
    hosts[2].1.leave();
    while !events.recv_timeout(LIMIT).unwrap().starts_with("Down { node: NodeId(2), reason: Left") {
    }
    let there = hosts[0].1.lookup::<Relay>(NodeId(1), "relay", LIMIT).wait().unwrap();
    assert_eq!(there.ask((), LIMIT).wait(), Ok(1_000));
}

/// A stream from outside, of which each message that is refused is tried again.
#[test]
fn a_stream_loses_nothing_and_is_aggregated_into_frames() {
    for reliable in [false, true] {
        let link = LinkConfig { reliable, ..patient().link };
        let (_network, hosts) = cluster(2, &NodeConfig { link, ..NodeConfig::default() });
        let (_relays, done) = relays(&hosts);
        let there = hosts[0].1.lookup::<Relay>(NodeId(1), "relay", LIMIT).wait().unwrap();
        // Each goes there, and back as 0.
        const MESSAGES: usize = 200_000;
        let mut refused = 0_u64;
        for _ in 0..MESSAGES {
            while let Err(error) = there.send(1) {
                assert!(matches!(error, RemoteSendError::Full(1)), "{error}");
                refused += 1;
                std::thread::yield_now();
            }
        }
        assert_eq!(done.iter().take(MESSAGES).count(), MESSAGES);
        let mut handled = 0;
        while handled < MESSAGES as u64 {
            handled = ask_until_taken(|| there.ask((), LIMIT)).unwrap();
        }
        assert_eq!(handled, MESSAGES as u64);
        let aggregator = hosts[0].1.stats().peers[0].aggregator;
        assert_eq!(aggregator.refused, refused);
        assert!(
            aggregator.messages >= MESSAGES as u64 && aggregator.frames < aggregator.messages / 4
        );
        assert_eq!(
            aggregator.frames,
            aggregator.full + aggregator.free + aggregator.idle + aggregator.due
        );
        // Fast from here on: what is under way is handled before the node leaves.
        hosts[0].1.leave();
        let report = hosts[1].0.shutdown(Shutdown::Drain);
        assert_eq!(report.dead, 0, "{report:?}");
    }
}

#[test]
fn a_dead_node_is_noticed_and_its_next_life_is_welcome() {
    let config = NodeConfig::default();
    let (network, mut hosts) = cluster(2, &config);
    let (events, heard) = mpsc::channel();
    hosts[0].1.on_event(move |event| drop(events.send(event.clone())));
    let (_relays, _done) = relays(&hosts);
    network.kill(NodeId(1));
    let is = |wanted: fn(&NodeEvent) -> bool| heard.iter().find(wanted).unwrap();
    is(|event| matches!(event, NodeEvent::Down { node: NodeId(1), .. }));
    let address = hosts[0].1.lookup::<Relay>(NodeId(1), "relay", LIMIT).wait();
    assert_eq!(address.unwrap_err(), RemoteAskError::NodeDown(NodeId(1)));

    hosts.pop();
    let system = System::builder().workers(1).build().unwrap();
    let fabric = network.node(NodeId(1));
    let node = Node::start(system.handle(), config, move || Ok(fabric)).unwrap();
    is(|event| matches!(event, NodeEvent::Up(NodeId(1))));
    node.leave();
    is(|event| matches!(event, NodeEvent::Down { .. }));
}

#[test]
fn what_does_not_start_says_why() {
    let system = System::builder().workers(1).build().unwrap();
    let none = || Err::<actinium_cluster::fabric::in_process::InProcess, _>("no cable".to_owned());
    let error = Node::start(system.handle(), NodeConfig::default(), none).unwrap_err();
    assert_eq!(error.to_string(), "the fabric did not start: no cable");

    let network = Network::new();
    let fabric = network.node(NodeId(0));
    assert_eq!(fabric.frame_bytes_max(), 1 << 20);
    let link = LinkConfig { window_frames: 0, ..LinkConfig::default() };
    let config = NodeConfig { link, ..NodeConfig::default() };
    let error = Node::start(system.handle(), config, move || Ok(fabric)).unwrap_err();
    assert!(matches!(error, StartError::Config(error) if error.setting == "window_frames"));

    let panics = || -> Result<actinium_cluster::fabric::in_process::InProcess, String> {
        panic!("on purpose")
    };
    assert!(matches!(
        Node::start(system.handle(), NodeConfig::default(), panics),
        Err(StartError::Fabric(_))
    ));
}

/// Says how long what it is told is.
struct Lengths(mpsc::Sender<usize>);

impl Actor for Lengths {
    type Msg = Vec<u8>;
    fn handle(&mut self, bytes: Vec<u8>, _ctx: &mut Context<'_, Self>) {
        self.0.send(bytes.len()).unwrap();
    }
}

impl RemoteActor for Lengths {
    const KIND: &'static str = "test.lengths";
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

/// In one turn: together they are longer than any frame that the fabric moves.
#[test]
fn the_longest_message_behind_short_ones_of_the_same_turn_arrives() {
    struct Sender(RemoteAddress<Lengths>, Vec<usize>);
    impl Actor for Sender {
        type Msg = ();
        fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
            self.1.iter().for_each(|&bytes| self.0.send(vec![0; bytes]).unwrap());
        }
    }
    for (route, to) in [(Route::Direct, 1), (Route::Square, 3)] {
        let (_network, hosts) = cluster(4, &NodeConfig { route, ..patient() });
        let (sender, lengths) = mpsc::channel();
        let sink = hosts[to].0.spawn(Lengths(sender));
        hosts[to].1.export("lengths", &sink).unwrap();
        let there = hosts[0].1.find::<Lengths>(NodeId(to as u32), "lengths", LIMIT).wait().unwrap();
        let all = vec![100, 8, (1 << 20) - 200, 8, 20_000, (1 << 20) - 200, 5];
        hosts[0].0.spawn(Sender(there, all.clone())).send(()).unwrap();
        let heard = |_: &usize| lengths.recv_timeout(LIMIT).expect("it is under way for ever");
        assert_eq!(all.iter().map(heard).collect::<Vec<_>>(), all, "{route}");
    }
}

/// In a grid: each hands on for others until nobody needs it.
#[test]
fn nodes_of_a_grid_that_leave_together_lose_nothing() {
    const EACH: u64 = 500;
    for (route, nodes) in [(Route::Square, 9), (Route::Cube, 8)] {
        let linger = Duration::from_secs(240);
        let (_network, hosts) = cluster(nodes, &NodeConfig { route, linger, ..patient() });
        let (done, heard) = mpsc::channel();
        let start = |(system, node): &(System, Node)| {
            let backlog = VecDeque::new();
            let relay = Relay { next: None, done: done.clone(), handled: 0, backlog };
            let relay = system.spawn(relay);
            node.export("relay", &relay).unwrap();
            relay
        };
        let relays: Vec<_> = hosts.iter().map(start).collect();
        let find = |node: &Node| -> Vec<_> {
            let others = (0..nodes).filter(|&other| NodeId(other) != node.id());
            let find = |other| node.find::<Relay>(NodeId(other), "relay", LIMIT).wait().unwrap();
            others.map(find).collect()
        };
        let others: Vec<_> = hosts.iter().map(|(_, node)| find(node)).collect();
        std::thread::scope(|scope| {
            for ((_, node), others) in hosts.iter().zip(others) {
                scope.spawn(move || {
                    for _ in 0..EACH {
                        for other in &others {
                            // 0: is said to the test, and goes no further.
                            while other.send(0).is_err() {
                                std::thread::yield_now();
                            }
                        }
                    }
                    node.leave();
                });
            }
        });
        drop(relays);
        let told = heard.try_iter().count() as u64;
        hosts.iter().for_each(|(system, _)| system.wait_idle(Duration::MAX).unwrap());
        let told = told + heard.try_iter().count() as u64;
        let nodes = u64::from(nodes);
        assert_eq!(told, EACH * nodes * (nodes - 1), "{route}");
    }
}

#[test]
fn a_worker_does_not_wait_for_an_answer() {
    struct Asker(RemoteAddress<Relay>, mpsc::Sender<RemoteAskError>);
    impl Actor for Asker {
        type Msg = ();
        fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
            self.1.send(self.0.ask((), LIMIT).wait().unwrap_err()).unwrap();
        }
    }
    let (_network, hosts) = cluster(2, &patient());
    let (_relays, _done) = relays(&hosts);
    let there = hosts[0].1.lookup::<Relay>(NodeId(1), "relay", LIMIT).wait().unwrap();
    let (sender, receiver) = mpsc::channel();
    hosts[0].0.spawn(Asker(there, sender)).send(()).unwrap();
    assert_eq!(receiver.recv().unwrap(), RemoteAskError::WouldBlock);
}

/// Here nothing would leave for want of time: a frame is held for an hour while messages come fast,
/// and the only worker is busy.
#[test]
fn urgent_messages_stay_in_order_and_are_counted() {
    struct Listener(mpsc::Sender<u64>);
    impl Actor for Listener {
        type Msg = u64;
        fn handle(&mut self, n: u64, _ctx: &mut Context<'_, Self>) {
            self.0.send(n).unwrap();
        }
    }
    impl RemoteActor for Listener {
        const KIND: &'static str = "test.listener";
        type Message = u64;
        type Request = ();
        type Answer = ();
        fn message(n: u64) -> u64 {
            n
        }
        fn request((): (), _reply: Reply<()>) -> u64 {
            0
        }
    }
    struct Busy {
        there: RemoteAddress<Listener>,
        heard: mpsc::Receiver<u64>,
    }
    impl Actor for Busy {
        type Msg = mpsc::Sender<bool>;
        fn handle(&mut self, done: mpsc::Sender<bool>, _ctx: &mut Context<'_, Self>) {
            for n in 0..10 {
                self.there.send(n).unwrap();
            }
            self.there.send_urgent(10).unwrap();
            // In the same turn: they have left though it goes on, and in order.
            let arrived: Vec<u64> =
                (0..=10).filter_map(|_| self.heard.recv_timeout(LIMIT).ok()).collect();
            done.send(arrived.into_iter().eq(0..=10)).unwrap();
        }
    }
    let mut config = patient();
    config.aggregator.hold_ns = 3_600_000_000_000;
    let (_network, hosts) = cluster(2, &config);
    let (sender, heard) = mpsc::channel();
    hosts[1].1.export("listener", &hosts[1].0.spawn(Listener(sender))).unwrap();
    let there = hosts[0].1.lookup::<Listener>(NodeId(1), "listener", LIMIT).wait().unwrap();
    let busy = hosts[0].0.spawn(Busy { there, heard });
    let (done, outcome) = mpsc::channel();
    for _ in 0..3 {
        busy.send(done.clone()).unwrap();
        assert!(outcome.recv().unwrap());
    }
    let aggregator = hosts[0].1.stats().peers[0].aggregator;
    assert!(aggregator.urgent > 0, "{aggregator:?}");
}

/// Messages of the gauge that were taken out of frames.
static HANDED_OVER: AtomicUsize = AtomicUsize::new(0);

/// Notes how many of its messages waited in its mailbox at most.
#[derive(Default)]
struct Gauge {
    handled: usize,
    most: usize,
    done: Option<Reply<u64>>,
}

enum GaugeMsg {
    One,
    Most(Reply<u64>),
}

const GAUGED: usize = 20_000;

impl Actor for Gauge {
    type Msg = GaugeMsg;

    fn handle(&mut self, msg: GaugeMsg, _ctx: &mut Context<'_, Self>) {
        match msg {
            GaugeMsg::One => {
                self.most = self.most.max(HANDED_OVER.load(SeqCst) - self.handled);
                self.handled += 1;
            }
            GaugeMsg::Most(reply) => self.done = Some(reply),
        }
        if self.handled == GAUGED
            && let Some(reply) = self.done.take()
        {
            reply.send(self.most as u64).unwrap();
        }
    }
}

impl RemoteActor for Gauge {
    const KIND: &'static str = "test.gauge";
    type Message = ();
    type Request = ();
    type Answer = u64;
    fn message((): ()) -> GaugeMsg {
        HANDED_OVER.fetch_add(1, SeqCst);
        GaugeMsg::One
    }
    fn request((): (), reply: Reply<u64>) -> GaugeMsg {
        GaugeMsg::Most(reply)
    }
}

/// Sends so many messages to a gauge: as many in a turn as there is room for.
struct Burst(RemoteAddress<Gauge>, usize);

impl Actor for Burst {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        while self.1 > 0 {
            match self.0.send(()) {
                Ok(()) => self.1 -= 1,
                Err(RemoteSendError::Full(())) => return ctx.pipe(self.0.ready(), |()| ()),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// However much has come, and however long frames are.
#[test]
fn receivers_handle_a_piece_of_what_has_come_before_they_get_the_next() {
    let network = Network::new();
    let hosts = [0, 1].map(|n| {
        let fabric = network.node(NodeId(n));
        // No turn ends early because the machine is busy.
        let system = System::builder().workers(1).batch_time(Duration::from_secs(1));
        let system = system.build().unwrap();
        let node = Node::start(system.handle(), patient(), move || Ok(fabric)).unwrap();
        (system, node)
    });
    let gauge = hosts[1].0.spawn(Gauge::default());
    hosts[1].1.export("gauge", &gauge).unwrap();
    let there = hosts[0].1.lookup::<Gauge>(NodeId(1), "gauge", LIMIT).wait().unwrap();
    let burst = hosts[0].0.spawn(Burst(there.clone(), GAUGED));
    burst.send(()).unwrap();
    let most = ask_until_taken(|| there.ask((), LIMIT)).unwrap();
    // Two turns of the gauge, and far less than a frame.
    assert!(most <= 128, "{most} waited");
    let batch = hosts[0].1.stats().peers[0].aggregator;
    assert!(batch.messages > 500 * batch.full && batch.full > 5, "{batch:?}");
}
