//! The actor that keeps the shared queue, on the first node.

use super::guest::{Guest, Inbox, work};
use super::queue::{Ended, Queue};
use super::words::{Down, Up};
use crate::events::written::{Written, sum};
use crate::nodes::MEETING;
use crate::nodes::pieces::Piece;
use crate::output::note;
use actinium::prelude::*;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::{Node, RemoteActor, RemoteAddress, RemoteAskError, RemoteSendError};
use actinium_events::Feeder;
use actinium_events::replay::part::{Given, Sights};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// What its guests are called.
pub const GUEST: &str = "actinium.events.guest";
/// Most failures that are kept.
const FAILURES_MAX: usize = 100;

/// A module's failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// On which node.
    pub node: u32,
    /// The event.
    pub event: u64,
    /// The module's label.
    pub module: String,
    /// What it said.
    pub cause: String,
}

/// A node that went down before it had told its figures.
#[derive(Clone, Debug, Serialize)]
pub struct Gone {
    /// Which.
    pub node: u32,
    /// Why.
    pub why: String,
    /// So many of its events were given to others.
    pub given_again: u64,
}

/// What came of the queue.
#[derive(Debug, Default)]
pub struct Over {
    /// Events that went through.
    pub done: u64,
    /// Events that failed.
    pub failed: u64,
    /// Events that were given to a node and given up.
    pub abandoned: u64,
    /// Whether somebody wanted it to stop.
    pub interrupted: bool,
    /// From when the first event was given to a node until the outputs of the last had run.
    pub elapsed: Duration,
    /// The first failures.
    pub failures: Vec<Failed>,
    /// Events that each node had, for those that are gone, too.
    pub ran: BTreeMap<u32, u64>,
    /// Who will tell figures.
    pub members: Vec<u32>,
    /// Mixes what the ends of all events' paths saw.
    pub checksum: u64,
    /// A line for each event, if that was asked for.
    pub written: Option<Written>,
}

/// What the host tells the thread that waits for it.
#[derive(Debug)]
pub enum Told {
    /// All events are over.
    Over(Box<Over>),
    /// A node's figures.
    Figures(u32, Vec<u8>),
    /// A node is gone.
    Gone(Gone),
    /// A node that had told its figures, or was refused, is gone.
    Left(u32),
}

/// How events get their outputs run.
#[derive(Debug)]
pub enum Writer {
    /// By a processor of this node's, which runs these modules.
    Processor(Arc<Inbox<Given>>, Feeder, BTreeSet<u32>),
    /// There are none.
    None,
}

/// What runs here, and for whom.
#[derive(Debug)]
pub struct Task {
    /// Events in all.
    pub events: u64,
    /// Whether outputs run in the order of events.
    pub in_order: bool,
    /// Whether a failure is the end.
    pub stops_at_failure: bool,
    /// What all nodes are asked for: a digest, and the same for people.
    pub plan: (u64, String),
    /// How many nodes there are from the start.
    pub nodes: u32,
    /// How long it waits for these before it begins with those that are there.
    pub patience: Duration,
    /// Events that are over.
    pub progress: Arc<AtomicU64>,
}

/// What the host understands.
#[derive(Debug)]
pub enum Msg {
    /// From a node.
    Up(Up),
    /// This node's own actor.
    Own(Address<Guest>),
    /// Who has joined was found, or not.
    Met(Joining, Result<RemoteAddress<Guest>, RemoteAskError>),
    /// A node is down: why.
    NodeDown(u32, String),
    /// An event's outputs have run: what they saw. Or one of them failed: which, and what it said.
    Written(u64, Result<Sights, (String, String)>),
    /// There is room for what a node did not take.
    Room(u32),
    /// Those who are not there by now are not waited for.
    Begin,
    /// Nobody waits for nodes any more.
    EndNow,
    /// A node's figures.
    Piece(Piece, Reply<()>),
}

/// A node that wants to take part.
#[derive(Debug)]
pub struct Joining {
    node: u32,
    /// Which of all that ever wanted to.
    serial: u64,
    slots: u64,
    /// Why it may not.
    refusal: Option<String>,
}

#[derive(Debug)]
enum Target {
    Here(Address<Guest>),
    There(RemoteAddress<Guest>),
}

#[derive(Debug)]
struct Known {
    target: Target,
    backlog: VecDeque<Down>,
    waits_for_room: bool,
    /// Pieces of its figures.
    figures: Vec<u8>,
}

/// See the module.
pub struct Host {
    node: Arc<Node>,
    task: Task,
    queue: Queue,
    writer: Writer,
    /// Those that take part, and those that are refused until they are gone.
    known: BTreeMap<u32, Known>,
    /// Nodes that are looked for, each with its serial: if one goes down meanwhile, what is found is of no use.
    joining: BTreeMap<u32, u64>,
    joins: u64,
    /// Nodes that were there, at least for a while.
    seen: BTreeSet<u32>,
    begun: Option<Instant>,
    over: Over,
    is_over: bool,
    /// What modules other than outputs saw of events whose outputs run.
    sums: BTreeMap<u64, u64>,
    tell: Sender<Told>,
}

impl Host {
    /// Of this task.
    pub fn new(
        node: Arc<Node>,
        task: Task,
        writer: Writer,
        written: Option<Written>,
        tell: Sender<Told>,
    ) -> Self {
        let queue = Queue::new(task.events, task.in_order);
        Host {
            node,
            task,
            queue,
            writer,
            known: BTreeMap::new(),
            joining: BTreeMap::new(),
            joins: 0,
            seen: BTreeSet::new(),
            begun: None,
            over: Over { written, ..Over::default() },
            is_over: false,
            sums: BTreeMap::new(),
            tell,
        }
    }

    fn up(&mut self, up: Up, ctx: &Context<'_, Self>) {
        match up {
            Up::Join { node, slots, digest, says } => {
                let own = &self.task.plan;
                let refusal = (digest != own.0).then(|| {
                    format!(
                        "node {node} was asked for something else than node {}: node {node} for {says} (digest {digest:016x}); node {} for {} (digest {:016x})",
                        self.node.id().0, self.node.id().0, own.1, own.0
                    )
                });
                if let Some(why) = &refusal {
                    note(why);
                }
                if node == self.node.id().0 {
                    self.queue.join(node, slots);
                    self.met(node);
                } else {
                    self.joins += 1;
                    let serial = self.joins;
                    self.joining.insert(node, serial);
                    let joining = Joining { node, serial, slots, refusal };
                    let found = self.node.find::<Guest>(NodeId(node), GUEST, MEETING);
                    ctx.pipe(found, move |found| Msg::Met(joining, found));
                }
            }
            Up::Ran { node, number, sights } => {
                if self.queue.ended(node, number, Ended::Ran(sights)) {
                    *self.over.ran.entry(node).or_default() += 1;
                }
            }
            Up::Failed { node, number, module, cause } => {
                if self.queue.ended(node, number, Ended::Failed) {
                    self.failed(Failed { node, event: number, module, cause });
                }
            }
            Up::Back { node, numbers } => {
                for number in numbers {
                    self.queue.ended(node, number, Ended::Left);
                }
            }
            Up::Stop => {
                self.over.interrupted = true;
                self.stop();
            }
        }
    }

    fn stop(&mut self) {
        if !self.queue.is_stopped() {
            self.queue.stop();
            self.say_to_all(&Down::Stop);
        }
    }

    fn failed(&mut self, failed: Failed) {
        if self.over.failures.len() < FAILURES_MAX {
            self.over.failures.push(failed);
        }
        if self.task.stops_at_failure {
            self.stop();
        }
    }

    /// It is there now. All who were to be there from the start begin together.
    fn met(&mut self, node: u32) {
        self.seen.insert(node);
        if self.begun.is_some() && self.queue.has(node) {
            note(&format!("node {node} has come, and gets events"));
        }
        if self.begun.is_none() && (0..self.task.nodes).all(|node| self.seen.contains(&node)) {
            self.begun = Some(Instant::now());
        }
    }

    fn begin(&mut self) {
        if self.begun.is_none() {
            let missing = (0..self.task.nodes).filter(|node| !self.seen.contains(node));
            let missing: Vec<String> = missing.map(|node| node.to_string()).collect();
            note(&format!(
                "begins without node {}: who comes later gets events then",
                missing.join(", ")
            ));
            self.begun = Some(Instant::now());
        }
    }

    /// A node that wants to take part was found, or not.
    fn found(&mut self, it: Joining, found: Result<RemoteAddress<Guest>, RemoteAskError>) {
        let node = it.node;
        if self.joining.get(&node) != Some(&it.serial) {
            return;
        }
        self.joining.remove(&node);
        match found {
            Err(error) => return note(&format!("node {node}: {error}")),
            Ok(address) => self.know(node, Target::There(address)),
        }
        match (it.refusal, self.known.get_mut(&node)) {
            (Some(why), Some(known)) => known.backlog.push_back(Down::Refused(why)),
            (None, Some(known)) if self.is_over => known.backlog.push_back(Down::End),
            _ => self.queue.join(node, it.slots),
        }
        self.met(node);
    }

    fn know(&mut self, node: u32, target: Target) {
        let known =
            Known { target, backlog: VecDeque::new(), waits_for_room: false, figures: Vec::new() };
        self.known.insert(node, known);
    }

    fn node_down(&mut self, node: u32, why: String) {
        self.joining.remove(&node);
        if self.known.remove(&node).is_none() {
            return;
        }
        if !self.queue.has(node) {
            // It has told its figures, or was refused.
            return drop(self.tell.send(Told::Left(node)));
        }
        let given_again = self.queue.leave(node);
        let line = match self.queue.is_stopped() {
            true => format!("node {node} is down: {why}; {given_again} of its events are given up"),
            false => {
                format!("node {node} is down: {why}; {given_again} of its events go to others")
            }
        };
        note(&line);
        let _ = self.tell.send(Told::Gone(Gone { node, why, given_again }));
    }

    fn piece(&mut self, piece: Piece, reply: Reply<()>) {
        let Piece { node, bytes, is_last } = piece;
        if let Some(known) = self.known.get_mut(&node) {
            known.figures.extend_from_slice(&bytes);
            if is_last {
                let figures = std::mem::take(&mut known.figures);
                // What it has not run by now it will not.
                self.queue.leave(node);
                let _ = self.tell.send(Told::Figures(node, figures));
            }
        }
        // Who asked may be gone.
        let _ = reply.send(());
    }

    fn say_to_all(&mut self, down: &Down) {
        for known in self.known.values_mut() {
            known.backlog.push_back(down.clone());
        }
    }

    /// An event is done, with all its outputs, which saw this.
    fn written(&mut self, number: u64, sights: &Sights) {
        let checksum = self.sums.remove(&number).unwrap_or(0).wrapping_add(sum(sights));
        self.over.checksum = self.over.checksum.wrapping_add(checksum);
        if let Some(written) = &mut self.over.written {
            written.line(number, checksum);
        }
        self.queue.written(number, false);
    }

    /// All that follows from what has changed.
    fn go_on(&mut self, ctx: &Context<'_, Self>) {
        if self.begun.is_some() {
            for (node, numbers) in self.queue.hand_out() {
                if let Some(known) = self.known.get_mut(&node) {
                    known.backlog.extend(work(&numbers));
                }
            }
        }
        let ready = self.queue.take_ready();
        match &self.writer {
            Writer::Processor(inbox, feeder, outputs) if !ready.is_empty() => {
                for given in &ready {
                    let others = given.sights.iter().filter(|(of, _)| !outputs.contains(of));
                    self.sums.insert(given.number, sum(&others.copied().collect()));
                }
                inbox.push(ready);
                feeder.wake();
            }
            Writer::Processor(..) => {}
            Writer::None if !ready.is_empty() => {
                ready.into_iter().for_each(|given| self.written(given.number, &given.sights));
                // There is room for others now.
                return self.go_on(ctx);
            }
            Writer::None => {}
        }
        let (done, failed) = self.queue.counts();
        // Relaxed: a figure.
        self.task.progress.store(done + failed, Ordering::Relaxed);
        // Who is still to come wants to be told that it is over, too, if it is so soon.
        if self.begun.is_some() && self.queue.is_over() && !self.is_over {
            self.end();
        }
        let nodes: Vec<u32> = self.known.keys().copied().collect();
        nodes.into_iter().for_each(|node| self.send(node, ctx));
    }

    fn end(&mut self) {
        self.is_over = true;
        let (done, failed) = self.queue.counts();
        let elapsed = self.begun.map(|begun| begun.elapsed()).unwrap_or_default();
        let abandoned = self.queue.abandoned();
        let members = self.queue.members();
        let over = std::mem::take(&mut self.over);
        let over = Over { done, failed, abandoned, elapsed, members, ..over };
        if let Writer::Processor(inbox, feeder, _) = &self.writer {
            inbox.end();
            feeder.wake();
        }
        self.say_to_all(&Down::End);
        let _ = self.tell.send(Told::Over(Box::new(over)));
    }

    fn send(&mut self, node: u32, ctx: &Context<'_, Self>) {
        let Some(known) = self.known.get_mut(&node) else { return };
        while !known.waits_for_room {
            let Some(down) = known.backlog.pop_front() else { return };
            match &known.target {
                // A message that is refused is in the ledger.
                Target::Here(address) => drop(address.send(super::guest::Msg::Down(down))),
                Target::There(address) => match address.send(down) {
                    Err(RemoteSendError::Full(down)) => {
                        known.backlog.push_front(down);
                        known.waits_for_room = true;
                        ctx.pipe(address.room(), move |()| Msg::Room(node));
                    }
                    // That the node is down is told by itself.
                    Ok(()) | Err(RemoteSendError::NodeDown(_)) => {}
                    Err(error) => note(&format!("node {node}: {error}")),
                },
            }
        }
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl Actor for Host {
    type Msg = Msg;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        ctx.after(self.task.patience, Msg::Begin);
    }

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Up(up) => self.up(up, ctx),
            Msg::Own(address) => self.know(self.node.id().0, Target::Here(address)),
            Msg::Met(joining, found) => self.found(joining, found),
            Msg::NodeDown(node, why) => self.node_down(node, why),
            Msg::Written(number, Ok(sights)) => self.written(number, &sights),
            Msg::Written(number, Err((module, cause))) => {
                self.sums.remove(&number);
                self.queue.written(number, true);
                let node = self.node.id().0;
                self.failed(Failed { node, event: number, module, cause });
            }
            Msg::Room(node) => {
                if let Some(known) = self.known.get_mut(&node) {
                    known.waits_for_room = false;
                }
            }
            Msg::Begin => self.begin(),
            Msg::EndNow if !self.is_over => {
                self.over.interrupted = true;
                self.stop();
                if let Writer::Processor(inbox, ..) = &self.writer {
                    inbox.clear();
                }
                self.end();
            }
            Msg::EndNow => {}
            Msg::Piece(piece, reply) => self.piece(piece, reply),
        }
        self.go_on(ctx);
    }
}

impl RemoteActor for Host {
    const KIND: &'static str = "actinium.events.host";
    type Message = Up;
    type Question = Piece;
    type Answer = ();

    fn message(up: Up) -> Msg {
        Msg::Up(up)
    }

    fn question(piece: Piece, reply: Reply<()>) -> Msg {
        Msg::Piece(piece, reply)
    }
}
