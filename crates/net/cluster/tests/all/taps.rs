//! Somebody looks at the messages between two nodes.

use crate::common::ask_until_taken;
use actinium_actor::{Actor, Context, Reply, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Network;
use actinium_cluster::{Node, NodeConfig, RemoteActor, RemoteAddress};
use actinium_tap::{Direction, Tap, TapFilter, Tapped, What};
use actinium_wire::{Encoding, Message};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::error::Error;
use std::time::Duration;

type Outcome = Result<(), Box<dyn Error>>;

const SOON: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize, Deserialize, Message)]
enum Change {
    Add { number: u64 },
    Clear,
}

struct Counter(u64);

enum Msg {
    Change(Change),
    Total(u64, Reply<u64>),
}

impl Actor for Counter {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Change(Change::Add { number }) => self.0 += number,
            Msg::Change(Change::Clear) => self.0 = 0,
            Msg::Total(factor, reply) => drop(reply.send(self.0 * factor)),
        }
    }
}

impl RemoteActor for Counter {
    const KIND: &'static str = "tests.counter";
    type Message = Change;
    type Request = u64;
    type Answer = u64;

    fn message(change: Change) -> Msg {
        Msg::Change(change)
    }

    fn request(factor: u64, reply: Reply<u64>) -> Msg {
        Msg::Total(factor, reply)
    }
}

/// Two nodes, and a counter on the second as the first one reaches it.
struct Pair {
    counter: RemoteAddress<Counter>,
    nodes: [Node; 2],
    _systems: [System; 2],
}

fn pair(encodings: &[Encoding]) -> Result<Pair, Box<dyn Error>> {
    let network = Network::new();
    let (here, there) = (network.node(NodeId(0)), network.node(NodeId(1)));
    let systems = [System::builder().workers(1).build()?, System::builder().workers(1).build()?];
    let config = NodeConfig { encodings: encodings.to_vec(), ..NodeConfig::default() };
    let nodes = [
        Node::start(systems[0].handle(), config.clone(), move || Ok(here))?,
        Node::start(systems[1].handle(), config, move || Ok(there))?,
    ];
    nodes[1].export("counter", &systems[1].spawn(Counter(0)))?;
    let counter = nodes[0].lookup::<Counter>(NodeId(1), "counter", SOON).wait()?;
    Ok(Pair { counter, nodes, _systems: systems })
}

fn all(tap: &mut Tap) -> Vec<Tapped> {
    std::iter::from_fn(|| tap.try_next()).collect()
}

/// Direction, purpose and contents of each.
fn said(tap: &mut Tap) -> Vec<(Direction, What, serde_json::Value)> {
    let one = |it: Tapped| (it.direction, it.what, it.contents.expect("it is read"));
    all(tap).into_iter().map(one).collect()
}

#[test]
fn both_ends_see_messages_requests_and_answers_by_their_types() -> Outcome {
    for encoding in [Encoding::Binary, Encoding::Text, Encoding::SelfDescribing] {
        let Pair { counter, nodes, _systems } = pair(&[encoding])?;
        let filter = TapFilter::new().types(["tests.counter"]).contents(true);
        let [mut first, mut second] = [0, 1].map(|node: usize| nodes[node].tap(filter.clone()));
        let mut variants = nodes[0].tap(TapFilter::new().variants(["Clear"]));
        counter.send(Change::Clear)?;
        counter.send(Change::Add { number: 7 })?;
        // By then all of it has crossed.
        assert_eq!(counter.ask(3, SOON).wait()?, 21);

        let expected = |goes, comes| {
            [
                (goes, What::Message, json!("Clear")),
                (goes, What::Message, json!({ "Add": { "number": 7 } })),
                (goes, What::Request, json!(3)),
                (comes, What::Answer, json!(21)),
            ]
        };
        assert_eq!(said(&mut first), expected(Direction::Out, Direction::In), "{encoding}");
        assert_eq!(said(&mut second), expected(Direction::In, Direction::Out), "{encoding}");
        let variants = all(&mut variants);
        let [clear] = &variants[..] else { panic!("{variants:?}") };
        assert_eq!((clear.at.as_str(), clear.peer.as_str()), ("node 0", "node 1"));
        assert_eq!((clear.kind.as_str(), &clear.contents), ("tests.counter", &None));
        assert_eq!(clear.encoding, encoding.name());
    }
    Ok(())
}

#[test]
fn a_tap_can_be_of_one_direction_one_peer_and_a_sample() -> Outcome {
    let Pair { counter, nodes, _systems } = pair(&[Encoding::Binary])?;
    let mut comes = nodes[0].tap(TapFilter::new().direction(Direction::In));
    let mut sample = nodes[0].tap(TapFilter::new().direction(Direction::Out).sample(5));
    let mut none = nodes[0].tap(TapFilter::new().rate(0));
    let mut of_peer = nodes[0].tap(TapFilter::new().peer("1"));
    let mut of_other = nodes[0].tap(TapFilter::new().peer("node 2"));
    (0..9).try_for_each(|number| counter.send(Change::Add { number }))?;
    assert_eq!(counter.ask(1, SOON).wait()?, 36);
    let counts = [&mut comes, &mut sample, &mut none, &mut of_peer, &mut of_other];
    assert_eq!(counts.map(|tap| all(tap).len()), [1, 2, 0, 11, 0]);
    assert_eq!(none.missed().rate, 11);
    Ok(())
}

#[test]
fn a_tap_that_takes_nothing_holds_no_node_up() -> Outcome {
    const MESSAGES: u64 = 20_000;
    let Pair { counter, nodes, _systems } = pair(&[Encoding::Binary])?;
    let mut tap = nodes[1].tap(TapFilter::new().direction(Direction::In));
    for _ in 0..MESSAGES {
        while counter.send(Change::Add { number: 1 }).is_err() {
            std::thread::yield_now();
        }
    }
    assert_eq!(ask_until_taken(|| counter.ask(1, SOON))?, MESSAGES);
    let overflow = tap.missed().overflow;
    assert!(overflow > 0);
    assert_eq!(all(&mut tap).len() as u64 + overflow, MESSAGES + 1);
    drop(tap);
    // Nobody looks: nothing is kept.
    counter.send(Change::Clear)?;
    assert_eq!(counter.ask(1, SOON).wait()?, 0);
    Ok(())
}
