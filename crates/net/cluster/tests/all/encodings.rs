//! Two nodes whose ideas of an actor's messages differ, or that want to be readable, agree on an
//! encoding, or say why not.

use actinium_actor::testing::TestSystem;
use actinium_actor::{Actor, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Network;
use actinium_cluster::{
    ManualNode, NodeConfig, NodeEvent, RemoteActor, RemoteAddress, RemoteAnswer, RemoteAskError,
};
use actinium_wire::schema::Describe;
use actinium_wire::{Encoding, Message};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::future::Future;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "Reading")]
struct V1 {
    value: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "Reading", version = 2)]
struct V2 {
    #[serde(default)]
    unit: Option<String>,
    value: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "Reading", version = 3)]
struct V3 {
    amount: String,
}

/// Keeps what it is told, and answers a request with itself.
struct Meter<M>(Arc<Mutex<Vec<M>>>);

enum MeterMsg<M> {
    Tell(M),
    Echo(M, Reply<M>),
}

trait Reading: Describe + Serialize + DeserializeOwned + Send {}
impl<M: Describe + Serialize + DeserializeOwned + Send> Reading for M {}

impl<M: Reading> Actor for Meter<M> {
    type Msg = MeterMsg<M>;
    fn handle(&mut self, msg: MeterMsg<M>, _ctx: &mut Context<'_, Self>) {
        match msg {
            MeterMsg::Tell(reading) => self.0.lock().unwrap().push(reading),
            MeterMsg::Echo(reading, reply) => drop(reply.send(reading)),
        }
    }
}

impl<M: Reading> RemoteActor for Meter<M> {
    const KIND: &'static str = "test.meter";
    type Message = M;
    type Request = M;
    type Answer = M;
    fn message(reading: M) -> MeterMsg<M> {
        MeterMsg::Tell(reading)
    }
    fn request(reading: M, reply: Reply<M>) -> MeterMsg<M> {
        MeterMsg::Echo(reading, reply)
    }
}

/// One end.
struct Host<M> {
    system: TestSystem,
    node: ManualNode,
    events: Arc<Mutex<Vec<NodeEvent>>>,
    of: PhantomData<M>,
}

impl<M: Reading> Host<M> {
    fn new(network: &Network, n: u32, encodings: &[Encoding]) -> Self {
        let system = TestSystem::seeded(u64::from(n));
        let config = NodeConfig { encodings: encodings.to_vec(), ..NodeConfig::default() };
        let node = ManualNode::join(system.handle(), network.node(NodeId(n)), config, 1).unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = events.clone();
        node.on_event(move |event| log.lock().unwrap().push(event.clone()));
        Host { system, node, events, of: PhantomData }
    }

    fn remarks(&self) -> Vec<String> {
        let remark = |event: &NodeEvent| match event {
            NodeEvent::Remark { remark, .. } => Some(remark.clone()),
            _ => None,
        };
        self.events.lock().unwrap().iter().filter_map(remark).collect()
    }
}

fn wait<A: Reading, B: Reading, R>(
    hosts: (&mut Host<A>, &mut Host<B>),
    network: &Network,
    mut answer: RemoteAnswer<R>,
) -> Result<R, RemoteAskError> {
    loop {
        let mut cx = TaskContext::from_waker(Waker::noop());
        if let Poll::Ready(answer) = std::pin::Pin::new(&mut answer).poll(&mut cx) {
            return answer;
        }
        network.advance(1_000_000);
        let now_ns = network.now_ns();
        for (system, node) in
            [(&mut hosts.0.system, &mut hosts.0.node), (&mut hosts.1.system, &mut hosts.1.node)]
        {
            system.run_until_idle();
            while node.turn(now_ns) {
                system.run_until_idle();
            }
        }
    }
}

/// An answer, and how it travelled.
type Heard<A> = Result<(A, Encoding), RemoteAskError>;

/// Node 0 knows the meter as `A`, node 1 has one of `B`; what a request of node 0 comes back as,
/// what the meter was told, how it travelled.
fn talk<A: Reading, B: Reading + Clone>(
    encodings: [&[Encoding]; 2],
    reading: fn() -> A,
) -> (Heard<A>, Vec<B>, Vec<String>) {
    let network = Network::new();
    let mut here = Host::<A>::new(&network, 0, encodings[0]);
    let mut there = Host::<B>::new(&network, 1, encodings[1]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let meter = there.system.spawn(Meter::<B>(seen.clone()));
    there.node.export("meter", &meter).unwrap();
    let found = here.node.lookup::<Meter<A>>(NodeId(1), "meter", LIMIT);
    let found = wait((&mut here, &mut there), &network, found);
    let result = found.and_then(|meter: RemoteAddress<Meter<A>>| {
        meter.send(reading()).unwrap();
        let answer = meter.ask(reading(), LIMIT);
        let answer = wait((&mut here, &mut there), &network, answer)?;
        Ok((answer, meter.encoding()))
    });
    let seen = seen.lock().unwrap().clone();
    (result, seen, here.remarks())
}

const ALL: &[Encoding] = &Encoding::ALL;

#[test]
fn the_same_types_talk_binary_and_whoever_wants_text_gets_it() {
    let v1 = || V1 { value: 1.5 };
    let (result, seen, remarks) = talk::<V1, V1>([ALL, ALL], v1);
    assert_eq!((result, seen, remarks), (Ok((v1(), Encoding::Binary)), vec![v1()], vec![]));
    for encoding in Encoding::ALL {
        let (result, seen, _) = talk::<V1, V1>([ALL, &[encoding]], v1);
        assert_eq!((result, seen), (Ok((v1(), encoding)), vec![v1()]));
    }
}

#[test]
fn versions_that_differ_talk_with_names_and_say_so() {
    let (result, seen, remarks) = talk::<V1, V2>([ALL, ALL], || V1 { value: 2.5 });
    assert_eq!(result, Ok((V1 { value: 2.5 }, Encoding::SelfDescribing)));
    assert_eq!(seen, [V2 { unit: None, value: 2.5 }]);
    assert!(remarks[0].contains("self-describing instead of binary"), "{remarks:?}");
    let unit = || V2 { unit: Some("K".to_owned()), value: 3.5 };
    let (_, seen, _) = talk::<V2, V1>([ALL, ALL], unit);
    assert_eq!(seen, [V1 { value: 3.5 }]);
}

#[test]
fn types_that_make_no_sense_to_each_other_are_refused_with_the_reason() {
    let (result, seen, _) = talk::<V1, V3>([ALL, ALL], || V1 { value: 2.5 });
    let error = result.unwrap_err();
    assert!(matches!(error, RemoteAskError::Incompatible { .. }), "{error:?}");
    assert!(error.to_string().contains("amount"), "{error}");
    assert_eq!(seen, []);
    let (result, ..) = talk::<V1, V1>([&[Encoding::Text], &[Encoding::Xml]], || V1 { value: 2.5 });
    let error = result.unwrap_err().to_string();
    assert!(error.contains("text") && error.contains("xml"), "{error}");
}

#[test]
fn a_node_without_encodings_does_not_start() {
    let network = Network::new();
    let config = NodeConfig { encodings: Vec::new(), ..NodeConfig::default() };
    let system = TestSystem::seeded(0);
    let error = ManualNode::join(system.handle(), network.node(NodeId(0)), config, 1).err();
    assert_eq!(error.unwrap().setting, "encodings");
}
