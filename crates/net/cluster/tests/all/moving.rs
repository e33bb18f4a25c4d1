//! Actors that move from worker to worker between their turns: what each sends to another node
//! arrives in the order in which it was sent.

use actinium_actor::{Actor, Context, Policy, Reply, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Network;
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{
    AggregatorConfig, Node, NodeConfig, RemoteActor, RemoteAddress, RemoteSendError,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
const SENDERS: u32 = 8;
/// Messages in a turn: several, so that they are buffered, and no fixed number.
const TURN_MAX: u64 = 40;
/// A sender is done when it has run elsewhere so often.
const MOVES: u32 = 30;

/// Counts what comes from each sender, in order.
struct Sink {
    next: BTreeMap<u32, u64>,
    disorder: u64,
    done: mpsc::Sender<(u64, u64)>,
    senders_left: u32,
}

enum SinkMsg {
    /// Who, which, and whether it is the last.
    Number(u32, u64, bool),
    Disorder(Reply<u64>),
}

impl Actor for Sink {
    type Msg = SinkMsg;

    fn handle(&mut self, msg: SinkMsg, _ctx: &mut Context<'_, Self>) {
        match msg {
            SinkMsg::Number(from, number, last) => {
                let next = self.next.entry(from).or_default();
                self.disorder += u64::from(*next != number);
                *next += 1;
                self.senders_left -= u32::from(last);
                if self.senders_left == 0 {
                    self.done.send((self.next.values().sum(), self.disorder)).unwrap();
                }
            }
            SinkMsg::Disorder(reply) => drop(reply.send(self.disorder)),
        }
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.moving-sink";
    type Message = (u32, u64, bool);
    type Request = ();
    type Answer = u64;
    fn message((from, number, last): (u32, u64, bool)) -> SinkMsg {
        SinkMsg::Number(from, number, last)
    }
    fn request((): (), reply: Reply<u64>) -> SinkMsg {
        SinkMsg::Disorder(reply)
    }
}

/// Sends some in each turn, until it has moved often enough.
struct Sender {
    me: u32,
    sink: RemoteAddress<Sink>,
    sent: u64,
    moves: u32,
    worker: Option<usize>,
    /// Of all senders.
    sum: Arc<AtomicU64>,
}

impl Actor for Sender {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        let here = actinium_scheduler::current(|worker| worker.map(|worker| worker.index()));
        self.moves +=
            u32::from(self.worker.replace(here.unwrap()).is_some_and(|at| Some(at) != here));
        let is_last = self.moves >= MOVES;
        let count = self.sent % TURN_MAX;
        for n in 0..=count {
            let last = is_last && n == count;
            match self.sink.send((self.me, self.sent, last)) {
                Ok(()) => self.sent += 1,
                Err(RemoteSendError::Full(_)) => return ctx.pipe(self.sink.ready(), |()| ()),
                Err(error) => panic!("{error}"),
            }
            if last {
                // Relaxed: read after the last message has arrived, which the node's locks order.
                self.sum.fetch_add(self.sent, Ordering::Relaxed);
                return;
            }
        }
        ctx.address().tell(());
    }
}

fn run(policy: Policy, frame_bytes: usize) {
    let network = Network::new();
    let link = LinkConfig { down_after_ns: 60_000_000_000, ..LinkConfig::default() };
    let aggregator = AggregatorConfig { frame_bytes, ..AggregatorConfig::default() };
    let config = NodeConfig { link, aggregator, ..NodeConfig::default() };
    let host = |n, workers| {
        let fabric = network.node(NodeId(n));
        let system = System::builder().workers(workers).policy(policy).batch(1).build().unwrap();
        let node = Node::start(system.handle(), config.clone(), move || Ok(fabric)).unwrap();
        (system, node)
    };
    let (here, node) = host(0, 4);
    let (there, sink_node) = host(1, 1);
    let (done, all) = mpsc::channel();
    let sink = Sink { next: BTreeMap::new(), disorder: 0, done, senders_left: SENDERS };
    sink_node.export("sink", &there.spawn(sink)).unwrap();
    let sink = node.find::<Sink>(NodeId(1), "sink", LIMIT).wait().unwrap();
    let sum = Arc::new(AtomicU64::new(0));
    let senders: Vec<_> = (0..SENDERS)
        .map(|me| {
            let (sink, sum) = (sink.clone(), sum.clone());
            here.spawn(Sender { me, sink, sent: 0, moves: 0, worker: None, sum })
        })
        .collect();
    for sender in &senders {
        sender.send(()).unwrap();
    }
    let (received, disorder) = all.recv().unwrap();
    // Relaxed: see `Sender`.
    assert_eq!((received, disorder), (sum.load(Ordering::Relaxed), 0), "{policy:?}");
    node.leave();
    sink_node.leave();
}

#[test]
fn whoever_runs_anywhere_is_heard_in_order() {
    run(Policy::Pool, 16 << 10);
    // Frames that one turn overfills.
    run(Policy::Pool, 256);
}

#[test]
fn whoever_is_stolen_is_heard_in_order() {
    run(Policy::Stealing, 16 << 10);
    run(Policy::Stealing, 256);
}
