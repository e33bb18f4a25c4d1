//! The parts of a program end in one order, whatever they do.

use actinium::Runtime;
use actinium::prelude::*;
use actinium::runtime::{End, Part, PartKind, RuntimeReport};
use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Says what it is asked for, and does the rest.
struct Told<S, W> {
    name: &'static str,
    log: Log,
    stop: S,
    wait: W,
}

impl<S, W> Part for Told<S, W>
where
    S: Fn() + Send + Sync + 'static,
    W: Fn() -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
{
    fn stop(&self) {
        self.log.add(format!("{} is asked to end", self.name));
        (self.stop)();
    }

    fn cancel(&self) {
        self.log.add(format!("{} is cancelled", self.name));
    }

    fn wait(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let ended = (self.wait)();
        self.log.add(format!("{} is over", self.name));
        ended
    }
}

fn told(name: &'static str, log: &Log) -> impl Part {
    Told { name, log: log.clone(), stop: || (), wait: || Ok(()) }
}

/// Says when it ends, and answers until then.
struct Last(Log);

impl Actor for Last {
    type Msg = Reply<u32>;

    fn handle(&mut self, reply: Reply<u32>, _ctx: &mut Context<'_, Self>) {
        self.0.add("the actor answers");
        let _ = reply.send(7);
    }

    fn stopped(&mut self, _ctx: &mut Context<'_, Self>, _reason: &StopReason) {
        self.0.add("the actor ends");
    }
}

fn system() -> System {
    System::builder().workers(1).build().expect("a system")
}

fn ends(report: &RuntimeReport) -> Vec<(PartKind, &str, &End)> {
    report.parts.iter().map(|part| (part.kind, &*part.name, &part.end)).collect()
}

#[test]
fn sources_end_before_graphs_and_graphs_before_actors() {
    let (log, system) = (Log::default(), system());
    let actor = system.spawn(Last(log.clone()));
    let asked = actor.clone();
    let graph = Told {
        name: "graph",
        log: log.clone(),
        stop: || (),
        // What it does last may need actors.
        wait: move || {
            asked.ask(|reply| reply).wait()?;
            Ok(())
        },
    };
    // In whatever order they were added.
    let runtime = Runtime::new(system).graph("graph", graph).source("source", told("source", &log));
    assert_eq!(runtime.workers(), 1);
    let report = runtime.shutdown(Shutdown::Drain);
    assert!(report.is_clean(), "{report}");
    assert_eq!(
        ends(&report),
        [(PartKind::Source, "source", &End::Ended), (PartKind::Graph, "graph", &End::Ended)]
    );
    assert_eq!(
        report.to_string(),
        "source source: ended\ngraph graph: ended\nactors: 1 messages handled, 0 dropped\n"
    );
    assert_eq!(
        log.lines(),
        [
            "source is asked to end",
            "source is over",
            "graph is asked to end",
            "the actor answers",
            "graph is over",
            "the actor ends",
        ]
    );
    drop(actor);
}

#[test]
fn parts_of_one_kind_are_asked_before_any_is_waited_for() {
    let log = Log::default();
    let runtime = Runtime::new(system()).source("a", told("a", &log)).source("b", told("b", &log));
    assert!(runtime.shutdown(Shutdown::Drain).is_clean());
    let asked = ["a is asked to end", "b is asked to end", "a is over", "b is over"];
    assert_eq!(log.lines(), asked);
}

#[test]
fn what_fails_or_panics_is_told_and_the_rest_ends_all_the_same() {
    for how in [Shutdown::Drain, Shutdown::DrainWithin(Duration::from_secs(3600)), Shutdown::Drop] {
        let (log, system) = (Log::default(), system());
        let actor = system.spawn(Last(log.clone()));
        let stop = || panic!("not now");
        let wait = || Err("the disk is full".into());
        let failing = Told { name: "failing", log: log.clone(), stop, wait };
        let (stop, wait) = (|| (), || panic!("a defect"));
        let panicking = Told { name: "panicking", log: log.clone(), stop, wait };
        let runtime = Runtime::new(system)
            .source("failing", failing)
            .graph("panicking", panicking)
            .graph("good", told("good", &log));
        let report = runtime.shutdown(how);
        assert!(!report.is_clean());
        assert_eq!(
            ends(&report),
            [
                (PartKind::Source, "failing", &End::Failed("the disk is full".to_owned())),
                (PartKind::Graph, "panicking", &End::Failed("it panicked: a defect".to_owned())),
                (PartKind::Graph, "good", &End::Ended),
            ]
        );
        assert_eq!(log.lines().last().map(String::as_str), Some("the actor ends"));
        drop(actor);
    }
}

/// Ends when somebody lets go of the other end.
struct Endless {
    cancelled: Mutex<Option<Sender<()>>>,
    over: Mutex<Receiver<()>>,
}

impl Endless {
    fn new() -> (Self, Sender<()>) {
        let (sender, receiver) = channel();
        let cancelled = Mutex::new(Some(sender.clone()));
        (Endless { cancelled, over: Mutex::new(receiver) }, sender)
    }
}

impl Part for Endless {
    fn stop(&self) {}

    fn cancel(&self) {
        self.cancelled.lock().unwrap().take();
    }

    fn wait(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        // An error: all senders are gone.
        let _ = self.over.lock().unwrap().recv();
        Ok(())
    }
}

#[test]
fn what_takes_too_long_is_cancelled_and_then_left() {
    let (obeys, sender) = Endless::new();
    drop(sender);
    let (disobeys, kept) = Endless::new();
    let runtime = Runtime::new(system()).source("obeys", obeys).graph("disobeys", disobeys);
    let report = runtime.shutdown(Shutdown::DrainWithin(Duration::ZERO));
    assert_eq!(
        ends(&report),
        [(PartKind::Source, "obeys", &End::Cancelled), (PartKind::Graph, "disobeys", &End::Stuck)]
    );
    assert!(report.to_string().contains("graph disobeys: did not end, and was left to itself\n"));
    // Its thread may end now.
    drop(kept);
    let (endless, sender) = Endless::new();
    drop(sender);
    let report = Runtime::new(system()).graph("endless", endless).shutdown(Shutdown::Drop);
    assert_eq!(ends(&report), [(PartKind::Graph, "endless", &End::Ended)], "cancelled at once");
}

#[test]
fn a_runtime_that_is_dropped_ends_all() {
    let (log, system) = (Log::default(), system());
    let actor = system.spawn(Last(log.clone()));
    drop(Runtime::new(system).source("source", told("source", &log)));
    let lines =
        ["source is asked to end", "source is cancelled", "source is over", "the actor ends"];
    assert_eq!(log.lines(), lines);
    drop(actor);
}

/// Ends the program that it is in.
struct Ender(Option<Runtime>, Sender<RuntimeReport>);

impl Actor for Ender {
    type Msg = Runtime;

    fn handle(&mut self, runtime: Runtime, _ctx: &mut Context<'_, Self>) {
        let report = runtime.shutdown(Shutdown::Drain);
        let _ = self.1.send(report);
    }

    fn stopped(&mut self, _ctx: &mut Context<'_, Self>, _reason: &StopReason) {
        drop(self.0.take());
    }
}

#[test]
fn an_actor_that_ends_its_own_program_only_requests_it() {
    let (log, system) = (Log::default(), system());
    let (reported, reports) = channel();
    let ender = system.spawn(Ender(None, reported));
    let (over, is_over) = channel();
    let wait = move || Ok(over.send(())?);
    let source = Told { name: "source", log: log.clone(), stop: || (), wait };
    ender.send(Runtime::new(system).source("source", source)).expect("it lives");
    let report = reports.recv().expect("it is told");
    assert_eq!((report.actors.is_none(), report.is_clean()), (true, false));
    assert_eq!(report.to_string(), "actors: the end is requested\n");
    is_over.recv().expect("the source ends");
}

#[cfg(all(feature = "gateway", feature = "cluster"))]
mod with_gateway_and_node {
    use super::*;
    use actinium::cluster::fabric::{NodeId, in_process::Network};
    use actinium::cluster::link::DownReason;
    use actinium::cluster::{Node, NodeConfig, NodeEvent, RemoteActor, RemoteAddress};
    use actinium::gateway::{Call, Gateway, Served};
    use actinium::wire::protocol;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    protocol! {
        /// Adds.
        pub protocol Adding, version 1, between client and server;
        state Open {
            client request Add(u64) -> server Total(u64) -> Open;
        }
    }
    use adding::Message;

    /// Hears of each number at the other node.
    struct Sink(Sender<u64>);

    impl Actor for Sink {
        type Msg = u64;

        fn handle(&mut self, number: u64, _ctx: &mut Context<'_, Self>) {
            let _ = self.0.send(number);
        }
    }

    impl RemoteActor for Sink {
        const KIND: &'static str = "test.sink";
        type Message = u64;
        type Request = ();
        type Answer = ();

        fn message(number: u64) -> u64 {
            number
        }

        fn request((): (), _reply: Reply<()>) -> u64 {
            0
        }
    }

    /// Adds what clients say, and tells the other node the sum when it ends.
    struct Adder {
        total: u64,
        sink: RemoteAddress<Sink>,
        log: Log,
    }

    impl Actor for Adder {
        type Msg = Call<Message>;

        fn handle(&mut self, call: Call<Message>, _ctx: &mut Context<'_, Self>) {
            if let Message::Add(number) = call.message {
                self.total += number;
                let _ = call.peer.send(Message::Total(self.total));
            }
        }

        fn stopped(&mut self, _ctx: &mut Context<'_, Self>, _reason: &StopReason) {
            self.log.add("the actor ends");
            self.sink.send(self.total).expect("the node is still there");
        }
    }

    impl Served for Adder {
        type Talk = Message;

        fn heard(call: Call<Message>) -> Call<Message> {
            call
        }
    }

    fn add(address: SocketAddr, number: u64) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        let body = format!("{{\"Add\":{number}}}");
        let length = body.len();
        write!(
            stream,
            "POST /adder HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn the_gateway_ends_first_and_the_node_last() {
        let (log, network) = (Log::default(), Network::new());
        let fabrics = [network.node(NodeId(0)), network.node(NodeId(1))];
        let [(system, node), (other_system, other)] = fabrics.map(|fabric| {
            let system = system();
            let start = move || Ok(fabric);
            let node = Node::start(system.handle(), NodeConfig::default(), start);
            (system, node.expect("a node"))
        });
        let (left, has_left) = channel();
        let heard = log.clone();
        other.on_event(move |event| {
            if let NodeEvent::Down { reason: DownReason::Left, .. } = event {
                heard.add("the node has left");
                let _ = left.send(());
            }
        });
        let (hears, numbers) = channel();
        let sink = other_system.spawn(Sink(hears));
        other.export("sink", &sink).expect("a name of its own");
        let found = node.find::<Sink>(NodeId(1), "sink", Duration::from_secs(60)).wait();
        let adder = Adder { total: 0, sink: found.expect("it is there"), log: log.clone() };
        let adder = system.spawn(adder);
        let gateway = Gateway::builder().serve("adder", &adder).expect("a path of its own");
        let gateway = gateway.start("127.0.0.1:0").expect("a port");
        let address = gateway.address();
        assert!(add(address, 42).expect("it answers").contains("42"));
        let refused = log.clone();
        let stop = move || {
            let line = if add(address, 1).is_err() { "closed" } else { "open" };
            refused.add(format!("the gateway is {line}"));
        };
        let source = Told { name: "source", log: log.clone(), stop, wait: || Ok(()) };
        let runtime = Runtime::new(system).node(node).source("source", source).gateway(gateway);
        let report = runtime.shutdown(Shutdown::Drain);
        assert!(report.is_clean(), "{report}");
        let kinds: Vec<PartKind> = report.parts.iter().map(|part| part.kind).collect();
        assert_eq!(kinds, [PartKind::Gateway, PartKind::Source, PartKind::Node]);
        assert!(report.to_string().ends_with("0 dropped\nnode 0: ended\n"), "{report}");
        assert_eq!(numbers.recv(), Ok(42), "what an actor says last arrives");
        has_left.recv().expect("it says farewell");
        assert_eq!(
            log.lines(),
            [
                "source is asked to end",
                "the gateway is closed",
                "source is over",
                "the actor ends",
                "the node has left",
            ]
        );
        drop(adder);
    }
}

/// A source without an end.
#[cfg(feature = "events-cluster")]
struct Counts;

#[cfg(feature = "events-cluster")]
impl actinium::events::Source for Counts {
    type Product = u64;

    fn next(
        &mut self,
        number: u64,
    ) -> Result<actinium::events::Next<u64>, actinium::events::Cause> {
        Ok(actinium::events::Next::Event(number))
    }
}

#[test]
#[cfg(feature = "events-cluster")]
fn a_graph_on_the_nodes_of_a_job_ends_before_the_actors_and_the_node() {
    use actinium::cluster::Node;
    use actinium::events::cluster::ClusterProcessor;
    use actinium::events::{Builder, Settings};

    let system = system();
    let node = Node::join(&system).expect("it is alone");
    let (mut builder, numbers) = Builder::with_source("numbers", Counts);
    builder.crosses(numbers);
    let processor = ClusterProcessor::new(builder, Settings::default().slots(2));
    let running = processor.start(&node, &system).expect("it starts");
    while running.progress() == 0 {
        std::thread::yield_now();
    }
    let runtime = Runtime::new(system).graph("numbers", running).node(node);
    let report = runtime.shutdown(Shutdown::Drain);
    let expected =
        [(PartKind::Graph, "numbers", &End::Ended), (PartKind::Node, "node 0", &End::Ended)];
    assert_eq!(ends(&report), expected, "{report}");
}
