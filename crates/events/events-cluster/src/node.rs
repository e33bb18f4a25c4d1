//! The part of one node.

use crate::agent::{self, Agent, Exit, ExitReason, Inbox, Target};
use crate::coordinator::{self, AGENT, Coordinator, Task, Writer};
use crate::figures::NodeFigures;
use crate::job::{ClusterStopper, Job};
use crate::outcome::{ClusterOutcome, Gone, Report, RunOutcome};
use crate::protocol::Up;

use actinium_actor::{Address, System};
use actinium_cluster::fabric::Fabric;
use actinium_cluster::job::pieces::pieces;
use actinium_cluster::job::{self, DOWN_AFTER, FIRST, JobError, JobNode, MEETING};
use actinium_cluster::{NodeConfig, NodeEvent};
use actinium_events::{OnError, Order, Processor, RunSummary, Settings, Stopper};
use actinium_observe::Latency;
use actinium_observe::process::Watch;
use actinium_topology::Bind;
use actinium_wire::fnv1a;
use actinium_workload::replay::part;
use actinium_workload::{Role, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The name of the coordinator.
const COORDINATOR: &str = "actinium.events.coordinator";
/// How long the first node waits for those who may come later: long enough for a launcher to start
/// all that it starts.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs this node's part. What came of all is known on the first node.
///
/// # Errors
/// If the node can not be started, is refused, or loses the first.
pub(crate) fn run<F: Fabric + 'static>(
    job: &Job<'_>,
    fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
) -> Result<Option<ClusterOutcome>, JobError> {
    // Messages need no more than one; modules have workers of their own, and those get the PUs.
    let system = System::builder().workers(1).bind(Bind::None).build()?;
    let observer = job.observer.clone();
    let note = move |line: &str| observer.note(line);
    // What this node says last may be a report that has to arrive.
    let config = NodeConfig { linger: DOWN_AFTER, ..job::config(job.down_after)? };
    let started = JobNode::join(system, config, fabric, note)?;
    let mut part = Part::new(job, &started)?;
    if started.node.id() == FIRST {
        let (reports, writer) = part.coordinate()?;
        return part.run_first(&reports, writer).map(Some);
    }
    part.meet_coordinator()?;
    part.run_other()?;
    Ok(None)
}

/// A digest of what all nodes have to be asked for, and the same for people.
fn plan(job: &Job<'_>) -> (u64, String) {
    let says = &job.asked;
    let workload = job.workload;
    // All of it but the options, which each node may have its own of.
    let Workload { name, format, source, modules, resources, paths, .. } = workload;
    let mut text = format!("{name:?} {format:?} {source:?} {resources:?} {paths:?} {says}");
    text.extend(modules.iter().map(|module| format!("{module:?}")));
    (fnv1a(text.as_bytes()), format!("'{}', {says}", job.name))
}

struct Part<'a> {
    job: &'a Job<'a>,
    started: &'a JobNode,
    node: u32,
    processor: Option<Processor>,
    agent: Address<Agent<Coordinator>>,
    coordinator: Option<Target<Coordinator>>,
    exit: Exit,
    latency: Arc<Mutex<Latency>>,
    /// The handles that stop this node's processors.
    stoppers: Vec<Stopper>,
}

impl<'a> Part<'a> {
    fn new(job: &'a Job<'a>, started: &'a JobNode) -> Result<Self, JobError> {
        let node = started.node.id().0;
        let inbox: Arc<Inbox<u64>> = Arc::default();
        let settings = settings_of(job, Order::Completed);
        let slots = settings.slots.unwrap_or(1);
        let asked = |error: actinium_events::GraphErrors| {
            JobError::Setting(format!("{}: {error}", job.name))
        };
        let next = inbox.clone();
        let (graph, seen) = part::inner(job.workload, slots, move || next.next()).map_err(asked)?;
        let processor = Processor::new(graph, settings);
        let (feeder, stopper, exit) = (processor.feeder(), processor.stopper(), Exit::default());
        let agent = Agent::new(node, inbox, feeder, stopper.clone(), exit.clone());
        let agent = started.system.spawn(agent);
        started.node.export(AGENT, &agent).map_err(JobError::failed)?;
        let latency = Arc::new(Mutex::new(Latency::new()));
        let (tell, record) = (agent.clone(), latency.clone());
        let processor = processor.on_end(move |end| {
            let observations = seen.take(end.slot);
            record.lock().unwrap_or_else(PoisonError::into_inner).record(end.took_ns);
            let number = end.number;
            let up = match end.failure {
                None => Up::Ran { node, number, observations },
                Some((module, cause)) => {
                    Up::Failed { node, number, module: module.to_owned(), cause: short(cause) }
                }
            };
            // The agent is there as long as the node is.
            let _ = tell.send(agent::Msg::Up(up));
        });
        let (processor, coordinator, stoppers) = (Some(processor), None, vec![stopper]);
        Ok(Part { job, started, node, processor, agent, coordinator, exit, latency, stoppers })
    }

    /// Keeps the queue.
    fn coordinate(&mut self) -> Result<(Receiver<Report>, Option<Processor>), JobError> {
        let (job, node) = (self.job, &self.started.node);
        let inbox: Arc<Inbox<part::Given>> = Arc::default();
        let next = inbox.clone();
        let settings = settings_of(job, job.processor.order);
        let slots = settings.slots.unwrap_or(1);
        let asked = |error| JobError::Setting(format!("{}: {error}", job.name));
        let graph = part::outputs(job.workload, slots, move || next.next()).map_err(asked)?;
        let processor = graph.map(|(graph, seen)| (Processor::new(graph, settings), seen));
        let writer = match &processor {
            Some((processor, _)) => {
                let outputs = outputs(job.workload).map(|(number, _)| number);
                Writer::Processor(inbox, processor.feeder(), outputs.collect())
            }
            None => Writer::None,
        };
        let nodes = node.nodes().last().map_or(1, |last| last.0 + 1);
        let task = Task {
            events: job.events,
            in_order: matches!(job.processor.order, Order::Input { .. }),
            stops_at_failure: job.processor.on_error == OnError::Stop,
            plan: plan(job),
            nodes: job.nodes.map_or(nodes, |count| count.max(nodes)),
            // Elsewhere all of them start together.
            patience: if job.fabric.lets_join_later() { PATIENCE } else { MEETING },
            progress: job.progress.clone(),
            observer: job.observer.clone(),
        };
        let (tell, told) = mpsc::channel();
        let lines = job.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
        let coordinator =
            self.started.system.spawn(Coordinator::new(node.clone(), task, writer, lines, tell));
        node.export(COORDINATOR, &coordinator).map_err(JobError::failed)?;
        let listener = coordinator.clone();
        node.on_event(move |event| {
            if let NodeEvent::Down { node, reason, .. } = event {
                let _ = listener.send(coordinator::Msg::NodeDown(node.0, reason.to_string()));
            }
        });
        coordinator.send(coordinator::Msg::Own(self.agent.clone())).map_err(JobError::failed)?;
        self.agent
            .send(agent::Msg::Coordinator(Target::Here(coordinator.clone())))
            .map_err(JobError::failed)?;
        let processor = processor.map(|(processor, seen)| {
            let tell = coordinator.clone();
            processor.on_end(move |end| {
                let observations = seen.take(end.slot);
                let ended = match end.failure {
                    None => Ok(observations),
                    Some((module, cause)) => Err((module.to_owned(), short(cause))),
                };
                let _ = tell.send(coordinator::Msg::Written(end.number, ended));
            })
        });
        self.coordinator = Some(Target::Here(coordinator));
        Ok((told, processor))
    }

    /// Finds the queue.
    fn meet_coordinator(&mut self) -> Result<(), JobError> {
        let node = &self.started.node;
        let find = || node.find::<Coordinator>(FIRST, COORDINATOR, MEETING).wait();
        let none = |error| JobError::failed(format!("{FIRST}, which keeps the queue: {error}"));
        let coordinator = find().map_err(none)?;
        let agent = self.agent.clone();
        node.on_event(move |event| {
            if let NodeEvent::Down { node: FIRST, reason, .. } = event {
                let _ = agent.send(agent::Msg::Lost(format!("{FIRST} is down: {reason}")));
            }
        });
        self.agent
            .send(agent::Msg::Coordinator(Target::There(coordinator.clone())))
            .map_err(JobError::failed)?;
        self.coordinator = Some(Target::There(coordinator));
        Ok(())
    }

    fn join(&self) -> Result<(), JobError> {
        let (digest, says) = plan(self.job);
        let slots = slots_of(self.job);
        let join = Up::Join { node: self.node, slots, digest, says };
        self.agent.send(agent::Msg::Up(join)).map_err(JobError::failed)
    }

    /// Returns a handle that stops the run.
    fn stopper(&self) -> ClusterStopper {
        let (agent, stoppers) = (self.agent.clone(), self.stoppers.clone());
        let coordinator = match &self.coordinator {
            Some(Target::Here(coordinator)) => Some(coordinator.clone()),
            _ => None,
        };
        ClusterStopper(Box::new(move |is_first| {
            // If an actor is gone, all is over.
            if is_first {
                let _ = agent.send(agent::Msg::Up(Up::Stop));
            } else {
                stoppers.iter().chain(&stoppers).for_each(Stopper::stop);
                let coordinator = coordinator.iter();
                coordinator.for_each(|it| drop(it.send(coordinator::Msg::EndNow)));
            }
        }))
    }

    /// Runs events until there are no more, and meanwhile `beside`.
    fn run<R: Send>(
        &mut self,
        beside: impl FnOnce() -> R + Send,
    ) -> Result<(NodeFigures, R), JobError> {
        let Some(processor) = self.processor.take() else { unreachable!("it runs once") };
        let mut tick = self.job.observer.begin(self.node, self.stopper())?;
        let over = self.job.progress.clone();
        // Relaxed: a figure.
        let watch = Watch::start(move || tick(over.load(Ordering::Relaxed)))
            .map_err(|error| JobError::failed(format!("can not start a thread: {error}")))?;
        self.join()?;
        let (ran, beside) = std::thread::scope(|scope| {
            let beside = scope.spawn(beside);
            let ran = processor.run();
            let beside = beside.join().map_err(|_| JobError::failed("a thread panicked"));
            (ran, beside)
        });
        let process = watch.finish();
        match self.exit.get() {
            Some(ExitReason::Refused(why)) => return Err(JobError::Setting(why)),
            Some(ExitReason::Lost(why)) => return Err(JobError::Failed(why)),
            None => {}
        }
        let has_own_process = !self.job.fabric.is_in_process() || self.node == FIRST.0;
        let process = has_own_process.then_some(process);
        let latency = self.latency.lock().unwrap_or_else(PoisonError::into_inner);
        let latency = latency.buckets().collect();
        let is_output = labels(self.job.workload);
        let is_own = |label: &str| !is_output.contains(label);
        let figures = NodeFigures::new(self.node, of(ran)?, is_own, latency, process);
        Ok((figures, beside?))
    }

    fn run_other(mut self) -> Result<(), JobError> {
        let (figures, ()) = self.run(|| ())?;
        let Some(Target::There(coordinator)) = &self.coordinator else {
            unreachable!("it was met")
        };
        for piece in pieces(self.node, &figures)? {
            coordinator
                .ask(piece, MEETING)
                .wait()
                .map_err(|error| JobError::failed(format!("{FIRST}: {error}")))?;
        }
        Ok(())
    }

    fn run_first(
        mut self,
        reports: &Receiver<Report>,
        writer: Option<Processor>,
    ) -> Result<ClusterOutcome, JobError> {
        self.stoppers.extend(writer.as_ref().map(Processor::stopper));
        let run_writer = move || writer.map(Processor::run).transpose();
        let (mut own, outputs) = self.run(run_writer)?;
        if let Some(summary) = outputs.map_err(JobError::failed)? {
            let is_output = labels(self.job.workload);
            own.add_outputs(summary, |label| is_output.contains(label));
        }
        gather(reports, own)
    }
}

/// Waits for the figures of all who took part to the end, and until they have left: they had better
/// hear that theirs have come before this node leaves.
fn gather(reports: &Receiver<Report>, own: NodeFigures) -> Result<ClusterOutcome, JobError> {
    let first = own.node;
    let mut got: BTreeMap<u32, NodeFigures> = BTreeMap::from([(first, own)]);
    let (mut over, mut gone) = (None::<RunOutcome>, Vec::<Gone>::new());
    // Since the end: what a node was before may have been another incarnation of it.
    let mut left = BTreeSet::from([first]);
    loop {
        let is_done = |node: &u32| left.contains(node);
        if let Some(over) = over.take_if(|over| over.members.iter().all(is_done)) {
            return Ok(ClusterOutcome { run: over, gone, nodes: got.into_values().collect() });
        }
        match reports.recv_timeout(2 * DOWN_AFTER) {
            Ok(Report::Over(told)) => {
                over = Some(*told);
                left = BTreeSet::from([first]);
            }
            Ok(Report::Gone(told)) => {
                left.insert(told.node);
                gone.push(told);
            }
            Ok(Report::Left(node)) => _ = left.insert(node),
            Ok(Report::Figures(node, bytes)) => {
                let figures = serde_json::from_slice(&bytes);
                let wrong = |error| JobError::failed(format!("node {node}: its figures: {error}"));
                got.insert(node, figures.map_err(wrong)?);
            }
            Err(_) => {
                return Err(JobError::failed(
                    "a node did not tell its figures, and leave, in time",
                ));
            }
        }
    }
}

/// How many events a node has in flight.
fn slots_of(job: &Job<'_>) -> u64 {
    job.processor.slots.unwrap_or(1) as u64
}

/// The settings of a processor on one of several nodes.
fn settings_of(job: &Job<'_>, order: Order) -> Settings {
    let settings = job.processor.clone().order(order);
    // It is the queue that stops at a failure.
    match settings.on_error {
        OnError::Stop => settings.on_error(OnError::Skip),
        OnError::Skip | OnError::Retry(_) => settings,
    }
}

/// The outputs, with their numbers.
fn outputs(workload: &Workload) -> impl Iterator<Item = (u32, &str)> {
    let modules = workload.modules.iter().enumerate();
    let outputs = modules.filter(|(_, module)| module.role == Role::Output);
    outputs.map(|(number, module)| (number as u32, module.label.as_str()))
}

fn labels(workload: &Workload) -> BTreeSet<&str> {
    outputs(workload).map(|(_, label)| label).collect()
}

fn of(ran: Result<RunSummary, actinium_events::StartError>) -> Result<RunSummary, JobError> {
    ran.map_err(|error| match error.is_of_setting() {
        true => JobError::Setting(error.to_string()),
        false => JobError::failed(error),
    })
}

/// Shortens a module's message so that it fits in a frame with all the rest.
fn short(cause: &str) -> String {
    const CHARS_MAX: usize = 1_000;
    match cause.char_indices().nth(CHARS_MAX) {
        None => cause.to_owned(),
        Some((end, _)) => format!("{}...", &cause[..end]),
    }
}
