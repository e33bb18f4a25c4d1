//! Names, teams and states that move, against a peer that speaks for others.

use crate::common::{Cluster, LIMIT, reliable};
use crate::liar::{
    Control, Found, Key, Liar, Said, answer, ask, assert_denied, control, denials, read, tell,
};
use actinium_actor::{Actor, Context, Reply, System};
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::{HEADER_BYTES, Link, LinkConfig, LinkEvent};
use actinium_cluster::{
    Denial, Migrate, Movable, MovableId, NamesConfig, Node, NodeConfig, NodeEvent, PeerLimits,
    RemoteActor, Team,
};
use actinium_wire::hello::Hello;
use actinium_wire::schema::Schema;
use actinium_wire::{Blob, Encoding, Message};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, mpsc};
use std::time::Duration;

struct Idle;

impl Actor for Idle {
    type Msg = ();
    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
}

impl RemoteActor for Idle {
    const KIND: &'static str = "test.idle";
    type Message = ();
    type Request = ();
    type Answer = ();
    fn message((): ()) {}
    fn request((): (), _: Reply<()>) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    since_ns: u64,
    node: u32,
    serial: u64,
}

/// As in the crate's `names`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Say {
    Claim { name: String, stamp: Stamp, has: bool },
    Granted { name: String, stamp: Stamp },
    Taken { name: String, stamp: Stamp, by: u32 },
    Release { name: String, stamp: Stamp },
    Again,
}

/// Lets node 0 find names' lists at the liar, which is met then.
fn take_part(cluster: &mut Cluster, liar: &mut Liar) {
    let asked = liar.said.iter().find_map(|said| match said {
        Said::Control(Control::Lookup { request, name, .. }) if name == "actinium.names" => {
            Some(*request)
        }
        _ => None,
    });
    let key = Key { index: 0, life: 1 };
    let found = Found::Actor { key, count: 1, encoding: Encoding::Binary, remarks: Vec::new() };
    liar.say(cluster, &[answer(asked.expect("it asks for them"), &found)]);
    liar.said.clear();
}

#[test]
// tidy: functions: one story, told in the order in which it happens
fn names_are_claimed_given_and_taken_by_those_who_may_only() {
    let limits = PeerLimits { names: 2, ..PeerLimits::default() };
    let config = NodeConfig { limits, ..reliable() };
    let mut cluster = Cluster::new(1, 1, Faults::default(), config);
    let names = cluster.hosts[0].node.names(NamesConfig::default()).unwrap();
    let own = cluster.hosts[0].system.spawn(Idle);
    let own_names: Vec<String> = (0..8).map(|n| format!("mine {n}")).collect();
    for name in &own_names {
        let claimed = names.claim(name, &own, LIMIT);
        assert_eq!(cluster.wait(claimed), Ok(()));
    }
    // Where the lists are is no secret: any name of this node tells its life, and the first place
    // is theirs.
    cluster.hosts[0].node.export("idle", &own).unwrap();
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    let early = std::mem::take(&mut liar.said);
    let key = Key { index: 0, ..liar.key::<Idle>(&mut cluster, "idle") };
    liar.said = early;
    take_part(&mut cluster, &mut liar);
    // A name whose list is node 0's.
    let taken = |liar: &mut Liar, cluster: &mut Cluster, name: &str| {
        liar.say(cluster, &[ask(key, 9, &name)]);
        let found = liar.said.iter().find_map(|said| match said {
            Said::Answer(9, 0, stamp) => Some(read::<Option<Stamp>>(stamp)),
            _ => None,
        });
        liar.said.clear();
        found.unwrap()
    };
    let stamp = |node, serial| Stamp { since_ns: 1, node, serial };
    let claim =
        |name: &str, stamp| tell(key, &Say::Claim { name: name.to_owned(), stamp, has: true });
    for node in [0, 5] {
        liar.say(&mut cluster, &[claim("other", stamp(node, 1))]);
        liar.say(
            &mut cluster,
            &[tell(key, &Say::Release { name: own_names[0].clone(), stamp: stamp(node, 1) })],
        );
        let lies = denials(&cluster);
        assert!(lies.iter().all(|(what, ..)| *what == Denial::Claim), "{lies:?}");
        assert!(!lies.is_empty());
    }
    assert_eq!(taken(&mut liar, &mut cluster, "other"), None);

    // Nobody has asked it for a name that is listed elsewhere: it can give none and take none.
    let listed =
        own_names.iter().find_map(|name| Some((name, taken(&mut liar, &mut cluster, name)?)));
    let (name, mine) = listed.expect("node 0 lists some of them");
    let say = Say::Taken { name: name.clone(), stamp: mine, by: 1 };
    liar.say(&mut cluster, &[tell(key, &say)]);
    assert_denied(&cluster, &liar, Denial::NotAsked);
    assert!(!own.is_closed(), "it keeps its name");

    // Its own names are bounded: how long they are, and how many.
    let long = "n".repeat(5_000);
    liar.say(&mut cluster, &[claim(&long, stamp(1, 50))]);
    assert_denied(&cluster, &liar, Denial::Names);
    assert_eq!(taken(&mut liar, &mut cluster, &long), None);
    let names_of_it: Vec<String> = (0..8).map(|n| format!("name {n}")).collect();
    for (serial, name) in (1..).zip(&names_of_it) {
        liar.say(&mut cluster, &[claim(name, stamp(1, serial))]);
    }
    let listed: Vec<&String> =
        names_of_it.iter().filter(|name| taken(&mut liar, &mut cluster, name).is_some()).collect();
    assert_eq!(listed.len(), 2);
    assert!(denials(&cluster).iter().any(|(what, ..)| *what == Denial::Names));
    // One that it gives back makes room for another.
    let first: u64 = (1..).zip(&names_of_it).find(|(_, name)| *name == listed[0]).unwrap().0;
    let back = Say::Release { name: listed[0].clone(), stamp: stamp(1, first) };
    liar.say(&mut cluster, &[tell(key, &back), claim("another", stamp(1, 99))]);
    assert_eq!(taken(&mut liar, &mut cluster, "another"), Some(stamp(1, 99)));
    // And what it says of nobody's names does nothing.
    let name = "nobody's".to_owned();
    liar.say(
        &mut cluster,
        &[tell(key, &Say::Granted { name, stamp: stamp(0, 7) }), tell(key, &Say::Again)],
    );
    assert!(liar.link.is_up() && !own.is_closed());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
struct State {
    count: u64,
}

impl Migrate for State {
    const KIND: &'static str = "test.state";
    type Message = u64;
    type Request = ();
    type Answer = u64;
    fn message(&mut self, n: u64, _ctx: &Context<'_, Movable<Self>>) {
        self.count += n;
    }
    fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> u64 {
        self.count
    }
}

/// What there is of a shard: see `ShardTag`.
#[derive(Clone, Serialize, Deserialize, Message)]
struct ShardTag {
    set: String,
    shard: u32,
    since_ns: u64,
    before: String,
}

type Arrival = (MovableId, u64, State, Option<ShardTag>);
type ShellRequest = (u8, u32, Option<()>);
type ShellAnswer = (Option<u64>, Option<(u32, u64)>, Option<String>);

#[test]
fn a_state_that_a_peer_has_made_up_is_nobody_else_s() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    let [here, there] =
        [0, 1].map(|host: usize| cluster.hosts[host].node.movables::<State>().unwrap());
    let real = here.spawn(State { count: 40 });
    cluster.steps(300);
    let mut liar = Liar::meet(&mut cluster, 2, 1);
    let schema = Schema::of::<(Arrival, u64, ShellRequest, ShellAnswer)>(State::KIND, 1);
    let early = |value: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        value(&mut bytes);
        bytes
    };
    let own = Hello::with_schema(schema, &Encoding::ALL, false);
    let hello = early(&|bytes| Encoding::SelfDescribing.encode(&own, bytes).unwrap());
    // As if it were the real one, at home and after a move.
    for (request, moves) in [(1, 0), (2, 1), (3, u64::MAX)] {
        let arrival: Arrival = (real.id(), moves, State { count: 666 }, None);
        let args = early(&|bytes| Encoding::SelfDescribing.encode(&arrival, bytes).unwrap());
        let hello = hello.clone();
        liar.said.clear();
        liar.say(&mut cluster, &[control(&Control::Spawn { request, hello, args })]);
        let found = liar.said.iter().find_map(|said| match said {
            Said::Answer(it, 0, found) if *it == request => Some(read::<Found>(found)),
            _ => None,
        });
        let Some(Found::Actor { key, .. }) = found else { panic!("{:?}", liar.said) };
        // When it ends, it takes nobody's name along.
        liar.say(&mut cluster, &[control(&Control::Stop { key, now: true })]);
    }
    assert_eq!(denials(&cluster), []);
    let found = there.find(real.id(), LIMIT);
    let found = cluster.wait(found).unwrap();
    found.send(2).unwrap();
    let asked = found.ask((), LIMIT);
    assert_eq!(cluster.wait(asked), Ok(42));
    // To a node that never was there nobody moves, and nobody waits for it.
    let moved = found.move_to(NodeId(77), LIMIT);
    let error = cluster.wait(moved).unwrap_err();
    assert!(error.to_string().contains("node 77 is not known there"), "{error}");
    let moved = found.move_to(NodeId(1), LIMIT);
    assert_eq!(cluster.wait(moved), Ok(()));
    let asked = found.ask((), LIMIT);
    assert_eq!(cluster.wait(asked), Ok(42));
}

/// Teams need threads, so the liar has none of the network's time: it counts turns.
#[test]
// tidy: functions: one story, told in the order in which it happens
fn nobody_speaks_for_another_member_of_a_team() {
    const WAIT: Duration = Duration::from_secs(60);
    let network = Network::new();
    let systems = [0, 1].map(|_| System::builder().workers(1).build().unwrap());
    let nodes = [0, 1].map(|n: usize| {
        let fabric = network.node(NodeId(n as u32));
        // However long a busy machine lets one of the threads wait.
        let link = LinkConfig { down_after_ns: 3_600_000_000_000, ..LinkConfig::default() };
        let config = NodeConfig { link, ..NodeConfig::default() };
        Node::start(systems[n].handle(), config, move || Ok(fabric)).unwrap()
    });
    let (denied, told) = mpsc::channel();
    nodes[0].on_event(move |event| {
        if let NodeEvent::Denied { node, what, .. } = event {
            let _ = denied.send((*node, *what));
        }
    });
    let members = [NodeId(0), NodeId(1)];
    let teams = std::thread::scope(|scope| {
        let forming = [0, 1].map(|n: usize| {
            let (node, system, members) = (&nodes[n], systems[n].handle(), &members);
            scope.spawn(move || Team::form(node, &system, "work", members, WAIT).unwrap())
        });
        forming.map(|forming| forming.join().unwrap())
    });
    let mut fabric = network.node(NodeId(2));
    let config = LinkConfig { down_after_ns: u64::MAX, ..LinkConfig::default() };
    let (mut link, mut now_ns) = (Link::new(config, 1, 0).unwrap(), 0);
    let me = std::thread::current();
    fabric.set_bell(Arc::new(move || me.unpark()));
    let mut turn = |link: &mut Link| {
        // Else it would say more signs of life than a busy machine's node can hear.
        std::thread::park_timeout(Duration::from_millis(1));
        now_ns += 1_000_000;
        // Node 1 calls, too.
        while let Some((from, frame)) = fabric.poll() {
            if from == NodeId(0) {
                link.receive(frame, now_ns);
            }
        }
        link.tick(now_ns);
        let mut said = Vec::new();
        while let Some(event) = link.poll_event() {
            if let LinkEvent::Frame(frame) = event {
                said.extend_from_slice(frame.payload());
                link.handled(frame.session, 1, now_ns);
            }
        }
        link.transmit(now_ns, |frame| fabric.send(NodeId(0), frame).is_ok());
        said
    };
    while !link.is_up() {
        turn(&mut link);
    }
    // Its place is the first that node 0 exports; the life is that of any name.
    let schema = Schema::of::<((u64, u64, bool, Blob), (), ())>("actinium.team", 1);
    let mut hello = Vec::new();
    let own = Hello::with_schema(schema, &Encoding::ALL, false);
    Encoding::SelfDescribing.encode(&own, &mut hello).unwrap();
    let name = "actinium.team.work".to_owned();
    let lookup = control(&Control::Lookup { request: 1, name, hello, wait: false });
    link.send(1, [&[0; HEADER_BYTES][..], &lookup].concat()).unwrap();
    let found = loop {
        let said = turn(&mut link);
        // Kind and length; the request's number and that it is answered.
        if said.first().is_some_and(|kind| kind & 15 == 2) {
            break read::<Found>(&said[5 + 9..]);
        }
    };
    let Found::Actor { key, .. } = found else { panic!("{found:?}") };
    let lie = (0_u64, 1_u64, true, Blob::from(crate::liar::bytes(&666_u64)));
    let ahead = (u64::MAX, 1_u64, true, Blob::from(vec![]));
    let items = [tell(key, &lie), tell(key, &ahead)].concat();
    link.send(2, [&[0; HEADER_BYTES][..], &items].concat()).unwrap();
    let refused = loop {
        turn(&mut link);
        if let Ok(refused) = told.try_recv() {
            break refused;
        }
    };
    assert_eq!(refused, (NodeId(2), Denial::Member));
    let sums = [0, 1].map(|n: usize| teams[n].all_reduce(n as u64 + 1, |a, b| a + b));
    for sum in sums {
        assert_eq!(sum.wait(), Ok(3));
    }
    nodes.iter().for_each(Node::leave);
}
