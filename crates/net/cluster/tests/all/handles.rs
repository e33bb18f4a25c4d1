//! Handles that travel from node to node in messages.

use crate::common::{Cluster, LIMIT, bad_network, reliable};
use actinium_actor::testing::Probe;
use actinium_actor::{
    Actor, Address, AskError, AskRecipient, Batched, Broadcast, Context, Down, Recipient, Reply,
    Router, SendError, StopReason,
};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::route::Route;
use actinium_cluster::{
    AggregatorConfig, Migrate, Movable, NodeConfig, NodeEvent, RemoteActor, RemoteAddress,
    RemoteAskError, RemoteSendError,
};
use actinium_wire::{Encoding, Limits, Message};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};

/// What may be sent to a desk, which keeps it.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
pub(crate) enum Parcel {
    Tell(Recipient<u64>),
    Ask { to: AskRecipient<u64, u64>, note: String },
}

/// Keeps handles for the test, and gives them back to whoever asks.
pub(crate) struct Desk {
    pub(crate) kept: Kept,
}

pub(crate) type Kept = Arc<Mutex<Vec<Parcel>>>;

pub(crate) enum DeskMsg {
    Keep(Parcel),
    Back(Reply<Vec<Parcel>>),
}

impl Actor for Desk {
    type Msg = DeskMsg;
    fn handle(&mut self, msg: DeskMsg, _ctx: &mut Context<'_, Self>) {
        let mut kept = self.kept.lock().unwrap();
        match msg {
            DeskMsg::Keep(parcel) => kept.push(parcel),
            DeskMsg::Back(reply) => drop(reply.send(kept.drain(..).collect())),
        }
    }
}

impl RemoteActor for Desk {
    const KIND: &'static str = "test.desk";
    type Message = Parcel;
    type Request = ();
    type Answer = Vec<Parcel>;
    fn message(parcel: Parcel) -> DeskMsg {
        DeskMsg::Keep(parcel)
    }
    fn request((): (), reply: Reply<Vec<Parcel>>) -> DeskMsg {
        DeskMsg::Back(reply)
    }
}

/// A cluster with a desk on each node.
struct Desks {
    cluster: Cluster,
    kept: Vec<Kept>,
    _desks: Vec<Address<Desk>>,
}

impl Desks {
    fn new(nodes: u32, faults: Faults, config: NodeConfig) -> Self {
        let cluster = Cluster::new(7, nodes, faults, config);
        let (mut kept, mut desks) = (Vec::new(), Vec::new());
        for host in &cluster.hosts {
            let keeps = Kept::default();
            let desk = host.system.spawn(Desk { kept: keeps.clone() });
            host.node.export("desk", &desk).unwrap();
            kept.push(keeps);
            desks.push(desk);
        }
        Desks { cluster, kept, _desks: desks }
    }

    fn desk(&mut self, from: usize, to: u32) -> RemoteAddress<Desk> {
        for _ in 0..20 {
            let limit = std::time::Duration::from_millis(500);
            let found = self.cluster.hosts[from].node.lookup::<Desk>(NodeId(to), "desk", limit);
            if let Ok(desk) = self.cluster.wait(found) {
                return desk;
            }
        }
        panic!("node {from} does not find the desk of node {to}");
    }

    /// Sends a parcel from one node to another, and returns it as it came there.
    fn send(&mut self, from: usize, to: u32, parcel: Parcel) -> Parcel {
        self.desk(from, to).send(parcel).unwrap();
        self.cluster.steps(100);
        self.kept[to as usize].lock().unwrap().pop().expect("it came")
    }

    fn pass(&mut self, from: usize, to: u32, recipient: Recipient<u64>) -> Recipient<u64> {
        match self.send(from, to, Parcel::Tell(recipient)) {
            Parcel::Tell(recipient) => recipient,
            Parcel::Ask { .. } => panic!("not what was sent"),
        }
    }

    fn pass_ask(
        &mut self,
        from: usize,
        to: u32,
        asked: AskRecipient<u64, u64>,
    ) -> AskRecipient<u64, u64> {
        match self.send(from, to, Parcel::Ask { to: asked, note: "for you".to_owned() }) {
            Parcel::Ask { to, note } if note == "for you" => to,
            other => panic!("not what was sent: {other:?}"),
        }
    }

    fn probe<M: Send + 'static>(&self, host: usize) -> Probe<M> {
        self.cluster.hosts[host].system.probe()
    }

    fn leave(&mut self, host: usize) {
        self.cluster.hosts.remove(host).node.leave();
        self.cluster.steps(10);
    }

    /// The number of handles that this host has noted.
    fn noted(&self, host: usize) -> usize {
        self.cluster.hosts[host].node.stats().handles
    }
}

fn wait<R>(cluster: &mut Cluster, answer: impl Future<Output = R>) -> R {
    let mut answer = pin!(answer);
    for _ in 0..20_000 {
        let mut cx = TaskContext::from_waker(Waker::noop());
        if let Poll::Ready(answer) = answer.as_mut().poll(&mut cx) {
            return answer;
        }
        cluster.step();
    }
    panic!("neither an answer nor its deadline");
}

/// Doubles; drops what is odd.
struct Doubler;

impl Actor for Doubler {
    type Msg = (u64, Reply<u64>);
    fn handle(&mut self, (n, reply): Self::Msg, _ctx: &mut Context<'_, Self>) {
        if n % 2 == 0 {
            // Whoever asked may have gone.
            let _ = reply.send(2 * n);
        }
    }
}

#[test]
fn a_handle_is_handed_on_and_leads_straight_to_its_actor_in_each_encoding() {
    for encoding in Encoding::ALL {
        let config = NodeConfig { encodings: vec![encoding], ..reliable() };
        let mut desks = Desks::new(3, Faults::default(), config);
        let probe = desks.probe::<u64>(0);
        let own = probe.recipient::<u64>();
        let at_1 = desks.pass(0, 1, own.clone());
        assert_eq!(at_1, desks.pass(0, 1, own.clone()), "{encoding}: one handle");
        let at_2 = desks.pass(1, 2, at_1.clone());
        at_1.send(1).unwrap();
        at_2.send(2).unwrap();
        desks.cluster.steps(10);
        let mut received = probe.received();
        received.sort_unstable();
        assert_eq!(received, [1, 2], "{encoding}");
        assert_eq!((at_1.id(), desks.noted(0)), (own.id(), 1));

        // At home it is the actor's own handle again.
        let home = desks.pass(2, 0, at_2.clone());
        assert_eq!(home, own);
        home.send(3).unwrap();
        desks.cluster.hosts[0].system.run_until_idle();
        assert_eq!(probe.received(), [3], "{encoding}");

        // Without the node that it came through.
        desks.leave(1);
        at_2.send(4).unwrap();
        desks.cluster.steps(10);
        assert_eq!(probe.received(), [4], "{encoding}");
        assert_eq!(at_1.send(5), Err(SendError::NodeDown(5)), "its own node has left");
        assert_eq!(format!("{at_2:?}"), format!("Recipient({} of node 0)", own.id()));
    }
}

#[test]
fn requests_by_a_handle_are_answered_dropped_or_late() {
    for encoding in Encoding::ALL {
        let config = NodeConfig { encodings: vec![encoding], ..reliable() };
        let mut desks = Desks::new(3, Faults::default(), config);
        let doubler = desks.cluster.hosts[0].system.spawn(Doubler);
        let silent = desks.probe::<(u64, Reply<u64>)>(0);
        let at_1 = desks.pass_ask(0, 1, (&doubler).into());
        let at_2 = desks.pass_ask(1, 2, at_1);
        let silent_at_2 = desks.pass_ask(0, 2, (&silent).into());
        let id = doubler.id();
        let answers = [at_2.ask(4), at_2.ask_timeout(LIMIT, 5)];
        let [doubled, dropped] = answers.map(|answer| wait(&mut desks.cluster, answer));
        assert_eq!((doubled, dropped), (Ok(8), Err(AskError::NoReply(id))), "{encoding}");
        let late = wait(&mut desks.cluster, silent_at_2.ask_timeout(LIMIT, 6));
        assert_eq!(late, Err(AskError::Timeout(silent_at_2.id(), LIMIT)));
        let late = wait(&mut desks.cluster, silent_at_2.ask(6).timeout(LIMIT));
        assert_eq!(late, Err(AskError::Timeout(silent_at_2.id(), LIMIT)));
        let in_time = at_2.ask_async(10).timeout(LIMIT);
        assert_eq!(wait(&mut desks.cluster, in_time), Ok(20), "{encoding}");
        let requests: Vec<_> =
            desks.cluster.hosts[2].node.stats().peers.iter().map(|it| it.requests).collect();
        assert!(requests.iter().all(|&it| it == 0), "{encoding}: {requests:?}");
        assert_eq!(desks.pass_ask(2, 0, at_2.clone()), AskRecipient::from(&doubler));
        let open = at_2.ask(8);
        desks.leave(0);
        assert_eq!(wait(&mut desks.cluster, open), Err(AskError::NodeDown(id)));
        let refused = at_2.ask(2);
        assert_eq!(wait(&mut desks.cluster, refused), Err(AskError::NodeDown(id)));
    }
}

#[test]
fn a_group_may_live_on_several_nodes() {
    let mut desks = Desks::new(3, Faults::default(), reliable());
    let doublers = [0, 1, 2].map(|host| desks.cluster.hosts[host].system.spawn(Doubler));
    let mut asked: Vec<AskRecipient<u64, u64>> = vec![(&doublers[2]).into()];
    let probes = [0, 1, 2].map(|host| desks.probe::<u64>(host));
    let mut told: Vec<Recipient<u64>> = vec![probes[2].recipient()];
    for from in [0, 1] {
        asked.push(desks.pass_ask(from, 2, (&doublers[from]).into()));
        told.push(desks.pass(from, 2, probes[from].recipient()));
    }
    // Each in turn, wherever it lives.
    let router = Router::round_robin(asked.clone());
    for n in 0..6 {
        let answer = router.ask(2 * n).timeout(LIMIT);
        assert_eq!(wait(&mut desks.cluster, answer), Ok(4 * n));
    }
    let all = wait(&mut desks.cluster, Broadcast::new(asked.clone()).ask_all(LIMIT, 4).collect());
    assert_eq!((all.answers.len(), all.missing.len()), (3, 0));
    assert!(all.answers.iter().all(|(_, answer)| *answer == 8));
    // The same key, the same actor, and batches by key.
    let router = Router::by_key(told.clone(), |n: &u64| *n % 10);
    (0..30).for_each(|n| router.send(n).unwrap());
    desks.cluster.steps(50);
    let received = probes.each_ref().map(Probe::received);
    assert_eq!(received.iter().map(Vec::len).sum::<usize>(), 30);
    assert!(received.iter().all(|got| got.len() % 3 == 0), "{received:?}");
    let mut sums = Batched::by_key(told, 3, |n: &u64| *n % 10, |ns: Vec<u64>| ns.iter().sum());
    (0..30).for_each(|n| sums.push(n).unwrap());
    sums.flush().unwrap();
    desks.cluster.steps(50);
    let summed: Vec<u64> = probes.iter().flat_map(Probe::received).collect();
    assert!(summed.len() < 20 && summed.iter().sum::<u64>() == 435, "{summed:?}");
    // A node that goes takes its member with it.
    desks.leave(0);
    let all = wait(&mut desks.cluster, Broadcast::new(asked).ask_all(LIMIT, 4).collect());
    assert_eq!((all.answers.len(), all.missing.len()), (2, 1));
    assert_eq!(all.missing[0].1, AskError::NodeDown(doublers[0].id()));
}

#[test]
fn handles_come_in_answers_too() {
    let mut desks = Desks::new(2, Faults::default(), reliable());
    let probe = desks.probe::<u64>(1);
    desks.kept[1].lock().unwrap().push(Parcel::Tell(probe.recipient()));
    let answer = desks.desk(0, 1).ask((), LIMIT);
    let parcels = desks.cluster.wait(answer).unwrap();
    let [Parcel::Tell(recipient)] = &parcels[..] else { panic!("{parcels:?}") };
    recipient.send(1).unwrap();
    desks.cluster.steps(5);
    assert_eq!(probe.received(), [1]);
}

#[test]
fn in_a_grid_a_handle_leads_through_other_nodes() {
    for route in [Route::Square, Route::Cube] {
        let config = NodeConfig { route, grid_nodes: 8, ..reliable() };
        let mut desks = Desks::new(8, bad_network(), config);
        let (probe, heard) = (desks.probe::<u64>(0), desks.probe::<Down>(7));
        let at_3 = desks.pass(0, 3, probe.recipient());
        let at_7 = desks.pass(3, 7, at_3);
        (0..100).for_each(|n| at_7.send(n).unwrap());
        let _watcher = watcher(&desks, 7, &at_7, &heard);
        desks.cluster.steps(500);
        assert_eq!(probe.received(), (0..100).collect::<Vec<_>>());
        probe.address().stop();
        desks.cluster.steps(500);
        let reason =
            StopReason::Elsewhere { reason: StopReason::Requested.to_string(), is_abnormal: false };
        assert_eq!(heard.received(), [Down { actor: at_7.id(), reason }], "{route}");
        assert_eq!(at_7.send(1), Ok(()), "nobody has told the sender yet");
        desks.cluster.steps(500);
        assert_eq!(at_7.send(2), Err(SendError::Closed(2)), "{route}");
    }
}

#[test]
fn a_handle_that_travels_keeps_nothing_alive() {
    let mut desks = Desks::new(3, Faults::default(), reliable());
    let doubler = desks.cluster.hosts[0].system.spawn(Doubler);
    let (probe, id) = (desks.probe::<u64>(0), doubler.id());
    let asked = desks.pass_ask(0, 1, doubler.into());
    let at_1 = desks.pass(0, 1, probe.recipient());
    assert!(asked.is_closed() || desks.noted(0) == 1, "nobody here keeps the doubler");
    let refused = wait(&mut desks.cluster, asked.ask(2));
    assert_eq!(refused, Err(AskError::Closed(id)));
    assert!(asked.is_closed());

    assert_eq!(desks.noted(0), 1, "the probe's is left");
    probe.address().stop();
    desks.cluster.steps(5);
    assert_eq!(desks.noted(0), 0);
    assert!(!at_1.is_closed());
    at_1.send(1).unwrap();
    desks.cluster.steps(5);
    assert!(at_1.is_closed());
    assert_eq!(at_1.send(2), Err(SendError::Closed(2)));
    // Whoever gets it from now on hears of it by its first message.
    let at_2 = desks.pass(1, 2, at_1.clone());
    assert_eq!(at_2, at_1);
    at_2.tell(3);
    desks.cluster.steps(5);
    assert_eq!(at_2.send(4), Err(SendError::Closed(4)));
    let home = desks.pass(2, 0, at_2);
    assert_eq!(home.send(5), Err(SendError::Closed(5)), "at home it is known at once");
    let misaddressed = |event: &NodeEvent| matches!(event, NodeEvent::Misaddressed { .. });
    assert!(desks.cluster.events(1).iter().any(misaddressed));
}

#[test]
fn a_node_that_has_come_again_does_not_know_its_former_handles() {
    let mut desks = Desks::new(2, Faults::default(), reliable());
    let former = desks.probe::<u64>(0);
    let at_1 = desks.pass(0, 1, former.recipient());
    desks.cluster.hosts.remove(0).node.leave();
    desks.cluster.steps(5);
    assert_eq!(at_1.send(1), Err(SendError::NodeDown(1)));
    let again = desks.cluster.host(0, 2);
    desks.cluster.hosts.insert(0, again);
    desks.cluster.steps(100);
    let new = desks.probe::<u64>(0);
    let desk = desks.cluster.hosts[0].system.spawn(Desk { kept: Kept::default() });
    desks.cluster.hosts[0].node.export("desk", &desk).unwrap();
    let new_at_1 = desks.pass(0, 1, new.recipient());
    assert_ne!(new_at_1, at_1);
    at_1.send(2).unwrap();
    new_at_1.send(3).unwrap();
    desks.cluster.steps(5);
    assert_eq!((at_1.send(4), new.received()), (Err(SendError::Closed(4)), vec![3]));
}

#[test]
fn too_much_comes_back_with_the_message_and_there_is_word_of_room() {
    let aggregator =
        AggregatorConfig { frame_bytes: 1_024, frames_waiting: 2, ..AggregatorConfig::default() };
    let mut desks = Desks::new(2, Faults::default(), NodeConfig { aggregator, ..reliable() });
    let probe = desks.probe::<u64>(0);
    let at_1 = desks.pass(0, 1, probe.recipient());
    let taken = (0..10_000).take_while(|&n| at_1.send(n).is_ok()).count() as u64;
    assert!((50..1_000).contains(&taken), "{taken}");
    assert_eq!(at_1.send(9), Err(SendError::Full(9)));
    assert_eq!(at_1.try_send(9), Err(SendError::Full(9)));
    let mut sending = pin!(at_1.send_async(taken));
    let mut cx = TaskContext::from_waker(Waker::noop());
    assert!(pin!(at_1.room()).poll(&mut cx).is_pending());
    assert!(sending.as_mut().poll(&mut cx).is_pending());
    desks.cluster.steps(5);
    assert!(pin!(at_1.room()).poll(&mut cx).is_ready());
    assert_eq!(sending.as_mut().poll(&mut cx), Poll::Ready(Ok(())));
    desks.cluster.steps(5);
    assert_eq!(probe.received(), (0..=taken).collect::<Vec<_>>());
}

/// Watches or links as it is told, and hands on what it hears.
struct Watcher(Recipient<Down>);

enum Do {
    Watch(Recipient<u64>),
    Unwatch(Recipient<u64>),
    Link(Recipient<u64>),
    Unlink(Recipient<u64>),
    Down(Down),
}

impl Actor for Watcher {
    type Msg = Do;
    fn handle(&mut self, msg: Do, ctx: &mut Context<'_, Self>) {
        match msg {
            Do::Watch(other) => ctx.watch(&other, Do::Down),
            Do::Unwatch(other) => ctx.unwatch(&other),
            Do::Link(other) => ctx.link(&other),
            Do::Unlink(other) => ctx.unlink(&other),
            Do::Down(down) => self.0.tell(down),
        }
    }
}

fn watcher(
    desks: &Desks,
    host: usize,
    other: &Recipient<u64>,
    heard: &Probe<Down>,
) -> Address<Watcher> {
    let watcher = desks.cluster.hosts[host].system.spawn(Watcher(heard.recipient()));
    watcher.tell(Do::Watch(other.clone()));
    watcher
}

/// Fails at its first message.
struct Fragile;

impl Actor for Fragile {
    type Msg = u64;
    fn handle(&mut self, _: u64, _ctx: &mut Context<'_, Self>) {
        panic!("on purpose");
    }
}

#[test]
fn an_actor_elsewhere_is_watched_and_linked_by_its_handle() {
    let mut desks = Desks::new(2, Faults::default(), reliable());
    let fragile = desks.cluster.hosts[0].system.spawn(Fragile);
    let heard = desks.probe::<Down>(1);
    let at_1 = desks.pass(0, 1, (&fragile).into());
    let [watches, links, does_not] = [0; 3].map(|_| watcher(&desks, 1, &at_1, &heard));
    links.tell(Do::Unwatch(at_1.clone()));
    links.tell(Do::Link(at_1.clone()));
    does_not.tell(Do::Link(at_1.clone()));
    does_not.tell(Do::Unlink(at_1.clone()));
    does_not.tell(Do::Unwatch(at_1.clone()));
    desks.cluster.steps(5);
    assert_eq!(desks.cluster.hosts[0].node.stats().peers[0].watched, 2);
    at_1.send(1).unwrap();
    desks.cluster.steps(5);
    let told = heard.received();
    let [Down { actor, reason: StopReason::Elsewhere { reason, is_abnormal: true } }] = &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(*actor, fragile.id());
    assert!(reason.contains("on purpose"), "{reason}");
    assert!(links.is_closed() && !does_not.is_closed() && !watches.is_closed());
    assert_eq!(desks.cluster.hosts[1].node.stats().peers[0].watches, 0);
    // One that has ended is told of at once.
    watches.tell(Do::Watch(at_1.clone()));
    desks.cluster.steps(5);
    assert_eq!(heard.received().len(), 1);
}

#[test]
fn whoever_watches_or_links_hears_that_a_node_is_down() {
    let mut desks = Desks::new(2, Faults::default(), reliable());
    let (probe, heard) = (desks.probe::<u64>(0), desks.probe::<Down>(1));
    let at_1 = desks.pass(0, 1, probe.recipient());
    let (watches, links) = (watcher(&desks, 1, &at_1, &heard), watcher(&desks, 1, &at_1, &heard));
    links.tell(Do::Unwatch(at_1.clone()));
    links.tell(Do::Link(at_1.clone()));
    desks.cluster.steps(5);
    desks.leave(0);
    let down = Down { actor: at_1.id(), reason: StopReason::NodeDown };
    assert_eq!(heard.received(), [down]);
    assert!(links.is_closed() && !watches.is_closed());
}

#[test]
fn outside_a_node_a_handle_is_no_data() {
    let desks = Desks::new(1, Faults::default(), reliable());
    let parcel = Parcel::Tell(desks.probe::<u64>(0).recipient());
    for encoding in Encoding::ALL {
        let error = encoding.encode(&parcel, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("only in messages that go through a node"), "{error}");
    }
    let ticket = r#"{"Tell":{"ticket":{"node":0,"actor":1,"serial":1,"secret":1,"fingerprint":1,
        "encodings":2},"takes_u64":[]}}"#;
    let parcel = Encoding::Text.decode_slice::<Parcel>(ticket.as_bytes(), &Limits::default());
    let error = parcel.unwrap_err().to_string();
    assert!(error.contains("only in messages that go through a node"), "{error}");
}

#[test]
fn a_handle_of_another_cluster_is_refused() {
    let mut ours = Desks::new(2, Faults::default(), reliable());
    let mut theirs = Desks::new(2, Faults::default(), reliable());
    let probe = theirs.probe::<u64>(0);
    let their_handle = theirs.pass(0, 1, probe.recipient());
    let refused = ours.desk(0, 1).send(Parcel::Tell(their_handle.clone())).unwrap_err();
    let RemoteSendError::Codec(Parcel::Tell(back), why) = refused else { panic!("{refused}") };
    assert_eq!(back, their_handle);
    assert!(why.to_string().contains("belongs to another cluster"), "{why}");
}

/// A desk of a program that takes other handles.
struct OtherDesk;

impl Actor for OtherDesk {
    type Msg = ();
    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
}

impl RemoteActor for OtherDesk {
    const KIND: &'static str = "test.other-desk";
    type Message = Recipient<String>;
    type Request = ();
    type Answer = ();
    fn message(_: Recipient<String>) {}
    fn request((): (), _: Reply<()>) {}
}

/// The same as another program knows it.
struct SameDesk;

impl Actor for SameDesk {
    type Msg = ();
    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
}

impl RemoteActor for SameDesk {
    const KIND: &'static str = OtherDesk::KIND;
    type Message = Recipient<u64>;
    type Request = ();
    type Answer = ();
    fn message(_: Recipient<u64>) {}
    fn request((): (), _: Reply<()>) {}
}

#[test]
fn a_handle_of_what_the_other_side_does_not_know_is_refused() {
    let mut desks = Desks::new(2, Faults::default(), reliable());
    let desk = desks.cluster.hosts[1].system.spawn(OtherDesk);
    desks.cluster.hosts[1].node.export("other", &desk).unwrap();
    let found = desks.cluster.hosts[0].node.lookup::<SameDesk>(NodeId(1), "other", LIMIT);
    let error = desks.cluster.wait(found).unwrap_err();
    assert!(matches!(error, RemoteAskError::Incompatible { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("takes_String") || text.contains("takes_string"), "{text}");
}

/// Data that cannot be encoded, and data that is too long.
#[derive(Clone, Debug, PartialEq)]
enum Awkward {
    Bad,
    Long,
}

impl Serialize for Awkward {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Awkward::Bad => Err(serde::ser::Error::custom("on purpose")),
            Awkward::Long => serializer.serialize_str(&"x".repeat(2_000_000)),
        }
    }
}

impl<'de> Deserialize<'de> for Awkward {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|_| Awkward::Long)
    }
}

impl actinium_wire::schema::Describe for Awkward {
    fn describe(_: &mut actinium_wire::schema::Types) -> actinium_wire::schema::Type {
        actinium_wire::schema::Type::String
    }
}

/// Gives its own handle to whoever asks.
struct Host(Recipient<Awkward>);

impl Actor for Host {
    type Msg = Reply<Recipient<Awkward>>;
    fn handle(&mut self, reply: Self::Msg, _ctx: &mut Context<'_, Self>) {
        // Whoever asked may have gone.
        let _ = reply.send(self.0.clone());
    }
}

impl RemoteActor for Host {
    const KIND: &'static str = "test.awkward-host";
    type Message = ();
    type Request = ();
    type Answer = Recipient<Awkward>;
    fn message((): ()) -> Self::Msg {
        unreachable!("nobody sends it anything")
    }
    fn request((): (), reply: Reply<Recipient<Awkward>>) -> Self::Msg {
        reply
    }
}

#[test]
fn what_can_not_be_sent_comes_back_and_the_reason_is_told() {
    // The library of `binary` keeps no words of errors in the user's code.
    let config = NodeConfig { encodings: vec![Encoding::Text], ..reliable() };
    let mut cluster = Cluster::new(1, 2, Faults::default(), config);
    let probe = cluster.hosts[0].system.probe::<Awkward>();
    let host = cluster.hosts[0].system.spawn(Host(probe.recipient()));
    cluster.hosts[0].node.export("host", &host).unwrap();
    let found = cluster.hosts[1].node.lookup::<Host>(NodeId(0), "host", LIMIT);
    let host = cluster.wait(found).unwrap();
    let recipient = cluster.wait(host.ask((), LIMIT)).unwrap();
    cluster.events(1);
    assert_eq!(recipient.send(Awkward::Bad), Err(SendError::Unsendable(Awkward::Bad)));
    assert_eq!(recipient.send(Awkward::Long), Err(SendError::Unsendable(Awkward::Long)));
    let events = cluster.events(1);
    let reasons: Vec<&str> = events
        .iter()
        .map(|event| match event {
            NodeEvent::Unsendable { node: NodeId(0), why, .. } => why.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(reasons[0].contains("on purpose"), "{reasons:?}");
    assert!(reasons[1].contains("fit in a frame"), "{reasons:?}");
}

/// State that moves, with a handle in it.
#[derive(Clone, Serialize, Deserialize, Message)]
struct Reporter {
    to: Recipient<u64>,
    sum: u64,
}

impl Migrate for Reporter {
    const KIND: &'static str = "test.reporter";
    type Message = u64;
    type Request = ();
    type Answer = u64;
    fn message(&mut self, n: u64, _ctx: &Context<'_, Movable<Self>>) {
        self.sum += n;
        self.to.tell(self.sum);
    }
    fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> u64 {
        self.sum
    }
}

#[test]
fn a_handle_moves_with_the_state_that_it_is_in() {
    let mut desks = Desks::new(3, Faults::default(), reliable());
    desks.cluster.steps(20);
    let movables: Vec<_> =
        desks.cluster.hosts.iter().map(|host| host.node.movables::<Reporter>().unwrap()).collect();
    let probe = desks.probe::<u64>(0);
    let reporter = movables[0].spawn(Reporter { to: probe.recipient(), sum: 0 });
    for (to, sum) in [(1, 1), (2, 2), (0, 3)] {
        let moved = reporter.move_to(NodeId(to), LIMIT);
        desks.cluster.wait(moved).unwrap();
        reporter.send(1).unwrap();
        desks.cluster.steps(20);
        assert_eq!(probe.received(), [sum], "at node {to}");
    }
}
