//! Each call of `Serialize` and `Deserialize` between nodes, what it does wrong, and when: all
//! cells of the table in docs/faults.md.
//
// leaks: what a thread that was given up may reach is never freed.

use crate::common::{Cluster, LIMIT, reliable};
use actinium_actor::{
    Actor, Address, Context, Reply, Shutdown, ShutdownReport, StopReason, System,
};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{
    Node, NodeConfig, RemoteActor, RemoteAddress, RemoteAnswer, RemoteAskError, RemoteSendError,
};
use actinium_wire::Message;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// For longer than any test takes.
const LONG: Duration = Duration::from_secs(1 << 30);

const PANICS: &str = "panics";
const RE_ENTERS: &str = "re-enters";
const STAYS: &str = "does not return";
const PHASES: [&str; 3] = ["running", "draining", "dropping"];

const TOLD: &str = "told";
const COUNTED: &str = "counted";
const QUEUED: &str = "queued";
const GIVEN_UP: &str = "given up";
const NOT_CALLED: &str = "not called";

const MESSAGE_ENCODED: &str = "message encoded";
const MESSAGE_DECODED: &str = "message decoded";
const ANSWER_ENCODED: &str = "answer encoded";
const ANSWER_DECODED: &str = "answer decoded";

type Row = (&'static str, &'static str, [&'static str; 3]);

const TABLE: [Row; 12] = [
    (MESSAGE_ENCODED, PANICS, [TOLD, TOLD, TOLD]),
    (MESSAGE_ENCODED, RE_ENTERS, [QUEUED, QUEUED, QUEUED]),
    (MESSAGE_ENCODED, STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
    (MESSAGE_DECODED, PANICS, [COUNTED, COUNTED, NOT_CALLED]),
    (MESSAGE_DECODED, RE_ENTERS, [QUEUED, QUEUED, NOT_CALLED]),
    (MESSAGE_DECODED, STAYS, [GIVEN_UP, GIVEN_UP, NOT_CALLED]),
    (ANSWER_ENCODED, PANICS, [TOLD, TOLD, NOT_CALLED]),
    (ANSWER_ENCODED, RE_ENTERS, [QUEUED, QUEUED, NOT_CALLED]),
    (ANSWER_ENCODED, STAYS, [GIVEN_UP, GIVEN_UP, NOT_CALLED]),
    (ANSWER_DECODED, PANICS, [TOLD, TOLD, NOT_CALLED]),
    (ANSWER_DECODED, RE_ENTERS, [QUEUED, QUEUED, NOT_CALLED]),
    (ANSWER_DECODED, STAYS, [GIVEN_UP, GIVEN_UP, NOT_CALLED]),
];

/// Goes off when it is encoded or decoded, or not at all.
#[derive(Clone, Debug, PartialEq, Message)]
struct Charge {
    at: u8,
}

const NOWHERE: u8 = 0;
const ENCODED: u8 = 1;
const DECODED: u8 = 2;

/// What happens then. A type's `Serialize` has nothing but this to know it by: so there is one
/// test.
static FAULT: Mutex<Option<Arc<Fault>>> = Mutex::new(None);

struct Fault {
    does: &'static str,
    called: AtomicU64,
    gate: Mutex<Receiver<()>>,
    other: RemoteAddress<Target>,
}

fn goes_off() {
    let fault = FAULT.lock().unwrap().clone().unwrap();
    fault.called.fetch_add(1, Ordering::SeqCst);
    match fault.does {
        PANICS => std::panic::resume_unwind(Box::new("on purpose")),
        STAYS => _ = fault.gate.lock().unwrap().recv(),
        _ => fault.other.send(Charge { at: NOWHERE }).unwrap(),
    }
}

impl Serialize for Charge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.at == ENCODED {
            goes_off();
        }
        self.at.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Charge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let at = u8::deserialize(deserializer)?;
        if at == DECODED {
            goes_off();
        }
        Ok(Charge { at })
    }
}

/// Counts what it is sent, and answers with what the request says.
struct Target {
    seen: Arc<AtomicU64>,
}

enum Msg {
    Charge,
    Ask(u8, Reply<Charge>),
}

impl Actor for Target {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _: &mut Context<'_, Self>) {
        match msg {
            Msg::Charge => _ = self.seen.fetch_add(1, Ordering::SeqCst),
            Msg::Ask(at, reply) => _ = reply.send(Charge { at }),
        }
    }
}

impl RemoteActor for Target {
    const KIND: &'static str = "test.target";
    type Message = Charge;
    type Request = u8;
    type Answer = Charge;

    fn message(_: Charge) -> Msg {
        Msg::Charge
    }

    fn request(at: u8, reply: Reply<Charge>) -> Msg {
        Msg::Ask(at, reply)
    }
}

/// Sends a charge when it is told to, or when it ends.
struct Shooter {
    to: RemoteAddress<Target>,
    at_end: bool,
    /// Whether it had it back.
    told: Sender<bool>,
}

impl Shooter {
    fn fire(&self) {
        let sent = self.to.send(Charge { at: ENCODED });
        let _ = self.told.send(matches!(sent, Err(RemoteSendError::Codec(Charge { .. }, _))));
    }
}

impl Actor for Shooter {
    type Msg = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
        if !self.at_end {
            self.fire();
        }
    }

    fn stopped(&mut self, _: &mut Context<'_, Self>, _: &StopReason) {
        if self.at_end {
            self.fire();
        }
    }
}

/// Keeps its worker until its system drains: then it takes nothing from outside.
struct Hold(Sender<()>);

struct Canary;

impl Actor for Canary {
    type Msg = ();
    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
}

impl Actor for Hold {
    type Msg = Address<Canary>;

    fn handle(&mut self, canary: Address<Canary>, _: &mut Context<'_, Self>) {
        self.0.send(()).unwrap();
        let ends = thread::spawn(move || {
            while canary.send(()).is_ok() {
                thread::yield_now();
            }
        });
        ends.join().unwrap();
    }
}

struct Host {
    system: Arc<System>,
    node: Node,
    seen: Arc<AtomicU64>,
    _target: Address<Target>,
}

fn find(from: &Host, to: u32) -> RemoteAddress<Target> {
    from.node.find::<Target>(NodeId(to), "target", LONG).wait().unwrap()
}

impl Host {
    fn new(network: &Network, n: u32) -> Self {
        let fabric = network.node(NodeId(n));
        let system = Arc::new(System::builder().workers(1).build().unwrap());
        // On a busy machine a thread may not run for seconds: that is no death here.
        let link = LinkConfig {
            heartbeat_ns: 10_000_000,
            down_after_ns: 240_000_000_000,
            ..LinkConfig::default()
        };
        let config = NodeConfig { link, linger: Duration::ZERO, ..NodeConfig::default() };
        let node = Node::start(system.handle(), config, move || Ok(fabric)).unwrap();
        let seen = Arc::new(AtomicU64::new(0));
        let target = system.spawn(Target { seen: seen.clone() });
        node.export("target", &target).unwrap();
        Host { system, node, seen, _target: target }
    }

    /// Frames of the other node's that an actor here has been given.
    fn arrived(&self) -> u64 {
        // Figures are published now and then: these are of after this call.
        let said = |n: &Node| n.stats().peers[0].link.control;
        for _ in 0..2 {
            let before = said(&self.node);
            while said(&self.node) == before {
                thread::yield_now();
            }
        }
        self.node.stats().peers[0].link.delivered
    }
}

/// Two nodes, one of which meets a charge.
struct Cell {
    hosts: [Host; 2],
    callback: &'static str,
    fault: Arc<Fault>,
    to: RemoteAddress<Target>,
    told: (Sender<bool>, Receiver<bool>),
    answer: Option<RemoteAnswer<Charge>>,
    release: Option<Sender<()>>,
}

impl Cell {
    fn new(callback: &'static str, does: &'static str) -> Self {
        let network = Network::new();
        let hosts = [0, 1].map(|n| Host::new(&network, n));
        let [to, back] = [find(&hosts[0], 1), find(&hosts[1], 0)];
        let (release, gate) = channel();
        let is_first = matches!(callback, MESSAGE_ENCODED | ANSWER_DECODED);
        let fault = Arc::new(Fault {
            does,
            called: AtomicU64::new(0),
            gate: Mutex::new(gate),
            other: if is_first { to.clone() } else { back },
        });
        *FAULT.lock().unwrap() = Some(fault.clone());
        let release = Some(release);
        Cell { hosts, callback, fault, to, told: channel(), answer: None, release }
    }

    /// The one whose system meets it, and the other one.
    fn sides(&self) -> (&Host, &Host) {
        let [first, second] = &self.hosts;
        match self.callback {
            MESSAGE_ENCODED | ANSWER_DECODED => (first, second),
            _ => (second, first),
        }
    }

    fn was_called(&self) -> bool {
        self.fault.called.load(Ordering::SeqCst) > 0
    }

    fn trigger(&mut self, at_end: bool) {
        match self.callback {
            MESSAGE_ENCODED => {
                let shooter = Shooter { to: self.to.clone(), at_end, told: self.told.0.clone() };
                let shooter = self.hosts[0].system.spawn(shooter);
                shooter.tell(());
                // Nobody holds its address else: it would end of itself.
                std::mem::forget(shooter);
            }
            MESSAGE_DECODED => self.to.send(Charge { at: DECODED }).unwrap(),
            ANSWER_ENCODED => self.answer = Some(self.to.ask(ENCODED, LONG)),
            _ => self.answer = Some(self.to.ask(DECODED, LONG)),
        }
    }

    fn running(&mut self) -> ShutdownReport {
        self.trigger(false);
        while !self.was_called() {
            thread::yield_now();
        }
        let how = match self.fault.does {
            STAYS => Shutdown::DrainWithin(Duration::ZERO),
            _ => Shutdown::Drain,
        };
        self.sides().0.system.shutdown(how)
    }

    /// What it meets lies in a mailbox when the system is to drain.
    fn draining(&mut self) -> ShutdownReport {
        let system = self.sides().0.system.clone();
        let (holding, held) = channel();
        let before = self.sides().0.arrived();
        let (canary, hold) = (system.spawn(Canary), system.spawn(Hold(holding)));
        hold.tell(canary);
        held.recv().unwrap();
        self.trigger(false);
        if self.callback != MESSAGE_ENCODED {
            while self.sides().0.arrived() == before {
                thread::yield_now();
            }
        }
        match self.fault.does {
            STAYS => self.give_up(Shutdown::DrainWithin(LONG)),
            _ => system.shutdown(Shutdown::Drain),
        }
    }

    /// Only who ends sends something then.
    fn dropping(&mut self) -> ShutdownReport {
        self.trigger(true);
        let system = self.sides().0.system.clone();
        match self.fault.does {
            STAYS => self.give_up(Shutdown::Drop),
            _ => system.shutdown(Shutdown::Drop),
        }
    }

    fn give_up(&self, how: Shutdown) -> ShutdownReport {
        let system = self.sides().0.system.clone();
        let ends = thread::spawn({
            let system = system.clone();
            move || system.shutdown(how)
        });
        while !self.was_called() && !ends.is_finished() {
            thread::yield_now();
        }
        system.shutdown(Shutdown::DrainWithin(Duration::ZERO));
        ends.join().unwrap()
    }

    /// What has become of it.
    fn outcome(&mut self, phase: &str) -> &'static str {
        let report = match phase {
            "running" => self.running(),
            "draining" => self.draining(),
            _ => self.dropping(),
        };
        drop(self.release.take());
        if !self.was_called() {
            return NOT_CALLED;
        }
        if !report.stuck.is_empty() {
            return GIVEN_UP;
        }
        let (here, there) = self.sides();
        if self.fault.does == RE_ENTERS {
            // What it has sent arrives; beside it, what it was called for may.
            while there.seen.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            return QUEUED;
        }
        let is_counted = here.node.stats().not_understood == 1;
        let is_told = match self.answer.take() {
            Some(answer) => answer.wait() == Err(RemoteAskError::NotUnderstood),
            None => self.callback == MESSAGE_ENCODED && self.told.1.recv() == Ok(true),
        };
        match (is_told, is_counted) {
            (true, false) => TOLD,
            (false, true) => COUNTED,
            _ => "lost in silence",
        }
    }
}

/// How often it is called when its system ends so, while what it meets lies in a mailbox.
fn called_at_the_end(callback: &str, how: Shutdown) -> u64 {
    let mut cluster = Cluster::new(9, 2, Faults::default(), reliable());
    let targets = [0, 1].map(|n| {
        let (system, node) = (&cluster.hosts[n].system, &cluster.hosts[n].node);
        let target = system.spawn(Target { seen: Arc::default() });
        node.export("target", &target).unwrap();
        target
    });
    let [to, back] = [(0, 1), (1, 0)].map(|(from, to)| {
        let found = cluster.hosts[from].node.lookup::<Target>(NodeId(to), "target", LIMIT);
        cluster.wait(found).unwrap()
    });
    // It would not stay for long.
    let gate = Mutex::new(channel().1);
    let called = AtomicU64::new(0);
    let fault = Arc::new(Fault { does: STAYS, called, gate, other: back });
    *FAULT.lock().unwrap() = Some(fault.clone());
    cluster.is_busy = true;
    let (here, there, _answer) = match callback {
        MESSAGE_DECODED => {
            to.send(Charge { at: DECODED }).unwrap();
            (1, 0, None)
        }
        ANSWER_ENCODED => (1, 0, Some(to.ask(ENCODED, LIMIT))),
        _ => (0, 1, Some(to.ask(DECODED, LIMIT))),
    };
    for _ in 0..10 {
        cluster.step();
        cluster.hosts[there].system.run_until_idle();
    }
    assert_eq!(fault.called.load(Ordering::SeqCst), 0);
    cluster.hosts[here].system.shutdown(how);
    drop(targets);
    fault.called.load(Ordering::SeqCst)
}

fn outcome(callback: &'static str, does: &'static str, phase: &str) -> &'static str {
    if phase != "dropping" || callback == MESSAGE_ENCODED {
        return Cell::new(callback, does).outcome(phase);
    }
    // Its messages are dropped as they are, whatever would become of them.
    let [drained, dropped] =
        [Shutdown::Drain, Shutdown::Drop].map(|how| called_at_the_end(callback, how));
    assert_eq!(drained, 1, "{callback}: nothing has come");
    if dropped == 0 { NOT_CALLED } else { "called" }
}

#[test]
fn each_serializer_that_does_wrong() {
    let mut wrong = Vec::new();
    for (callback, does, expected) in TABLE {
        for (phase, expected) in PHASES.into_iter().zip(expected) {
            let found = outcome(callback, does, phase);
            if found != expected {
                wrong.push(format!("{callback} {does} {phase}: {found}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_table_is_that_of_the_docs() {
    let text = include_str!("../../../../../docs/faults.md");
    let (_, text) = text.split_once("\n## Messages between nodes\n").unwrap();
    let (text, _) = text.split_once("\n## ").unwrap();
    let rows = |line: &&str| line.starts_with("| ") && !line.starts_with("| serializer");
    let told: Vec<&str> = text.lines().filter(rows).collect();
    let own: Vec<String> = TABLE
        .iter()
        .map(|(callback, does, [a, b, c])| format!("| {callback} | {does} | {a} | {b} | {c} |"))
        .collect();
    assert_eq!(told, own);
}
