//! Tokens that run round a ring.

use crate::benchmark::RING;
use crate::workloads::parts::rate;
use actinium::{Actor, Address, Context};
use std::sync::mpsc::Sender;
use std::time::Instant;

pub(super) fn conductor(tokens: u64, hops: u64, result: Sender<f64>) -> Conductor {
    Conductor { tokens, hops, start: Instant::now(), left: tokens, nodes: Vec::new(), result }
}

pub(super) struct Conductor {
    tokens: u64,
    hops: u64,
    start: Instant,
    left: u64,
    nodes: Vec<Address<Node>>,
    result: Sender<f64>,
}

pub(super) enum Progress {
    /// The ring is closed.
    Closed,
    /// A token has run its hops.
    Arrived,
}

impl Actor for Conductor {
    type Msg = Progress;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let node = |_| ctx.spawn_detached(Node { next: None, end: ctx.address() });
        self.nodes = (0..RING).map(node).collect();
        for (index, node) in self.nodes.iter().enumerate() {
            let next = self.nodes[(index + 1) % RING].clone();
            node.send(Msg::Next(next)).expect("the node waits");
        }
        self.left = RING as u64;
    }

    fn handle(&mut self, progress: Progress, ctx: &mut Context<'_, Self>) {
        self.left -= 1;
        match progress {
            Progress::Closed if self.left == 0 => {
                self.left = self.tokens;
                self.start = Instant::now();
                for token in 0..self.tokens as usize {
                    let node = &self.nodes[token * RING / self.tokens as usize];
                    node.send(Msg::Token(self.hops)).expect("the node waits");
                }
            }
            Progress::Arrived if self.left == 0 => {
                // Whoever asked for it may have gone.
                let _ = self.result.send(rate(self.tokens * self.hops, self.start));
                // Each node has the address of the next: they would keep each other alive.
                self.nodes.iter().for_each(Address::stop);
                ctx.stop();
            }
            Progress::Closed | Progress::Arrived => {}
        }
    }
}

pub(super) struct Node {
    next: Option<Address<Node>>,
    end: Address<Conductor>,
}

pub(super) enum Msg {
    Next(Address<Node>),
    Token(u64),
}

impl Actor for Node {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Next(next) => {
                self.next = Some(next);
                self.end.send(Progress::Closed).expect("the end is awaited");
            }
            Msg::Token(0) => self.end.send(Progress::Arrived).expect("the end is awaited"),
            Msg::Token(hops_left) => {
                let next = self.next.as_ref().expect("the ring is closed");
                next.send(Msg::Token(hops_left - 1)).expect("the next node waits");
            }
        }
    }
}
