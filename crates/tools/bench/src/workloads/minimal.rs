//! The least that one could call a runtime of actors: on one thread, a mailbox for each actor, a
//! run queue, and handlers behind a table of functions.
//!
//! It has no threads, no supervision, no timers and no counters; an address is an index, and no
//! actor ever ends. So it says what a message costs at the least, on this machine and in this hour.

use crate::benchmark::{Benchmark, PROBES, RING};
use crate::host::Host;
use crate::workloads::parts::{Rng, rate};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

/// The number of messages that the producer of `count` sends before the counter has its turn.
const BURST: u64 = 256;

/// The runtime.
pub(crate) struct Minimal;

impl Host for Minimal {
    fn run(&mut self, benchmark: Benchmark, size: u64) -> f64 {
        match benchmark {
            Benchmark::Count => count(size),
            Benchmark::Ring => ring(size),
            Benchmark::Probe => probe(size),
            other => unreachable!("it has no {}: see `floor`", other.name()),
        }
    }
}

enum Msg {
    Token(u64),
    Ping(usize),
    Reply,
    Start,
}

trait Handler {
    fn handle(&mut self, msg: Msg, mailboxes: &mut Mailboxes);
}

/// Where messages wait, and whose turn it is.
struct Mailboxes {
    of: Vec<VecDeque<Msg>>,
    ready: VecDeque<usize>,
}

impl Mailboxes {
    fn new(actors: usize) -> Self {
        let of = (0..actors).map(|_| VecDeque::new()).collect();
        Mailboxes { of, ready: VecDeque::new() }
    }

    #[inline]
    fn send(&mut self, to: usize, msg: Msg) {
        let mailbox = &mut self.of[to];
        mailbox.push_back(msg);
        if mailbox.len() == 1 {
            self.ready.push_back(to);
        }
    }

    /// Gives turns until no messages are left.
    fn run(&mut self, actors: &mut [Box<dyn Handler>]) {
        let mut batch = VecDeque::new();
        while let Some(actor) = self.ready.pop_front() {
            std::mem::swap(&mut batch, &mut self.of[actor]);
            while let Some(msg) = batch.pop_front() {
                actors[actor].handle(msg, self);
            }
            // Its memory goes back, unless more has come meanwhile.
            if self.of[actor].is_empty() {
                std::mem::swap(&mut batch, &mut self.of[actor]);
            }
        }
    }
}

struct Counter(u64);

impl Handler for Counter {
    fn handle(&mut self, msg: Msg, _mailboxes: &mut Mailboxes) {
        if let Msg::Token(number) = msg {
            self.0 = self.0.wrapping_add(number);
        }
    }
}

fn count(messages: u64) -> f64 {
    let mut actors: Vec<Box<dyn Handler>> = vec![Box::new(Counter(0))];
    let mut mailboxes = Mailboxes::new(1);
    let start = Instant::now();
    let mut left = messages;
    while left > 0 {
        let burst = left.min(BURST);
        (0..burst).for_each(|number| mailboxes.send(0, Msg::Token(black_box(number))));
        mailboxes.run(&mut actors);
        left -= burst;
    }
    rate(messages, start)
}

struct Node {
    next: usize,
}

impl Handler for Node {
    fn handle(&mut self, msg: Msg, mailboxes: &mut Mailboxes) {
        if let Msg::Token(hops_left @ 1..) = msg {
            mailboxes.send(self.next, Msg::Token(hops_left - 1));
        }
    }
}

fn ring(hops: u64) -> f64 {
    let node = |index| Box::new(Node { next: (index + 1) % RING }) as Box<dyn Handler>;
    let mut actors: Vec<_> = (0..RING).map(node).collect();
    let mut mailboxes = Mailboxes::new(RING);
    let start = Instant::now();
    mailboxes.send(0, Msg::Token(hops));
    mailboxes.run(&mut actors);
    rate(hops, start)
}

struct Probe {
    me: usize,
    rng: Rng,
    left: u64,
}

impl Handler for Probe {
    fn handle(&mut self, msg: Msg, mailboxes: &mut Mailboxes) {
        match msg {
            Msg::Ping(from) => return mailboxes.send(from, Msg::Reply),
            Msg::Reply => {
                self.left -= 1;
                if self.left == 0 {
                    return;
                }
            }
            Msg::Start | Msg::Token(_) => {}
        }
        let other = self.rng.other(PROBES, self.me);
        mailboxes.send(other, Msg::Ping(self.me));
    }
}

fn probe(requests: u64) -> f64 {
    let probe = |me| {
        let rng = Rng::new(me as u64 + 1);
        Box::new(Probe { me, rng, left: requests }) as Box<dyn Handler>
    };
    let mut actors: Vec<_> = (0..PROBES).map(probe).collect();
    let mut mailboxes = Mailboxes::new(PROBES);
    let start = Instant::now();
    (0..PROBES).for_each(|probe| mailboxes.send(probe, Msg::Start));
    mailboxes.run(&mut actors);
    rate(2 * PROBES as u64 * requests, start)
}
