//! The coordinator: the actor that keeps the shared queue, on the first node.

use crate::agent::{self, Agent, Inbox, work};
use crate::job::{EventLines, Observer};
use crate::outcome::{Failed, Gone, Report, RunOutcome};
use crate::protocol::{Down, Up};
use crate::queue::{Ended, Queue};
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::job::MEETING;
use actinium_cluster::job::pieces::Piece;
use actinium_cluster::{Node, RemoteActor, RemoteAddress, RemoteAskError, RemoteSendError};
use actinium_events::Feeder;
use actinium_scheduler::Clock;
use actinium_workload::replay::part::{Given, Observations, sum};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// The name of the agents.
pub(crate) const AGENT: &str = "actinium.events.guest";
/// Most failures that are kept.
const FAILURES_MAX: usize = 100;

/// How events get their outputs run.
pub(crate) enum Writer {
    /// A processor of this node runs these modules.
    Processor(Arc<Inbox<Given>>, Feeder, BTreeSet<u32>),
    /// The workload has no outputs.
    None,
}

/// The settings of a run that the coordinator needs.
pub(crate) struct Task {
    /// Events in all.
    pub(crate) events: u64,
    /// Whether outputs run in the order of events.
    pub(crate) in_order: bool,
    /// Whether a failure is the end.
    pub(crate) stops_at_failure: bool,
    /// The workload and settings that all nodes must share: a digest, and the same as text for
    /// people.
    pub(crate) plan: (u64, String),
    /// How many nodes there are from the start.
    pub(crate) nodes: u32,
    /// How long it waits for these before it begins with those that are there.
    pub(crate) patience: Duration,
    /// Events that are over.
    pub(crate) progress: Arc<AtomicU64>,
    /// The observer, which is told of each step of the run.
    pub(crate) observer: Arc<dyn Observer>,
}

/// The messages of the coordinator.
pub(crate) enum Msg {
    /// A message from a node.
    Up(Up),
    /// This node's own actor.
    Own(Address<Agent<Coordinator>>),
    /// The search for the agent of a node that joins has ended, with its address or an error.
    Met(Joining, Result<RemoteAddress<Agent<Coordinator>>, RemoteAskError>),
    /// A node is down: why.
    NodeDown(u32, String),
    /// An event's outputs have run: what they saw. Or one of them failed: which, and what it said.
    Written(u64, Result<Observations, (String, String)>),
    /// There is credit again for messages to this node.
    Writable(u32),
    /// The time to wait for nodes is over: the run begins with those that are there.
    Begin,
    /// The run ends at once, as interrupted, without waiting for nodes.
    EndNow,
    /// A node's figures.
    Piece(Piece, Reply<()>),
}

/// A node that wants to take part.
pub(crate) struct Joining {
    node: u32,
    /// The number of this attempt to join, counted over all nodes.
    serial: u64,
    slots: u64,
    /// The reason why it may not take part, if there is one.
    refusal: Option<String>,
}

enum Target {
    Here(Address<Agent<Coordinator>>),
    There(RemoteAddress<Agent<Coordinator>>),
}

struct Known {
    target: Target,
    backlog: VecDeque<Down>,
    waits_for_credit: bool,
    /// Pieces of its figures.
    figures: Vec<u8>,
}

/// The coordinator of a run.
pub(crate) struct Coordinator {
    node: Arc<Node>,
    clock: Clock,
    task: Task,
    queue: Queue,
    writer: Writer,
    /// The nodes that take part, and those that were refused, until they are gone.
    known: BTreeMap<u32, Known>,
    /// Nodes that are looked for, each with its serial: if one goes down meanwhile, what is found
    /// is of no use.
    joining: BTreeMap<u32, u64>,
    joins: u64,
    /// Nodes that were there, at least for a while.
    seen: BTreeSet<u32>,
    /// On the clock, since when there are events.
    begun_ns: Option<u64>,
    outcome: RunOutcome,
    lines: Option<EventLines>,
    is_over: bool,
    /// For each event whose outputs run: the sum of what its modules other than outputs saw.
    sums: BTreeMap<u64, u64>,
    tell: Sender<Report>,
}

impl Coordinator {
    /// The coordinator of this task.
    pub(crate) fn new(
        node: Arc<Node>,
        task: Task,
        writer: Writer,
        lines: Option<EventLines>,
        tell: Sender<Report>,
    ) -> Self {
        let queue = Queue::new(task.events, task.in_order);
        Coordinator {
            node,
            clock: Clock::real(),
            task,
            queue,
            writer,
            known: BTreeMap::new(),
            joining: BTreeMap::new(),
            joins: 0,
            seen: BTreeSet::new(),
            begun_ns: None,
            outcome: RunOutcome::default(),
            lines,
            is_over: false,
            sums: BTreeMap::new(),
            tell,
        }
    }

    fn note(&self, line: &str) {
        self.task.observer.note(line);
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
                    self.note(why);
                }
                if node == self.node.id().0 {
                    self.queue.join(node, slots);
                    self.met(node);
                } else {
                    self.joins += 1;
                    let serial = self.joins;
                    self.joining.insert(node, serial);
                    let joining = Joining { node, serial, slots, refusal };
                    let found = self.node.find::<Agent<Coordinator>>(NodeId(node), AGENT, MEETING);
                    ctx.pipe(found, move |found| Msg::Met(joining, found));
                }
            }
            Up::Ran { node, number, observations } => {
                if self.queue.ended(node, number, Ended::Ran(observations)) {
                    *self.outcome.ran.entry(node).or_default() += 1;
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
                self.outcome.interrupted = true;
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
        if self.outcome.failures.len() < FAILURES_MAX {
            self.outcome.failures.push(failed);
        }
        if self.task.stops_at_failure {
            self.stop();
        }
    }

    /// Notes that a node has joined. When all nodes of the start have, the run begins.
    fn met(&mut self, node: u32) {
        self.seen.insert(node);
        if self.begun_ns.is_some() && self.queue.has(node) {
            self.note(&format!("node {node} has come, and gets events"));
        }
        if self.begun_ns.is_none() && (0..self.task.nodes).all(|node| self.seen.contains(&node)) {
            self.begun_ns = Some(self.clock.now_ns());
        }
    }

    fn begin(&mut self) {
        if self.begun_ns.is_none() {
            let missing = (0..self.task.nodes).filter(|node| !self.seen.contains(node));
            let missing: Vec<String> = missing.map(|node| node.to_string()).collect();
            self.note(&format!(
                "begins without node {}: who comes later gets events then",
                missing.join(", ")
            ));
            self.begun_ns = Some(self.clock.now_ns());
        }
    }

    /// A node that wants to take part was found, or not.
    fn found(
        &mut self,
        it: Joining,
        found: Result<RemoteAddress<Agent<Coordinator>>, RemoteAskError>,
    ) {
        let node = it.node;
        if self.joining.get(&node) != Some(&it.serial) {
            return;
        }
        self.joining.remove(&node);
        match found {
            Err(error) => return self.note(&format!("node {node}: {error}")),
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
        let known = Known {
            target,
            backlog: VecDeque::new(),
            waits_for_credit: false,
            figures: Vec::new(),
        };
        self.known.insert(node, known);
    }

    fn node_down(&mut self, node: u32, why: String) {
        self.joining.remove(&node);
        if self.known.remove(&node).is_none() {
            return;
        }
        if !self.queue.has(node) {
            // It has told its figures, or was refused.
            return drop(self.tell.send(Report::Left(node)));
        }
        let given_again = self.queue.leave(node);
        let line = match self.queue.is_stopped() {
            true => format!("node {node} is down: {why}; {given_again} of its events are given up"),
            false => {
                format!("node {node} is down: {why}; {given_again} of its events go to others")
            }
        };
        self.note(&line);
        let _ = self.tell.send(Report::Gone(Gone { node, why, given_again }));
    }

    fn piece(&mut self, piece: Piece, reply: Reply<()>) {
        let Piece { node, bytes, is_last } = piece;
        if let Some(known) = self.known.get_mut(&node) {
            known.figures.extend_from_slice(&bytes);
            if is_last {
                let figures = std::mem::take(&mut known.figures);
                // What it has not run by now it will not.
                self.queue.leave(node);
                let _ = self.tell.send(Report::Figures(node, figures));
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
    fn written(&mut self, number: u64, observations: &Observations) {
        let checksum = self.sums.remove(&number).unwrap_or(0).wrapping_add(sum(observations));
        self.outcome.checksum = self.outcome.checksum.wrapping_add(checksum);
        if let Some(line) = &mut self.lines {
            line(number, checksum);
        }
        self.queue.written(number, false);
    }

    /// All that follows from what has changed.
    fn go_on(&mut self, ctx: &Context<'_, Self>) {
        if self.begun_ns.is_some() {
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
                    let others = given.observations.iter().filter(|(of, _)| !outputs.contains(of));
                    self.sums.insert(given.number, sum(&others.copied().collect()));
                }
                inbox.push(ready);
                feeder.wake();
            }
            Writer::Processor(..) => {}
            Writer::None if !ready.is_empty() => {
                ready.into_iter().for_each(|given| self.written(given.number, &given.observations));
                // There is capacity for others now.
                return self.go_on(ctx);
            }
            Writer::None => {}
        }
        let (done, failed) = self.queue.counts();
        // Relaxed: a figure.
        self.task.progress.store(done + failed, Ordering::Relaxed);
        // Who is still to come wants to be told that it is over, too, if it is so soon.
        if self.begun_ns.is_some() && self.queue.is_over() && !self.is_over {
            self.end();
        }
        let nodes: Vec<u32> = self.known.keys().copied().collect();
        nodes.into_iter().for_each(|node| self.send(node, ctx));
    }

    fn end(&mut self) {
        self.is_over = true;
        let (done, failed) = self.queue.counts();
        let elapsed_ns = self.begun_ns.map_or(0, |begun_ns| self.clock.now_ns() - begun_ns);
        let elapsed = Duration::from_nanos(elapsed_ns);
        let abandoned = self.queue.abandoned();
        let members = self.queue.members();
        let outcome = std::mem::take(&mut self.outcome);
        let outcome = RunOutcome { done, failed, abandoned, elapsed, members, ..outcome };
        if let Writer::Processor(inbox, feeder, _) = &self.writer {
            inbox.end();
            feeder.wake();
        }
        self.say_to_all(&Down::End);
        let _ = self.tell.send(Report::Over(Box::new(outcome)));
    }

    fn send(&mut self, node: u32, ctx: &Context<'_, Self>) {
        let Some(known) = self.known.get_mut(&node) else { return };
        while !known.waits_for_credit {
            let Some(down) = known.backlog.pop_front() else { return };
            match &known.target {
                // A message that is refused is in the ledger.
                Target::Here(address) => drop(address.send(agent::Msg::Down(down))),
                Target::There(address) => match address.send(down) {
                    Err(RemoteSendError::Full(down)) => {
                        known.backlog.push_front(down);
                        known.waits_for_credit = true;
                        ctx.pipe(address.ready(), move |()| Msg::Writable(node));
                    }
                    // That the node is down is told by itself.
                    Ok(()) | Err(RemoteSendError::NodeDown(_)) => {}
                    Err(error) => self.task.observer.note(&format!("node {node}: {error}")),
                },
            }
        }
    }
}

impl Actor for Coordinator {
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
            Msg::Written(number, Ok(observations)) => self.written(number, &observations),
            Msg::Written(number, Err((module, cause))) => {
                self.sums.remove(&number);
                self.queue.written(number, true);
                let node = self.node.id().0;
                self.failed(Failed { node, event: number, module, cause });
            }
            Msg::Writable(node) => {
                if let Some(known) = self.known.get_mut(&node) {
                    known.waits_for_credit = false;
                }
            }
            Msg::Begin => self.begin(),
            Msg::EndNow if !self.is_over => {
                self.outcome.interrupted = true;
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

impl RemoteActor for Coordinator {
    const KIND: &'static str = "actinium.events.host";
    type Message = Up;
    type Request = Piece;
    type Answer = ();

    fn message(up: Up) -> Msg {
        Msg::Up(up)
    }

    fn request(piece: Piece, reply: Reply<()>) -> Msg {
        Msg::Piece(piece, reply)
    }
}
