//! What a node's part consists of: its graphs and its actors, ready to run.

use crate::agent::{self, Agent, Ran, short};
use crate::coordinator::{self, Coordinator, Notes, OutputsRan, Task, Writer};
use crate::ending::Ending;
use crate::feeding::Feeding;
use crate::figures::NodeFigures;
use crate::outcome::EventLines;
use crate::parts::{Feed, Inboxes, Part, Parts};
use crate::protocol::{EVENT_BYTES_MAX, Up};
use crate::queue::Queue;
use crate::queue::numbers::Numbers;
use crate::queue::pieces::Pieces;
use crate::reader::Reader;
use actinium_actor::{Address, Recipient, SystemHandle};
use actinium_cluster::job::{FIRST, JobError, MEETING};
use actinium_cluster::{NodeHandle, RemoteActor};
use actinium_events::{EventEnd, OnError, Order, Processor, RunSummary, Settings, Stopper};
use actinium_observe::Latency;
use actinium_observe::process::ProcessFigures;
use actinium_scheduler::sync::lock;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a node's part runs.
pub(crate) struct Setup {
    /// The name of the run: the same on all nodes, and another for each run of a node.
    pub(crate) run: String,
    /// The settings of its graphs.
    pub(crate) settings: Settings,
    /// How many nodes there are from the start, as far as is known.
    pub(crate) nodes: Option<u32>,
    /// How long the first waits for these.
    pub(crate) patience: Duration,
    /// Events that are over, as far as the first node knows.
    pub(crate) progress: Arc<AtomicU64>,
    /// Takes lines for people.
    pub(crate) notes: Notes,
    /// Takes a line for each event, on the first node.
    pub(crate) lines: Option<EventLines>,
}

/// A node's part, whose graphs do not run yet.
pub(crate) struct Launched {
    /// All but the outputs.
    pub(crate) inner: Processor,
    /// The outputs, if this node runs them.
    pub(crate) outputs: Option<Processor>,
    /// Tells what came of it.
    pub(crate) ending: Ending,
    /// This node's part, to others.
    pub(crate) controls: Controls,
    /// Makes figures of what the graphs tell.
    pub(crate) sums: Sums,
}

/// Reaches the actors and graphs of a node's part.
#[derive(Clone)]
pub(crate) struct Controls {
    pub(crate) agent: Address<Agent<Coordinator>>,
    pub(crate) coordinator: Option<Address<Coordinator>>,
    stoppers: Vec<Stopper>,
}

impl Controls {
    /// No more events are begun, on any node.
    pub(crate) fn stop(&self) {
        // If an actor is gone, all is over.
        let _ = self.agent.send(agent::Msg::Up(Up::Stop));
    }

    /// What runs on this node ends as soon as its modules return.
    pub(crate) fn stop_now(&self) {
        self.stop_graphs();
        let coordinator = self.coordinator.iter();
        coordinator.for_each(|it| drop(it.send(coordinator::Msg::EndNow)));
    }

    /// The graphs of this node end as soon as their modules return; their actors find that out.
    pub(crate) fn stop_graphs(&self) {
        self.stoppers.iter().chain(&self.stoppers).for_each(Stopper::stop);
    }

    /// The graphs did not start.
    pub(crate) fn give_up(&self) {
        let _ = self.agent.send(agent::Msg::GiveUp);
        let coordinator = self.coordinator.iter();
        coordinator.for_each(|it| drop(it.send(coordinator::Msg::GiveUp)));
    }
}

/// Makes figures of what the graphs of a node tell.
#[derive(Clone)]
pub(crate) struct Sums {
    node: u32,
    latency: Arc<Mutex<Latency>>,
    stand_ins: Arc<BTreeSet<String>>,
    shown: Arc<Option<BTreeSet<String>>>,
}

impl Sums {
    /// The end of the graph without outputs.
    pub(crate) fn inner(&self, summary: RunSummary, process: Option<ProcessFigures>) -> Ran {
        let failure = failure(&summary);
        let is_own = |label: &str| !self.stand_ins.contains(label);
        let latency = lock(&self.latency).buckets().collect();
        let figures = NodeFigures::new(self.node, summary, is_own, latency, process);
        (failure, Box::new(figures))
    }

    /// The end of the outputs.
    pub(crate) fn outputs(&self, mut summary: RunSummary) -> OutputsRan {
        let failure = failure(&summary);
        if let Some(shown) = &*self.shown {
            summary.modules.retain(|module| shown.contains(&module.label));
        }
        (failure, Box::new(summary))
    }
}

/// Why a graph could not go on, if so.
fn failure(summary: &RunSummary) -> Option<String> {
    let of_none = summary.failures.iter().find(|failure| failure.event.is_none());
    let failed = of_none.map(|failure| format!("'{}' failed: {}", failure.module, failure.cause));
    failed.or_else(|| summary.stuck.first().map(ToString::to_string))
}

/// Prepares a node's part. Nothing runs yet but actors, which wait.
pub(crate) fn launch(
    node: &NodeHandle,
    system: &SystemHandle,
    setup: Setup,
    (parts, inboxes): (Parts, Inboxes),
) -> Result<Launched, JobError> {
    let Parts { digest, says, feed, inner, outputs, stand_ins, shown, part } = parts;
    let ending = Ending::default();
    let has_outputs = outputs.is_some();
    let per_node = if has_outputs { Order::Completed } else { setup.settings.order };
    let sums = Sums {
        node: node.id().0,
        latency: Arc::new(Mutex::new(Latency::new())),
        stand_ins: Arc::new(stand_ins),
        shown: Arc::new(shown),
    };
    let agents = name(&setup.run, "agent");
    let coordinators = name(&setup.run, "coordinator");
    let slots = setup.settings.slots.unwrap_or_else(|| system.workers()) as u64;
    let join = Up::Join { slots, digest, says: says.clone() };
    let inner = Processor::new(inner, settings_of(&setup.settings, per_node));
    let handles = (inner.feeder(), inner.stopper());
    let mut stoppers = vec![inner.stopper()];
    let own = Agent::new(node.id(), inboxes.clone(), part.clone(), handles, ending.clone());
    let agent = system.spawn(own);
    export(node, &agents, &agent)?;
    let inner = inner.on_end(on_end(&agent, &part, &sums.latency));
    on_read(&inboxes, &agent);
    let (mut writing, mut coordinator) = (None, None);
    if node.id() == FIRST {
        let order = setup.settings.order;
        let outputs = outputs.map(|it| Processor::new(it, settings_of(&setup.settings, order)));
        stoppers.extend(outputs.iter().map(Processor::stopper));
        let writer = match &outputs {
            Some(outputs) => Writer::Graph(inboxes.carried, outputs.feeder()),
            None => Writer::None,
        };
        let in_order = has_outputs && matches!(order, Order::Input { .. });
        let (plan, joined) = ((digest, says), (writer, part.clone()));
        let names = (coordinators, agents);
        let first = First { node, system, agent: &agent, names, plan, in_order };
        let it = first.coordinate(setup, feed, joined, ending.clone())?;
        writing = outputs.map(|outputs| outputs.on_end(on_written(&it, part)));
        coordinator = Some(it);
    } else {
        let found = node.find::<Coordinator>(FIRST, &coordinators, MEETING);
        tell_own(&agent, agent::Msg::Meet(found))?;
    }
    tell_own(&agent, agent::Msg::Up(join))?;
    let controls = Controls { agent, coordinator, stoppers };
    Ok(Launched { inner, outputs: writing, ending, controls, sums })
}

/// The name of an actor of a run.
fn name(run: &str, what: &str) -> String {
    format!("actinium.events.{run}.{what}")
}

/// The first node, which keeps the queue.
struct First<'a> {
    node: &'a NodeHandle,
    system: &'a SystemHandle,
    agent: &'a Address<Agent<Coordinator>>,
    /// The names of the coordinator and of agents.
    names: (String, String),
    plan: (u64, String),
    in_order: bool,
}

impl First<'_> {
    /// Starts the coordinator, and the reader of a source that it shares out.
    fn coordinate(
        self,
        setup: Setup,
        feed: Feed,
        joined: (Writer, Arc<dyn Part>),
        ending: Ending,
    ) -> Result<Address<Coordinator>, JobError> {
        let (name, agents) = self.names;
        let (queue, source) = queue(feed, self.in_order);
        let known = self.node.nodes().last().map_or(1, |last| last.0 + 1);
        let task = Task {
            agents,
            stops_at_failure: setup.settings.on_error == OnError::Stop,
            plan: self.plan,
            nodes: setup.nodes.map_or(known, |count| count.max(known)),
            patience: setup.patience,
            progress: setup.progress,
            notes: setup.notes,
            lines: setup.lines,
        };
        let it = Coordinator::new(self.node.clone(), task, queue, joined, ending);
        let coordinator = self.system.spawn(it);
        export(self.node, &name, &coordinator)?;
        if let Some(source) = source {
            let events_max = setup.settings.events_max.unwrap_or(u64::MAX);
            let tell = Recipient::from(&coordinator);
            let reader = self.system.spawn(Reader::new(source, events_max, tell));
            tell_own(&coordinator, coordinator::Msg::Feeding(Box::new(Feeding::new(reader))))?;
        }
        tell_own(&coordinator, coordinator::Msg::Own(self.agent.clone()))?;
        tell_own(self.agent, agent::Msg::Coordinator(coordinator.clone()))?;
        Ok(coordinator)
    }
}

fn tell_own<A: actinium_actor::Actor>(actor: &Address<A>, msg: A::Msg) -> Result<(), JobError> {
    actor.send(msg).map_err(|_| JobError::failed("the system drains or has ended"))
}

fn export<A: RemoteActor>(
    node: &NodeHandle,
    name: &str,
    actor: &Address<A>,
) -> Result<(), JobError> {
    node.export(name, actor).map_err(|error| {
        JobError::Setting(format!("{error}: each run of a node has a name of its own"))
    })
}

/// The queue, and the source that this node reads.
fn queue(feed: Feed, in_order: bool) -> (Box<dyn Queue>, Option<Box<dyn crate::parts::Shared>>) {
    match feed {
        #[cfg(feature = "replay")]
        Feed::Numbers(count) => (Box::new(Numbers::new(Some(count), in_order)), None),
        Feed::Source(source) => (Box::new(Numbers::new(None, in_order)), Some(source)),
        Feed::Pieces(sizes) => (Box::new(Pieces::new(sizes, in_order)), None),
    }
}

/// Tells the coordinator what came of an event.
fn on_end(
    agent: &Address<Agent<Coordinator>>,
    part: &Arc<dyn Part>,
    latency: &Arc<Mutex<Latency>>,
) -> impl Fn(&EventEnd<'_>) + Send + Sync + 'static + use<> {
    let (tell, part, record) = (agent.clone(), part.clone(), latency.clone());
    move |end| {
        lock(&record).record(end.took_ns);
        let number = end.number;
        let up = match end.failure {
            None => ran(number, part.take(end.slot, number)),
            Some((module, cause)) => {
                part.forget(end.slot);
                Up::Failed { number, module: module.to_owned(), cause: short(cause) }
            }
        };
        // The agent is there as long as the run is.
        let _ = tell.send(agent::Msg::Up(up));
    }
}

fn ran(number: u64, bytes: Vec<u8>) -> Up {
    if bytes.len() <= EVENT_BYTES_MAX {
        return Up::Ran { number, bytes: bytes.into() };
    }
    let cause = format!(
        "the products of event {number} that outputs on another node need have {} bytes; at most {EVENT_BYTES_MAX} go there",
        bytes.len()
    );
    Up::Failed { number, module: "outputs".to_owned(), cause }
}

/// Tells the coordinator what became of a piece.
fn on_read(inboxes: &Inboxes, agent: &Address<Agent<Coordinator>>) {
    let tell = agent.clone();
    let _ = inboxes.on_read.set(Box::new(move |piece, ended| {
        let up = match ended {
            Ok(events) => Up::Read { piece, events },
            Err(cause) => {
                Up::Broken { cause: short(&format!("piece {piece} of the source: {cause}")) }
            }
        };
        let _ = tell.send(agent::Msg::Up(up));
    }));
}

/// Tells the coordinator that the outputs of an event have run.
fn on_written(
    coordinator: &Address<Coordinator>,
    part: Arc<dyn Part>,
) -> impl Fn(&EventEnd<'_>) + Send + Sync + 'static + use<> {
    let tell = coordinator.clone();
    move |end| {
        let checksum = part.written(end.number, end.slot);
        let ended = match end.failure {
            None => Ok(checksum),
            Some((module, cause)) => Err((module.to_owned(), short(cause))),
        };
        let _ = tell.send(coordinator::Msg::Written(end.number, ended));
    }
}

/// The settings of a graph on one of several nodes.
fn settings_of(settings: &Settings, order: Order) -> Settings {
    let mut settings = settings.clone().order(order);
    settings.events_max = None;
    // It is the queue that stops at a failure.
    if settings.on_error == OnError::Stop {
        settings.on_error = OnError::Skip;
    }
    settings
}
