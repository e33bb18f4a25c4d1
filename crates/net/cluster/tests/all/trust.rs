//! Who may do what: a peer that is made by hand tries all that it may not.

use crate::common::{Cluster, LIMIT, reliable};
use crate::liar::{
    Control, Found, Key, Liar, Said, answer, ask, assert_denied, bytes, control, denials, tell,
};
use actinium_actor::testing::ProbeActor;
use actinium_actor::{Actor, Address, Context, Reply, SpawnOptions};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{
    AnyAddress, Denial, Grants, NodeConfig, NodeEvent, PeerLimits, RemoteActor, RemoteAddress,
    RemoteAskError, RemoteDown, RemoteDownReason,
};
use std::sync::{Arc, Mutex};

/// Keeps what it is told and by whom, and requests too, if it is told to.
#[derive(Default)]
struct Sink {
    seen: Arc<Mutex<Vec<(NodeId, u64)>>>,
    kept: Vec<Reply<u64>>,
}

enum Msg {
    Tell(NodeId, u64),
    Ask(bool, Reply<u64>),
    /// Answers all that it has kept.
    Answer(u64),
}

impl Actor for Sink {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Tell(from, n) => self.seen.lock().unwrap().push((from, n)),
            Msg::Ask(true, reply) => drop(reply.send(7)),
            Msg::Ask(false, reply) => self.kept.push(reply),
            Msg::Answer(n) => self.kept.drain(..).for_each(|reply| reply.send(n).unwrap()),
        }
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.trust";
    type Message = u64;
    /// Whether to answer.
    type Request = bool;
    type Answer = u64;

    fn message(_: u64) -> Msg {
        unreachable!("it wants to know from whom")
    }

    fn message_from(node: NodeId, n: u64) -> Msg {
        Msg::Tell(node, n)
    }

    fn request(answer: bool, reply: Reply<u64>) -> Msg {
        Msg::Ask(answer, reply)
    }
}

fn sink(cluster: &Cluster, host: usize, name: &str, grants: Grants) -> Address<Sink> {
    let host = &cluster.hosts[host];
    let sink = host.system.spawn(Sink::default());
    host.node.export_with(name, &sink, grants).unwrap();
    sink
}

fn alone(limits: PeerLimits) -> Cluster {
    Cluster::new(1, 1, Faults::default(), NodeConfig { limits, ..reliable() })
}

fn lookup(cluster: &mut Cluster, from: usize, to: u32, name: &str) -> RemoteAddress<Sink> {
    let answer = cluster.hosts[from].node.lookup::<Sink>(NodeId(to), name, LIMIT);
    cluster.wait(answer).unwrap()
}

/// Watches a remote sink for a probe.
struct Watcher {
    sink: RemoteAddress<Sink>,
    probe: Address<ProbeActor<RemoteDown>>,
    adopts: bool,
}

impl Actor for Watcher {
    type Msg = RemoteDown;
    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        if self.adopts {
            self.sink.adopt(ctx, |down| down);
        } else {
            self.sink.watch(ctx, |down| down);
        }
    }
    fn handle(&mut self, down: RemoteDown, _ctx: &mut Context<'_, Self>) {
        self.probe.tell(down);
    }
}

#[test]
// tidy: functions: one story, told in the order in which it happens
fn what_an_export_grants_is_done_and_nothing_else() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    let granted = [
        ("none", Grants::NONE),
        ("usual", Grants::default()),
        ("stop", Grants::SEND | Grants::STOP),
        ("adopt", Grants::WATCH | Grants::ADOPT),
    ];
    for (name, grants) in granted {
        let local = sink(&cluster, 1, name, grants);
        let there = lookup(&mut cluster, 0, 1, name);
        cluster.events(0);
        cluster.events(1);
        let probe = cluster.hosts[0].system.probe();
        let mut expected = Vec::new();
        let mut expect = |grant: Grants, denial| {
            if !grants.contains(grant) {
                expected.push(denial);
            }
        };

        there.send(5).unwrap();
        expect(Grants::SEND, Denial::Send);
        let asked = there.ask(true, LIMIT);
        let asked = cluster.wait(asked);
        let allowed =
            if grants.contains(Grants::ASK) { Ok(7) } else { Err(RemoteAskError::Denied) };
        assert_eq!(asked, allowed, "{name}");
        expect(Grants::ASK, Denial::Ask);
        let watcher = Watcher { sink: there.clone(), probe: probe.address(), adopts: false };
        let _watcher = cluster.hosts[0].system.spawn(watcher);
        cluster.steps(10);
        expect(Grants::WATCH, Denial::Watch);
        if grants.contains(Grants::WATCH) {
            probe.expect_none();
        } else {
            let reason = RemoteDownReason::Denied;
            probe.expect_eq(RemoteDown { node: NodeId(1), reason });
        }
        there.stop();
        cluster.steps(10);
        expect(Grants::STOP, Denial::Stop);
        assert_eq!(local.is_closed(), grants.contains(Grants::STOP), "{name}");

        // All of the first actor; of the others, those that are the second or fourth of their kind.
        let told: Vec<Denial> = cluster
            .events(1)
            .into_iter()
            .filter_map(|event| match event {
                NodeEvent::Denied { what, actor, .. } => {
                    assert_eq!(actor, Some(format!("test.trust '{name}'")));
                    Some(what)
                }
                _ => None,
            })
            .collect();
        if name == "none" {
            assert_eq!(told, expected);
        }
        let there: Vec<Denial> = cluster
            .events(0)
            .into_iter()
            .filter_map(|event| match event {
                NodeEvent::DeniedThere { node: NodeId(1), what, .. } => Some(what),
                _ => None,
            })
            .collect();
        assert_eq!(there, told, "both are told");
    }
    let denied = cluster.hosts[1].node.stats().peers[0].denied;
    assert_eq!(denied, 4 + 1 + 2 + 3);
}

#[test]
fn who_adopts_may_end_what_it_has_adopted_and_nobody_else() {
    for (grants, ends) in [(Grants::default(), false), (Grants::default() | Grants::ADOPT, true)] {
        let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
        let local = sink(&cluster, 1, "sink", grants);
        let sink = lookup(&mut cluster, 0, 1, "sink");
        let probe = cluster.hosts[0].system.probe().address();
        let parent = cluster.hosts[0].system.spawn(Watcher { sink, probe, adopts: true });
        cluster.steps(10);
        parent.stop();
        cluster.steps(10);
        assert_eq!(local.is_closed(), ends, "{grants}");

        // And when its node is gone.
        let local = cluster.hosts[1].system.spawn(Sink::default());
        cluster.hosts[1].node.export_with("second", &local, grants).unwrap();
        let sink = lookup(&mut cluster, 0, 1, "second");
        let probe = cluster.hosts[0].system.probe().address();
        let _parent = cluster.hosts[0].system.spawn(Watcher { sink, probe, adopts: true });
        cluster.steps(10);
        cluster.network.kill(NodeId(0));
        cluster.steps(1_500);
        assert_eq!(local.is_closed(), ends, "{grants}");
    }
}

#[test]
fn an_actor_that_is_started_elsewhere_is_its_starter_s_and_nobody_else_s() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    cluster.hosts[0].node.register(SpawnOptions::new(), |_: u64| Sink::default()).unwrap();
    let answer = cluster.hosts[1].node.spawn_on::<Sink, u64>(NodeId(0), 1, LIMIT);
    let AnyAddress::There(there) = cluster.wait(answer).unwrap() else { panic!("it is not there") };
    let mut liar = Liar::meet(&mut cluster, 2, 1);
    // Lives and places are no secrets: any name tells the one, and the others are few.
    sink(&cluster, 0, "sink", Grants::default());
    let life = liar.key::<Sink>(&mut cluster, "sink").life;
    let key = Key { index: 0, life };
    for (item, what) in [
        (tell(key, &1_u64), Denial::Send),
        (ask(key, 1, &true), Denial::Ask),
        (control(&Control::Watch { watch: 1, key }), Denial::Watch),
        (control(&Control::Stop { key, now: true }), Denial::Stop),
        (control(&Control::Adopt { key }), Denial::Adopt),
    ] {
        liar.say(&mut cluster, &[item]);
        assert_denied(&cluster, &liar, what);
    }
    let refused = [Said::Answer(1, 4, vec![]), Said::Control(Control::NotWatched { watch: 1 })];
    assert!(refused.iter().all(|said| liar.said.contains(said)), "{:?}", liar.said);
    let asked = there.ask(true, LIMIT);
    assert_eq!(cluster.wait(asked), Ok(7));
    there.kill();
    cluster.steps(10);
    let asked = there.ask(true, LIMIT);
    assert_eq!(cluster.wait(asked), Err(RemoteAskError::Closed));
}

#[test]
fn the_cluster_s_own_actors_are_not_stopped_watched_or_adopted() {
    let mut cluster = alone(PeerLimits::default());
    let names = cluster.hosts[0].node.names(actinium_cluster::NamesConfig::default()).unwrap();
    sink(&cluster, 0, "sink", Grants::default());
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    let life = liar.key::<Sink>(&mut cluster, "sink").life;
    let key = Key { index: 0, life };
    for (item, what) in [
        (control(&Control::Watch { watch: 1, key }), Denial::Watch),
        (control(&Control::Stop { key, now: true }), Denial::Stop),
        (control(&Control::Adopt { key }), Denial::Adopt),
    ] {
        liar.say(&mut cluster, &[item]);
        assert_denied(&cluster, &liar, what);
    }
    let own = cluster.hosts[0].system.spawn(Sink::default());
    let claimed = names.claim("one", &own, LIMIT);
    assert_eq!(cluster.wait(claimed), Ok(()), "it goes on");
}

#[test]
fn only_who_was_asked_answers() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    let local = sink(&cluster, 1, "sink", Grants::default());
    let there = lookup(&mut cluster, 0, 1, "sink");
    let mut liar = Liar::meet(&mut cluster, 2, 1);
    let asked = there.ask(false, LIMIT);
    liar.steps(&mut cluster, 10);
    // Numbers of requests are no secrets either: the lookup had the first.
    for (request, what) in [(2, Denial::Answer), (3, Denial::Answer), (u64::MAX, Denial::Answer)] {
        liar.say(&mut cluster, &[answer(request, &666_u64)]);
        let denied = denials(&cluster);
        assert!(denied.iter().all(|(it, ..)| *it == what), "{denied:?}");
    }
    let stats = cluster.hosts[0].node.stats();
    let of = stats.peers.iter().find(|peer| peer.node == NodeId(2)).unwrap();
    assert_eq!(of.denied, 3);
    local.tell(Msg::Answer(8));
    assert_eq!(cluster.wait(asked), Ok(8));
    // An answer to a request that is no longer open may be late, and is no lie.
    liar.say(&mut cluster, &[answer(1, &666_u64)]);
    assert_eq!(denials(&cluster), []);
}

#[test]
fn only_where_an_actor_lives_its_end_is_known() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    let local = sink(&cluster, 1, "sink", Grants::default());
    let there = lookup(&mut cluster, 0, 1, "sink");
    let mut liar = Liar::meet(&mut cluster, 2, 1);
    let probe = cluster.hosts[0].system.probe();
    let watcher = Watcher { sink: there, probe: probe.address(), adopts: false };
    let _watcher = cluster.hosts[0].system.spawn(watcher);
    cluster.steps(10);
    let ended = |watch| Control::Ended { watch, reason: "a lie".to_owned(), is_abnormal: true };
    for (times, lie) in
        [(1, ended(0)), (2, Control::NotWatched { watch: 0 }), (3, ended(1)), (4, ended(u64::MAX))]
    {
        liar.say(&mut cluster, &[control(&lie)]);
        let told = if times == 3 { vec![] } else { vec![(Denial::Ended, times, None)] };
        assert_eq!(denials(&cluster), told);
    }
    probe.expect_none();
    local.stop();
    cluster.steps(10);
    let reason = RemoteDownReason::Ended("stopped on request".to_owned());
    probe.expect_eq(RemoteDown { node: NodeId(1), reason });
}

/// A request's and a watch's number may be given again in the next life of a node.
#[test]
fn what_was_asked_in_an_earlier_life_is_not_answered_in_the_next() {
    let mut cluster = alone(PeerLimits::default());
    let local = sink(&cluster, 0, "sink", Grants::default());
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    let key = liar.key::<Sink>(&mut cluster, "sink");
    let watch = control(&Control::Watch { watch: 3, key });
    liar.say(&mut cluster, &[ask(key, 5, &false), watch.clone()]);
    let mut next = Liar::meet(&mut cluster, 1, 2);
    local.tell(Msg::Answer(9));
    next.steps(&mut cluster, 10);
    assert_eq!(next.said, []);
    next.say(&mut cluster, &[ask(key, 5, &true)]);
    assert_eq!(next.said, [Said::Answer(5, 0, bytes(&7_u64))]);
    next.said.clear();
    local.stop();
    next.steps(&mut cluster, 10);
    assert_eq!(next.said, [], "nobody watches it in this life");
}

#[test]
fn a_node_says_only_what_it_may_of_the_grid_and_of_others() {
    let mut cluster = alone(PeerLimits::default());
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    for (times, item) in [
        (1, control(&Control::Reach { nodes: vec![255; 1_000] })),
        (2, control(&Control::Leaving { level: 7 })),
        (3, crate::liar::envelope(0, 5, 1, 0, 1, &[])),
        (4, crate::liar::envelope(7, 5, 1, 0, u32::MAX, &[])),
    ] {
        liar.say(&mut cluster, &[item]);
        let told = if times == 3 { vec![] } else { vec![(Denial::Sender, times, None)] };
        assert_eq!(denials(&cluster), told);
    }
    assert!(liar.link.is_up());
}

#[test]
fn a_peer_s_requests_watches_lookups_and_actors_are_bounded() {
    let limits =
        PeerLimits { asks: 2, watches: 3, lookups: 2, spawned: 2, ..PeerLimits::default() };
    let mut cluster = alone(limits);
    cluster.hosts[0].node.register(SpawnOptions::new(), |_: u64| Sink::default()).unwrap();
    let local = sink(&cluster, 0, "sink", Grants::default());
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    let mut honest = Liar::meet(&mut cluster, 2, 1);
    let key = liar.key::<Sink>(&mut cluster, "sink");

    let asks: Vec<_> = (0..10).map(|request| ask(key, request, &false)).collect();
    liar.say(&mut cluster, &asks);
    let refused: Vec<Said> = (2..10).map(|request| Said::Answer(request, 5, vec![])).collect();
    assert!(refused.iter().all(|said| liar.said.contains(said)), "{:?}", liar.said);
    // The first, second, fourth and eighth are told.
    let denied = denials(&cluster);
    let actor = Some("test.trust 'sink'".to_owned());
    let told: Vec<_> = [1, 2, 4, 8].map(|times| (Denial::Asks, times, actor.clone())).into();
    assert_eq!(denied, told);
    honest.say(&mut cluster, &[ask(key, 1, &true)]);
    assert_eq!(honest.said, [Said::Answer(1, 0, bytes(&7_u64))], "others are not harmed");
    local.tell(Msg::Answer(1));
    liar.steps(&mut cluster, 10);
    liar.said.clear();
    liar.say(&mut cluster, &[ask(key, 1, &true)]);
    assert_eq!(liar.said, [Said::Answer(1, 0, bytes(&7_u64))], "there is room again");

    let watches: Vec<_> = (0..4).map(|watch| control(&Control::Watch { watch, key })).collect();
    liar.said.clear();
    liar.say(&mut cluster, &watches);
    assert!(liar.said.contains(&Said::Control(Control::NotWatched { watch: 3 })));
    assert!(matches!(denials(&cluster)[..], [(Denial::Watches, 1, _)]));
    local.stop();
    liar.said.clear();
    liar.steps(&mut cluster, 10);
    assert_eq!(liar.said.len(), 3, "{:?}", liar.said);

    let waits = |request: u64| {
        let (name, hello) = (format!("nobody {request}"), early_hello());
        control(&Control::Lookup { request, name, hello, wait: true })
    };
    liar.said.clear();
    liar.say(&mut cluster, &[waits(1), waits(2), waits(3)]);
    assert_denied(&cluster, &liar, Denial::Lookups);
    assert_eq!(liar.said, [Said::Answer(3, 0, bytes(&Found::NoSuchName))]);
    honest.said.clear();
    honest.say(&mut cluster, &[waits(1)]);
    sink(&cluster, 0, "nobody 1", Grants::default());
    honest.steps(&mut cluster, 10);
    assert!(matches!(honest.said[..], [Said::Answer(1, 0, _)]), "{:?}", honest.said);
}

fn early_hello() -> Vec<u8> {
    use actinium_wire::{Encoding, hello::Hello, schema::Schema};
    let schema = Schema::of::<(u64, bool, u64)>(Sink::KIND, Sink::VERSION);
    let mut bytes = Vec::new();
    let hello = Hello::with_schema(schema, &Encoding::ALL, false);
    Encoding::SelfDescribing.encode(&hello, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_peer_starts_so_many_actors_and_others_may_still() {
    let limits = PeerLimits { spawned: 2, ..PeerLimits::default() };
    let config = NodeConfig { limits, ..reliable() };
    let mut cluster = Cluster::new(1, 3, Faults::default(), config);
    cluster.hosts[0].node.register(SpawnOptions::new(), |_: u64| Sink::default()).unwrap();
    let spawn = |cluster: &mut Cluster, from: usize| {
        let answer = cluster.hosts[from].node.spawn_on::<Sink, u64>(NodeId(0), 1, LIMIT);
        cluster.wait(answer)
    };
    let first = spawn(&mut cluster, 1).unwrap();
    spawn(&mut cluster, 1).unwrap();
    let full = RemoteAskError::AtCapacity { node: NodeId(0), actors: 2 };
    assert_eq!(spawn(&mut cluster, 1).unwrap_err(), full);
    assert_eq!(denials(&cluster), [(Denial::Spawned, 1, Some("test.trust".to_owned()))]);
    spawn(&mut cluster, 2).unwrap();
    first.kill();
    cluster.steps(10);
    spawn(&mut cluster, 1).unwrap();
}

#[test]
fn an_actor_is_told_which_node_has_sent_something() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    let seen: Arc<Mutex<Vec<(NodeId, u64)>>> = Arc::default();
    let host = &cluster.hosts[1];
    let local = host.system.spawn(Sink { seen: seen.clone(), kept: Vec::new() });
    host.node.export("sink", &local).unwrap();
    lookup(&mut cluster, 0, 1, "sink").send(3).unwrap();
    AnyAddress::Here(NodeId(1), local).send(4).unwrap();
    cluster.steps(10);
    assert_eq!(*seen.lock().unwrap(), [(NodeId(1), 4), (NodeId(0), 3)]);
}
