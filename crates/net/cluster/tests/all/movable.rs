//! Actors that move from node to node while others send to them.

use crate::common::{Cluster, LIMIT, ask_until_taken, bad_network, reliable};
use actinium_actor::{Context, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{
    AggregatorConfig, Denial, Migrate, Movable, MovableAddress, Movables, Node, NodeConfig,
    NodeEvent, PeerLimits, RemoteAskError, RemoteSendError,
};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Counts what comes from each sender, and what came when it was not its turn.
#[derive(Clone, Default, Serialize, Deserialize, Message)]
struct Ledger {
    next: BTreeMap<u32, u64>,
    disorder: u64,
    /// The nodes that it was on when it was asked.
    asked_on: u64,
}

impl Migrate for Ledger {
    const KIND: &'static str = "test.ledger";
    /// Who, and which.
    type Message = (u32, u64);
    type Request = ();
    /// Of all senders, and in disorder.
    type Answer = (Vec<u64>, u64);

    fn message(&mut self, (from, number): (u32, u64), _ctx: &Context<'_, Movable<Self>>) {
        let next = self.next.entry(from).or_default();
        self.disorder += u64::from(*next != number);
        *next = number + 1;
    }

    fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> (Vec<u64>, u64) {
        self.asked_on += 1;
        (self.next.values().copied().collect(), self.disorder)
    }
}

struct Moving {
    cluster: Cluster,
    movables: Vec<Movables<Ledger>>,
    /// Of the one ledger, by node.
    ledger: Vec<MovableAddress<Ledger>>,
}

impl Moving {
    fn new(seed: u64, nodes: u32, faults: Faults, config: NodeConfig) -> Self {
        let mut cluster = Cluster::new(seed, nodes, faults, config);
        let movables: Vec<Movables<Ledger>> =
            cluster.hosts.iter().map(|host| host.node.movables().unwrap()).collect();
        let first = movables[0].spawn(Ledger::default());
        let id = first.id();
        let mut ledger = vec![first];
        for others in &movables[1..] {
            let found = others.find(id, LIMIT);
            ledger.push(cluster.wait(found).unwrap());
        }
        Moving { cluster, movables, ledger }
    }

    fn ask(&mut self, from: usize) -> Result<(Vec<u64>, u64), RemoteAskError> {
        let answer = self.ledger[from].ask((), LIMIT);
        self.cluster.wait(answer)
    }

    fn move_to(&mut self, from: usize, to: u32) -> Result<(), RemoteAskError> {
        let answer = self.ledger[from].move_to(NodeId(to), LIMIT);
        self.cluster.wait(answer)
    }
}

/// Whatever moves when: all senders' messages arrive, each once, in order.
#[test]
fn what_is_sent_while_it_moves_arrives_once_and_in_order() {
    let mut moves = 0;
    for seed in 0..8 {
        let mut random = fastrand::Rng::with_seed(seed);
        // Small frames, of which few wait: senders and forwarders have to wait for room.
        let aggregator =
            AggregatorConfig { frame_bytes: 256, frames_waiting: 1, ..AggregatorConfig::default() };
        let mut moving =
            Moving::new(seed, 4, bad_network(), NodeConfig { aggregator, ..reliable() });
        let (mut sent, mut open) = ([0_u64; 4], Vec::new());
        for _ in 0..150 {
            let from = random.usize(..4);
            for _ in 0..random.u32(..60) {
                match moving.ledger[from].send((from as u32, sent[from])) {
                    Ok(()) => sent[from] += 1,
                    Err(error) => assert!(matches!(error, RemoteSendError::Full(_)), "{error}"),
                }
            }
            if random.u32(..6) == 0 {
                let to = NodeId(random.u32(..4));
                open.push(moving.ledger[random.usize(..4)].move_to(to, Duration::from_secs(60)));
            }
            moving.cluster.steps(random.u32(..25));
        }
        moves += open.len();
        for answer in open {
            moving.cluster.wait(answer).unwrap();
        }
        // Behind all that the same node has sent.
        for from in 0..4 {
            let answer = moving.ledger[from].ask((), Duration::from_secs(60));
            moving.cluster.wait(answer).unwrap();
        }
        let (counts, disorder) = moving.ask(0).unwrap();
        assert_eq!((counts, disorder), (sent.to_vec(), 0), "seed {seed}");
        assert!(sent.iter().all(|&sent| sent > 100), "{sent:?}");
    }
    assert!(moves > 100, "{moves}");
}

/// After a move messages no longer pass the node that it was on: that one may die.
#[test]
fn senders_follow() {
    let mut moving = Moving::new(2, 4, Faults::default(), reliable());
    for (to, n) in [(1, 0), (2, 1)] {
        moving.move_to(3, to).unwrap();
        moving.ledger[3].send((3, n)).unwrap();
        moving.ask(3).unwrap();
        moving.cluster.steps(50);
    }
    moving.cluster.network.kill(NodeId(0));
    moving.cluster.network.kill(NodeId(1));
    moving.cluster.steps(1_200);
    moving.ledger[3].send((3, 2)).unwrap();
    assert_eq!(moving.ask(3), Ok((vec![3], 0)));
    // Where it is now dies, too: whoever sends hears of it.
    moving.cluster.network.kill(NodeId(2));
    moving.cluster.steps(1_200);
    let error = moving.ledger[3].send((3, 3)).unwrap_err();
    assert!(matches!(error, RemoteSendError::NodeDown((3, 3))), "{error:?}");
    assert_eq!(moving.ask(3), Err(RemoteAskError::Closed));
}

#[test]
fn whoever_cannot_move_goes_on_where_it_is() {
    let mut moving = Moving::new(2, 2, Faults::default(), reliable());
    let stranger = moving.cluster.host(2, 1);
    moving.cluster.hosts.push(stranger);
    moving.cluster.steps(300);
    moving.ledger[1].send((1, 0)).unwrap();
    let error = moving.move_to(1, 2).unwrap_err().to_string();
    assert!(error.contains("test.ledger: register it there"), "{error}");
    assert_eq!(moving.ask(1), Ok((vec![1], 0)));
    moving.move_to(1, 0).unwrap();
    moving.cluster.network.kill(NodeId(2));
    let error = moving.move_to(0, 2).unwrap_err().to_string();
    assert!(error.contains("node 2 is down"), "{error}");
    moving.move_to(0, 1).unwrap();
    assert_eq!(moving.ask(0), Ok((vec![1], 0)));

    assert!(moving.cluster.hosts[0].node.movables::<Ledger>().is_err(), "twice");
    let mut id = moving.ledger[0].id();
    id.serial = 7;
    let nobody = moving.movables[1].find(id, LIMIT);
    assert!(matches!(moving.cluster.wait(nobody), Err(RemoteAskError::NoSuchName(_))));
}

/// What waits in it while it moves is bounded for each node, and what is beyond is told.
#[test]
fn so_much_waits_in_an_actor_that_moves_and_no_more() {
    const PENDING: u64 = 10;
    let limits = PeerLimits { pending: PENDING as usize, ..PeerLimits::default() };
    let mut moving = Moving::new(3, 3, Faults::default(), NodeConfig { limits, ..reliable() });
    moving.cluster.steps(300);
    moving.cluster.network.cut(NodeId(0), NodeId(1));
    let moved = moving.ledger[0].move_to(NodeId(1), LIMIT);
    moving.cluster.steps(5);
    let denied = |moving: &Moving, host: usize| -> Vec<_> {
        let of = |event| match event {
            NodeEvent::Denied { node, actor, what: Denial::Pending, times } => {
                Some((node, actor, times))
            }
            NodeEvent::DeniedThere { node, what: Denial::Pending, times, .. } => {
                Some((node, None, times))
            }
            _ => None,
        };
        moving.cluster.events(host).into_iter().filter_map(of).collect()
    };
    for from in [0, 2] {
        for number in 0..PENDING {
            moving.ledger[from].send((from as u32, number)).unwrap();
        }
        moving.cluster.steps(20);
        assert_eq!(denied(&moving, 0), []);
        // Not one more, however often; others are not harmed by it.
        let asked = moving.ledger[from].ask((), LIMIT);
        assert_eq!(moving.cluster.wait(asked), Err(RemoteAskError::NoReply));
        for number in PENDING..PENDING + 3 {
            moving.ledger[from].send((from as u32, number)).unwrap();
        }
        moving.cluster.steps(20);
        let actor = Some("test.ledger 0 of node 0".to_owned());
        let told = [1, 2, 4].map(|times| (NodeId(from as u32), actor.clone(), times));
        assert_eq!(denied(&moving, 0), told);
        let told = if from == 0 { vec![] } else { [1, 2, 4].map(|n| (NodeId(0), None, n)).into() };
        assert_eq!(denied(&moving, 2), told);
    }
    moving.cluster.network.heal(NodeId(0), NodeId(1));
    assert_eq!(moving.cluster.wait(moved), Ok(()));
    // What waited has arrived, in order, and there is room again.
    assert_eq!(moving.ask(2), Ok((vec![PENDING, PENDING], 0)));
    for number in PENDING..3 * PENDING {
        moving.ledger[2].send((2, number)).unwrap();
    }
    assert_eq!(moving.ask(2), Ok((vec![PENDING, 3 * PENDING], 0)));
    assert_eq!(denied(&moving, 0), []);
}

#[test]
fn so_many_requests_wait_for_their_way_and_no_more() {
    let mut moving = Moving::new(4, 1, Faults::default(), reliable());
    let waiting: Vec<_> = (0..4096).map(|_| moving.ledger[0].ask((), LIMIT)).collect();
    let refused = moving.ledger[0].ask((), LIMIT);
    assert_eq!(moving.cluster.wait(refused), Err(RemoteAskError::Full(NodeId(0))));
    for answer in waiting {
        assert_eq!(moving.cluster.wait(answer), Ok((vec![], 0)));
    }
    assert_eq!(moving.ask(0), Ok((vec![], 0)));
}

/// Of an address that nobody has little stays, and what was sent with it arrives nevertheless.
#[test]
fn an_address_ends_when_all_has_gone() {
    let mut moving = Moving::new(2, 2, Faults::default(), reliable());
    moving.cluster.steps(20);
    let before = moving.cluster.hosts[1].system.stats().actors;
    let found = moving.movables[1].find(moving.ledger[0].id(), LIMIT);
    let address = moving.cluster.wait(found).unwrap();
    address.send((9, 0)).unwrap();
    let answer = address.clone().ask((), LIMIT);
    drop(address);
    assert_eq!(moving.cluster.wait(answer), Ok((vec![1], 0)));
    moving.cluster.steps(20);
    // What waits for news of a move is an actor of its own, until it comes.
    let after = moving.cluster.hosts[1].system.stats().actors;
    assert!(after <= before + 1, "{after} after {before}");
}

#[test]
fn threads_send_while_it_moves() {
    const EACH: u64 = 5_000;
    const MOVES: u32 = 30;
    const WAIT: Duration = Duration::from_secs(240);
    let network = Network::new();
    let fabrics: Vec<_> = (0..3).map(|n| network.node(NodeId(n))).collect();
    let start = |fabric| {
        let link =
            LinkConfig { reliable: true, down_after_ns: 240_000_000_000, ..LinkConfig::default() };
        let system = System::builder().workers(2).build().unwrap();
        let config = NodeConfig { link, linger: WAIT, ..NodeConfig::default() };
        let node = Node::start(system.handle(), config, move || Ok(fabric)).unwrap();
        let movables = node.movables::<Ledger>().unwrap();
        (system, node, movables)
    };
    let hosts: Vec<_> = fabrics.into_iter().map(start).collect();
    let first = hosts[0].2.spawn(Ledger::default());
    std::thread::scope(|scope| {
        for (_, node, movables) in &hosts {
            let (me, id) = (node.id().0, first.id());
            scope.spawn(move || {
                let ledger = movables.find(id, WAIT).wait().unwrap();
                for n in 0..EACH {
                    while let Err(error) = ledger.send((me, n)) {
                        assert!(matches!(error, RemoteSendError::Full(_)), "{error}");
                        std::thread::yield_now();
                    }
                }
                // Behind all of them.
                ask_until_taken(|| ledger.ask((), WAIT)).unwrap();
            });
        }
        for n in 0..MOVES {
            ask_until_taken(|| first.move_to(NodeId(n % 3), WAIT)).unwrap();
        }
    });
    assert_eq!(ask_until_taken(|| first.ask((), WAIT)), Ok((vec![EACH; 3], 0)));
    hosts.iter().for_each(|(_, node, _)| node.leave());
}
