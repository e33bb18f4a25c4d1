//! The coordinator: the actor that keeps the shared queue, on the first node.

use crate::agent::Agent;
use crate::ending::Ending;
use crate::feeding::Feeding;
use crate::figures::NodeFigures;
use crate::inbox::Inbox;
use crate::known::{Known, Target};
use crate::outcome::{ClusterOutcome, EventLines, Failed, Gone, RunOutcome, why_down};
use crate::parts::Part;
use crate::protocol::{Down, EVENT_BYTES_MAX, NUMBERS_MAX, Up};
use crate::queue::outlet::{Ended, Ready};
use crate::queue::{Queue, Share};
use crate::reader::Read;
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::job::{DOWN_AFTER, FIRST, JobError, MEETING};
use actinium_cluster::{NodeHandle, RemoteActor, RemoteAddress, RemoteAskError};
use actinium_events::{Feeder, Next, RunSummary};
use actinium_scheduler::Clock;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Most failures that are kept.
const FAILURES_MAX: usize = 100;

/// Takes lines for people: who came, who went.
pub(crate) type Notes = Arc<dyn Fn(&str) + Send + Sync>;

/// How events get their outputs run.
pub(crate) enum Writer {
    /// A graph of this node runs them.
    Graph(Arc<Inbox<Ready>>, Feeder),
    /// There are no outputs, or they have run where the events have.
    None,
    /// The graph has ended before the events.
    Broken,
}

/// The settings of a run that the coordinator needs.
pub(crate) struct Task {
    /// The name of the agents.
    pub(crate) agents: String,
    /// Whether a failure is the end.
    pub(crate) stops_at_failure: bool,
    /// What all nodes must share: a digest, and the same as text for people.
    pub(crate) plan: (u64, String),
    /// How many nodes there are from the start.
    pub(crate) nodes: u32,
    /// How long it waits for these before it begins with those that are there.
    pub(crate) patience: Duration,
    /// Events that are over.
    pub(crate) progress: Arc<AtomicU64>,
    /// Takes a line for each step of the run.
    pub(crate) notes: Notes,
    /// Takes a line for each event.
    pub(crate) lines: Option<EventLines>,
}

/// The messages of the coordinator.
pub(crate) enum Msg {
    /// A message from a node.
    Up(u32, Up),
    /// This node's own actor.
    Own(Address<Agent<Coordinator>>),
    /// The source has given something.
    Read(Read),
    /// Where the source is read.
    Feeding(Box<Feeding>),
    /// The search for the agent of a node that joins has ended, with its address or an error.
    Met(Joining, Result<RemoteAddress<Agent<Coordinator>>, RemoteAskError>),
    /// The agent of a node, by the serial of its attempt to join, is gone: why.
    Down(u32, u64, String),
    /// An event's outputs have run, with this checksum. Or one of them failed: which, and what it
    /// said.
    Written(u64, Result<u64, (String, String)>),
    /// The outputs run on this node's system: their end.
    Runs(Pin<Box<dyn Future<Output = OutputsRan> + Send>>),
    /// The graph of outputs has ended.
    OutputsEnded(OutputsRan),
    /// There is credit again for messages to this node.
    Writable(u32),
    /// The time to wait for nodes is over: the run begins with those that are there.
    Begin,
    /// The run ends at once, as interrupted, without waiting for nodes.
    EndNow,
    /// The time to wait for figures is over.
    TooLate,
    /// The graphs of this node did not start: nobody waits for the run.
    GiveUp,
}

/// What is known when the graph of outputs has ended: why it could not go on, if so, and its
/// summary.
pub(crate) type OutputsRan = (Option<String>, Box<RunSummary>);

impl From<Read> for Msg {
    fn from(read: Read) -> Self {
        Msg::Read(read)
    }
}

/// A node that wants to take part.
pub(crate) struct Joining {
    node: u32,
    serial: u64,
    slots: u64,
    /// The reason why it may not take part, if there is one.
    refusal: Option<String>,
}

/// The coordinator of a run.
pub(crate) struct Coordinator {
    node: NodeHandle,
    clock: Clock,
    task: Task,
    queue: Box<dyn Queue>,
    feeding: Option<Box<Feeding>>,
    writer: Writer,
    part: Arc<dyn Part>,
    /// The nodes that take part, and those that were refused, until they are gone.
    known: BTreeMap<u32, Known<Self>>,
    /// Nodes that are looked for, each with its serial: if one joins anew meanwhile, what is found
    /// is of no use.
    joining: BTreeMap<u32, u64>,
    joins: u64,
    /// Nodes that were there, at least for a while.
    seen: BTreeSet<u32>,
    /// On the clock, since when there are events.
    begun_ns: Option<u64>,
    outcome: RunOutcome,
    gone: Vec<Gone>,
    figures: BTreeMap<u32, NodeFigures>,
    outputs: Option<OutputsRan>,
    is_over: bool,
    ending: Ending,
}

impl Coordinator {
    /// The coordinator of this task.
    pub(crate) fn new(
        node: NodeHandle,
        task: Task,
        queue: Box<dyn Queue>,
        (writer, part): (Writer, Arc<dyn Part>),
        ending: Ending,
    ) -> Self {
        Coordinator {
            node,
            clock: Clock::real(),
            task,
            queue,
            feeding: None,
            writer,
            part,
            known: BTreeMap::new(),
            joining: BTreeMap::new(),
            joins: 0,
            seen: BTreeSet::new(),
            begun_ns: None,
            outcome: RunOutcome::default(),
            gone: Vec::new(),
            figures: BTreeMap::new(),
            outputs: None,
            is_over: false,
            ending,
        }
    }

    fn note(&self, line: &str) {
        (self.task.notes)(line);
    }

    fn up(&mut self, node: u32, mut up: Up, ctx: &Context<'_, Self>) {
        if let Up::Join { slots, digest, says } = up {
            return self.join(node, slots, (digest, says), ctx);
        }
        let Some(known) = self.known.get_mut(&node) else {
            // Whoever can reach this node may stop the run.
            return if matches!(up, Up::Stop) {
                self.interrupt()
            };
        };
        if let Up::Part(bytes) = &up {
            if !known.joined.part(bytes) {
                let why = format!("it sends more than {EVENT_BYTES_MAX} bytes for an event");
                self.node_down(node, why);
            }
            return;
        }
        known.joined.complete(&mut up);
        match up {
            Up::Ran { number, bytes } => {
                if self.queue.ended(node, number, Ended::Ran(bytes.into_bytes().into())) {
                    *self.outcome.ran.entry(node).or_default() += 1;
                    self.forget(number);
                }
            }
            Up::Failed { number, module, cause } => {
                if self.queue.ended(node, number, Ended::Failed) {
                    self.forget(number);
                    self.wake_source();
                    self.failed(Failed { node, event: number, module, cause });
                }
            }
            Up::Back { numbers } => {
                for number in numbers {
                    self.queue.ended(node, number, Ended::Left);
                }
            }
            Up::Read { piece, events } => _ = self.queue.read(node, piece, events),
            // What it has in flight it finishes, or its figures say that it will not.
            Up::Broken { cause } => self.broken(format!("node {node}: {cause}")),
            Up::Leaves => self.leaves(node),
            Up::Figures(bytes) => self.node_figures(node, &bytes),
            Up::Gone => _ = self.known.remove(&node),
            Up::Stop => self.interrupt(),
            Up::Join { .. } | Up::Part(_) => {}
        }
    }

    fn join(&mut self, node: u32, slots: u64, asked: (u64, String), ctx: &Context<'_, Self>) {
        let (digest, says) = asked;
        let (own, plan) = (self.node.id().0, &self.task.plan);
        let refusal = (digest != plan.0).then(|| {
            format!(
                "node {node} was asked for something else than node {own}: node {node} for {says} (digest {digest:016x}); node {own} for {} (digest {:016x})",
                plan.1, plan.0
            )
        });
        if let Some(why) = &refusal {
            self.note(why);
        }
        if node == own {
            self.queue.join(node, slots);
            return self.met(node);
        }
        // What is known of the node is of an incarnation before this one.
        if self.known.contains_key(&node) {
            self.node_down(node, "it has started again".to_owned());
        }
        self.joins += 1;
        let serial = self.joins;
        self.joining.insert(node, serial);
        let joining = Joining { node, serial, slots, refusal };
        let agents = &self.task.agents;
        let found = self.node.find::<Agent<Coordinator>>(NodeId(node), agents, MEETING);
        ctx.pipe(found, move |found| Msg::Met(joining, found));
    }

    fn interrupt(&mut self) {
        if !self.is_over {
            self.outcome.interrupted = true;
            self.stop();
        }
    }

    fn stop(&mut self) {
        if !self.queue.is_stopped() {
            self.queue.stop();
            self.say_to_all(&Down::Stop);
        }
    }

    /// The run can not go on.
    fn broken(&mut self, why: String) {
        self.outcome.error.get_or_insert(why);
        self.stop();
    }

    fn failed(&mut self, failed: Failed) {
        if self.outcome.failures.len() < FAILURES_MAX {
            self.outcome.failures.push(failed);
        }
        if self.task.stops_at_failure {
            self.stop();
        }
    }

    fn leaves(&mut self, node: u32) {
        if node == self.node.id().0 {
            self.interrupt();
        }
        let given_again = self.queue.leave(node);
        if !self.queue.is_stopped() {
            self.note(&format!("node {node} leaves; {given_again} of its events go to others"));
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
        ctx: &Context<'_, Self>,
    ) {
        let (node, serial) = (it.node, it.serial);
        if self.joining.get(&node) != Some(&serial) {
            return;
        }
        self.joining.remove(&node);
        let address = match found {
            Err(error) => return self.note(&format!("node {node}: {error}")),
            Ok(address) => address,
        };
        address.watch(ctx, move |down| Msg::Down(node, serial, why_down(down.node, &down.reason)));
        let mut known = Known::new(serial, Target::There(address));
        match it.refusal {
            Some(why) => {
                known.is_refused = true;
                known.say(Down::Refused(why));
            }
            None if self.is_over => known.say(Down::End),
            None => {
                let on = self.feeding.iter().flat_map(|feeding| feeding.on());
                on.for_each(|down| known.say(down));
                self.queue.join(node, it.slots);
            }
        }
        self.known.insert(node, known);
        self.met(node);
    }

    fn node_down(&mut self, node: u32, why: String) {
        let Some(known) = self.known.remove(&node) else { return };
        if known.is_refused || known.has_figures {
            return;
        }
        let given_again = self.queue.leave(node);
        let line = match self.queue.is_stopped() {
            true => format!("node {node} is down: {why}; {given_again} of its events are given up"),
            false => {
                format!("node {node} is down: {why}; {given_again} of its events go to others")
            }
        };
        self.note(&line);
        self.gone.push(Gone { node, why, given_again });
    }

    fn node_figures(&mut self, node: u32, bytes: &[u8]) {
        match serde_json::from_slice(bytes) {
            Ok(figures) => _ = self.figures.insert(node, figures),
            Err(error) => self.note(&format!("node {node}: its figures: {error}")),
        }
        // What it has not run by now it will not.
        self.queue.leave(node);
        if let Some(known) = self.known.get_mut(&node) {
            known.has_figures = true;
            known.say(Down::Bye);
        }
    }

    fn say_to_all(&mut self, down: &Down) {
        for known in self.known.values_mut() {
            known.say(down.clone());
        }
    }

    fn forget(&mut self, number: u64) {
        if let Some(feeding) = &mut self.feeding {
            feeding.forget(number);
        }
    }

    fn wake_source(&mut self) {
        if let Some(feeding) = &mut self.feeding {
            feeding.wake();
        }
    }

    /// An event is done, with all its outputs.
    fn written(&mut self, number: u64, checksum: u64) {
        self.outcome.checksum = self.outcome.checksum.wrapping_add(checksum);
        if let Some(line) = &mut self.task.lines {
            line(number, checksum);
        }
        self.queue.outlet_mut().written(number, false);
        self.wake_source();
    }

    fn read(&mut self, read: Read) {
        let Some(feeding) = &mut self.feeding else { return };
        if let Err(cause) = feeding.read(read, &mut *self.queue) {
            // What came before it is run.
            self.outcome.error.get_or_insert(format!("the source failed: {cause}"));
        }
    }

    fn hand_out(&mut self) {
        if let Some(feeding) = &mut self.feeding
            && let Some(barrier) = feeding.go_on(&*self.queue)
        {
            let members = self.known.iter_mut().filter(|(node, _)| self.queue.has(**node));
            members.for_each(|(_, known)| known.say(barrier.clone()));
        }
        for (node, share) in self.queue.hand_out() {
            let Some(known) = self.known.get_mut(&node) else { continue };
            match (share, &self.feeding) {
                (Share::Events(numbers), Some(feeding)) => {
                    let events = numbers.into_iter().filter_map(|number| feeding.event(number));
                    events.for_each(|event| known.say(event));
                }
                (Share::Events(numbers), None) => {
                    let some = numbers.chunks(NUMBERS_MAX);
                    some.for_each(|some| known.say(Down::Work(some.to_vec())));
                }
                (Share::Piece { piece, done }, _) => {
                    let done = serde_json::to_vec(&done).unwrap_or_default();
                    known.say(Down::Piece { piece, done: done.into() });
                }
            }
        }
    }

    /// Has outputs run. Whether there may be capacity for other events now.
    fn write(&mut self) -> bool {
        let ready = self.queue.outlet_mut().take_ready();
        if ready.is_empty() {
            return false;
        }
        match &self.writer {
            Writer::Graph(inbox, feeder) => {
                inbox.push(ready.into_iter().map(Next::Event));
                feeder.wake();
                false
            }
            Writer::None => {
                for Ready { number, bytes } in ready {
                    let checksum = self.part.ended(&bytes);
                    self.written(number, checksum);
                }
                true
            }
            Writer::Broken => {
                self.queue.outlet_mut().give_up();
                true
            }
        }
    }

    /// All that follows from what has changed.
    fn go_on(&mut self, ctx: &Context<'_, Self>) {
        loop {
            if self.begun_ns.is_some() && !self.is_over {
                self.hand_out();
            }
            if !self.write() {
                break;
            }
        }
        let outlet = self.queue.outlet();
        // Relaxed: a figure.
        self.task.progress.store(outlet.done + outlet.failed, Ordering::Relaxed);
        // Who is still to come wants to be told that it is over, too, if it is so soon.
        if self.begun_ns.is_some() && self.queue.is_over() && !self.is_over {
            self.end(ctx);
        }
        for (&node, known) in &mut self.known {
            if let Err(error) = known.send(ctx, move || Msg::Writable(node)) {
                (self.task.notes)(&format!("node {node}: {error}"));
            }
        }
        self.conclude(ctx);
    }

    fn end(&mut self, ctx: &Context<'_, Self>) {
        self.is_over = true;
        let elapsed_ns = self.begun_ns.map_or(0, |begun_ns| self.clock.now_ns() - begun_ns);
        let outlet = self.queue.outlet();
        self.outcome.elapsed = Duration::from_nanos(elapsed_ns);
        self.outcome.done = outlet.done;
        self.outcome.failed = outlet.failed;
        self.outcome.abandoned = outlet.abandoned;
        if let Writer::Graph(inbox, feeder) = &self.writer {
            inbox.end();
            feeder.wake();
        }
        if let Some(feeding) = &mut self.feeding {
            feeding.end();
        }
        self.say_to_all(&Down::End);
        ctx.after(2 * DOWN_AFTER, Msg::TooLate);
    }

    /// Ends when the figures of all have come, who know that.
    fn conclude(&mut self, ctx: &Context<'_, Self>) {
        let outputs_run = matches!(self.writer, Writer::Graph(..)) && self.outputs.is_none();
        let is_there = |known: &Known<Self>| !known.is_refused || !known.was_told();
        let waits = outputs_run || !self.joining.is_empty() || self.known.values().any(is_there);
        if !self.is_over || waits {
            return;
        }
        let mut run = std::mem::take(&mut self.outcome);
        let mut figures = std::mem::take(&mut self.figures);
        if let (Some((_, summary)), Some(own)) = (self.outputs.take(), figures.get_mut(&FIRST.0)) {
            own.add_outputs(*summary);
        }
        run.members = figures.keys().copied().collect();
        let nodes = figures.into_values().collect();
        let outcome = ClusterOutcome { run, gone: std::mem::take(&mut self.gone), nodes };
        self.ending.set(Ok(Some(outcome)));
        ctx.stop();
    }

    fn outputs_ended(&mut self, (failure, summary): OutputsRan, ctx: &Context<'_, Self>) {
        self.outputs = Some((None, summary));
        match failure {
            Some(why) if self.is_over => {
                self.outcome.error.get_or_insert(format!("the outputs: {why}"));
            }
            Some(why) => {
                self.broken(format!("the outputs ended before the events: {why}"));
                self.writer = Writer::Broken;
                self.queue.outlet_mut().give_up();
            }
            // Only who cancels the run stops them, and says so: that message may come after this.
            None => self.end_now(ctx),
        }
    }

    fn end_now(&mut self, ctx: &Context<'_, Self>) {
        if !self.is_over {
            self.interrupt();
            if let Writer::Graph(inbox, _) = &self.writer {
                inbox.clear();
            }
            self.end(ctx);
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
            Msg::Up(node, up) => self.up(node, up, ctx),
            Msg::Own(address) => {
                self.known.insert(self.node.id().0, Known::new(0, Target::Here(address)));
            }
            Msg::Read(read) => self.read(read),
            Msg::Feeding(feeding) => self.feeding = Some(feeding),
            Msg::Met(joining, found) => self.found(joining, found, ctx),
            Msg::Down(node, serial, why) => {
                if self.known.get(&node).is_some_and(|known| known.serial == serial) {
                    self.node_down(node, why);
                }
            }
            Msg::Written(number, Ok(checksum)) => self.written(number, checksum),
            Msg::Written(number, Err((module, cause))) => {
                if self.queue.outlet_mut().written(number, true) {
                    self.wake_source();
                    let node = self.node.id().0;
                    self.failed(Failed { node, event: number, module, cause });
                }
            }
            Msg::Runs(end) => ctx.pipe(end, Msg::OutputsEnded),
            Msg::OutputsEnded(ran) => self.outputs_ended(ran, ctx),
            Msg::Writable(node) => {
                if let Some(known) = self.known.get_mut(&node) {
                    known.writable();
                }
            }
            Msg::Begin => self.begin(),
            Msg::EndNow => self.end_now(ctx),
            Msg::TooLate => {
                let late = "a node did not tell its figures, and leave, in time";
                self.ending.set(Err(JobError::failed(late)));
                return ctx.stop();
            }
            Msg::GiveUp => return ctx.stop(),
        }
        self.go_on(ctx);
    }
}

impl Drop for Coordinator {
    /// Nobody waits for an actor that is gone.
    fn drop(&mut self) {
        self.ending.set(Err(JobError::failed("the system ended before the run")));
    }
}

impl RemoteActor for Coordinator {
    const KIND: &'static str = "actinium.events.coordinator";
    type Message = Up;
    type Request = ();
    type Answer = ();

    /// It has to know who says it: see [`RemoteActor::message_from`].
    fn message(up: Up) -> Msg {
        Msg::Up(FIRST.0, up)
    }

    fn message_from(node: NodeId, up: Up) -> Msg {
        Msg::Up(node.0, up)
    }

    fn request((): (), _: Reply<()>) -> Msg {
        Msg::Begin
    }
}
