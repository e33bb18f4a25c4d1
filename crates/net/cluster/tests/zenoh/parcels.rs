//! What a process of these tests does with large payloads, besides what [`crate::node`] does: told
//! and said likewise.
//!
//! | told | does | says |
//! |---|---|---|
//! | `take PAGES` | has memory of so many pages for what it sends, and as much for what comes | `takes` |
//! | `parcels TO COUNT` | sends so many numbers, some with a payload, as there is room; fewer if that node goes down | `sent COUNT` or `cut COUNT` |
//! | `prepare TO COUNT` | makes the payloads of the next so many beforehand | `prepared` |
//! | `handled FROM COUNT` | waits until its actor has handled so many of that node's | `there` |
//! | `shut`, `open` | its actor handles nothing, and again all | |
//! | `home COUNT` | waits until what it sends from has room for so many payloads of 100,000 bytes, and nobody else has one of the short ones it has sent | `home` |
//! | `anew NODE` | that node begins anew, with number 0, and so does what it is sent | |

use crate::node::{Gate, say};
use actinium_actor::{Actor, Address, AskError, Context, Mailbox, Reply, SpawnOptions, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::{Node, RemoteActor, RemoteAddress, RemoteSendError};
use actinium_memory::heap::{Arena, Heap, Payload};
use std::collections::{BTreeMap, VecDeque};
use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(600);
/// Messages that its actor lets wait. Bounded: else more would come than there is room for.
pub(crate) const MAILBOX: usize = 4;

/// The payload of a number, if it has one: none, some of less than a datagram, just one and just
/// over, of some, and of many; an empty one.
pub(crate) fn len_of(number: u64) -> Option<usize> {
    let vary = number as usize * 7_919;
    match number % 8 {
        0 => Some(100 + vary % 1_000),
        1 => Some((2 << 20) + vary % (1 << 20)),
        3 => Some([64_936, 64_937, 0][number as usize / 8 % 3]),
        4 => Some(200_000 + vary % 100_000),
        6 => Some((3 << 20) - vary % (1 << 20)),
        7 => Some(30_000 + vary % 30_000),
        _ => None,
    }
}

/// The bytes of all payloads before this number.
pub(crate) fn bytes_before(number: u64) -> usize {
    (0..number).filter_map(len_of).sum()
}

/// Bytes that no other number and no other node has, and no other place.
fn fill(from: u32, number: u64, into: &mut [u8]) {
    let mut state = (u64::from(from) << 32 | number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for chunk in into.chunks_mut(8) {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Who sent it, its number, and the hash of its payload, or 0.
type Labelled = (u32, u64, u64);

/// Checks what comes. What is not there was lost: that is for the test to know.
struct Sink {
    gate: Arc<Gate>,
    next: BTreeMap<u32, u64>,
    handled: BTreeMap<u32, u64>,
    /// Of all nodes.
    count: Arc<AtomicU64>,
    waiting: Vec<((u32, u64), Reply<u64>)>,
}

enum Msg {
    Labelled(Labelled, Option<Payload>),
    /// Answers with how many of that node's it has handled, when they are so many.
    When((u32, u64), Reply<u64>),
    /// Another life of that node begins with number 0.
    Anew(u32),
}

impl Actor for Sink {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Labelled((from, number, label), payload) => {
                self.gate.pass();
                let next = self.next.entry(from).or_default();
                let bytes = payload.as_deref();
                let found = (bytes.map(<[u8]>::len), bytes.map_or(0, hash));
                if number < *next || found != (len_of(number), label) {
                    say(&format!("bad: parcel {number} of {from}, {next} was next: {found:?}"));
                }
                *next = number + 1;
                *self.handled.entry(from).or_default() += 1;
                // Relaxed: a count.
                self.count.fetch_add(1, Ordering::Relaxed);
            }
            Msg::When(what, reply) => self.waiting.push((what, reply)),
            Msg::Anew(from) => {
                self.next.remove(&from);
                self.handled.remove(&from);
            }
        }
        let handled = |from: &u32| self.handled.get(from).copied().unwrap_or(0);
        for ((from, _), reply) in self.waiting.extract_if(.., |(it, _)| handled(&it.0) >= it.1) {
            let _ = reply.send(handled(&from));
        }
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.parcels";
    type Message = Labelled;
    type Request = (u32, u64);
    type Answer = u64;
    fn message(labelled: Labelled) -> Msg {
        Msg::Labelled(labelled, None)
    }
    fn request(what: (u32, u64), reply: Reply<u64>) -> Msg {
        Msg::When(what, reply)
    }
    fn with_payload(labelled: Labelled, payload: Payload) -> Result<Msg, (Labelled, Payload)> {
        Ok(Msg::Labelled(labelled, Some(payload)))
    }
}

/// The part of a process.
pub(crate) struct Parcels {
    gate: Arc<Gate>,
    sink: Address<Sink>,
    count: Arc<AtomicU64>,
    arena: Option<Arena>,
    found: BTreeMap<u32, RemoteAddress<Sink>>,
    sent: BTreeMap<u32, u64>,
    /// Payloads of the next numbers.
    prepared: VecDeque<Option<Payload>>,
    /// Of what was sent last.
    held: Vec<Payload>,
}

impl Parcels {
    pub(crate) fn new(system: &System, node: &Node) -> Self {
        let options = SpawnOptions::new().mailbox(Mailbox::Bounded(MAILBOX));
        let (gate, count) = (Arc::new(Gate::default()), Arc::new(AtomicU64::new(0)));
        let own = (gate.clone(), count.clone());
        let sink = move || {
            let (gate, count) = own.clone();
            let (next, handled) = (BTreeMap::new(), BTreeMap::new());
            Sink { gate, next, handled, count, waiting: Vec::new() }
        };
        let sink = system.handle().spawn_with(options, sink).unwrap();
        node.export("parcels", &sink).unwrap();
        let (found, sent) = (BTreeMap::new(), BTreeMap::new());
        Parcels {
            gate,
            sink,
            count,
            arena: None,
            found,
            sent,
            prepared: VecDeque::new(),
            held: Vec::new(),
        }
    }

    /// Whether this was for it.
    pub(crate) fn told(&mut self, node: &Node, words: &[&str]) -> bool {
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words[0] {
            "take" => self.take(node, number(1) as usize),
            "parcels" => self.send(node, number(1) as u32, number(2)),
            "prepare" => {
                let (to, count) = (number(1) as u32, number(2));
                let first = *self.sent.entry(to).or_default();
                let own = node.id().0;
                self.prepared = (first..first + count).map(|it| self.payload(own, it)).collect();
                say("prepared");
            }
            "handled" => {
                let what = (number(1) as u32, number(2));
                // What comes from the other node may have filled its mailbox just now.
                while let Err(error) = self.sink.ask(|reply| Msg::When(what, reply)).wait() {
                    assert!(matches!(error, AskError::Full(_)), "{error}");
                    std::thread::yield_now();
                }
                say("there");
            }
            "shut" => self.gate.set(true),
            "open" => self.gate.set(false),
            "anew" => {
                let from = number(1) as u32;
                self.found.remove(&from);
                self.sent.remove(&from);
                self.sink.send(Msg::Anew(from)).unwrap();
            }
            "home" => self.home(number(1) as usize),
            _ => return false,
        }
        true
    }

    /// How many its actor has handled.
    pub(crate) fn handled(&self) -> u64 {
        // Relaxed: a count.
        self.count.load(Ordering::Relaxed)
    }

    fn take(&mut self, node: &Node, pages: usize) {
        let heap = Heap::leak_plain(2, pages).unwrap();
        node.take_payloads_in(heap.arena(1).unwrap());
        self.arena = heap.arena(0);
        say("takes");
    }

    /// What belongs to a number, when there is room for it.
    fn payload(&mut self, own: u32, number: u64) -> Option<Payload> {
        let arena = self.arena.as_mut().expect("it was told to take payloads");
        let len = len_of(number)?;
        loop {
            match arena.payload_with(len, |into| fill(own, number, into)) {
                Ok(payload) => return Some(payload),
                // Some are still on their way.
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    fn send(&mut self, node: &Node, to: u32, count: u64) {
        let find = || node.find::<Sink>(NodeId(to), "parcels", LIMIT).wait().unwrap();
        let there = self.found.entry(to).or_insert_with(find).clone();
        let mut number = *self.sent.entry(to).or_default();
        let own = node.id().0;
        self.held.clear();
        for sent in 0..count {
            let payload = match self.prepared.pop_front() {
                Some(payload) => payload,
                None => self.payload(own, number),
            };
            // Few of them: the rest is to make room.
            if let Some(payload) = payload.as_ref().filter(|it| it.len() < 64 << 10) {
                self.held.push(payload.clone());
            }
            if !send_one(&there, (own, number), payload) {
                self.found.remove(&to);
                return say(&format!("cut {sent}"));
            }
            number += 1;
            self.sent.insert(to, number);
        }
        say(&format!("sent {count}"));
    }

    fn home(&mut self, count: usize) {
        let arena = self.arena.as_mut().expect("it was told to take payloads");
        while self.held.iter().any(|payload| payload.shares() > 1) {
            std::thread::yield_now();
        }
        self.held.clear();
        let mut all = Vec::new();
        while all.len() < count {
            match arena.payload_with(100_000, |_| {}) {
                Ok(payload) => all.push(payload),
                Err(_) => std::thread::yield_now(),
            }
        }
        say("home");
    }
}

/// False if that node is down.
fn send_one(
    there: &RemoteAddress<Sink>,
    (own, number): (u32, u64),
    payload: Option<Payload>,
) -> bool {
    let Some(mut payload) = payload else {
        loop {
            match there.send((own, number, 0)) {
                Ok(()) => return true,
                Err(RemoteSendError::Full(_)) => std::thread::yield_now(),
                Err(RemoteSendError::NodeDown(_)) => return false,
                Err(error) => panic!("{error}"),
            }
        }
    };
    let label = hash(&payload);
    loop {
        match there.send_with_payload((own, number, label), payload) {
            Ok(()) => return true,
            Err(RemoteSendError::Full((_, back))) => payload = back,
            Err(RemoteSendError::NodeDown(_)) => return false,
            Err(error) => panic!("{error}"),
        }
        std::thread::yield_now();
    }
}
