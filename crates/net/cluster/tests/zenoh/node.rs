//! What a process of these tests does that is a node: as it is told, line by line, and it says what
//! happens, line by line.
//!
//! | told | does | says |
//! |---|---|---|
//! | `send TO COUNT BYTES` | sends so many messages of so many bytes | `sent COUNT` |
//! | `fill TO BYTES` | sends until it has been refused often | `full COUNT` |
//! | `when FROM NUMBER` | waits until the last message before that number has come | `there` |
//! | `stall`, `go` | its actor handles nothing, and again all | |
//! | `forget TO` | looks its actor up again | |
//! | `names QUORUM` | has its part in the cluster's names | `named` |
//! | `claim NAME`, `gain NAME` | gives an actor of its own the name: tries once, or until it has it | `claimed`, `refused WHY` |
//! | `who NAME`, `seek NAME` | asks who has the name: once, or until somebody has | `who NODE`, `nobody WHY` |
//! | `clerk [NEXT]` | answers letters, or hands them on to the clerk of another node | `open` |
//! | `letter TO NUMBER` | writes to a clerk, and waits for the answer | `answered NUMBER` |
//! | `figures PEER` | | `figures NAME=NUMBER ..` |
//! | what [`crate::parcels`] says | | |
//! | `leave` | leaves | `left` |

use crate::letters;
use crate::parcels::Parcels;
use crate::setting::Setting;
use actinium_actor::{Actor, Address, Context, Policy, Reply, System};
use actinium_cluster::fabric::zenoh::{Zenoh, tell_notices};
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::{
    Names, NamesConfig, Node, NodeEvent, RemoteActor, RemoteAddress, RemoteAskError,
    RemoteSendError,
};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(600);
/// A request about a name may go to a node that is being cut off.
const NAME_LIMIT: Duration = Duration::from_secs(60);

/// Who sent it, which of its messages it is, and bytes that follow from that.
type Numbered = (u32, u64, Vec<u8>);

/// Which no other message has, in no part.
fn bytes(from: u32, number: u64, len: usize) -> Vec<u8> {
    let mut bytes = (number << 8 | u64::from(from)).to_le_bytes().repeat(len.div_ceil(8));
    bytes.truncate(len);
    bytes
}

/// Closed, it keeps the actor.
#[derive(Default)]
pub(crate) struct Gate(Mutex<bool>, Condvar);

impl Gate {
    pub(crate) fn set(&self, closed: bool) {
        *self.0.lock().unwrap() = closed;
        self.1.notify_all();
    }

    pub(crate) fn pass(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |closed| *closed).unwrap());
    }
}

/// Checks what comes.
struct Counter {
    gate: Arc<Gate>,
    next: BTreeMap<u32, u64>,
    received: BTreeMap<u32, u64>,
    waiting: Vec<((u32, u64), Reply<u64>)>,
}

enum Msg {
    Numbered(Numbered),
    /// Answers with how many messages of the sender have come when all before the number have, or
    /// are lost.
    When((u32, u64), Reply<u64>),
}

impl Counter {
    fn new(gate: &Arc<Gate>) -> Self {
        let (next, received) = (BTreeMap::new(), BTreeMap::new());
        Counter { gate: gate.clone(), next, received, waiting: Vec::new() }
    }
}

impl Actor for Counter {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        self.gate.pass();
        match msg {
            Msg::Numbered((from, number, content)) => {
                let next = self.next.entry(from).or_default();
                if number < *next || content != bytes(from, number, content.len()) {
                    say(&format!("bad: message {number} of {from}, {next} was next"));
                }
                *next = number + 1;
                *self.received.entry(from).or_default() += 1;
            }
            Msg::When(what, reply) => self.waiting.push((what, reply)),
        }
        let (next, received) = (&self.next, self.received.values().sum::<u64>());
        let is_due = |(from, number): &(u32, u64)| next.get(from).copied().unwrap_or(0) >= *number;
        for (_, reply) in self.waiting.extract_if(.., |(what, _)| is_due(what)) {
            let _ = reply.send(received);
        }
    }
}

impl RemoteActor for Counter {
    const KIND: &'static str = "test.counter";
    type Message = Numbered;
    type Request = (u32, u64);
    type Answer = u64;
    fn message(numbered: Numbered) -> Msg {
        Msg::Numbered(numbered)
    }
    fn request(what: (u32, u64), reply: Reply<u64>) -> Msg {
        Msg::When(what, reply)
    }
}

/// One line, whole.
pub(crate) fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).unwrap();
}

struct Child {
    system: System,
    node: Node,
    counter: Address<Counter>,
    gate: Arc<Gate>,
    names: Option<Names>,
    found: BTreeMap<u32, RemoteAddress<Counter>>,
    sent: BTreeMap<u32, u64>,
    /// Messages that the links say are lost: here, and there.
    lost: Arc<AtomicU64>,
    lost_there: Arc<AtomicU64>,
    /// Payloads of others that did not come.
    payloads_lost: Arc<AtomicU64>,
    parcels: Parcels,
}

/// Plays its part until it is told to leave, or nobody tells it anything any more.
pub(crate) fn play(setting: &Setting) {
    assert!(tell_notices(|line| say(&format!("notice {line}"))));
    let config = setting.zenoh.clone();
    let lines = std::io::stdin().lock().lines();
    drive(setting, lines.map(Result::unwrap), move || Zenoh::start(&config));
}

/// The same on any fabric, told by whomever.
// tidy: functions: a loop over commands, one arm for each
pub(crate) fn drive<F: Fabric + 'static>(
    setting: &Setting,
    lines: impl Iterator<Item = String>,
    fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
) {
    // Of several workers no one keeps what another could do, whatever an actor does to it.
    let policy = if setting.workers > 1 { Policy::Pool } else { Policy::default() };
    let system = System::builder().workers(setting.workers).policy(policy).build().unwrap();
    let node = match Node::start(system.handle(), setting.node.clone(), fabric) {
        Ok(node) => node,
        Err(error) => return say(&format!("failed: {error}")),
    };
    let (lost, lost_there) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let payloads_lost = Arc::new(AtomicU64::new(0));
    let (here, there, payloads) = (lost.clone(), lost_there.clone(), payloads_lost.clone());
    node.on_event(move |event| {
        let (count, lost) = match event {
            NodeEvent::Lost(_, lost) => (&here, lost.messages),
            NodeEvent::LostThere(_, lost) => (&there, lost.messages),
            NodeEvent::PayloadLost { .. } => (&payloads, 1),
            _ => (&here, 0),
        };
        // Relaxed: counts that are looked at when all has come.
        count.fetch_add(lost, Ordering::Relaxed);
        say(&format!("event {event:?}"));
    });
    let gate = Arc::new(Gate::default());
    let counter = system.spawn(Counter::new(&gate));
    node.export("counter", &counter).unwrap();
    let parcels = Parcels::new(&system, &node);
    let (names, found, sent) = (None, BTreeMap::new(), BTreeMap::new());
    let mut child = Child {
        system,
        node,
        counter,
        gate,
        names,
        found,
        sent,
        lost,
        lost_there,
        payloads_lost,
        parcels,
    };
    say("ready");
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words[0] {
            "send" => child.send(number(1) as u32, number(2), number(3) as usize),
            "fill" => child.fill(number(1) as u32, number(2) as usize),
            "when" => child.when(number(1) as u32, number(2)),
            "forget" => drop(child.found.remove(&(number(1) as u32))),
            "stall" => child.gate.set(true),
            "go" => child.gate.set(false),
            "names" => {
                let quorum = number(1) as usize;
                child.names = Some(child.node.names(NamesConfig { quorum }).unwrap());
                say("named");
            }
            "claim" => say(&child.claim(words[1]).unwrap_or_else(|why| format!("refused {why:?}"))),
            "gain" => say(&until(|| child.claim(words[1]))),
            "who" => say(&child.who(words[1]).unwrap_or_else(|why| format!("nobody {why:?}"))),
            "seek" => say(&until(|| child.who(words[1]))),
            "clerk" => {
                let next = words.get(1).map(|_| NodeId(number(1) as u32));
                letters::open(&child.system, &child.node, next);
                say("open");
            }
            "letter" => {
                let to = NodeId(number(1) as u32);
                let answer = letters::write(&child.system, &child.node, to, number(2));
                say(&format!("answered {answer}"));
            }
            "figures" => child.figures(number(1) as u32),
            "leave" => break,
            _ if child.parcels.told(&child.node, &words) => {}
            other => panic!("told to {other}"),
        }
    }
    child.gate.set(false);
    child.node.leave();
    say("left");
}

/// Again and again.
fn until<R>(attempt: impl Fn() -> Result<R, RemoteAskError>) -> R {
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(_) => std::thread::yield_now(),
        }
    }
}

impl Child {
    fn claim(&self, name: &str) -> Result<String, RemoteAskError> {
        let names = self.names.as_ref().unwrap();
        // Whoever loses a name is stopped.
        let owner = self.system.spawn(Counter::new(&self.gate));
        names.claim(name, &owner, NAME_LIMIT).wait().map(|()| "claimed".to_owned())
    }

    fn who(&self, name: &str) -> Result<String, RemoteAskError> {
        let names = self.names.as_ref().unwrap();
        let found = names.find::<Counter>(name, NAME_LIMIT).wait()?;
        Ok(format!("who {}", found.node().0))
    }

    fn there(&mut self, to: u32) -> RemoteAddress<Counter> {
        let node = &self.node;
        let find = || loop {
            match node.find::<Counter>(NodeId(to), "counter", LIMIT).wait() {
                Ok(there) => return there,
                // It is not there yet, or not there again.
                Err(RemoteAskError::NodeDown(_)) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        self.found.entry(to).or_insert_with(find).clone()
    }

    /// The next message for a node; false if that was refused for want of room.
    fn try_next(&mut self, there: &RemoteAddress<Counter>, to: u32, len: usize) -> bool {
        let own = self.node.id().0;
        let number = self.sent.entry(to).or_default();
        match there.send((own, *number, bytes(own, *number, len))) {
            Ok(()) => {
                *number += 1;
                true
            }
            Err(RemoteSendError::Full(_)) => false,
            Err(error) => {
                say(&format!("refused {error}"));
                self.found.remove(&to);
                false
            }
        }
    }

    fn send(&mut self, to: u32, count: u64, len: usize) {
        let there = self.there(to);
        for _ in 0..count {
            while !self.try_next(&there, to, len) {
                if !self.found.contains_key(&to) {
                    return;
                }
                std::thread::yield_now();
            }
        }
        say(&format!("sent {count}"));
    }

    /// Until there has long been no room.
    fn fill(&mut self, to: u32, len: usize) {
        let there = self.there(to);
        let (mut count, mut refused) = (0, 0);
        while refused < 20_000 && self.found.contains_key(&to) {
            if self.try_next(&there, to, len) {
                (count, refused) = (count + 1, 0);
            } else {
                refused += 1;
                std::thread::yield_now();
            }
        }
        say(&format!("full {count}"));
    }

    fn when(&mut self, from: u32, number: u64) {
        let what = (from, number);
        self.counter.ask(|reply| Msg::When(what, reply)).wait().unwrap();
        say("there");
    }

    fn figures(&mut self, peer: u32) {
        let received = self.counter.ask(|reply| Msg::When((0, 0), reply)).wait().unwrap();
        let parcels = self.parcels.handled();
        let stats = self.node.stats();
        let found = stats.peers.iter().find(|it| it.node.0 == peer);
        let link = found.map(|it| it.link).unwrap_or_default();
        let left = found.map(|it| it.aggregator).unwrap_or_default();
        let payloads =
            found.map_or((0, 0), |it| (it.payload_bytes_waiting, it.payload_bytes_ahead));
        // Relaxed: see where they are counted.
        let [lost, lost_there, payloads_lost] = [&self.lost, &self.lost_there, &self.payloads_lost]
            .map(|it| it.load(Ordering::Relaxed));
        let memory = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = memory.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        say(&format!(
            "figures received={received} lost={lost} lost_there={lost_there} duplicates={} garbage={} \
             resent={} up={} peak_kib={peak} parcels={parcels} payloads_lost={payloads_lost} \
             waiting={} ahead={} left={} left_frames={} delivered_frames={} handed_on={}",
            link.duplicates,
            link.garbage,
            link.resent,
            self.node.nodes_up().len(),
            payloads.0,
            payloads.1,
            left.messages,
            left.frames,
            link.delivered,
            stats.handed_on,
        ));
    }
}
