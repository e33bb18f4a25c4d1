//! Actors that move as recipients: members of groups, and handles in messages.

use crate::common::{Cluster, LIMIT, Watcher, bad_network, reliable};
use actinium_actor::{
    Actor, Batched, Broadcast, Context, Down, Recipient, Reply, Router, SendError, StopReason,
};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{
    Migrate, Movable, MovableAddress, MovableId, Movables, NodeConfig, RemoteActor,
    RepartitionConfig,
};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Keeps what it is sent, in order.
#[derive(Clone, Default, Serialize, Deserialize, Message)]
struct Log(Vec<u64>);

impl Migrate for Log {
    const KIND: &'static str = "test.movable-log";
    type Message = Vec<u64>;
    type Request = ();
    type Answer = (u32, Vec<u64>);

    fn message(&mut self, numbers: Vec<u64>, _ctx: &Context<'_, Movable<Self>>) {
        // To fail is the way to end.
        assert!(!numbers.is_empty(), "as the test wants");
        self.0.extend(numbers);
    }

    fn request(&mut self, (): (), ctx: &Context<'_, Movable<Self>>) -> (u32, Vec<u64>) {
        (Movables::<Self>::here(ctx).unwrap().node().0, self.0.clone())
    }
}

/// Keeps the handles that it is sent.
struct Desk(Arc<Mutex<Vec<Recipient<Vec<u64>>>>>);

impl Actor for Desk {
    type Msg = Recipient<Vec<u64>>;
    fn handle(&mut self, whom: Recipient<Vec<u64>>, _ctx: &mut Context<'_, Self>) {
        self.0.lock().unwrap().push(whom);
    }
}

impl RemoteActor for Desk {
    const KIND: &'static str = "test.movable-desk";
    type Message = Recipient<Vec<u64>>;
    type Request = ();
    type Answer = ();
    fn message(whom: Recipient<Vec<u64>>) -> Recipient<Vec<u64>> {
        whom
    }
    fn request((): (), _: Reply<()>) -> Recipient<Vec<u64>> {
        unreachable!("nobody asks it")
    }
}

struct World {
    cluster: Cluster,
    logs: Vec<Movables<Log>>,
}

impl World {
    /// All nodes but the last `strangers` know the type.
    fn new(nodes: u32, strangers: usize, faults: Faults) -> Self {
        let mut cluster = Cluster::new(3, nodes, faults, reliable());
        let knows = cluster.hosts.len() - strangers;
        let logs = cluster.hosts[..knows].iter().map(|it| it.node.movables().unwrap()).collect();
        cluster.steps(300);
        World { cluster, logs }
    }

    fn ask(&mut self, log: &MovableAddress<Log>) -> (u32, Vec<u64>) {
        let answer = log.ask((), LIMIT);
        self.cluster.wait(answer).unwrap()
    }

    fn move_to(&mut self, log: &MovableAddress<Log>, node: u32) {
        let moved = log.move_to(NodeId(node), LIMIT);
        self.cluster.wait(moved).unwrap();
    }

    /// Sends a handle to another node, as it comes there.
    fn pass(&mut self, from: usize, to: usize, whom: &Recipient<Vec<u64>>) -> Recipient<Vec<u64>> {
        let kept = Arc::<Mutex<Vec<_>>>::default();
        let desk = self.cluster.hosts[to].system.spawn(Desk(kept.clone()));
        let name = format!("desk for {from}");
        self.cluster.hosts[to].node.export(&name, &desk).unwrap();
        let found = self.cluster.hosts[from].node.find::<Desk>(NodeId(to as u32), &name, LIMIT);
        self.cluster.wait(found).unwrap().send(whom.clone()).unwrap();
        self.cluster.steps(200);
        kept.lock().unwrap().pop().expect("it came")
    }
}

#[test]
fn groups_reach_members_wherever_they_move_and_in_order() {
    let mut world = World::new(3, 0, bad_network());
    let logs: Vec<_> = (0..3).map(|_| world.logs[0].spawn(Log::default())).collect();
    let members: Vec<Recipient<Vec<u64>>> = logs.iter().map(Recipient::from).collect();
    assert_eq!(members[0], Recipient::from(world.logs[0].at(logs[0].id())), "the same actor");
    assert_ne!(members[0], members[1]);
    let in_turn = Router::round_robin(members.clone());
    let by_key = Router::by_key(members.clone(), |numbers: &Vec<u64>| numbers[0] % 7);
    let mut batched = by_key.batched(2, |number| number % 7, |numbers| numbers);
    let mut sent = 0;
    for round in 0..6 {
        for _ in 0..9 {
            in_turn.send(vec![sent]).unwrap();
            sent += 1;
        }
        for _ in 0..9 {
            batched.push(1_000 + sent).unwrap();
            sent += 1;
        }
        let moving: Vec<_> = (0..3)
            .map(|member| logs[member].move_to(NodeId((round + member as u32) % 3), LIMIT))
            .collect();
        for moved in moving {
            world.cluster.wait(moved).unwrap();
        }
    }
    batched.flush().unwrap();
    assert_eq!(Broadcast::new(members).send(vec![7_777]), 3);
    let mut seen = Vec::new();
    for log in &logs {
        let (_, numbers) = world.ask(log);
        assert_eq!(numbers.last(), Some(&7_777));
        let of = |range: std::ops::Range<u64>| -> Vec<u64> {
            numbers.iter().copied().filter(|it| range.contains(it)).collect()
        };
        let routed = of(0..1_000);
        assert!(routed.is_sorted() && routed.len() == 18, "each in turn, in order: {routed:?}");
        // Batched by key: those of a key are with one member, in order.
        for key in 0..7 {
            assert!(of(1_000..2_000).iter().filter(|it| *it % 7 == key).is_sorted());
        }
        seen.extend(of(0..2_000));
    }
    assert_eq!(seen.len() as u64, sent, "each once");
}

#[test]
fn a_handle_in_a_message_reaches_the_actor_wherever_it_is() {
    let mut world = World::new(4, 1, Faults::default());
    let log = world.logs[0].spawn(Log::default());
    let at_1 = Recipient::from(world.logs[1].at(log.id()));
    // To node 2, which knows the type; to node 3, which does not; and to where the actor began.
    let at_2 = world.pass(1, 2, &at_1);
    assert_eq!(at_2, Recipient::from(world.logs[2].at(log.id())));
    let (at_3, at_0) = (world.pass(2, 3, &at_2), world.pass(1, 0, &at_1));
    let back_at_2 = world.pass(3, 2, &at_3);
    assert_eq!(back_at_2, at_2);
    for (n, whom) in (1..).zip([&at_0, &at_1, &at_2, &at_3]) {
        whom.send(vec![n]).unwrap();
        world.cluster.steps(50);
    }
    assert_eq!(world.ask(&log), (0, vec![1, 2, 3, 4]));
    world.move_to(&log, 2);
    for (n, whom) in (5..).zip([&at_0, &at_1, &at_2, &at_3]) {
        whom.send(vec![n]).unwrap();
        world.cluster.steps(50);
    }
    assert_eq!(world.ask(&log), (2, (1..=8).collect()));
    // Nobody needs whoever has sent the handle, nor where the actor began once it was found.
    world.cluster.network.kill(NodeId(1));
    world.cluster.network.kill(NodeId(0));
    world.cluster.steps(1_200);
    at_2.send(vec![9]).unwrap();
    world.cluster.steps(50);
    let here = world.logs[2].at(log.id());
    assert_eq!(world.ask(&here), (2, (1..=9).collect()));
    assert_eq!(at_3.send(vec![10]), Err(SendError::NodeDown(vec![10])));
}

#[test]
fn whoever_watches_hears_of_the_end_and_of_no_move() {
    let mut world = World::new(3, 0, Faults::default());
    let log = world.logs[0].spawn(Log::default());
    let whom = [Recipient::from(&log), Recipient::from(world.logs[1].at(log.id()))];
    let downs = Arc::<Mutex<Vec<Down>>>::default();
    let watchers: Vec<_> = (0..2)
        .map(|host| {
            let watcher = Watcher(whom[host].clone(), downs.clone());
            world.cluster.hosts[host].system.spawn(watcher)
        })
        .collect();
    world.move_to(&log, 2);
    world.cluster.steps(100);
    assert!(downs.lock().unwrap().is_empty());
    assert!(whom.iter().all(|it| !it.is_closed()));
    // It fails.
    whom[0].send(Vec::new()).unwrap();
    world.cluster.steps(100);
    assert_eq!(downs.lock().unwrap().len(), 2);
    for whom in &whom {
        assert!(whom.is_closed());
        assert_eq!(whom.send(vec![1]), Err(SendError::Closed(vec![1])));
    }
    // One that has ended, and one whose node goes down.
    downs.lock().unwrap().clear();
    drop(watchers);
    let next = world.logs[2].spawn(Log::default());
    let next = Recipient::from(world.logs[0].at(next.id()));
    next.send(vec![1]).unwrap();
    let host = &world.cluster.hosts[0];
    let watchers: Vec<_> =
        [whom[0].clone(), next].map(|whom| host.system.spawn(Watcher(whom, downs.clone()))).into();
    world.cluster.steps(100);
    let reasons = |downs: &Mutex<Vec<Down>>| -> Vec<StopReason> {
        downs.lock().unwrap().iter().map(|down| down.reason.clone()).collect()
    };
    assert_eq!(reasons(&downs), [StopReason::AlreadyStopped]);
    world.cluster.network.kill(NodeId(2));
    world.cluster.steps(1_200);
    assert_eq!(reasons(&downs)[1..], [StopReason::NodeDown]);
    drop(watchers);
}

#[test]
fn a_group_with_one_that_does_not_keep_up_says_so_and_when_to_go_on() {
    let mut world = World::new(2, 0, Faults::default());
    let log = world.logs[1].spawn(Log::default());
    let whom = Recipient::from(world.logs[0].at(log.id()));
    let router = Router::round_robin([whom.clone()]);
    let mut sent = 0;
    // Nothing leaves meanwhile.
    while router.send(vec![sent]).is_ok() {
        sent += 1;
    }
    assert_eq!(router.send(vec![sent]), Err(SendError::Full(vec![sent])));
    let room = whom.room();
    let room = async {
        room.await;
        Ok::<_, actinium_cluster::RemoteAskError>(())
    };
    world.cluster.wait(room).unwrap();
    router.send(vec![sent]).unwrap();
    world.cluster.steps(500);
    assert_eq!(world.ask(&log), (1, (0..=sent).collect()));
}

/// Has a group of actors that move, to which it sends.
#[derive(Clone, Serialize, Deserialize, Message)]
struct Head {
    members: Vec<MovableId>,
}

impl Migrate for Head {
    const KIND: &'static str = "test.movable-head";
    type Message = u64;
    type Request = ();
    type Answer = u32;

    fn message(&mut self, messages: u64, ctx: &Context<'_, Movable<Self>>) {
        let logs = Movables::<Log>::here(ctx).unwrap();
        let members = self.members.iter().map(|&id| Recipient::from(logs.at(id)));
        let router = Router::round_robin(members);
        for n in 0..messages {
            router.send(vec![n]).unwrap();
        }
    }

    fn request(&mut self, (): (), ctx: &Context<'_, Movable<Self>>) -> u32 {
        Movables::<Self>::here(ctx).unwrap().node().0
    }
}

#[test]
fn a_router_that_moves_and_its_members_attract_each_other() {
    const ROUND: Duration = Duration::from_secs(10);
    let repartition = RepartitionConfig { sample_every: 1, round: ROUND, ..Default::default() };
    let config = NodeConfig { repartition: Some(repartition), ..reliable() };
    let mut cluster = Cluster::new(3, 2, Faults::default(), config);
    let logs: Vec<Movables<Log>> =
        cluster.hosts.iter().map(|host| host.node.movables().unwrap()).collect();
    let heads: Vec<Movables<Head>> =
        cluster.hosts.iter().map(|host| host.node.movables().unwrap()).collect();
    cluster.steps(300);
    // Two here and two there, so that the balance lets one of them go.
    let members: Vec<_> = (0..2).map(|_| logs[1].spawn(Log::default())).collect();
    let others: Vec<_> = (0..2).map(|_| logs[0].spawn(Log::default())).collect();
    let head = heads[0].spawn(Head { members: members.iter().map(MovableAddress::id).collect() });
    for _ in 0..3 {
        head.send(300).unwrap();
        cluster.steps(20);
        for host in &mut cluster.hosts {
            host.system.advance(ROUND);
        }
        cluster.steps(60);
    }
    let at = head.ask((), LIMIT);
    let at = cluster.wait(at).unwrap();
    for member in &members {
        let answer = member.ask((), LIMIT);
        let (node, numbers) = cluster.wait(answer).unwrap();
        assert_eq!((node, numbers.len()), (at, 450));
    }
    drop(others);
}

// `Batched` is made of a router above, and of members here.
#[test]
fn items_are_batched_for_members_that_move() {
    let mut world = World::new(2, 0, Faults::default());
    let log = world.logs[1].spawn(Log::default());
    let members = [Recipient::from(world.logs[0].at(log.id()))];
    let mut batched = Batched::by_key(members, 4, |number: &u64| *number, |numbers| numbers);
    for n in 0..10 {
        batched.push(n).unwrap();
    }
    batched.flush().unwrap();
    world.cluster.steps(100);
    assert_eq!(world.ask(&log), (1, (0..10).collect()));
}
